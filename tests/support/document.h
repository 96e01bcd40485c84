/* SPDX-License-Identifier: MIT */
/* Documents with a part that is made from a table in the code. */
#ifndef HF_TESTS_SUPPORT_DOCUMENT_H
#define HF_TESTS_SUPPORT_DOCUMENT_H

/* docs/NAME says what `made` says (freed here), between the lines "<!-- made from SOURCE; ... -->"
 * and "<!-- end of what is made -->". With HF_TEST_UPDATE=1 that part is written anew. */
void expect_document(const char *name, const char *source, char *made);

#endif

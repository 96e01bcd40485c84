/* SPDX-License-Identifier: MIT */
/* What the table of routes says, for programs (OpenAPI 3.1) and for people (/api). Each answers a
 * new text to be freed with hf_json_free, or NULL when memory is out. */
#ifndef HF_SERVER_OPENAPI_H
#define HF_SERVER_OPENAPI_H

char *openapi_json(void);

/* base: "http://127.0.0.1:7420", for the examples. */
char *api_html(const char *base);

#endif

/* SPDX-License-Identifier: MIT */
/* What holdfast-audit.so exports: it turns source text into facts. The grammars are 8 MB, so they
 * stay out of the program; without the module SQL files, schemas and databases are still read. */
#ifndef HF_AUDIT_MODULE_H
#define HF_AUDIT_MODULE_H

#include "audit/fact.h"

typedef enum audit_language {
    AUDIT_JAVA,
    AUDIT_PYTHON,
    AUDIT_RUBY,
    AUDIT_PHP,
    AUDIT_JAVASCRIPT,
    AUDIT_TYPESCRIPT,
    AUDIT_TSX,
    AUDIT_LANGUAGES, /* how many have a grammar */
    AUDIT_SQL_FILE,  /* those below are read without one */
    AUDIT_PRISMA,
    AUDIT_XML,
    AUDIT_DEPLOYMENT, /* how many processes are started */
    AUDIT_TEMPLATE,   /* forms */
    AUDIT_NO_LANGUAGE
} audit_language;

/* Takes facts as they are found; file is left 0. */
typedef void (*audit_emit_fn)(void *context, const audit_fact *fact);

typedef struct audit_module {
    const char *version; /* HF_VERSION it was built with */
    /* False: the parser gave up, or memory is out. It may crash, or never return: call it in a
     * process of its own. */
    bool (*parse)(audit_language language, hf_slice text, audit_emit_fn emit, void *context);
} audit_module;

#define AUDIT_MODULE_SYMBOL "hf_audit_module"

#endif

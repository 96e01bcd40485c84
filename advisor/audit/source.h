/* SPDX-License-Identifier: MIT */
/* One file's text into facts: what is worth parsing, SQL files, Prisma and Liquibase schemas. */
#ifndef HF_AUDIT_SOURCE_H
#define HF_AUDIT_SOURCE_H

#include "audit/files.h"

/* Whether the words of a source make it worth parsing. Costs a hundredth of parsing it. */
bool audit_source_worth(hf_slice text);

/* Statement by statement. */
void audit_source_sql(hf_slice text, audit_emit_fn emit, void *context);

/* Declarations in other forms, told as CREATE TABLE. */
void audit_source_prisma(hf_slice text, audit_emit_fn emit, void *context);
void audit_source_xml(hf_slice text, audit_emit_fn emit, void *context);

/* Of a template: that it has a form, and the names in it that could be a version's. */
void audit_source_template(hf_slice text, audit_emit_fn emit, void *context);

#endif

/* SPDX-License-Identifier: MIT */
/* Deployment files: whether several processes of a program are started. */
#ifndef HF_AUDIT_DEPLOY_H
#define HF_AUDIT_DEPLOY_H

#include "audit/module.h"

/* Whether a file of this name may say so: compose and Kubernetes files, Procfile, Dockerfile,
 * configurations of gunicorn, puma, pm2 and uwsgi. */
bool audit_deploy_is(const char *path);

/* Emits AUDIT_WORKERS for each line that starts more than one process. */
void audit_deploy_read(const char *path, hf_slice text, audit_emit_fn emit, void *context);

#endif

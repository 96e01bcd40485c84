/* SPDX-License-Identifier: MIT */
/* Making a folder, with those above it. */
#ifndef HF_BASE_FOLDER_H
#define HF_BASE_FOLDER_H

/* Makes the folder and those above it, with mode 0700, where they are missing. 0, or the errno that
 * says why there is none: EEXIST if something else is in its place, ENOTDIR if something above it
 * is no folder. */
int hf_folder_make(const char *path);

#endif

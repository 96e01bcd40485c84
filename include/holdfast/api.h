/* SPDX-License-Identifier: MIT */
/* What every public header needs: the export mark, C++ linkage, and the compiler checks that help
 * callers. */
#ifndef HOLDFAST_API_H
#define HOLDFAST_API_H

#ifdef __cplusplus
#define HF_BEGIN_DECLS extern "C" {
#define HF_END_DECLS   }
#else
#define HF_BEGIN_DECLS
#define HF_END_DECLS
#endif

#if defined(__GNUC__)
#define HF_API      __attribute__((visibility("default")))
#define HF_MUST_USE __attribute__((warn_unused_result))
#else
#define HF_API
#define HF_MUST_USE
#endif

#define HF_VERSION "0.1.0"

#endif

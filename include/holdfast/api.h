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

/* The version of these headers, which is also the project's in meson.build (the build checks it).
 * hf_library_version() in holdfast.h is that of the library in use. NUMBER is for comparing:
 *     #if HF_VERSION_NUMBER >= 1002000 ... 1.2.0 and later */
#define HF_VERSION_MAJOR  0
#define HF_VERSION_MINOR  1
#define HF_VERSION_PATCH  0
#define HF_VERSION        "0.1.0"
#define HF_VERSION_NUMBER (HF_VERSION_MAJOR * 1000000 + HF_VERSION_MINOR * 1000 + HF_VERSION_PATCH)

#endif

/* SPDX-License-Identifier: MIT */
/* Finding and loading modules. */
#include "base/module.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<module_dir.h>) /* which the build makes */
#include <module_dir.h>
#else
#define HF_MODULE_DIR "/usr/local/lib/holdfast"
#endif

/* False: the name is too long. */
static bool module_path(const char *name, char *path, size_t size)
{
    const char *folder = secure_getenv("HOLDFAST_MODULES");
    int length =
        snprintf(path, size, "%s/holdfast-%s.so", folder != NULL ? folder : HF_MODULE_DIR, name);
    if (length < 0 || (size_t)length >= size)
        return false;
    if (folder != NULL || access(path, F_OK) == 0)
        return true;
    char program[HF_URL_MAX], beside[HF_URL_MAX];
    ssize_t end = readlink("/proc/self/exe", program, sizeof program - 1);
    while (end > 0 && program[end - 1] != '/')
        end--;
    length = end <= 0
                 ? -1
                 : snprintf(beside, sizeof beside, "%.*sholdfast-%s.so", (int)end, program, name);
    if (length > 0 && (size_t)length < sizeof beside && (size_t)length < size &&
        access(beside, F_OK) == 0)
        memcpy(path, beside, (size_t)length + 1);
    return true;
}

hf_status hf_module_load(const char *name, const char *symbol, const void **out, hf_error *err)
{
    char path[HF_URL_MAX];
    if (!module_path(name, path, sizeof path))
        return hf_fail(err, HF_UNAVAILABLE, "The folder of the modules has too long a name.");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *info = module == NULL ? NULL : dlsym(module, symbol);
    if (info == NULL) {
        const char *why = dlerror(); /* names the file */
        return hf_fail(
            err, HF_UNAVAILABLE,
            "The module for %s can't be loaded: %s. Install it, or set HOLDFAST_MODULES to the "
            "folder it is in.",
            name, why == NULL ? path : why);
    }
    const char *version = *(const char *const *)info;
    if (strcmp(version, HF_VERSION) != 0)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "The module %s is of version %s, the library of %s; install the same version.", path,
            version, HF_VERSION);
    *out = info;
    return HF_OK;
}

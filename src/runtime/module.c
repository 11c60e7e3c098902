#include "runtime/module.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = TESS_MODULE_PATH_BYTES };

// Folder of the file this code was loaded from: the library, the command or the extension.
static bool own_folder(char folder[PATH_BYTES])
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&tess_module_open, &info) || !info.dli_fname) {
        return false;
    }
    char real[4096];
    // The command's own name may be relative or found through PATH; /proc knows better.
    const char *name = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
    if (!realpath(name, real) && !realpath("/proc/self/exe", real)) {
        return false;
    }
    char *slash = strrchr(real, '/');
    if (!slash || slash - real >= PATH_BYTES) {
        return false;
    }
    memcpy(folder, real, (size_t)(slash - real));
    folder[slash - real] = '\0';
    return true;
}

// A module runs with all our rights: refuse files that others could have changed.
static bool is_trusted(const char *path, char *why, size_t why_capacity)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return false;
    }
    if ((info.st_uid != 0 && info.st_uid != geteuid()) || (info.st_mode & S_IWOTH)) {
        snprintf(why, why_capacity,
                 "%s found but not loaded: it must belong to you or root and not be writable by "
                 "everyone",
                 path);
        return false;
    }
    return true;
}

static bool try_folder(const char *folder, const char *file_name, char path[PATH_BYTES], char *why,
                       size_t why_capacity)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", folder, file_name) >= PATH_BYTES) {
        return false;
    }
    return is_trusted(path, why, why_capacity);
}

// A file named outright by an environment variable.
static bool find_named(const char *file_name, const char *variable, const char *given,
                       char path[PATH_BYTES], char *why, size_t why_capacity)
{
    if (!*given || strcmp(given, "none") == 0) {
        snprintf(why, why_capacity, "module %.*s is disabled by %s", (int)strcspn(file_name, "."),
                 file_name, variable);
        return false;
    }
    snprintf(path, PATH_BYTES, "%s", given);
    if (access(path, R_OK) != 0) {
        snprintf(why, why_capacity, "%s names %.200s, which cannot be read", variable, given);
        return false;
    }
    return is_trusted(path, why, why_capacity);
}

// The folders of a list "a:b:c".
static bool find_in_list(const char *file_name, const char *list, char path[PATH_BYTES], char *why,
                         size_t why_capacity)
{
    char folder[PATH_BYTES];
    while (*list) {
        const size_t n = strcspn(list, ":");
        if (n > 0 && n < sizeof folder) {
            snprintf(folder, sizeof folder, "%.*s", (int)n, list);
            if (try_folder(folder, file_name, path, why, why_capacity)) {
                return true;
            }
        }
        list += n + (list[n] == ':');
    }
    return false;
}

// Folders beside the file this code is in: a build, an installation, a Python environment.
static bool find_beside(const char *file_name, char path[PATH_BYTES], char *why,
                        size_t why_capacity)
{
    static const char *const beside[] = {"plugins", "../plugins", "../lib/tessera/plugins",
                                         "../lib/*/tessera/plugins", // Debian's multiarch folders
                                         "../lib/python3*/site-packages/tessera/plugins"};
    char own[PATH_BYTES];
    bool found = false;
    for (size_t i = 0; !found && own_folder(own) && i < sizeof beside / sizeof *beside; i++) {
        char pattern[PATH_BYTES];
        glob_t folders;
        if (snprintf(pattern, sizeof pattern, "%s/%s", own, beside[i]) >= (int)sizeof pattern ||
            glob(pattern, GLOB_ONLYDIR, NULL, &folders) != 0) {
            continue;
        }
        for (size_t k = 0; !found && k < folders.gl_pathc; k++) {
            found = try_folder(folders.gl_pathv[k], file_name, path, why, why_capacity);
        }
        globfree(&folders);
    }
    return found;
}

bool tess_module_find(const char *file_name, const char *variable, char path[PATH_BYTES], char *why,
                      size_t why_capacity)
{
    const char *given = getenv(variable);
    if (given) {
        return find_named(file_name, variable, given, path, why, why_capacity);
    }
    snprintf(why, why_capacity, "module %s not found; it is not part of this installation",
             file_name);
    const char *list = getenv("TESSERA_PLUGIN_PATH");
    return (list && find_in_list(file_name, list, path, why, why_capacity)) ||
           find_beside(file_name, path, why, why_capacity);
}

void *tess_module_open(tess_context *ctx, const char *file_name, const char *variable,
                       const char *kind, const char *symbol, const tess_module_info **info,
                       char *why, size_t why_capacity)
{
    char path[PATH_BYTES];
    if (!tess_module_find(file_name, variable, path, why, why_capacity)) {
        return NULL;
    }
    // Never closed: device runtimes do not survive being unloaded.
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, why_capacity, "%s cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    tess_module_query_fn query = NULL;
    *(void **)&query = dlsym(handle, "tess_module_query");
    const tess_module_info *found = query ? query() : NULL;
    if (!found || strcmp(found->kind, kind) != 0) {
        snprintf(why, why_capacity, "%s is not a Tessera %s module", path, kind);
        return NULL;
    }
    if (found->abi != TESS_MODULE_ABI) {
        snprintf(why, why_capacity,
                 "%s was built for module interface %u, this library has %d: install the module "
                 "of version " TESS_VERSION,
                 path, found->abi, TESS_MODULE_ABI);
        return NULL;
    }
    void *entry = dlsym(handle, symbol);
    if (!entry) {
        snprintf(why, why_capacity, "%s has no %s", path, symbol);
        return NULL;
    }
    if (info) {
        *info = found;
    }
    tess_log_write(&ctx->log, TESS_LOG_DEBUG, "module %s loaded from %s (%s)", found->name, path,
                   found->built_with);
    why[0] = '\0';
    return entry;
}

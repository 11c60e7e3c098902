// Finding and opening modules (sys/module.h).
#ifndef TESS_RUNTIME_MODULE_H
#define TESS_RUNTIME_MODULE_H

#include "runtime/context.h"

enum { TESS_MODULE_PATH_BYTES = 1024 };

// Finds a module or program of that file name ("tessera-backend-cuda.so"). Searched: the path in
// the variable named (if set; "none" disables), TESSERA_PLUGIN_PATH, then folders beside the
// library: plugins, ../plugins, ../lib/tessera/plugins, and the site-packages of a Python
// environment around it. Never the working directory. On failure one sentence is in why.
bool tess_module_find(const char *file_name, const char *variable,
                      char path[TESS_MODULE_PATH_BYTES], char *why, size_t why_capacity);

// Opens the module and returns its entry of that symbol. On failure returns NULL and writes one
// sentence into why. info may be NULL.
void *tess_module_open(tess_context *ctx, const char *file_name, const char *variable,
                       const char *kind, const char *symbol, const tess_module_info **info,
                       char *why, size_t why_capacity);

#endif

// Where a file comes from, as one line of JSON that every file we write carries.
//
// Array formats have a place for it (a member, an attribute, a file beside). In all others it
// follows its name in a comment, a text tag or a member, near the start, where it is found again.
#ifndef TESS_RUNTIME_ORIGIN_H
#define TESS_RUNTIME_ORIGIN_H

#include "runtime/context.h"
#include "tessera/param.h"
#include "tessera/sys/json.h"

#define TESS_ORIGIN_NAME "tessera_provenance"

enum { TESS_ORIGIN_MAX = 4, TESS_ORIGIN_REACH = 1 << 20 };

typedef struct tess_origin {
    const char *stage;                   // "autoreject.fit"
    const char *identity;                // tess_identity_digest(); NULL: not known
    const char *inputs[TESS_ORIGIN_MAX]; // paths, then NULL; folders stay private
    const char *hashes;                  // of what was given in memory: an object of JSON, or NULL
    const tess_param_table *tables[TESS_ORIGIN_MAX]; // of the settings, then NULL
    const void *values[TESS_ORIGIN_MAX];             // the struct of each table
    const char *result; // what was found, a JSON object; NULL: nothing to tell
    bool with_run;      // also command line, machine and time, by which two files of the same
                        // computation differ
} tess_origin;

// From the context's heap (tag RESULT), *bytes long with its zero.
TESS_MUST_CHECK tess_status tess_origin_make(tess_context *ctx, const tess_origin *origin,
                                             char **text, size_t *bytes);

// Members that provenance of any kind begins with: schema, version, commit, stage, and the command
// (NULL: not known), which is the same for every run of the same computation.
void tess_origin_head(tess_json *json, const char *stage, const char *command);
// One setting, text as tess_param_get_text() makes it: a number, true or false, or a name.
void tess_origin_setting(tess_json *json, const tess_param *param, const char *text);
// The settings of one table, a member each.
void tess_origin_settings(tess_json *json, const tess_param_table *table, const void *values);
// Device, instruction set, threads and memory limit.
void tess_origin_machine(tess_json *json, const tess_context *ctx);
// What was typed: the caller's, else the context's, else "".
const char *tess_origin_command(const tess_context *ctx, const char *command_line);

// The object behind the name among the first bytes of a file, or all of them where the file is
// nothing but provenance; NULL if there is none.
const char *tess_origin_find(const char *bytes, size_t n, size_t *length);

#endif

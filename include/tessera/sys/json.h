/**
 * A JSON writer: results, traces, provenance and --json output all come from here.
 *
 * Calls never fail one by one; the first problem (no memory, unbalanced brackets) is kept and
 * reported by tess_json_finish(). key is NULL inside arrays and at the top level. Doubles are
 * written with 17 significant digits, NaN and infinities as null.
 */
#ifndef TESSERA_SYS_JSON_H
#define TESSERA_SYS_JSON_H

#include "tessera/context.h"

TESS_BEGIN_DECLS

typedef struct tess_json tess_json;

/** indent: spaces per level; 0 writes one line. */
TESS_API TESS_MUST_CHECK tess_status tess_json_create(tess_context *ctx, int indent,
                                                      tess_json **out);
TESS_API void tess_json_destroy(tess_json *json);

TESS_API void tess_json_object_begin(tess_json *json, const char *key);
TESS_API void tess_json_object_end(tess_json *json);
TESS_API void tess_json_array_begin(tess_json *json, const char *key);
TESS_API void tess_json_array_end(tess_json *json);
/** value NULL writes null. Invalid UTF-8 is replaced. */
TESS_API void tess_json_text(tess_json *json, const char *key, const char *value);
TESS_API void tess_json_int(tess_json *json, const char *key, int64_t value);
TESS_API void tess_json_uint(tess_json *json, const char *key, uint64_t value);
TESS_API void tess_json_real(tess_json *json, const char *key, double value);
TESS_API void tess_json_bool(tess_json *json, const char *key, int value);
/** value is JSON text already (an object from elsewhere); NULL writes null. */
TESS_API void tess_json_raw(tess_json *json, const char *key, const char *value);

/** The finished text, which belongs to json. */
TESS_API TESS_MUST_CHECK tess_status tess_json_finish(tess_json *json, const char **text);

TESS_END_DECLS

#endif

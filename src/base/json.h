// Creation of a JSON writer from a heap; the writer itself is sys/json.h.
#ifndef TESS_BASE_JSON_H
#define TESS_BASE_JSON_H

#include "base/memory.h"
#include "tessera/sys/json.h"

TESS_MUST_CHECK tess_status tess_json_create_on(tess_heap *heap, int indent, tess_json **out);

// Both end a writer and give its text to the caller, NULL where that fails: for tess_text_free(),
// or from the writer's heap (tag RESULT), *bytes long with its zero.
TESS_MUST_CHECK tess_status tess_json_hand_out(tess_json *json, char **text);
TESS_MUST_CHECK tess_status tess_json_keep(tess_json *json, char **text, size_t *bytes);

#endif

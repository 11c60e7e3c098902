// Creation of a JSON writer from a heap; the writer itself is sys/json.h.
#ifndef TESS_BASE_JSON_H
#define TESS_BASE_JSON_H

#include "base/memory.h"
#include "tessera/sys/json.h"

TESS_MUST_CHECK tess_status tess_json_create_on(tess_heap *heap, int indent, tess_json **out);

#endif

// Loading a configuration against given tables. The public functions are in tessera/config.h.
#ifndef TESS_DOCUMENT_CONFIG_H
#define TESS_DOCUMENT_CONFIG_H

#include "base/memory.h"
#include "tessera/config.h"

// tess_config_load() without a context; the tables are borrowed until destroy.
TESS_MUST_CHECK tess_status tess_config_load_with(tess_heap *heap, const char *path,
                                                  const tess_param_table *const *tables,
                                                  int64_t n_table, tess_config **out);

#endif

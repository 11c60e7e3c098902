/** Configuration files: YAML or JSON, typed by the parameter tables. */
#ifndef TESSERA_CONFIG_H
#define TESSERA_CONFIG_H

#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

/** A parsed and checked configuration file. */
typedef struct tess_config tess_config;

/**
 * Reads a file and checks it against every table of tess_param_tables() and those in extra
 * (n_extra may be 0). A table named "autoreject.ptp" owns the keys of mapping "ptp" inside mapping
 * "autoreject". Types come from the tables, not from how a scalar looks. Unknown keys, duplicate
 * keys, wrong types and values out of range are errors with file, line, column and the nearest
 * known key (TESS_E_CONFIG); a missing file is TESS_E_NOT_FOUND.
 */
TESS_API TESS_MUST_CHECK tess_status tess_config_load(tess_context *ctx, const char *path,
                                                      const tess_param_table *const *extra,
                                                      int64_t n_extra, tess_config **out);

/** Writes the values the file gives for a table into its struct; others stay as they are. */
TESS_API TESS_MUST_CHECK tess_status tess_config_apply(const tess_config *config,
                                                       const tess_param_table *table, void *target);

/** Line of the file that sets the parameter (1-based), or 0 if it does not. */
TESS_API int64_t tess_config_line(const tess_config *config, const tess_param_table *table,
                                  const char *param);

/** Warnings of the load, one per line ("file:3:7: 1e-3 is text to PyYAML ..."); "" if none. */
TESS_API const char *tess_config_warnings(const tess_config *config);
TESS_API void tess_config_destroy(tess_config *config);

TESS_END_DECLS

#endif

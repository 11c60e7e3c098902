// .txc2 files: data as they are, selected when they were made.
#ifndef TESS_XPCS_FILES_FLAT_H
#define TESS_XPCS_FILES_FLAT_H

#include "systems/xpcs/files/matrices.h"

// Bins and times of one, for listings: its matrices are not read back.
TESS_MUST_CHECK tess_status tess_xp_flat_describe(struct tess_xpcs_file *file);
// The config's dt and gap go before the file's. TESS_E_CONFIG where it asks for frames or angles
// that would have to be selected.
TESS_MUST_CHECK tess_status tess_xp_flat_open(tess_context *ctx, const char *path,
                                              const tess_xpcs_data_config *config,
                                              tess_xpcs_data **out);

#endif

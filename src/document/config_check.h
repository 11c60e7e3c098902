// A configuration tree judged by the parameter tables.
#ifndef TESS_DOCUMENT_CONFIG_CHECK_H
#define TESS_DOCUMENT_CONFIG_CHECK_H

#include "base/text.h"
#include "document/config_tree.h"
#include "tessera/param.h"

// A parameter the file sets. Lives in the tree's memory.
typedef struct tess_config_value {
    const tess_param_table *table;
    const tess_param *param;
    const tess_node *node;
    struct tess_config_value *next;
} tess_config_value;

// Finds every value of the tree in the tables; the first that is unknown or wrong ends the search
// with TESS_E_CONFIG. warnings gets a line for each value that PyYAML would take for something
// else.
TESS_MUST_CHECK tess_status tess_config_check(tess_tree *tree,
                                              const tess_param_table *const *tables,
                                              int64_t n_table, tess_config_value **values,
                                              tess_text *warnings);

// What PyYAML would make of the scalar instead of what the parameter wants; NULL if they agree.
const char *tess_pyyaml_differs(const tess_node *scalar, const tess_param *param);

#endif

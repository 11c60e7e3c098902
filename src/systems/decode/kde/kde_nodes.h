// Nodes that weights are spread onto, for devices that have TESS_STAGE_DECODE_KDE_NODES.
#ifndef TESS_SYSTEMS_DECODE_KDE_NODES_H
#define TESS_SYSTEMS_DECODE_KDE_NODES_H

#include "systems/decode/kde/kde.h"

// Nodes for a model with a grid, with the steps of its electrodes [n_electrode]; in blocks. None
// (nodes->n_dim = 0) where they would be too many.
TESS_MUST_CHECK tess_status tess_de_kde_nodes(tess_blocks *blocks, const tess_kde_model *model,
                                              tess_kde_nodes *nodes,
                                              tess_kde_electrode *electrodes);

#endif

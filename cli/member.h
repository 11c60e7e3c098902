// A look into a tree of YAML or JSON.
#ifndef TESSERA_CLI_MEMBER_H
#define TESSERA_CLI_MEMBER_H

#include <tessera/sys/document.h>

// What a mapping holds under this key; NULL: nothing, or no mapping.
const tess_document_node *document_member(const tess_document_node *node, const char *key);

#endif

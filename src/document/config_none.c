// Neither libyaml nor jansson was found when the library was built.

#include "base/status.h"
#include "document/config_tree.h"

tess_status tess_tree_parse(tess_tree *tree, const char *text, size_t bytes)
{
    (void)text;
    (void)bytes;
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: this build of Tessera reads no configuration files; build it with libyaml "
              "(YAML and JSON) or jansson (JSON)",
              tree->path);
}

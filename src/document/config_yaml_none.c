// libyaml was not found when the library was built.

#include "base/status.h"
#include "document/config_tree.h"

tess_status tess_tree_parse(tess_tree *tree, const char *text, size_t bytes)
{
    if (tree->is_json) {
        return tess_tree_parse_json(tree, text, bytes);
    }
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: this build of Tessera has no libyaml; write the configuration as a .json "
              "file or build with libyaml",
              tree->path);
}

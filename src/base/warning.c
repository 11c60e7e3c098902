#include "tessera/warning.h"

#include <string.h>

static const tess_warning_info warnings[] = {
#define WARNING_ROW(name, id, text, remedy) {id, text, remedy},
    TESS_WARNING_LIST(WARNING_ROW)
#undef WARNING_ROW
};

const tess_warning_info *tess_warnings(int64_t *n_warning)
{
    *n_warning = (int64_t)(sizeof warnings / sizeof warnings[0]);
    return warnings;
}

const tess_warning_info *tess_warning_of_line(const char *line, size_t *length)
{
    const size_t n = strlen(line);
    const char *open = strrchr(line, '[');
    *length = n;
    if (open == NULL || open == line || open[-1] != ' ' || line[n - 1] != ']') {
        return NULL;
    }
    const size_t n_id = n - 1 - (size_t)(open + 1 - line);
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
        if (strlen(warnings[i].id) == n_id && strncmp(warnings[i].id, open + 1, n_id) == 0) {
            *length = (size_t)(open - 1 - line);
            return &warnings[i];
        }
    }
    return NULL;
}

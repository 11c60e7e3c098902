// The files that samples come from, looked after until the epochs are closed.
#include "base/status.h"
#include "systems/autoreject/epochs/epochs.h"

#include <string.h>

struct tess_ar_input {
    const tess_infile *file;
    tess_infile own; // what file points to, unless somebody else opened it
    struct tess_ar_input *next;
};

static struct tess_ar_input *add_input(tess_autoreject_epochs *epochs)
{
    struct tess_ar_input *input = tess_blocks_alloc(&epochs->blocks, 1, sizeof *input, "an input");
    if (input) {
        input->own.fd = -1;
        input->file = &input->own;
        input->next = epochs->inputs;
        epochs->inputs = input;
    }
    return input;
}

tess_status tess_ar_epochs_open_input(tess_autoreject_epochs *epochs, const char *path,
                                      const tess_infile **file)
{
    struct tess_ar_input *input = add_input(epochs);
    const char *kept =
        tess_blocks_copy(&epochs->blocks, path, (int64_t)strlen(path) + 1, 1, "an input");
    if (!input || !kept) {
        return TESS_E_MEMORY;
    }
    *file = input->file;
    return tess_infile_open(kept, &input->own);
}

tess_status tess_ar_epochs_watch(tess_autoreject_epochs *epochs, const tess_infile *file)
{
    struct tess_ar_input *input = add_input(epochs);
    if (!input) {
        return TESS_E_MEMORY;
    }
    input->file = file;
    return TESS_OK;
}

tess_status tess_ar_epochs_check(const tess_autoreject_epochs *epochs)
{
    for (const struct tess_ar_input *input = epochs->inputs; input; input = input->next) {
        TESS_TRY(tess_infile_check(input->file));
    }
    return TESS_OK;
}

void tess_ar_epochs_close_inputs(tess_autoreject_epochs *epochs)
{
    for (struct tess_ar_input *input = epochs->inputs; input; input = input->next) {
        tess_infile_close(&input->own);
    }
}

// A model's thresholds as a table: a line per channel, fields apart by tabs.
#include "base/file.h"
#include "base/text.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <stdio.h>

// Missing values are n/a, as BIDS writes them.
static void put_real(tess_text *text, double value, char end)
{
    char number[40];
    if (isfinite(value)) {
        tess_real_text(value, 1, number, sizeof number);
    } else {
        snprintf(number, sizeof number, "n/a");
    }
    tess_text_printf(text, "%s%c", number, end);
}

// A tab or a new line in a name would make two fields of it.
static void put_name(tess_text *text, const char *name)
{
    for (; *name; name++) {
        const char c = *name == '\t' || *name == '\n' || *name == '\r' ? ' ' : *name;
        tess_text_append(text, &c, 1);
    }
    tess_text_add(text, "\t");
}

static void put_type(tess_text *text, const tess_autoreject_model_info *info,
                     const tess_autoreject_type_fit *fit)
{
    for (int64_t k = 0; k < fit->n_chan; k++) {
        const double *errors = fit->standard_errors;
        const double *objectives = fit->objectives;
        put_name(text, info->channel_names[fit->channels[k]]);
        tess_text_printf(text, "%s\t", tess_autoreject_type_name(fit->type));
        put_real(text, fit->thresholds[k], '\t');
        put_real(text, errors ? errors[k] : (double)NAN, '\t');
        put_real(text, objectives ? objectives[k] : (double)NAN, '\t');
        tess_text_printf(text, "%lld\n", (long long)info->n_split);
    }
}

tess_status tess_ar_model_save_table(tess_context *ctx, const tess_autoreject_model_info *info,
                                     const char *path, int overwrite)
{
    tess_text text;
    const char *chars = NULL;
    tess_text_init(&text, &ctx->heap);
    tess_text_add(&text, "name\ttype\tthreshold\tstandard_error\tobjective\tn_split\n");
    for (int64_t t = 0; t < info->n_type; t++) {
        put_type(&text, info, &info->types[t]);
    }
    tess_status status = tess_text_finish(&text, &chars);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, chars, overwrite);
    }
    tess_text_destroy(&text);
    return status;
}

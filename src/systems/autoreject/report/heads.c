// Where on the head the bad sensors are, and how large their thresholds.
#include "systems/autoreject/report/head_picture.h"
#include "systems/autoreject/report/page.h"

#include <stdio.h>
#include <string.h>

// The sensors of one type.
typedef struct sensors {
    const char **names;
    double *positions;
    double *bad;        // percent
    double *thresholds; // in the unit shown
    int64_t n;
} sensors;

static bool room_for(tess_ar_page *page, sensors *own)
{
    const int64_t n = page->log->n_chan;
    static const char what[] = "the report";
    own->names = tess_blocks_alloc(&page->memory, n, sizeof *own->names, what);
    own->positions = tess_blocks_alloc(&page->memory, n, 3 * sizeof(double), what);
    own->bad = tess_blocks_alloc(&page->memory, n, sizeof(double), what);
    own->thresholds = tess_blocks_alloc(&page->memory, n, sizeof(double), what);
    return own->names && own->positions && own->bad && own->thresholds;
}

static void gather(const tess_ar_page *page, int32_t type, sensors *own)
{
    own->n = 0;
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        if (page->type_of[c] == type) {
            const int64_t k = own->n++;
            own->names[k] = page->names[c];
            memcpy(own->positions + 3 * k, page->epochs_info->sensors->channels[c].loc,
                   3 * sizeof(double));
            own->bad[k] = 100 * tess_ar_label_share(page->log, c, 1, 2);
            own->thresholds[k] = page->threshold_of[c] * tess_ar_unit_of_channel(page, c).scale;
        }
    }
}

static void draw_type(tess_ar_page *page, int32_t t, sensors *own)
{
    const int32_t type = page->model->types[t].type;
    const char *name = tess_autoreject_type_name(type);
    char title[96];
    gather(page, t, own);
    tess_ar_head head = {.title = title,
                         .n = own->n,
                         .names = own->names,
                         .positions = own->positions,
                         .unit = "%",
                         .values = own->bad,
                         .begins_at_zero = true};
    if (tess_ar_head_count(&head) == 0) {
        snprintf(title, sizeof title, "The %s channels have no positions.", name);
        tess_html_paragraph(&page->html, title);
        return;
    }
    tess_html_row_begin(&page->html);
    snprintf(title, sizeof title, "%s: bad epochs", name);
    tess_ar_head_draw(&page->html, &head);
    snprintf(title, sizeof title, "%s: threshold", name);
    head.unit = tess_ar_unit_of(type).name;
    head.values = own->thresholds;
    head.begins_at_zero = false;
    tess_ar_head_draw(&page->html, &head);
    tess_html_row_end(&page->html);
}

tess_status tess_ar_page_heads(tess_ar_page *page)
{
    sensors own;
    if (!room_for(page, &own)) {
        return TESS_E_MEMORY;
    }
    tess_html_heading(&page->html, "Sensors on the head");
    tess_html_paragraph(&page->html,
                        "Seen from above, nose up: the share of epochs in which a sensor is bad, "
                        "repaired or not, and its threshold. Under the pointer stand name and "
                        "value.");
    for (int32_t t = 0; t < (int32_t)page->model->n_type; t++) {
        draw_type(page, t, &own);
    }
    return TESS_OK;
}

// The reject log as a picture, the losses as a table, and the list of dropped epochs.
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 900, MAX_COLUMNS = 900, NAME_WIDTH = 90, LISTED = 2000 };

// The worst label of a group of epochs: bad, interpolated, good, not considered.
static int8_t worst(const tess_autoreject_log_info *log, int64_t channel, int64_t from, int64_t to)
{
    static const int8_t rank[] = {0, 1, 3, 2}; // of -1, 0, 1, 2
    int8_t found = -1;
    for (int64_t e = from; e < to; e++) {
        const int8_t label = log->labels[e * log->n_chan + channel];
        found = rank[label + 1] > rank[found + 1] ? label : found;
    }
    return found;
}

static void cell(tess_ar_page *page, double x, double y, double width, double height,
                 const char *colour)
{
    tess_text_printf(&page->html.text,
                     "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>\n",
                     x, y, width, height, colour);
}

// One channel: equal neighbours become one rectangle.
static void write_channel(tess_ar_page *page, int64_t channel, int64_t n_column, double y,
                          double height)
{
    static const char *const colours[] = {TESS_AR_IGNORED, TESS_AR_GOOD, TESS_AR_BAD,
                                          TESS_AR_REPAIRED};
    const tess_autoreject_log_info *log = page->log;
    const double step = (double)(WIDTH - NAME_WIDTH) / (double)n_column;
    int64_t start = 0;
    int8_t present = -2;
    for (int64_t k = 0; k <= n_column; k++) {
        const int8_t label = k < n_column ? worst(log, channel, k * log->n_epoch / n_column,
                                                  (k + 1) * log->n_epoch / n_column)
                                          : (int8_t)-2;
        if (label != present) {
            if (present != -2) {
                cell(page, NAME_WIDTH + (double)start * step, y, (double)(k - start) * step, height,
                     colours[present + 1]);
            }
            start = k;
            present = label;
        }
    }
}

static void write_marks(tess_ar_page *page, int64_t n_column, double height)
{
    const tess_autoreject_log_info *log = page->log;
    const double step = (double)(WIDTH - NAME_WIDTH) / (double)n_column;
    for (int64_t k = 0; k < n_column; k++) {
        int is_bad = 0;
        for (int64_t e = k * log->n_epoch / n_column; e < (k + 1) * log->n_epoch / n_column; e++) {
            is_bad = is_bad || log->bad_epochs[e];
        }
        if (is_bad) {
            cell(page, NAME_WIDTH + (double)k * step, 0, step, 8, TESS_AR_BAD);
            tess_text_printf(&page->html.text,
                             "<rect x=\"%.6g\" y=\"10\" width=\"%.6g\" height=\"%.6g\" "
                             "fill=\"#d7301f\" fill-opacity=\"0.35\"/>\n",
                             NAME_WIDTH + (double)k * step, step, height);
        }
    }
}

// Numbers of epochs, about ten of them: 1, 2 or 5 times a power of ten apart.
static void write_axis(tess_ar_page *page, double y)
{
    const int64_t n = page->log->n_epoch;
    const double step = (double)(WIDTH - NAME_WIDTH) / (double)n;
    int64_t apart = 1;
    for (int k = 0; n / apart > 12; k++) {
        apart = k % 3 == 1 ? apart / 2 * 5 : apart * 2;
    }
    for (int64_t e = 0; e < n; e += apart) {
        const double x = NAME_WIDTH + ((double)e + 0.5) * step;
        tess_text_printf(&page->html.text,
                         "<line x1=\"%.6g\" x2=\"%.6g\" y1=\"%.6g\" y2=\"%.6g\" "
                         "stroke=\"#888\"/><text x=\"%.6g\" y=\"%.6g\" font-size=\"10\" "
                         "text-anchor=\"middle\">%lld</text>\n",
                         x, x, y, y + 4, x, y + 14, (long long)e);
    }
    tess_text_printf(&page->html.text, "<text x=\"0\" y=\"%.6g\" font-size=\"10\">epoch</text>\n",
                     y + 14);
}

void tess_ar_page_matrix(tess_ar_page *page)
{
    const tess_autoreject_log_info *log = page->log;
    tess_html_heading(&page->html, "Reject log");
    if (log->n_epoch == 0 || log->n_chan == 0) {
        tess_html_paragraph(&page->html, "There are no epochs.");
        return;
    }
    tess_html_paragraph(&page->html,
                        "Channels downwards, epochs to the right: green good, blue bad and "
                        "interpolated, red bad, grey not considered; bad epochs are red on top.");
    const int64_t n_column = log->n_epoch < MAX_COLUMNS ? log->n_epoch : MAX_COLUMNS;
    const double row = log->n_chan <= 40 ? 12 : log->n_chan <= 100 ? 8 : 4;
    const int64_t name_step = row >= 12 ? 1 : row >= 8 ? 2 : 4;
    const double height = row * (double)log->n_chan;
    tess_text_printf(&page->html.text,
                     "<svg viewBox=\"0 0 %d %.6g\" width=\"%d\" role=\"img\" "
                     "shape-rendering=\"crispEdges\">\n",
                     WIDTH, height + 30, WIDTH);
    for (int64_t c = 0; c < log->n_chan; c++) {
        const double y = 10 + row * (double)c;
        if (c % name_step == 0) {
            tess_text_printf(&page->html.text, "<text x=\"0\" y=\"%.6g\" font-size=\"10\">",
                             y + 10);
            tess_ar_page_name(page, log->channel_names[c]);
            tess_text_add(&page->html.text, "</text>");
        }
        write_channel(page, c, n_column, y, row > 4 ? row - 1 : row);
    }
    write_marks(page, n_column, height);
    write_axis(page, height + 12);
    tess_text_add(&page->html.text, "</svg>\n");
}

static double mean_loss(const tess_autoreject_model_info *m, const tess_autoreject_type_fit *fit,
                        int64_t i, int64_t k)
{
    double sum = 0;
    for (int64_t f = 0; f < m->n_fold; f++) {
        sum += fit->loss[(i * m->n_n_interpolate + k) * m->n_fold + f];
    }
    return sum / (double)m->n_fold;
}

static void write_loss_row(tess_ar_page *page, const tess_autoreject_type_fit *fit, int64_t i,
                           double low, double high)
{
    const tess_autoreject_model_info *m = page->model;
    tess_text_printf(&page->html.text, "<tr><th>%g</th>", m->consensus[i]);
    for (int64_t k = 0; k < m->n_n_interpolate; k++) {
        const double value = mean_loss(m, fit, i, k);
        if (!isfinite(value)) {
            tess_text_add(&page->html.text, "<td class=\"n\">-</td>");
            continue;
        }
        const double share = high > low ? (value - low) / (high - low) : 0;
        const int is_choice = i == fit->consensus_index && k == fit->n_interpolate_index;
        tess_text_printf(
            &page->html.text, "<td class=\"n\" style=\"background:hsl(%d,70%%,80%%)%s\">%.5g</td>",
            (int)(120 - 120 * share), is_choice ? ";outline:3px solid #000;font-weight:bold" : "",
            value * tess_ar_unit_of(fit->type).scale);
    }
    tess_text_add(&page->html.text, "</tr>\n");
}

void tess_ar_page_loss(tess_ar_page *page)
{
    const tess_autoreject_model_info *m = page->model;
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        if (!fit->loss || fit->consensus_index < 0) {
            continue;
        }
        char title[64];
        snprintf(title, sizeof title, "Loss, %s (%s)", tess_autoreject_type_name(fit->type),
                 tess_ar_unit_of(fit->type).name);
        tess_html_heading(&page->html, title);
        tess_html_paragraph(&page->html,
                            "Root mean square difference between the mean of the kept and repaired "
                            "epochs and the median of the held-out ones, mean over folds; rows "
                            "consensus, columns n_interpolate; the framed cell was chosen.");
        double low = (double)INFINITY;
        double high = 0;
        for (int64_t i = 0; i < m->n_consensus * m->n_n_interpolate; i++) {
            const double v = mean_loss(m, fit, i / m->n_n_interpolate, i % m->n_n_interpolate);
            low = isfinite(v) ? fmin(low, v) : low;
            high = isfinite(v) ? fmax(high, v) : high;
        }
        tess_text_add(&page->html.text, "<table><tr><th></th>");
        for (int64_t k = 0; k < m->n_n_interpolate; k++) {
            tess_text_printf(&page->html.text, "<th class=\"n\">%lld</th>",
                             (long long)m->n_interpolate[k]);
        }
        tess_text_add(&page->html.text, "</tr>\n");
        for (int64_t i = 0; i < m->n_consensus; i++) {
            write_loss_row(page, fit, i, low, high);
        }
        tess_text_add(&page->html.text, "</table>\n");
    }
}

void tess_ar_page_dropped(tess_ar_page *page)
{
    static const char *const heads[] = {"epoch", "event", "bad channels"};
    const tess_autoreject_log_info *log = page->log;
    const int32_t *events =
        page->epochs ? tess_autoreject_epochs_get_info(page->epochs)->events : NULL;
    int64_t n_listed = 0;
    tess_html_heading(&page->html, "Dropped epochs");
    tess_html_table_begin(&page->html, heads, 3);
    for (int64_t e = 0; e < log->n_epoch && n_listed < LISTED; e++) {
        if (!log->bad_epochs[e]) {
            continue;
        }
        int64_t n_bad = 0;
        for (int64_t c = 0; c < log->n_chan; c++) {
            n_bad += log->labels[e * log->n_chan + c] > 0;
        }
        char text[3][32];
        snprintf(text[0], sizeof text[0], "%lld", (long long)e);
        snprintf(text[1], sizeof text[1], events ? "%d" : "-", events ? (int)events[3 * e + 2] : 0);
        snprintf(text[2], sizeof text[2], "%lld", (long long)n_bad);
        const char *const cells[] = {text[0], text[1], text[2]};
        tess_html_table_row(&page->html, cells, 3);
        n_listed++;
    }
    tess_html_table_end(&page->html);
    if (n_listed == 0) {
        tess_html_paragraph(&page->html, "None.");
    } else if (n_listed == LISTED) {
        tess_html_paragraph(&page->html, "The list ends here; the reject log has them all.");
    }
}

#include "page/html_grid.h"

#include "page/colour.h"

#include <math.h>

static void cell(tess_html *html, const tess_html_grid *grid, double value)
{
    if (isnan(value)) {
        tess_text_add(&html->text, "<td class=\"n\">-</td>");
        return;
    }
    const double fraction = log(value / grid->low) / log(grid->high / grid->low);
    uint8_t rgb[3];
    tess_colour_rising(fraction, rgb);
    // Black on light colours, white on dark ones.
    const int is_light = 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] > 140000;
    tess_text_printf(&html->text,
                     "<td class=\"n\" style=\"background:#%02x%02x%02x;color:%s;padding:.3em "
                     ".8em\">%.*f</td>",
                     (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2],
                     is_light ? "#000" : "#fff", grid->decimals, value);
}

void tess_html_grid_draw(tess_html *html, const tess_html_grid *grid, const double *values)
{
    tess_text_printf(&html->text, "<table><tr><th>%s \\ %s</th>", grid->row_label,
                     grid->column_label);
    for (int64_t j = 0; j < grid->n_column; j++) {
        tess_text_printf(&html->text, "<th class=\"n\">%lld</th>", (long long)grid->columns[j]);
    }
    tess_text_add(&html->text, "</tr>\n");
    for (int64_t i = 0; i < grid->n_row; i++) {
        tess_text_printf(&html->text, "<tr><th class=\"n\">%lld</th>", (long long)grid->rows[i]);
        for (int64_t j = 0; j < grid->n_column; j++) {
            cell(html, grid, values[i * grid->n_column + j]);
        }
        tess_text_add(&html->text, "</tr>\n");
    }
    tess_text_add(&html->text, "</table>\n");
}

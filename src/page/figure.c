// Figures as data for the page's script; figure_still.c draws them for those who have none.
#include "base/status.h"
#include "page/colour.h"
#include "page/figure_parts.h"
#include "tessera/sys/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN_CELLS = 4096 };

static void axis_json(tess_json *j, const char *key, const tess_figure *f, bool is_x)
{
    const tess_figure_axis *axis = is_x ? &f->x : &f->y;
    double low = 0;
    double high = 0;
    tess_figure_limits(f, is_x, &low, &high);
    tess_json_object_begin(j, key);
    tess_json_text(j, "label", axis->label ? axis->label : "");
    tess_json_text(j, "unit", axis->unit ? axis->unit : "");
    tess_json_real(j, "low", low);
    tess_json_real(j, "high", high);
    tess_json_bool(j, "log", axis->is_log);
    if (is_x && f->x_is_whole) {
        tess_json_int(j, "whole", 1);
    }
    tess_json_object_end(j);
}

static void doubles(tess_json *j, tess_html *html, const char *key, const double *values, int64_t n)
{
    if (values) {
        tess_json_int(j, key, tess_html_blob(html, values, (size_t)n * sizeof *values));
    }
}

static void write_index(tess_html *html, const tess_pyramid *p, tess_json *j)
{
    tess_text sizes;
    tess_text_init(&sizes, &html->ctx->heap);
    for (int l = 0; l < p->n_level; l++) {
        for (int64_t c = 0; c < p->levels[l].n_chunk; c++) {
            tess_text_append(&sizes, (const char *)&p->levels[l].chunks[c].bytes,
                             sizeof p->levels[l].chunks[c].bytes);
        }
    }
    html->text.no_memory |= sizes.no_memory;
    tess_json_int(j, "index", tess_html_blob(html, sizes.chars, sizes.used));
    tess_text_destroy(&sizes);
}

static void write_pyramid(tess_html *html, const tess_pyramid *p, tess_json *j)
{
    tess_json_object_begin(j, NULL);
    tess_json_int(j, "n", p->setup.n_column);
    tess_json_int(j, "rows", p->setup.n_row);
    tess_json_real(j, "first", p->setup.first);
    tess_json_real(j, "step", p->setup.step);
    tess_json_bool(j, "map", p->setup.is_map);
    tess_json_int(j, "bits", p->setup.bits);
    tess_json_int(j, "chunk", p->chunk_columns);
    tess_json_array_begin(j, "levels");
    for (int l = 0; l < p->n_level; l++) {
        tess_json_int(j, NULL, p->levels[l].n_column);
    }
    tess_json_array_end(j);
    write_index(html, p, j);
    const int data = ++html->n_blob;
    tess_json_int(j, "data", data);
    tess_json_object_end(j);
    tess_text_printf(&html->text, "<script type=\"application/octet-stream\" id=\"b%d\">", data);
    for (int l = 0; l < p->n_level; l++) {
        for (int64_t c = 0; c < p->levels[l].n_chunk; c++) {
            tess_html_base64(html, p->levels[l].chunks[c].packed, p->levels[l].chunks[c].bytes);
        }
    }
    tess_text_add(&html->text, "</script>\n");
}

// Ends a JSON text and writes it as an element.
static void finish_json(tess_html *html, tess_json *j, const char *attributes)
{
    const char *text = NULL;
    if (tess_json_finish(j, &text) == TESS_OK) {
        tess_html_json(html, attributes, text);
    } else {
        html->text.no_memory = true;
    }
    tess_json_destroy(j);
}

static int pyramid_id(tess_html *html, const tess_pyramid *p)
{
    for (int i = 0; i < html->n_pyramid; i++) {
        if (html->pyramids[i] == p) {
            return i + 1;
        }
    }
    tess_json *j = NULL;
    if (html->n_pyramid == TESS_HTML_PYRAMIDS || tess_json_create(html->ctx, 0, &j) != TESS_OK) {
        html->text.no_memory = true;
        return 0;
    }
    html->pyramids[html->n_pyramid++] = p;
    write_pyramid(html, p, j);
    char id[32];
    snprintf(id, sizeof id, "id=\"p%d\"", html->n_pyramid);
    finish_json(html, j, id);
    return html->n_pyramid;
}

static void series_json(tess_json *j, tess_html *html, const tess_figure *f,
                        const tess_figure_series *s)
{
    static const char *const styles[] = {"line", "points", "bars"};
    tess_json_object_begin(j, NULL);
    if (s->name) {
        tess_json_text(j, "name", s->name);
    }
    tess_json_text(j, "colour", tess_figure_colour(f, s));
    tess_json_text(j, "style", styles[s->style]);
    if (s->pyramid) {
        tess_json_int(j, "pyramid", pyramid_id(html, s->pyramid));
        tess_json_int(j, "row", s->row);
    } else {
        doubles(j, html, "x", s->x, s->n);
        doubles(j, html, "y", s->y, s->n);
        doubles(j, html, "low", s->low && s->high ? s->low : NULL, s->n);
        doubles(j, html, "high", s->low && s->high ? s->high : NULL, s->n);
    }
    tess_json_object_end(j);
}

// How the script finds cells: few as they are, many in 16 bits, kinds in 8.
static int map_bits(const tess_figure_map *map)
{
    return map->kinds ? 8 : map->n_column * map->n_row <= PLAIN_CELLS ? 32 : 16;
}

static void add_code(tess_text *high, tess_text *low, int bits, double value, const double range[2])
{
    const uint32_t nothing = (1u << bits) - 1;
    const double scale = range[1] > range[0] ? (nothing - 1) / (range[1] - range[0]) : 0;
    const bool is_there = isfinite(value) && value >= range[0] && value <= range[1];
    const uint32_t code = is_there ? (uint32_t)lround((value - range[0]) * scale) : nothing;
    const char bytes[2] = {(char)(code >> (bits - 8)), (char)code};
    tess_text_append(high, bytes, 1);
    if (bits == 16) {
        tess_text_append(low, bytes + 1, 1);
    }
}

// As chunks of pyramids: least and greatest, then the codes.
static void quantise_map(const tess_figure_map *map, int bits, tess_text *high, tess_text *low)
{
    double range[2] = {0, 254};
    if (!map->kinds) {
        range[0] = (double)INFINITY;
        range[1] = -(double)INFINITY;
        for (int64_t i = 0; i < map->n_column * map->n_row; i++) {
            tess_figure_widen(map->values[i], false, &range[0], &range[1]);
        }
    }
    tess_text_append(high, (const char *)range, sizeof range);
    for (int64_t c = 0; c < map->n_column; c++) {
        for (int64_t r = 0; r < (map->is_symmetric ? c + 1 : map->n_row); r++) {
            add_code(high, low, bits, map->values[c * map->n_row + r], range);
        }
    }
}

static int floats_blob(tess_html *html, const double *values, int64_t n)
{
    tess_text cells;
    tess_text_init(&cells, &html->ctx->heap);
    for (int64_t i = 0; i < n; i++) {
        const float value = (float)values[i];
        tess_text_append(&cells, (const char *)&value, sizeof value);
    }
    html->text.no_memory |= cells.no_memory;
    const int id = cells.no_memory ? 0 : tess_html_blob(html, cells.chars, cells.used);
    tess_text_destroy(&cells);
    return id;
}

static int codes_blob(tess_html *html, const tess_figure_map *map, int bits)
{
    tess_text codes;
    tess_text low;
    tess_text_init(&codes, &html->ctx->heap);
    tess_text_init(&low, &html->ctx->heap);
    quantise_map(map, bits, &codes, &low);
    tess_text_append(&codes, low.chars ? low.chars : "", low.used);
    html->text.no_memory |= codes.no_memory || low.no_memory;
    const int id = html->text.no_memory ? 0 : tess_html_blob(html, codes.chars, codes.used);
    tess_text_destroy(&codes);
    tess_text_destroy(&low);
    return id;
}

static int map_blob(tess_html *html, const tess_figure_map *map)
{
    const int bits = map_bits(map);
    return bits == 32 ? floats_blob(html, map->values, map->n_column * map->n_row)
                      : codes_blob(html, map, bits);
}

static int palette_blob(tess_html *html, const tess_figure_map *map)
{
    int *known = &html->palettes[map->colours];
    if (*known == 0) {
        uint8_t palette[256 * 3];
        tess_figure_palette(map, palette);
        *known = tess_html_blob(html, palette, sizeof palette);
    }
    return *known;
}

static void names_json(tess_json *j, const char *key, const char *const *names, int64_t n)
{
    if (names) {
        tess_json_array_begin(j, key);
        for (int64_t i = 0; i < n; i++) {
            tess_json_text(j, NULL, names[i]);
        }
        tess_json_array_end(j);
    }
}

static void kinds_json(tess_json *j, const tess_figure_map *map)
{
    tess_json_array_begin(j, "kinds");
    for (int k = 0; k < map->n_kind; k++) {
        uint8_t rgb[3];
        tess_figure_kind_colour(&map->kinds[k], rgb);
        tess_json_object_begin(j, NULL);
        tess_json_text(j, "name", map->kinds[k].name);
        tess_json_text(j, "colour", map->kinds[k].colour);
        tess_json_array_begin(j, "rgb");
        for (int i = 0; i < 3; i++) {
            tess_json_int(j, NULL, rgb[i]);
        }
        tess_json_array_end(j);
        tess_json_object_end(j);
    }
    tess_json_array_end(j);
}

static void map_json(tess_json *j, tess_html *html, const tess_figure_map *map)
{
    tess_json_object_begin(j, "map");
    if (map->pyramid) {
        tess_json_int(j, "pyramid", pyramid_id(html, map->pyramid));
    } else {
        tess_json_int(j, "values", map_blob(html, map));
        tess_json_int(j, "bits", map_bits(map));
        tess_json_bool(j, "mirror", map->is_symmetric && map_bits(map) < 32);
        tess_json_int(j, "n_column", map->n_column);
        tess_json_int(j, "n_row", map->n_row);
    }
    tess_json_text(j, "label", map->label ? map->label : "");
    tess_json_text(j, "unit", map->unit ? map->unit : "");
    if (map->kinds) {
        kinds_json(j, map);
    } else {
        tess_json_int(j, "palette", palette_blob(html, map));
        tess_json_real(j, "low", map->low);
        tess_json_real(j, "high", map->high);
        tess_json_bool(j, "log", map->is_log);
    }
    names_json(j, "columns", map->columns, map->n_column);
    names_json(j, "rows", map->rows, map->pyramid ? map->pyramid->setup.n_row : map->n_row);
    tess_json_bool(j, "numbers", map->has_numbers);
    if (map->lost_below > 0) {
        tess_json_real(j, "lost", map->lost_below);
        tess_json_text(j, "lost_name", map->lost_name ? map->lost_name : "");
    }
    if (map->also) {
        tess_json_int(j, "also", floats_blob(html, map->also, map->n_column * map->n_row));
        tess_json_text(j, "also_label", map->also_label);
        names_json(j, "also_units", map->also_units, map->n_row);
    }
    if (map->edit && map->kinds) {
        tess_json_text(j, "edit", map->edit);
    }
    tess_json_object_end(j);
}

static void marks_json(tess_json *j, tess_html *html, const tess_figure *f)
{
    tess_text ends;
    tess_text_init(&ends, &html->ctx->heap);
    tess_json_array_begin(j, "names");
    for (int64_t i = 0; i < f->n_mark; i++) {
        const double pair[2] = {f->marks[i].low, f->marks[i].high};
        tess_text_append(&ends, (const char *)pair, sizeof pair);
        tess_json_text(j, NULL, f->marks[i].name);
    }
    tess_json_array_end(j);
    html->text.no_memory |= ends.no_memory;
    if (ends.used > 0 && !ends.no_memory) {
        tess_json_int(j, "marks", tess_html_blob(html, ends.chars, ends.used));
    }
    tess_text_destroy(&ends);
}

// How fine a long row can be zoomed.
static void write_resolution(tess_html *html, const tess_figure *f)
{
    const tess_pyramid *p = f->map ? f->map->pyramid : NULL;
    for (int s = 0; s < f->n_series && !p; s++) {
        p = f->series[s].pyramid;
    }
    if (!p || tess_pyramid_finest(p) == 1) {
        return;
    }
    char text[256];
    const char *unit = f->x.unit ? f->x.unit : "";
    const int n =
        snprintf(text, sizeof text, "Zoomed in, a point stands for at least %lld bins of %.4g %s",
                 (long long)tess_pyramid_finest(p), p->setup.step, unit);
    if (memchr(p->is_window, 1, (size_t)p->levels[0].n_chunk)) {
        const long long fine = (long long)tess_pyramid_finest_window(p);
        snprintf(text + n, sizeof text - (size_t)n,
                 fine == 1 ? "; around marks, for single bins." : "; around marks, for %lld.",
                 fine);
    } else {
        snprintf(text + n, sizeof text - (size_t)n, ".");
    }
    tess_html_element(&html->text, "div class=\"note\"", text);
}

void tess_figure_draw(tess_html *html, const tess_figure *f)
{
    tess_json *j = NULL;
    if (tess_json_create(html->ctx, 0, &j) != TESS_OK) {
        html->text.no_memory = true;
        return;
    }
    tess_text_add(&html->text, "<figure class=\"live\">\n");
    tess_text_add(&html->text, "<div class=\"still\">");
    if (f->needs_script) {
        tess_text_add(&html->text,
                      "<p class=\"note\">This picture is drawn by the page's script.</p>");
    } else {
        tess_figure_still(html, f);
    }
    tess_text_add(&html->text, "</div>\n");
    tess_json_object_begin(j, NULL);
    tess_json_text(j, "title", f->title ? f->title : "");
    if (f->group || f->plane) {
        tess_json_text(j, "group", f->plane ? f->plane : f->group);
        tess_json_bool(j, "plane", f->plane != NULL);
    }
    axis_json(j, "x", f, true);
    axis_json(j, "y", f, false);
    tess_json_int(j, "height", f->height > 0 ? f->height : TESS_FIGURE_HEIGHT);
    tess_json_bool(j, "square", f->is_square);
    tess_json_array_begin(j, "series");
    for (int s = 0; s < f->n_series; s++) {
        series_json(j, html, f, &f->series[s]);
    }
    tess_json_array_end(j);
    marks_json(j, html, f);
    if (f->map) {
        map_json(j, html, f->map);
    }
    tess_json_object_end(j);
    finish_json(html, j, "class=\"plot\"");
    write_resolution(html, f);
    if (f->note) {
        tess_html_element(&html->text, "div class=\"note\"", f->note);
    }
    tess_text_add(&html->text, "</figure>\n");
}

void tess_figure_export(tess_html *html, const char *label, const char *template_json,
                        const char *file_name)
{
    tess_text_add(&html->text, "<p><button class=\"export\" hidden data-file=\"");
    tess_html_escaped(html, file_name);
    tess_text_add(&html->text, "\">");
    tess_html_escaped(html, label);
    tess_text_add(&html->text, "</button>");
    tess_html_json(html, "class=\"template\"", template_json);
    tess_text_add(&html->text, "</p>\n");
}

// A picture file per angle: measured, fitted and residual side by side.
#include "base/file.h"
#include "base/status.h"
#include "page/font.h"
#include "page/html_parts.h"
#include "page/png.h"
#include "runtime/origin.h"
#include "systems/xpcs/report/canvas.h"
#include "systems/xpcs/report/maps.h"
#include "systems/xpcs/result/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SIDE = 400,       // cells of a map, at most
    LEAST_SIDE = 300, // pixels of a map: small ones are drawn with larger cells
    TOP = 64,
    BOTTOM = 66,
    LEFT = 104,
    BAR = 16, // width of the scale
    BAR_GAP = 10,
    BAR_ROOM = 100, // for its numbers
    TICK = 6,
    TEXT = TESS_FONT_HEIGHT,
    SHADES = 120, // of each scale
    FIRST_SHADE = TESS_XP_FREE_COLOUR + 1
};

typedef struct figure {
    tess_xp_canvas canvas;
    const tess_xp_maps *maps;
    const tess_xpcs_data *data;
    int64_t zoom; // pixels of a cell
    int64_t size; // of a map
} figure;

static void number(double value, char text[32])
{
    snprintf(text, 32, "%.4g", fabs(value) < 1e-12 ? 0 : value);
}

static void centred(figure *f, int64_t x, int64_t y, const char *text)
{
    tess_xp_canvas_text(&f->canvas, x - tess_font_width(text) / 2, y, text);
}

// Both scales share the picture's colours: every second of each, and the grey of what is not there.
static void set_palette(figure *f)
{
    uint8_t scale[256 * 3];
    for (int k = 0; k < 2; k++) {
        tess_xp_maps_palette(k == 0 ? TESS_XP_MEASURED : TESS_XP_RESIDUAL, scale);
        for (int i = 0; i < SHADES; i++) {
            memcpy(f->canvas.palette + 3 * (FIRST_SHADE + k * SHADES + i),
                   scale + 3 * (i * 254 / (SHADES - 1)), 3);
        }
    }
    memcpy(f->canvas.palette + 3 * TESS_XP_FREE_COLOUR, scale + 3 * 255, 3);
}

static uint8_t colour_of(const figure *f, tess_xp_map which, double value)
{
    const int first = FIRST_SHADE + (which == TESS_XP_RESIDUAL ? SHADES : 0);
    const int shade = tess_xp_maps_colour(f->maps, which, value) * SHADES / 255;
    return (uint8_t)(isnan(value) ? TESS_XP_FREE_COLOUR : first + shade);
}

static void draw_cells(figure *f, int64_t x, tess_xp_map which)
{
    const int64_t side = f->maps->side;
    const double *values = f->maps->values + (int64_t)which * side * side;
    for (int64_t t2 = 0; t2 < side; t2++) {
        for (int64_t t1 = 0; t1 < side; t1++) {
            tess_xp_canvas_fill(&f->canvas, x + t1 * f->zoom, TOP + (side - 1 - t2) * f->zoom,
                                f->zoom, f->zoom, colour_of(f, which, values[t2 * side + t1]));
        }
    }
    tess_xp_canvas_frame(&f->canvas, x, TOP, f->size, f->size);
}

// Numbers along t1 below, and along t2 beside the first map.
static void draw_times(figure *f, int64_t x, bool is_first)
{
    const tess_xpcs_data_info *info = &f->data->info;
    const double first = tess_xp_frame_time(f->data, 0);
    const double last = tess_xp_frame_time(f->data, info->n_frame - 1);
    const double step = tess_html_step((last - first) * 1.2);
    for (double t = ceil(first / step) * step; t <= last * (1 + 1e-12); t += step) {
        const double share =
            ((t - first) / info->dt_s + 0.5) / (double)info->n_frame; // the middle of a frame
        const int64_t at = llround(share * (double)f->size);
        char text[32];
        number(t, text);
        tess_xp_canvas_fill(&f->canvas, x + at, TOP + f->size + 1, 1, TICK, TESS_XP_LINE);
        centred(f, x + at, TOP + f->size + TICK + 4, text);
        if (is_first) {
            tess_xp_canvas_fill(&f->canvas, x - 1 - TICK, TOP + f->size - at, TICK, 1,
                                TESS_XP_LINE);
            tess_xp_canvas_text(&f->canvas, x - TICK - 6 - tess_font_width(text),
                                TOP + f->size - at - TEXT / 2, text);
        }
    }
    centred(f, x + f->size / 2, TOP + f->size + TICK + 14 + TEXT, "t1 (s)");
    if (is_first) {
        tess_xp_canvas_text_up(&f->canvas, 20, TOP + f->size / 2 + tess_font_width("t2 (s)") / 2,
                               "t2 (s)");
    }
}

static void draw_scale(figure *f, int64_t x, tess_xp_map which)
{
    const double low = which == TESS_XP_RESIDUAL ? -f->maps->limit : f->maps->low;
    const double high = which == TESS_XP_RESIDUAL ? f->maps->limit : f->maps->high;
    const double step = tess_html_step(high - low);
    for (int64_t y = 0; y < f->size; y++) {
        const double value = high - (high - low) * (double)y / (double)(f->size - 1);
        tess_xp_canvas_fill(&f->canvas, x, TOP + y, BAR, 1, colour_of(f, which, value));
    }
    tess_xp_canvas_frame(&f->canvas, x, TOP, BAR, f->size);
    for (double v = ceil(low / step) * step; v <= high; v += step) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", fabs(v) < 1e-9 * step ? 0 : v);
        const int64_t y = TOP + llround((high - v) / (high - low) * (double)(f->size - 1));
        tess_xp_canvas_text(&f->canvas, x + BAR + 6, y - TEXT / 2, text);
    }
}

static void draw_title(figure *f, const tess_xpcs_result_info *info, int64_t angle)
{
    const tess_xpcs_data_info *d = &f->data->info;
    char text[160];
    int used = snprintf(text, sizeof text, "φ = %.1f°   q = %.4g /Å", d->phi[angle], d->q[angle]);
    if (info) {
        snprintf(text + used, sizeof text - (size_t)used,
                 "   contrast %.4f   offset %.4f   χ²/dof %.4g", info->contrast[angle],
                 info->offset[angle],
                 info->reduced_chi2_angle ? info->reduced_chi2_angle[angle] : (double)NAN);
    }
    tess_xp_canvas_text(&f->canvas, LEFT, 8, text);
}

static int64_t panel_width(const figure *f)
{
    return f->size + BAR_GAP + BAR + BAR_ROOM;
}

static void draw(figure *f, const tess_xpcs_result_info *info, int64_t angle, int n_panel)
{
    static const char *const names[3] = {"measured c2", "fitted c2", "(measured − fitted)/σ"};
    draw_title(f, info, angle);
    for (int k = 0; k < n_panel; k++) {
        const int64_t x = LEFT + k * (panel_width(f) + 16);
        centred(f, x + f->size / 2, TOP - TEXT - 8, names[k]);
        draw_cells(f, x, (tess_xp_map)k);
        draw_times(f, x, k == 0);
        draw_scale(f, x + f->size + BAR_GAP, (tess_xp_map)k);
    }
}

static tess_status write_picture(tess_context *ctx, const figure *f, const char *identity,
                                 const char *path, int overwrite)
{
    const char *input = f->data->info.path;
    const tess_origin origin = {
        .stage = "xpcs.figure", .identity = identity, .inputs = {input && input[0] ? input : NULL}};
    char *text = NULL;
    size_t text_bytes = 0;
    TESS_TRY(tess_origin_make(ctx, &origin, &text, &text_bytes));
    const tess_png picture = {f->canvas.width, f->canvas.height, f->canvas.pixels,
                              f->canvas.palette, text};
    uint8_t *file = NULL;
    size_t bytes = 0;
    tess_status status = tess_png_encode(&ctx->heap, &picture, &file, &bytes);
    if (status == TESS_OK) {
        status = tess_file_write_whole(path, file, bytes, overwrite);
        tess_heap_free(&ctx->heap, file, bytes, TESS_TAG_IO);
    }
    tess_heap_free(&ctx->heap, text, text_bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status write_figure(const tess_xp_sweep *sweep, const tess_xp_maps *maps, int64_t angle,
                                const char *path, int overwrite)
{
    const tess_xp_sweep_setup *setup = &sweep->setup;
    const int n_panel = setup->info ? 3 : 1;
    tess_heap *heap = &setup->ctx->heap;
    figure f = {.maps = maps, .data = setup->data};
    f.zoom = (LEAST_SIDE + maps->side - 1) / maps->side;
    f.size = f.zoom * maps->side;
    TESS_TRY(tess_xp_canvas_create(heap, LEFT + n_panel * (panel_width(&f) + 16),
                                   TOP + f.size + BOTTOM, &f.canvas));
    set_palette(&f);
    draw(&f, setup->info, angle, n_panel);
    const char *identity = setup->info ? setup->info->identity : NULL;
    const tess_status status = write_picture(setup->ctx, &f, identity, path, overwrite);
    tess_xp_canvas_destroy(&f.canvas);
    return status;
}

static tess_status figure_path(const tess_xpcs_data *data, const char *folder, int64_t angle,
                               char *path, size_t capacity)
{
    char name[TESS_XP_FIGURE_NAME];
    tess_xp_figure_name(&data->info, angle, name);
    if (snprintf(path, capacity, "%s/%s", folder, name) >= (int)capacity) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", folder);
    }
    return TESS_OK;
}

// Before any work: none of them exists, or all may be replaced.
static tess_status check_paths(const tess_xpcs_data *data, const char *folder, int overwrite)
{
    char path[1000];
    for (int64_t a = 0; a < data->info.n_angle; a++) {
        TESS_TRY(figure_path(data, folder, a, path, sizeof path));
        TESS_TRY(tess_file_check_distinct(data->info.path, path));
        if (!overwrite && access(path, F_OK) == 0) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
        }
    }
    return TESS_OK;
}

// All pictures of a group are there, of this very fit.
static tess_status find_group(const tess_xp_sweep_setup *setup, const char *folder, bool *is_there)
{
    char path[1000];
    *is_there = setup->info != NULL;
    for (int64_t k = 0; k < setup->n_angle && *is_there; k++) {
        TESS_TRY(figure_path(setup->data, folder, setup->first_angle + k, path, sizeof path));
        *is_there = tess_xp_is_written(setup->ctx, setup->info, path);
    }
    return TESS_OK;
}

static tess_status write_group(const tess_xp_sweep_setup *setup, const char *folder, int overwrite)
{
    tess_xp_sweep sweep;
    tess_xp_maps maps;
    char path[1000];
    TESS_TRY(tess_xp_sweep_run(setup, &sweep));
    tess_status status = tess_xp_maps_create(&sweep, &maps);
    for (int64_t k = 0; k < setup->n_angle && status == TESS_OK; k++) {
        const int64_t angle = setup->first_angle + k;
        tess_xp_maps_fill(&maps, &sweep, k);
        status = figure_path(setup->data, folder, angle, path, sizeof path);
        if (status == TESS_OK) {
            status = write_figure(&sweep, &maps, angle, path, overwrite);
        }
        if (status == TESS_OK) {
            status = tess_context_check_cancel(setup->ctx);
        }
    }
    tess_xp_maps_destroy(&maps);
    tess_xp_sweep_free(&sweep);
    return status;
}

tess_status tess_xp_figures_of(tess_context *ctx, const tess_xpcs_result_info *info,
                               tess_xpcs_data *data, const tess_xpcs_model *model,
                               const char *folder, int overwrite)
{
    if (!data || !folder) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL; figures need data and a folder",
                  data ? "folder" : "data");
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create this folder: %s", folder, strerror(errno));
    }
    TESS_TRY(check_paths(data, folder, overwrite));
    const int64_t n_angle = data->info.n_angle;
    const int64_t group =
        tess_xp_sweep_angles(ctx, SIDE < data->info.n_frame ? SIDE : data->info.n_frame);
    for (int64_t first = 0; first < n_angle; first += group) {
        const tess_xp_sweep_setup setup = {.ctx = ctx,
                                           .data = data,
                                           .info = info,
                                           .model = model,
                                           .first_angle = first,
                                           .n_angle =
                                               first + group < n_angle ? group : n_angle - first,
                                           .side = SIDE,
                                           .stage = "xpcs.figures"};
        bool is_there = false;
        if (overwrite == 2) {
            TESS_TRY(find_group(&setup, folder, &is_there));
        }
        if (!is_there) {
            TESS_TRY(write_group(&setup, folder, overwrite != 0));
        }
    }
    return TESS_OK;
}

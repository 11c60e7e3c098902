// Templates: the table of keys as a commented configuration that changes nothing.
#include "base/status.h"
#include "base/text.h"
#include "systems/xpcs/settings/settings.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 96, NUMBER_CHARS = 32 };

typedef struct writer {
    tess_text text;
    tess_xpcs_mode mode;
    bool is_minimal;
    char group[TESS_XP_PATH_CHARS]; // the group that is open, "" for the top
} writer;

static int depth_of(const char *path)
{
    int depth = 0;
    for (; *path != '\0'; path++) {
        depth += *path == '.';
    }
    return depth;
}

// Opens the groups of a path that are not open yet.
static void open_groups(writer *w, const char *path)
{
    const char *dot = strrchr(path, '.');
    const size_t length = dot != NULL ? (size_t)(dot - path) : 0;
    size_t same = 0;
    // How much of the group is open already, in whole keys.
    for (size_t i = 0; i <= length; i++) {
        const bool is_end =
            (i == length || path[i] == '.') && (w->group[i] == '\0' || w->group[i] == '.');
        same = is_end ? i : same;
        if (i < length && w->group[i] != path[i]) {
            break;
        }
    }
    for (size_t i = same; i < length;) {
        const char *key = path + i + (path[i] == '.');
        const size_t n = strcspn(key, ".");
        char above[TESS_XP_PATH_CHARS];
        snprintf(above, sizeof above, "%.*s", (int)(key - path), path);
        tess_text_printf(&w->text, "%s%*s%.*s:\n", i == 0 ? "\n" : "", 2 * depth_of(above), "",
                         (int)n, key);
        i = (size_t)(key - path) + n;
    }
    snprintf(w->group, sizeof w->group, "%.*s", (int)length, path);
}

// A comment of whole words.
static void comment(writer *w, int indent, const char *words)
{
    while (*words != '\0') {
        size_t n = strlen(words);
        const size_t room = (size_t)(WIDTH - indent - 2);
        if (n > room) {
            for (n = room; n > 0 && words[n] != ' '; n--) {
            }
            n = n > 0 ? n : room;
        }
        tess_text_printf(&w->text, "%*s# %.*s\n", indent, "", (int)n, words);
        words += n + (words[n] == ' ');
    }
}

static void describe(writer *w, const tess_xp_rule *rule, int indent)
{
    char words[1024];
    char allowed[TESS_XP_ALLOWED_CHARS];
    const bool has_range =
        rule->type == TESS_XP_REAL || rule->type == TESS_XP_INT || rule->type == TESS_XP_CHOICE;
    snprintf(words, sizeof words, "%s%s%s%s", rule->help, has_range ? " (" : "",
             has_range ? tess_xp_allowed(rule, allowed) : "", has_range ? ")" : "");
    comment(w, indent, words);
}

static void write_names(writer *w, int indent)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params(w->mode, &n);
    tess_text_printf(&w->text, "%*sparameter_names: [", indent, "");
    for (int64_t i = 0; i < n; i++) {
        tess_text_printf(&w->text, "%s%s", i > 0 ? ", " : "", params[i].name);
    }
    tess_text_add(&w->text, "]\n");
}

static void write_number(char text[NUMBER_CHARS], double number)
{
    const tess_param param = {.type = TESS_PARAM_REAL};
    tess_param_get_text(&param, &number, text, NUMBER_CHARS);
    // With a point: without one, exponents are text to the original's reader.
    char *exponent = strchr(text, 'e');
    if (exponent != NULL && strchr(text, '.') == NULL) {
        char tail[NUMBER_CHARS];
        snprintf(tail, sizeof tail, "%s", exponent);
        snprintf(exponent, NUMBER_CHARS - (size_t)(exponent - text), ".0%s", tail);
    }
}

static void write_bounds(writer *w, int indent)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params(w->mode, &n);
    tess_text_printf(&w->text, "%*sbounds:\n", indent, "");
    for (int64_t i = -2; i < n; i++) {
        const tess_xpcs_param_info *p =
            i < 0 ? tess_xpcs_scaling_param((int32_t)i + 2) : &params[i];
        char lower[NUMBER_CHARS];
        char upper[NUMBER_CHARS];
        write_number(lower, p->lower);
        write_number(upper, p->upper);
        tess_text_printf(&w->text, "%*s- {name: %s, min: %s, max: %s}%s%s\n", indent + 2, "",
                         p->name, lower, upper, p->unit[0] ? "  # " : "", p->unit);
    }
}

// Lists and mappings whose rows stand for many keys; true if this was one.
static bool write_many(writer *w, const tess_xp_rule *rule, int indent)
{
    const char *path = rule->row->path;
    if (strcmp(path, "parameter_space.bounds[].name") == 0) {
        comment(w, indent, "how far each parameter may go; equal bounds fix it");
        write_bounds(w, indent);
    } else if (strcmp(path, "phi_filtering.target_ranges[].min_angle") == 0) {
        comment(w, indent, "degrees, inclusive; min_angle above max_angle wraps through 180");
        tess_text_printf(&w->text,
                         "%*starget_ranges:\n%*s- {min_angle: -10, max_angle: 10}\n"
                         "%*s- {min_angle: 85, max_angle: 95}\n",
                         indent, "", indent + 2, "", indent + 2, "");
    } else if (strcmp(path, "initial_parameters.fixed_parameters.*") == 0) {
        comment(w, indent, "parameters that stay at a value, such as {beta: 0.0}");
        tess_text_printf(&w->text, "%*sfixed_parameters: null\n", indent, "");
    } else if (strcmp(path, "optimization.nlsq.x_scale_map.*") == 0) {
        describe(w, rule, indent);
        tess_text_printf(&w->text, "%*sx_scale_map: null\n", indent, "");
    }
    return strpbrk(path, "*[") != NULL;
}

static bool is_wanted(const writer *w, const tess_xp_setting *row)
{
    const bool is_gap = strstr(row->path, "stator_rotor_gap") != NULL;
    return row->use == TESS_XP_USED && (row->flags & TESS_XP_SPELLING) == 0 &&
           (!w->is_minimal || (row->flags & TESS_XP_MINIMAL) != 0) &&
           (!is_gap || w->mode == TESS_XPCS_LAMINAR_FLOW);
}

static void write_value(writer *w, const tess_xp_rule *rule, int indent)
{
    const tess_xp_setting *row = rule->row;
    const char *dot = strrchr(row->path, '.');
    const char *key = dot != NULL ? dot + 1 : row->path;
    char text[TESS_XP_DEFAULT_CHARS];
    tess_xp_default(rule, text);
    const tess_param real = {
        .name = key, .type = TESS_PARAM_REAL, .minimum = -DBL_MAX, .maximum = DBL_MAX, .unit = ""};
    double number = 0;
    if (rule->type == TESS_XP_REAL && tess_param_set_text(&real, &number, text) == TESS_OK) {
        write_number(text, number);
    }
    const bool is_left = text[0] == '\0' || ((row->flags & TESS_XP_NULL) != 0 && row->example);
    const char *value = is_left ? "null" : text;
    const char *example = is_left && row->example != NULL ? row->example : "";
    if (strcmp(row->path, "analysis_mode") == 0) {
        value = tess_xpcs_mode_name(w->mode);
    }
    tess_text_printf(&w->text, "%*s%s: %s%s%s\n", indent, "", key, value,
                     example[0] ? "  # such as " : "", example);
}

static void write_row(writer *w, const tess_xp_setting *row)
{
    const tess_xp_rule rule = tess_xp_rule_of(row);
    char path[TESS_XP_PATH_CHARS];
    // Rows of items and of any name stand where their list or mapping stands.
    size_t n = strcspn(row->path, "[*");
    n -= n > 0 && row->path[n - 1] == '.';
    snprintf(path, sizeof path, "%.*s", (int)n, row->path);
    const int indent = 2 * depth_of(path);
    open_groups(w, path);
    if (!write_many(w, &rule, indent)) {
        describe(w, &rule, indent);
        if (strcmp(row->path, "initial_parameters.parameter_names") == 0) {
            write_names(w, indent);
        } else {
            write_value(w, &rule, indent);
        }
    }
}

tess_status tess_xpcs_settings_template(tess_context *ctx, tess_xpcs_mode mode, int minimal,
                                        char **text)
{
    tess_error_clear();
    *text = NULL;
    if (tess_xpcs_mode_name(mode) == NULL) {
        TESS_FAIL(TESS_E_ARGUMENT, "mode %d does not exist", (int)mode);
    }
    int64_t n = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n);
    writer w = {.mode = mode, .is_minimal = minimal != 0};
    tess_text_init(&w.text, &ctx->heap);
    tess_text_printf(
        &w.text, "# A configuration of Tessera's xpcs fits, in the schema of homodyne 2.\n"
                 "# Every value is the default; null leaves a choice to the program, or to you.\n\n"
                 "metadata:\n  config_version: \"2.23\"\n\n");
    for (int64_t i = 0; i < n; i++) {
        if (is_wanted(&w, &rows[i])) {
            write_row(&w, &rows[i]);
        }
    }
    const char *finished = NULL;
    tess_status status = tess_text_finish(&w.text, &finished);
    if (status == TESS_OK) {
        status = tess_text_hand_out(finished, text);
    }
    tess_text_destroy(&w.text);
    return status;
}

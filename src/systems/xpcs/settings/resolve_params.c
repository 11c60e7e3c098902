// Parameters by name: where they start, how far they may go, and which stay.
#include "base/guess.h"
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Two components have names of their own; those of laminar flow are known in static modes, too.
// Behind the physical parameters are contrast and offset.
enum { MOST_PHYSICAL = TESS_XPCS_N_TWO, MOST_NAMES = MOST_PHYSICAL + 2, F2 = 11 };

typedef struct params {
    tess_xp_resolution *r;
    const tess_xpcs_param_info *physical;
    int64_t n_physical;
    int64_t n_mode; // those of the mode; the others are left alone
    double *start;  // [n_physical], NaN: from the data
    double *lower;
    double *upper;
    double *x_scale;
    uint8_t *is_fixed;
    bool is_active[MOST_PHYSICAL];
    bool was_aliased[MOST_NAMES];
    double *prior; // [2][TESS_XPCS_MAX_PARAM] of the sampler: means, standard deviations
    bool has_start;
    bool has_fixed;
    bool has_scale;
    bool has_other_mode; // somebody spoke of parameters the mode does not have
} params;

static const tess_xpcs_param_info *info_of(const params *p, int64_t index)
{
    return index < p->n_physical ? &p->physical[index]
                                 : tess_xpcs_scaling_param((int32_t)(index - p->n_physical));
}

static bool is_two(const params *p)
{
    return p->r->info.model.mode == TESS_XPCS_TWO_COMPONENT;
}

static bool is_alias(const char *aliases, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = aliases; *at != '\0';) {
        const size_t n = strcspn(at, "|");
        if (n == length && strncmp(at, name, n) == 0) {
            return true;
        }
        at += n + (at[n] == '|');
    }
    return false;
}

// The position of a name; an error with the nearest one if there is none.
static tess_status find_name(params *p, const tess_xp_value *value, const char *name,
                             int64_t *index)
{
    tess_guess guess;
    tess_guess_init(&guess, name);
    for (*index = 0; *index < p->n_physical + 2; ++*index) {
        const tess_xpcs_param_info *info = info_of(p, *index);
        if (strcmp(info->name, name) == 0) {
            return TESS_OK;
        }
        if (is_alias(info->aliases, name)) {
            if (!p->was_aliased[*index]) {
                tess_text_printf(&p->r->notices, "parameter name %s is an alias of %s\n", name,
                                 info->name);
            }
            p->was_aliased[*index] = true;
            return TESS_OK;
        }
        tess_guess_offer(&guess, info->name, strlen(info->name));
    }
    const bool is_near = tess_guess_is_near(&guess);
    return tess_xp_complain(p->r->settings, value, "'%.80s' is no parameter;%s%s%s there are %s",
                            name, is_near ? " did you mean '" : "", is_near ? guess.best : "",
                            is_near ? "'?" : "", guess.known);
}

// Whether the mode has the parameter; remembers that somebody asked for one it does not have.
static bool is_of_mode(params *p, int64_t index)
{
    const bool is_here = index < p->n_mode;
    p->has_other_mode = p->has_other_mode || (!is_here && index < p->n_physical);
    return is_here;
}

static tess_status read_names(params *p, const tess_xp_value *names, int64_t *order)
{
    bool seen[MOST_NAMES] = {false};
    int64_t i = 0;
    if (names->n_item > p->n_physical + 2) {
        return tess_xp_complain(p->r->settings, names, "%lld names; there are %lld parameters",
                                (long long)names->n_item, (long long)p->n_physical + 2);
    }
    for (const tess_document_entry *e = names->node->first; e != NULL; e = e->next, i++) {
        TESS_TRY(find_name(p, names, e->value->text, &order[i]));
        if (seen[order[i]]) {
            return tess_xp_complain(p->r->settings, names, "%s is named twice",
                                    info_of(p, order[i])->name);
        }
        seen[order[i]] = true;
    }
    return TESS_OK;
}

static tess_status read_start(params *p)
{
    const tess_xpcs_settings *settings = p->r->settings;
    const tess_xp_value *names = tess_xp_said(settings, "initial_parameters.parameter_names");
    const tess_xp_value *values = tess_xp_said(settings, "initial_parameters.values");
    int64_t order[MOST_NAMES];
    int64_t n = p->n_mode;
    for (int64_t i = 0; i < MOST_NAMES; i++) {
        order[i] = i;
    }
    if (names != NULL) {
        TESS_TRY(read_names(p, names, order));
        n = names->n_item;
    }
    if (values == NULL) {
        return TESS_OK;
    }
    if (values->n_item != n) {
        return tess_xp_complain(settings, values, "%lld values for %lld %s",
                                (long long)values->n_item, (long long)n,
                                names != NULL ? "parameter_names" : "parameters of the mode");
    }
    for (int64_t i = 0; i < n; i++) {
        if (is_of_mode(p, order[i])) {
            p->start[order[i]] = values->numbers[i];
            p->has_start = true;
        }
    }
    return TESS_OK;
}

// Numbers by name below a key: "initial_parameters.fixed_parameters." and so on.
typedef tess_status (*named_fn)(params *p, const tess_xp_value *value, int64_t index);

static tess_status each_named(params *p, const char *prefix, named_fn take)
{
    const tess_xpcs_settings *settings = p->r->settings;
    const size_t n = strlen(prefix);
    for (int64_t i = 0; i < settings->n_value; i++) {
        const tess_xp_value *value = settings->values[i];
        int64_t index = 0;
        if (value->n_shadow != 0 || value->is_null || strncmp(value->path, prefix, n) != 0) {
            continue;
        }
        TESS_TRY(find_name(p, value, value->path + n, &index));
        if (index >= p->n_physical) {
            return tess_xp_complain(settings, value,
                                    "contrast and offset are not set here; see "
                                    "initial_parameters.per_angle_scaling and per_angle_mode");
        }
        if (is_of_mode(p, index)) {
            TESS_TRY(take(p, value, index));
        }
    }
    return TESS_OK;
}

static tess_status take_start(params *p, const tess_xp_value *value, int64_t index)
{
    p->start[index] = value->number;
    p->has_start = true;
    return TESS_OK;
}

static tess_status take_scale(params *p, const tess_xp_value *value, int64_t index)
{
    p->x_scale[index] = value->number;
    p->has_scale = true;
    return TESS_OK;
}

static tess_status take_fixed(params *p, const tess_xp_value *value, int64_t index)
{
    const char *name = info_of(p, index)->name;
    if (tess_xp_said(p->r->settings, "initial_parameters.active_parameters") != NULL &&
        p->is_active[index]) {
        return tess_xp_complain(p->r->settings, value,
                                "%s is in active_parameters as well; it cannot be fitted and stay",
                                name);
    }
    p->start[index] = value->number;
    p->is_fixed[index] = 1;
    p->has_fixed = true;
    if (value->number < p->lower[index] || value->number > p->upper[index]) {
        tess_text_printf(&p->r->notices, "%s is fixed at %g outside its bounds %g to %g\n", name,
                         value->number, p->lower[index], p->upper[index]);
        p->lower[index] = fmin(p->lower[index], value->number);
        p->upper[index] = fmax(p->upper[index], value->number);
    }
    return TESS_OK;
}

static tess_status read_active(params *p)
{
    const tess_xp_value *active =
        tess_xp_said(p->r->settings, "initial_parameters.active_parameters");
    int64_t order[MOST_NAMES];
    if (active == NULL) {
        return TESS_OK;
    }
    TESS_TRY(read_names(p, active, order));
    for (int64_t i = 0; i < active->n_item; i++) {
        if (order[i] < p->n_physical) {
            p->is_active[order[i]] = is_of_mode(p, order[i]);
        }
    }
    for (int64_t i = 0; i < p->n_mode; i++) {
        p->is_fixed[i] = !p->is_active[i];
        p->has_fixed = p->has_fixed || !p->is_active[i];
    }
    if (is_two(p) && p->is_active[F2]) {
        p->is_fixed[F2] = 2; // free, although nothing but f0 exp(-f1 f2) is known of it
        p->has_fixed = true;
    }
    return TESS_OK;
}

static tess_status take_bounds(params *p, const tess_xp_value *name, const tess_xp_value *low,
                               const tess_xp_value *high, bool seen[MOST_NAMES])
{
    tess_xpcs_fit_config *fit = &p->r->info.fit;
    int64_t index = 0;
    TESS_TRY(find_name(p, name, name->node->text, &index));
    if (seen[index]) {
        return tess_xp_complain(p->r->settings, name, "bounds of %s are given twice",
                                info_of(p, index)->name);
    }
    seen[index] = true;
    p->has_other_mode = p->has_other_mode || (index >= p->n_mode && index < p->n_physical);
    double *lower =
        index < p->n_physical ? &p->lower[index] : &fit->scaling_lower[index - p->n_physical];
    double *upper =
        index < p->n_physical ? &p->upper[index] : &fit->scaling_upper[index - p->n_physical];
    *lower = low != NULL ? low->number : *lower;
    *upper = high != NULL ? high->number : *upper;
    if (*lower > *upper) {
        return tess_xp_complain(p->r->settings, low != NULL ? low : high,
                                "the lower bound of %s, %g, is above the upper, %g",
                                info_of(p, index)->name, *lower, *upper);
    }
    return TESS_OK;
}

// A prior of the file, in the sampler's arrays, which are the settings' own.
static void set_prior(params *p, int64_t index, const tess_xp_value *mean, const tess_xp_value *sd)
{
    double *means = p->prior;
    double *sds = p->prior + TESS_XPCS_MAX_PARAM;
    double *pair =
        index == p->n_physical ? p->r->sample->contrast_prior : p->r->sample->offset_prior;
    double *to_mean = index < p->n_physical ? &means[index] : &pair[0];
    double *to_sd = index < p->n_physical ? &sds[index] : &pair[1];
    *to_mean = mean != NULL ? mean->number : *to_mean;
    *to_sd = sd != NULL ? sd->number : *to_sd;
}

// "parameter_space.priors.D0.mu", and beside the bounds; the former wins.
static tess_status read_priors(params *p)
{
    static const char list[] = "parameter_space.bounds";
    static const char prefix[] = "parameter_space.priors.";
    const tess_xp_value **name = NULL;
    const tess_xp_value **mean = NULL;
    const tess_xp_value **sd = NULL;
    int64_t n = 0;
    int64_t index = 0;
    TESS_TRY(tess_xp_items(p->r, list, "name", &name, &n));
    TESS_TRY(tess_xp_items(p->r, list, "prior_mu", &mean, &n));
    TESS_TRY(tess_xp_items(p->r, list, "prior_sigma", &sd, &n));
    for (int64_t i = 0; i < n; i++) {
        if (name[i] != NULL) {
            TESS_TRY(find_name(p, name[i], name[i]->node->text, &index));
            set_prior(p, index, mean[i], sd[i]);
        }
    }
    for (int64_t i = 0; i < p->r->settings->n_value; i++) {
        const tess_xp_value *value = p->r->settings->values[i];
        const char *dot = strrchr(value->path, '.');
        const bool is_mean = dot != NULL && strcmp(dot, ".mu") == 0;
        char text[TESS_XP_PATH_CHARS];
        if (value->n_shadow != 0 || value->is_null || dot == NULL ||
            strncmp(value->path, prefix, sizeof prefix - 1) != 0 ||
            (!is_mean && strcmp(dot, ".sigma") != 0)) {
            continue;
        }
        const char *at = value->path + sizeof prefix - 1;
        snprintf(text, sizeof text, "%.*s", (int)(dot - at), at);
        TESS_TRY(find_name(p, value, text, &index));
        set_prior(p, index, is_mean ? value : NULL, is_mean ? NULL : value);
    }
    return TESS_OK;
}

static tess_status read_bounds(params *p)
{
    static const char list[] = "parameter_space.bounds";
    const tess_xp_value **name = NULL;
    const tess_xp_value **low = NULL;
    const tess_xp_value **high = NULL;
    int64_t n = 0;
    bool seen[MOST_NAMES] = {false};
    TESS_TRY(tess_xp_items(p->r, list, "name", &name, &n));
    TESS_TRY(tess_xp_items(p->r, list, "min", &low, &n));
    TESS_TRY(tess_xp_items(p->r, list, "max", &high, &n));
    for (int64_t i = 0; i < n; i++) {
        const tess_xp_value *there = low[i] != NULL ? low[i] : high[i];
        if (name[i] == NULL && there != NULL) {
            return tess_xp_complain(p->r->settings, there, "whose bounds? Add name to the item");
        }
        if (name[i] == NULL) {
            TESS_FAIL(TESS_E_CONFIG, "%s: %s[%lld] has no name", p->r->settings->path, list,
                      (long long)i);
        }
        TESS_TRY(take_bounds(p, name[i], low[i], high[i], seen));
    }
    return TESS_OK;
}

static tess_status read_scaling(params *p)
{
    const tess_xpcs_settings *settings = p->r->settings;
    tess_xpcs_fit_config *fit = &p->r->info.fit;
    const tess_xp_value *contrast =
        tess_xp_said(settings, "initial_parameters.per_angle_scaling.contrast");
    const tess_xp_value *offset =
        tess_xp_said(settings, "initial_parameters.per_angle_scaling.offset");
    if (contrast != NULL && offset != NULL && contrast->n_item != offset->n_item) {
        return tess_xp_complain(settings, offset, "%lld offsets for %lld contrasts",
                                (long long)offset->n_item, (long long)contrast->n_item);
    }
    const tess_xp_value *there = contrast != NULL ? contrast : offset;
    if (there != NULL && there->n_item == 0) {
        return tess_xp_complain(settings, there,
                                "an empty list; write null to leave it to the "
                                "data");
    }
    fit->contrast = contrast != NULL ? contrast->numbers : NULL;
    fit->offset = offset != NULL ? offset->numbers : NULL;
    fit->n_scaling = there != NULL ? there->n_item : 0;
    return TESS_OK;
}

static tess_status allocate(params *p)
{
    double *numbers =
        tess_blocks_alloc(&p->r->memory, 4 * p->n_physical, sizeof *numbers, "parameters");
    p->is_fixed = tess_blocks_alloc(&p->r->memory, p->n_physical, 1, "parameters");
    if (numbers == NULL || p->is_fixed == NULL) {
        return TESS_E_MEMORY;
    }
    p->start = numbers;
    p->lower = numbers + p->n_physical;
    p->upper = p->lower + p->n_physical;
    p->x_scale = p->upper + p->n_physical;
    for (int64_t i = 0; i < p->n_physical; i++) {
        p->start[i] = (double)NAN;
        p->x_scale[i] = (double)NAN;
        p->lower[i] = info_of(p, i)->lower;
        p->upper[i] = info_of(p, i)->upper;
    }
    return TESS_OK;
}

// Fixed ones without a value stay at the table's start; equal bounds fix, too.
static void finish(params *p)
{
    tess_xpcs_fit_config *fit = &p->r->info.fit;
    for (int64_t i = 0; i < p->n_mode; i++) {
        if (p->is_fixed[i] != 1 && p->lower[i] == p->upper[i]) {
            p->start[i] = p->lower[i];
            p->is_fixed[i] = 1;
            p->has_fixed = true;
        }
        if (p->is_fixed[i] == 1 && isnan(p->start[i])) {
            p->start[i] = info_of(p, i)->start;
        }
    }
    fit->start = p->has_start || p->has_fixed ? p->start : NULL;
    fit->is_fixed = p->has_fixed ? p->is_fixed : NULL;
    fit->x_scale = p->has_scale ? p->x_scale : NULL;
    fit->lower = p->lower;
    fit->upper = p->upper;
    if (p->has_other_mode) {
        tess_text_printf(&p->r->notices, "parameters of laminar_flow do not count in %s\n",
                         tess_xpcs_mode_name((tess_xpcs_mode)p->r->info.model.mode));
    }
}

tess_status tess_xp_resolve_params(tess_xp_resolution *r)
{
    params p = {.r = r, .prior = r->priors};
    tess_xpcs_params((tess_xpcs_mode)r->info.model.mode, &p.n_mode);
    p.physical = tess_xpcs_params(is_two(&p) ? TESS_XPCS_TWO_COMPONENT : TESS_XPCS_LAMINAR_FLOW,
                                  &p.n_physical);
    TESS_TRY(allocate(&p));
    TESS_TRY(read_bounds(&p));
    TESS_TRY(read_priors(&p));
    TESS_TRY(read_start(&p));
    TESS_TRY(each_named(&p, "initial_parameters.values.", take_start));
    TESS_TRY(read_active(&p));
    TESS_TRY(each_named(&p, "initial_parameters.fixed_parameters.", take_fixed));
    TESS_TRY(each_named(&p, "optimization.nlsq.x_scale_map.", take_scale));
    TESS_TRY(read_scaling(&p));
    finish(&p);
    return TESS_OK;
}

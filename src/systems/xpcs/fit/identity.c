#include "base/status.h"
#include "systems/xpcs/fit/journal.h"

#include <stdio.h>
#include <string.h>

// Options that change how a fit runs, not what it finds.
static const char *const without_effect = "|strategy|fast|chunk_tiles|checkpoint_iterations|"
                                          "max_retries|chi2_threshold|";

static void mix(tess_hash *hash, const void *data, size_t bytes)
{
    if (!data || bytes == 0) {
        return;
    }
    const tess_hash parts[2] = {*hash, tess_hash_bytes(tess_hash_default(), data, bytes)};
    *hash = tess_hash_bytes(tess_hash_default(), parts, sizeof parts);
}

static size_t write_table(const tess_param_table *table, const void *values, char *text,
                          size_t used, size_t capacity)
{
    for (int64_t i = 0; i < table->n_param && used < capacity; i++) {
        char value[64];
        char name[64];
        snprintf(name, sizeof name, "|%s|", table->params[i].name);
        if (strstr(without_effect, name)) {
            continue;
        }
        tess_param_get_text(&table->params[i], values, value, sizeof value);
        used += (size_t)snprintf(text + used, capacity - used, "%s%s=%s", used ? ";" : "",
                                 table->params[i].name, value);
    }
    return used;
}

void tess_xp_identity_make(const tess_context *ctx, const tess_xpcs_data *data,
                           const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                           size_t state_bytes, tess_xp_identity *id)
{
    int64_t n_param = 0;
    (void)tess_xpcs_params((tess_xpcs_mode)model->mode, &n_param);
    const size_t param_bytes = (size_t)n_param * sizeof(double);
    const size_t angle_bytes = (size_t)data->info.n_angle * sizeof(double);

    memset(id, 0, sizeof *id);
    snprintf(id->version, sizeof id->version, "%s", TESS_VERSION);
    snprintf(id->backend, sizeof id->backend, "%s", ctx->cpu.backend->name);
    const size_t used =
        write_table(tess_xpcs_model_params(), model, id->settings, 0, sizeof id->settings);
    write_table(tess_xpcs_fit_params(), config, id->settings, used, sizeof id->settings);
    id->data = tess_xp_data_identity(data);
    const double *const vectors[] = {config->start, config->lower, config->upper, config->x_scale};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        mix(&id->vectors, vectors[i], vectors[i] ? param_bytes : 0);
        mix(&id->vectors, &i, sizeof i);
    }
    mix(&id->vectors, config->is_fixed, config->is_fixed ? (size_t)n_param : 0);
    mix(&id->vectors, config->contrast, config->contrast ? angle_bytes : 0);
    mix(&id->vectors, &n_param, sizeof n_param);
    mix(&id->vectors, config->offset, config->offset ? angle_bytes : 0);
    mix(&id->vectors, config->scaling_lower, sizeof config->scaling_lower);
    mix(&id->vectors, config->scaling_upper, sizeof config->scaling_upper);
    id->hash_kind = (int64_t)tess_hash_default();
    id->state_bytes = (int64_t)state_bytes;
}

// The first option that differs, as "name=value" of both sides.
static void find_difference(const char *found, const char *own, char *text, size_t capacity)
{
    size_t begin = 0;
    for (size_t i = 0; found[i] && found[i] == own[i]; i++) {
        begin = found[i] == ';' ? i + 1 : begin;
    }
    snprintf(text, capacity, "%.*s there, %.*s here", (int)strcspn(found + begin, ";"),
             found + begin, (int)strcspn(own + begin, ";"), own + begin);
}

tess_status tess_xp_identity_compare(const tess_xp_identity *found, const tess_xp_identity *own,
                                     const char *path)
{
    const char *remedy = "remove the folder, or run with the data and settings it was made with";
    char difference[256];
    if (memcmp(found->version, own->version, sizeof own->version) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: written by Tessera %.15s, this is %s; %s", path,
                  found->version, own->version, remedy);
    }
    if (memcmp(found->backend, own->backend, sizeof own->backend) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: made on device '%.15s', this fit uses '%s'; %s", path,
                  found->backend, own->backend, remedy);
    }
    if (memcmp(found->settings, own->settings, sizeof own->settings) != 0) {
        char there[sizeof found->settings + 1];
        snprintf(there, sizeof there, "%.*s", (int)sizeof found->settings, found->settings);
        find_difference(there, own->settings, difference, sizeof difference);
        TESS_FAIL(TESS_E_MISMATCH, "%s: belongs to other settings: %s; %s", path, difference,
                  remedy);
    }
    if (found->hash_kind != own->hash_kind) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: made by a build with other checksums (with and without xxHash); %s", path,
                  remedy);
    }
    if (!tess_hash_equal(found->data, own->data)) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: belongs to other data, or other parts of them could be read; %s", path,
                  remedy);
    }
    if (!tess_hash_equal(found->vectors, own->vectors) || found->state_bytes != own->state_bytes) {
        TESS_FAIL(
            TESS_E_MISMATCH,
            "%s: start, bounds, fixed parameters or scaling differ from those of this fit; %s",
            path, remedy);
    }
    return TESS_OK;
}

#include "runtime/provenance.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "runtime/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_shape(tess_json *json, const char *key, int32_t rank, const int64_t *shape)
{
    tess_json_array_begin(json, key);
    for (int32_t i = 0; i < rank; i++) {
        tess_json_int(json, NULL, shape[i]);
    }
    tess_json_array_end(json);
}

static void write_input(tess_json *json, const tess_provenance *p)
{
    const tess_source_info *info = tess_source_get_info(p->source);
    const char *slash = strrchr(info->path, '/');
    char hash[33];
    tess_hash_text(p->fingerprint, hash);
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", slash ? slash + 1 : info->path); // folders stay private
    tess_json_text(json, "dataset", info->dataset);
    tess_json_text(json, "format", info->format);
    tess_json_text(json, "dtype", tess_dtype_name((tess_dtype)info->dtype));
    write_shape(json, "shape", info->rank, info->shape);
    tess_json_uint(json, "bytes", info->file_bytes);
    tess_json_int(json, "mtime_ns", info->file_mtime_ns);
    tess_json_text(json, "fingerprint", hash);
    tess_json_object_end(json);
}

static const tess_param *find_param(const tess_param_table *table, const char *name)
{
    int64_t i = 0;
    while (strcmp(table->params[i].name, name) != 0) {
        i++; // it is there: the text was made of this table
        TESS_ASSERT(i < table->n_param);
    }
    return &table->params[i];
}

// "a=1;b=x" becomes {"a": 1, "b": "x"}.
static void write_settings(tess_json *json, const tess_plan *plan)
{
    const char *settings = plan->settings;
    tess_json_object_begin(json, "settings");
    while (*settings) {
        char key[64] = "";
        char value[64] = "";
        const size_t n = strcspn(settings, ";");
        const size_t k = strcspn(settings, "=");
        if (k < n && k < sizeof key && n - k - 1 < sizeof value) {
            memcpy(key, settings, k);
            memcpy(value, settings + k + 1, n - k - 1);
            tess_origin_setting(json, find_param(plan->table, key), value);
        }
        settings += n + (settings[n] == ';');
    }
    tess_json_object_end(json);
}

tess_status tess_provenance_make(tess_context *ctx, const tess_provenance *p, char **text,
                                 size_t *bytes)
{
    *text = NULL;
    tess_json *json = NULL;
    const tess_status created = tess_json_create_on(&ctx->heap, 2, &json);
    if (created != TESS_OK) {
        return created;
    }
    const tess_plan_info *plan = &p->plan->info;
    char now[32];
    tess_utc_text(now, sizeof now);
    tess_json_object_begin(json, NULL);
    tess_origin_head(json, p->plan->ops->name, ctx->command);
    tess_json_text(json, "identity", p->identity);
    tess_json_text(json, "command_line", tess_origin_command(ctx, p->command_line));
    write_settings(json, p->plan);
    tess_origin_machine(json, ctx);
    tess_json_text(json, "strategy", tess_strategy_name((tess_strategy)plan->strategy));
    tess_json_text(json, "strategy_reason", plan->reason);
    tess_json_int(json, "items", plan->n_item);
    tess_json_int(json, "items_done", p->items_done);
    tess_json_text(json, "unit", p->plan->ops->unit);
    tess_json_bool(json, "resumed", p->resumed);
    tess_json_text(json, "started", p->started);
    tess_json_text(json, "written", now);
    write_shape(json, "output_shape", p->plan->out.rank, p->plan->out.shape);
    tess_json_text(json, "output_dtype", tess_dtype_name((tess_dtype)p->plan->out.dtype));
    tess_json_array_begin(json, "inputs");
    if (p->source) {
        write_input(json, p);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    return tess_json_keep(json, text, bytes);
}

bool tess_provenance_is_of(tess_context *ctx, const char *path, const char identity[33])
{
    char *text = NULL;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"identity\": \"%s\"", identity);
    const bool is_read = tess_file_provenance(ctx, path, &text) == TESS_OK;
    const bool is_of = is_read && text && strstr(text, wanted) != NULL;
    tess_text_free(text);
    tess_error_clear();
    return is_of;
}

int tess_provenance_overwrite(tess_context *ctx, const char *path, const char *provenance,
                              int overwrite)
{
    static const char key[] = "\"identity\": \"";
    char identity[33] = "";
    const char *at = provenance ? strstr(provenance, key) : NULL;
    if (overwrite != 2) {
        return overwrite;
    }
    snprintf(identity, sizeof identity, "%s", at ? at + sizeof key - 1 : "");
    return access(path, F_OK) == 0 && strlen(identity) == 32 &&
           tess_provenance_is_of(ctx, path, identity);
}

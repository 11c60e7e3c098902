#include "document/config.h"

#include "base/status.h"
#include "document/config_check.h"

#include <string.h>

struct tess_config {
    tess_heap *heap;
    char *path;
    tess_tree tree;
    tess_config_value *values;
    tess_text warnings;
    const char *warning_text;
};

tess_status tess_config_load_with(tess_heap *heap, const char *path,
                                  const tess_param_table *const *tables, int64_t n_table,
                                  tess_config **out)
{
    *out = NULL;
    tess_config *config =
        tess_heap_alloc_zero(heap, sizeof *config, TESS_TAG_IO, "a configuration");
    if (config == NULL) {
        return TESS_E_MEMORY;
    }
    config->heap = heap;
    tess_text_init(&config->warnings, heap);
    config->path = tess_heap_strdup(heap, path, TESS_TAG_IO);
    tess_status status = TESS_E_MEMORY;
    if (config->path != NULL) {
        tess_tree_init(&config->tree, heap, config->path);
        status = tess_tree_load(&config->tree);
    }
    if (status == TESS_OK) {
        status =
            tess_config_check(&config->tree, tables, n_table, &config->values, &config->warnings);
    }
    if (status == TESS_OK) {
        status = tess_text_finish(&config->warnings, &config->warning_text);
    }
    if (status != TESS_OK) {
        tess_config_destroy(config);
        return status;
    }
    *out = config;
    return TESS_OK;
}

void tess_config_destroy(tess_config *config)
{
    if (config == NULL) {
        return;
    }
    tess_heap *heap = config->heap;
    if (config->path != NULL) {
        tess_tree_release(&config->tree);
        tess_heap_free(heap, config->path, strlen(config->path) + 1, TESS_TAG_IO);
    }
    tess_text_destroy(&config->warnings);
    tess_heap_free(heap, config, sizeof *config, TESS_TAG_IO);
}

static bool is_of(const tess_config_value *value, const tess_param_table *table)
{
    return strcmp(value->table->name, table->name) == 0;
}

tess_status tess_config_apply(const tess_config *config, const tess_param_table *table,
                              void *target)
{
    tess_error_clear();
    for (const tess_config_value *v = config->values; v != NULL; v = v->next) {
        if (is_of(v, table)) {
            TESS_TRY(tess_param_set_text(v->param, target, v->node->text));
        }
    }
    return TESS_OK;
}

int64_t tess_config_line(const tess_config *config, const tess_param_table *table,
                         const char *param)
{
    for (const tess_config_value *v = config->values; v != NULL; v = v->next) {
        if (is_of(v, table) && strcmp(v->param->name, param) == 0) {
            return v->node->place.line;
        }
    }
    return 0;
}

const char *tess_config_warnings(const tess_config *config)
{
    return config->warning_text;
}

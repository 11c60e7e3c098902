// tessera device: what was found, what was chosen and why, how fast it is.

#include "cli.h"
#include "device_pass.h"
#include "job.h"
#include "text.h"

#include <tessera/device.h>

#include <string.h>

enum { MAX_DEVICE = 32 };

typedef struct device_row {
    tess_device_info info;
    tess_device_ceilings ceilings;
    device_pass passes[DEVICE_MAX_PASS]; // of the chosen device
    int n_pass;
} device_row;

// chosen: one id, or several with commas between them.
static int is_chosen(const char *id, const char *chosen)
{
    const size_t length = strlen(id);

    while (*chosen) {
        const size_t n = strcspn(chosen, ",");
        if (n == length && strncmp(chosen, id, n) == 0) {
            return 1;
        }
        chosen += n + (chosen[n] == ',');
    }
    return 0;
}

static int list_devices(cli *c, const char *chosen, device_row *rows, int64_t *n_row)
{
    static tess_device_info infos[MAX_DEVICE];

    for (int i = 0; i < MAX_DEVICE; i++) {
        infos[i].struct_size = sizeof infos[i];
    }
    CLI_CALL(tess_device_list(c->ctx, infos, MAX_DEVICE, n_row));
    *n_row = *n_row > MAX_DEVICE ? MAX_DEVICE : *n_row;
    for (int64_t i = 0; i < *n_row; i++) {
        rows[i].info = infos[i];
        if (c->values.benchmark) {
            CLI_CALL(tess_device_benchmark(c->ctx, infos[i].id, &rows[i].ceilings,
                                           sizeof rows[i].ceilings));
            if (strcmp(infos[i].id, chosen) == 0) {
                CLI_TRY(device_pass_measure(c, rows[i].passes, &rows[i].n_pass));
            }
        }
    }
    return 0;
}

static void print_ceiling(const char *label, double per_second, const char *unit)
{
    if (per_second > 0) {
        printf("    %-14s %10.1f %s\n", label, per_second * 1e-9, unit);
    }
}

static void print_row(const device_row *row, const char *chosen)
{
    char total[32];
    char available[32];
    const tess_device_ceilings *t = &row->ceilings;

    text_bytes(total, sizeof total, row->info.memory_bytes);
    text_bytes(available, sizeof available, row->info.memory_free_bytes);
    printf("%c %-8s %s\n", is_chosen(row->info.id, chosen) ? '*' : ' ', row->info.id,
           row->info.name);
    printf("    %s; memory %s, free %s\n", row->info.detail, total, available);
    print_ceiling("read", t->read_bytes_per_s, "GB/s");
    print_ceiling("copy", t->copy_bytes_per_s, "GB/s");
    print_ceiling("upload", t->upload_bytes_per_s, "GB/s");
    print_ceiling("download", t->download_bytes_per_s, "GB/s");
    print_ceiling("f32", t->flop_f32_per_s, "GFLOP/s");
    print_ceiling("f64", t->flop_f64_per_s, "GFLOP/s");
    device_pass_print(row->passes, row->n_pass);
}

static void write_row(tess_json *json, const device_row *row, int with_ceilings)
{
    const tess_device_ceilings *t = &row->ceilings;

    tess_json_object_begin(json, NULL);
    tess_json_text(json, "id", row->info.id);
    tess_json_text(json, "backend", row->info.backend);
    tess_json_text(json, "name", row->info.name);
    tess_json_text(json, "detail", row->info.detail);
    tess_json_uint(json, "memory_bytes", row->info.memory_bytes);
    tess_json_uint(json, "memory_free_bytes", row->info.memory_free_bytes);
    tess_json_int(json, "score", row->info.score);
    if (with_ceilings) {
        tess_json_object_begin(json, "ceilings");
        tess_json_int(json, "n_thread", t->n_thread);
        tess_json_real(json, "read_bytes_per_s", t->read_bytes_per_s);
        tess_json_real(json, "copy_bytes_per_s", t->copy_bytes_per_s);
        tess_json_real(json, "upload_bytes_per_s", t->upload_bytes_per_s);
        tess_json_real(json, "download_bytes_per_s", t->download_bytes_per_s);
        tess_json_real(json, "flop_f32_per_s", t->flop_f32_per_s);
        tess_json_real(json, "flop_f64_per_s", t->flop_f64_per_s);
        tess_json_object_end(json);
        device_pass_write(json, row->passes, row->n_pass);
    }
    tess_json_object_end(json);
}

static void write_cpu(tess_json *json, const tess_cpu_info *cpu)
{
    tess_json_object_begin(json, "cpu");
    tess_json_text(json, "name", cpu->name);
    tess_json_text(json, "architecture", cpu->architecture);
    tess_json_int(json, "cores_physical", cpu->n_core_physical);
    tess_json_int(json, "cores_logical", cpu->n_core_logical);
    tess_json_int(json, "cores_allowed", cpu->n_core_allowed);
    tess_json_int(json, "numa_nodes", cpu->n_numa_node);
    tess_json_object_end(json);
}

static int print_json(cli *c, const tess_context_info *info, const device_row *rows, int64_t n_row,
                      const char *why_no_cuda)
{
    tess_json *json = NULL;
    tess_cpu_info cpu;

    CLI_CALL(tess_cpu_get_info(c->ctx, &cpu, sizeof cpu));

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.device/1");
    tess_json_text(json, "chosen", info->device);
    tess_json_text(json, "reason", info->device_reason);
    write_cpu(json, &cpu);
    tess_json_array_begin(json, "devices");
    for (int64_t i = 0; i < n_row; i++) {
        write_row(json, &rows[i], c->values.benchmark);
    }
    tess_json_array_end(json);
    tess_json_text(json, "why_no_cuda", why_no_cuda[0] ? why_no_cuda : NULL);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int cmd_device(cli *c)
{
    static device_row rows[MAX_DEVICE];
    int64_t n_row = 0;
    tess_context_info info;

    CLI_TRY(session_open(c, NULL));
    CLI_CALL(tess_context_get_info(c->ctx, &info, sizeof info));
    CLI_TRY(list_devices(c, info.device, rows, &n_row));
    const char *why_no_cuda = tess_device_why_not(c->ctx, "cuda");
    if (c->values.json) {
        return print_json(c, &info, rows, n_row, why_no_cuda);
    }
    tess_cpu_info cpu;
    CLI_CALL(tess_cpu_get_info(c->ctx, &cpu, sizeof cpu));
    for (int64_t i = 0; i < n_row; i++) {
        print_row(&rows[i], info.device);
    }
    printf("processor: %s, %d physical core%s, %d logical, %d for this process, %d NUMA node%s\n",
           cpu.architecture, cpu.n_core_physical, cpu.n_core_physical == 1 ? "" : "s",
           cpu.n_core_logical, cpu.n_core_allowed, cpu.n_numa_node,
           cpu.n_numa_node == 1 ? "" : "s");
    printf("chosen: %s (%s)\n", info.device, info.device_reason);
    if (why_no_cuda[0]) {
        printf("cuda: %s\n", why_no_cuda);
    }
    return 0;
}

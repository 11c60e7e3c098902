// tessera bench: times kernels and whole systems on data in memory, against what the machine can
// do.

#include "bench.h"
#include "job.h"

#include <tessera/device.h>

#include <string.h>

static const bench_group *const groups[] = {&bench_autoreject, &bench_decode, &bench_xpcs,
                                            &bench_clifford};

enum { N_GROUP = sizeof groups / sizeof groups[0], MAX_CASE = 64 };

// A case that was asked for, and what came of it.
typedef struct bench_line {
    const bench_group *group;
    const bench_case *what;
    bench_row row;
    double share; // of the ceiling; 0: not counted
} bench_line;

static const char *kind_of(const bench_case *what)
{
    return what->is_system ? "system" : "kernel";
}

static int is_name(const char *word)
{
    for (int g = 0; g < N_GROUP; g++) {
        for (int i = 0; i < groups[g]->n_case; i++) {
            if (strcmp(word, groups[g]->cases[i].name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

// A word is a case's whole name, or else a system, "kernels" or "systems", or a part of names.
static int matches(const char *word, const bench_group *group, const bench_case *what)
{
    char kinds[16];

    if (is_name(word)) {
        return strcmp(word, what->name) == 0;
    }
    snprintf(kinds, sizeof kinds, "%ss", kind_of(what));
    return strcmp(word, group->system) == 0 || strcmp(word, kinds) == 0 ||
           strstr(what->name, word) != NULL;
}

static int is_wanted(const cli *c, const bench_group *group, const bench_case *what)
{
    for (int i = 0; i < c->n_operand; i++) {
        if (matches(c->operands[i], group, what)) {
            return 1;
        }
    }
    return c->n_operand == 0;
}

// Every word must mean a case: "ptp-f32-lnog" is not silently nothing.
static int check_word(const cli *c, const char *word)
{
    const char *names[MAX_CASE];
    int n_name = 0;

    for (int g = 0; g < N_GROUP; g++) {
        for (int i = 0; i < groups[g]->n_case; i++) {
            if (word[0] && matches(word, groups[g], &groups[g]->cases[i])) {
                return 0;
            }
            names[n_name++] = groups[g]->cases[i].name;
        }
    }
    const char *nearest = suggest_nearest(word, names, n_name);
    return cli_usage_error(c, "unknown case '%s'%s%s%s", word, nearest ? "; did you mean '" : "",
                           nearest ? nearest : "; --list shows them", nearest ? "'?" : "");
}

static int choose_cases(const cli *c, bench_line *lines)
{
    int n_line = 0;

    for (int g = 0; g < N_GROUP; g++) {
        for (int i = 0; i < groups[g]->n_case; i++) {
            if (is_wanted(c, groups[g], &groups[g]->cases[i])) {
                lines[n_line++] = (bench_line){.group = groups[g], .what = &groups[g]->cases[i]};
            }
        }
    }
    return n_line;
}

// The ceilings are measured before and after, and the better ones count: a share must not look good
// because something else slowed the measurement down.
static int measure_ceilings(cli *c, const char *device, tess_device_ceilings *best)
{
    tess_device_ceilings now;

    CLI_CALL(tess_device_benchmark(c->ctx, device, &now, sizeof now));
    if (now.read_bytes_per_s > best->read_bytes_per_s) {
        best->read_bytes_per_s = now.read_bytes_per_s;
    }
    if (now.flop_f32_per_s > best->flop_f32_per_s) {
        best->flop_f32_per_s = now.flop_f32_per_s;
    }
    return 0;
}

static double share_of(const bench_line *line, const tess_device_ceilings *best)
{
    const double ceiling =
        line->what->bound == BENCH_READ ? best->read_bytes_per_s : best->flop_f32_per_s;

    if (line->what->bound == BENCH_UNBOUND || !(ceiling > 0) || !(line->row.median_s > 0)) {
        return 0;
    }
    return line->row.amount / line->row.median_s / ceiling;
}

// What a case does per second, in the units of its bound, and which share of the ceiling that is.
static void print_rate(const bench_line *line)
{
    const double rate = line->row.amount / line->row.median_s * 1e-9;

    if (line->what->bound == BENCH_UNBOUND) {
        printf(" %15s %13s\n", "-", "-");
    } else if (line->what->bound == BENCH_READ) {
        printf(" %10.2f GB/s %6.0f %% read\n", rate, line->share * 100);
    } else {
        printf(" %7.2f Gflop/s %7.0f %% f32\n", rate, line->share * 100);
    }
}

static void print_text(const bench_line *lines, int n_line, const tess_context_info *info,
                       const tess_device_ceilings *best)
{
    printf("%d threads, %s, %s", info->n_thread, info->isa, info->device);
    if (best->read_bytes_per_s > 0) {
        printf("; measured ceilings %.2f GB/s read, %.1f Gflop/s f32",
               best->read_bytes_per_s * 1e-9, best->flop_f32_per_s * 1e-9);
    }
    printf("\n%-18s %-37s %13s %15s %13s\n", "case", "size", "median", "rate", "of ceiling");
    for (int i = 0; i < n_line; i++) {
        printf("%-18s %-37s %10.4f ms", lines[i].what->name, lines[i].what->what,
               lines[i].row.median_s * 1e3);
        print_rate(&lines[i]);
    }
}

// 0 means not measured.
static void write_positive(tess_json *json, const char *key, double value)
{
    if (value > 0) {
        tess_json_real(json, key, value);
    } else {
        tess_json_raw(json, key, NULL);
    }
}

static void write_case(tess_json *json, const bench_line *line)
{
    tess_json_text(json, "case", line->what->name);
    tess_json_text(json, "system", line->group->system);
    tess_json_text(json, "kind", kind_of(line->what));
    tess_json_text(json, "size", line->what->what);
}

static void write_line(tess_json *json, const bench_line *line, const tess_context_info *info)
{
    const bench_row *row = &line->row;
    const bench_bound bound = line->what->bound;

    tess_json_object_begin(json, NULL);
    write_case(json, line);
    tess_json_real(json, "ours_s", row->median_s);
    write_positive(json, "minimum_s", row->minimum_s);
    tess_json_int(json, "n_repeat", row->n_repeat);
    write_positive(json, "bytes_per_s", bound == BENCH_READ ? row->amount / row->median_s : 0);
    write_positive(json, "flop_per_s", bound == BENCH_F32 ? row->amount / row->median_s : 0);
    write_positive(json, "share_of_roofline", line->share);
    tess_json_int(json, "threads", info->n_thread);
    tess_json_text(json, "isa", info->isa);
    tess_json_text(json, "device", info->device);
    tess_json_object_end(json);
}

static int print_json(cli *c, const bench_line *lines, int n_line, const tess_context_info *info,
                      const tess_device_ceilings *best)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.bench/2");
    write_positive(json, "read_bytes_per_s", best->read_bytes_per_s);
    write_positive(json, "flop_f32_per_s", best->flop_f32_per_s);
    tess_json_array_begin(json, "rows");
    for (int i = 0; i < n_line; i++) {
        write_line(json, &lines[i], info);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int print_list(cli *c, const bench_line *lines, int n_line)
{
    tess_json *json = NULL;

    if (!c->values.json) {
        for (int i = 0; i < n_line; i++) {
            printf("%-18s %-10s %-6s  %s\n", lines[i].what->name, lines[i].group->system,
                   kind_of(lines[i].what), lines[i].what->what);
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.bench.list/1");
    tess_json_array_begin(json, "cases");
    for (int i = 0; i < n_line; i++) {
        tess_json_object_begin(json, NULL);
        write_case(json, &lines[i]);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int has_bound(const bench_line *lines, int n_line)
{
    int found = 0;
    for (int i = 0; i < n_line; i++) {
        found |= lines[i].what->bound != BENCH_UNBOUND;
    }
    return found;
}

int cmd_bench(cli *c)
{
    bench_line lines[MAX_CASE];
    tess_context_info info;
    tess_device_ceilings best = {0};

    for (int i = 0; i < c->n_operand; i++) {
        CLI_TRY(check_word(c, c->operands[i]));
    }
    const int n_line = choose_cases(c, lines);
    CLI_TRY(session_open(c, NULL));
    if (c->values.list) {
        return print_list(c, lines, n_line);
    }
    CLI_CALL(tess_context_get_info(c->ctx, &info, sizeof info));
    const int with_ceilings = has_bound(lines, n_line);
    if (with_ceilings) {
        CLI_TRY(measure_ceilings(c, info.device, &best));
    }
    for (int i = 0; i < n_line; i++) {
        if (console_is_terminal() && !c->values.quiet) {
            console_draw_bar(lines[i].what->name);
        }
        CLI_TRY(lines[i].what->measure(c, lines[i].what, &lines[i].row));
    }
    console_erase_bar();
    if (with_ceilings) {
        CLI_TRY(measure_ceilings(c, info.device, &best));
    }
    for (int i = 0; i < n_line; i++) {
        lines[i].share = share_of(&lines[i], &best);
    }
    if (c->values.json) {
        return print_json(c, lines, n_line, &info, &best);
    }
    print_text(lines, n_line, &info, &best);
    return 0;
}

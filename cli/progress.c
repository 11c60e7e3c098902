// Draws progress. The library calls at most every 50 ms; here it is thinned out further.

#include "progress.h"

#include "console.h"
#include "log_json.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void progress_init(progress *bar, const char *asked, int silent)
{
    const int terminal = console_is_terminal();
    const char *mode = asked ? asked : getenv("TESSERA_PROGRESS");

    memset(bar, 0, sizeof *bar);
    bar->interval_s = 1;
    bar->mode = PROGRESS_PLAIN;
    if (silent || (mode && strcmp(mode, "none") == 0)) {
        bar->mode = PROGRESS_NONE;
    } else if (mode && strcmp(mode, "json") == 0) {
        bar->mode = PROGRESS_JSON;
        bar->interval_s = 0.1;
    } else if (mode && strcmp(mode, "plain") == 0) {
        bar->mode = PROGRESS_PLAIN;
    } else if (terminal) {
        bar->mode = PROGRESS_BAR;
        bar->interval_s = 0.1;
    } else if (!(asked && asked[0] == '\0')) {
        // Nobody asked: a log gets a sign of life now and then, short runs stay silent.
        bar->interval_s = 30;
    }
}

// Bytes where there is input to read, else items: a simulation reads nothing.
static void format_rate(const progress *bar, const tess_progress *now, char *text, size_t capacity)
{
    const double elapsed_s = now->elapsed_s > 0 ? now->elapsed_s : 1;

    if (now->done_bytes > 0) {
        snprintf(text, capacity, "%.2f GB/s",
                 (double)(now->done_bytes - bar->first_done_bytes) / elapsed_s * 1e-9);
    } else {
        snprintf(text, capacity, "%.0f %s/s", (double)(now->done - bar->first_done) / elapsed_s,
                 now->unit);
    }
}

static void format_facts(const progress *bar, const tess_progress *now, char *text, size_t capacity)
{
    char rate[64];
    char remaining[32];
    char memory[32];

    format_rate(bar, now, rate, sizeof rate);
    text_duration(remaining, sizeof remaining, now->remaining_s);
    text_bytes(memory, sizeof memory, now->memory_bytes);
    const int length = snprintf(text, capacity, "%s  ETA %s  %s", rate, remaining, memory);
    if (now->effective >= 0) {
        snprintf(text + length, capacity - (size_t)length, "  ESS %.0f", now->effective);
    }
}

// "autoreject.ptp [#####.....]  50 %  9.87 GB/s  ETA 0:07  182 MiB"
static void draw_bar(const progress *bar, const tess_progress *now, double share)
{
    char facts[160];
    char line[512];
    char marks[64];
    const int width = console_width();

    format_facts(bar, now, facts, sizeof facts);
    int n_mark = width - (int)strlen(facts) - (int)strlen(now->stage) - 12;
    n_mark = n_mark > 40 ? 40 : n_mark;
    n_mark = n_mark < 0 ? 0 : n_mark;
    memset(marks, '.', sizeof marks);
    memset(marks, '#', (size_t)(share * n_mark));
    const int length = snprintf(line, sizeof line, "%s [%.*s] %3d %%  %s", now->stage, n_mark,
                                marks, (int)(share * 100), facts);
    if (length >= width) {
        line[width - 1] = '\0'; // a full line would wrap and could not be redrawn
    }
    console_draw_bar(line);
}

static void print_json(const tess_progress *now)
{
    fprintf(stderr,
            "{\"schema\": \"tessera.progress/1\", \"stage\": \"%s\", \"unit\": \"%s\", "
            "\"done\": %lld, \"total\": %lld, \"done_bytes\": %llu, \"elapsed_s\": %.3f, "
            "\"remaining_s\": ",
            now->stage, now->unit, (long long)now->done, (long long)now->total,
            (unsigned long long)now->done_bytes, now->elapsed_s);
    if (now->remaining_s < 0) {
        fprintf(stderr, "null");
    } else {
        fprintf(stderr, "%.3f", now->remaining_s);
    }
    fprintf(stderr, ", \"memory_bytes\": %llu", (unsigned long long)now->memory_bytes);
    if (now->effective >= 0) {
        fprintf(stderr, ", \"effective\": %.1f", now->effective);
    }
    fprintf(stderr, "}\n");
}

int progress_show(void *user, const tess_progress *now)
{
    progress *bar = user;
    const int finished = now->done >= now->total;
    const double share = now->total > 0 ? (double)now->done / (double)now->total : 1;

    if (!bar->has_begun) {
        bar->has_begun = 1;
        bar->first_done = now->done;
        bar->first_done_bytes = now->done_bytes;
    }
    // A log takes a line per stage and one every second.
    if (finished || now->elapsed_s - bar->last_log_s >= 1 || bar->log_stage != now->stage) {
        bar->last_log_s = now->elapsed_s;
        bar->log_stage = now->stage;
        log_json_progress(now);
    }
    if (log_json_has_stderr()) {
        return 0;
    }
    if (bar->mode == PROGRESS_NONE || now->elapsed_s - bar->last_s < bar->interval_s) {
        // The last state matters to programs reading the lines; people get the summary.
        if (!(finished && bar->mode == PROGRESS_JSON)) {
            return 0;
        }
    }
    bar->last_s = now->elapsed_s;
    if (bar->mode == PROGRESS_BAR) {
        draw_bar(bar, now, share);
    } else if (bar->mode == PROGRESS_JSON) {
        print_json(now);
    } else {
        char facts[160];
        format_facts(bar, now, facts, sizeof facts);
        console_note("%s %lld of %lld %s, %d %%  %s", now->stage, (long long)now->done,
                     (long long)now->total, now->unit, (int)(share * 100), facts);
    }
    return 0;
}

// A session: configuration, log and context of one command.

#include "cli.h"

#include "ranks.h"
#include "signals.h"
#include "text.h"

#include <tessera/device.h>
#include <tessera/param.h>
#include <tessera/sys/json.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Warnings and worse go to stderr, more with -v and -vv; the log file gets one level more.
static int stderr_level(const cli *c)
{
    const int level = TESS_LOG_WARNING + c->values.verbose;
    return c->values.quiet ? TESS_LOG_ERROR : (level > TESS_LOG_DEBUG ? TESS_LOG_DEBUG : level);
}

// The level the library is asked for: warnings are counted whether they are shown or not.
static int warning_level(const cli *c)
{
    const int level = stderr_level(c);
    return level < TESS_LOG_WARNING ? TESS_LOG_WARNING : level;
}

// Who asks for a resume wants to know at once how much was there.
static int is_resumed_line(const cli *c, tess_log_level level, const char *line)
{
    static const char start[] = "resumed from ";
    return c->values.resume && level == TESS_LOG_INFO &&
           strncmp(line, start, sizeof start - 1) == 0;
}

static void on_log(void *user, tess_log_level level, const char *line)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    cli *c = user;
    const char *name = names[level >= 0 && level <= TESS_LOG_DEBUG ? level : TESS_LOG_DEBUG];

    if (is_resumed_line(c, level, line)) {
        console_note("%s", line);
    } else {
        console_log(level, line, (int)level <= stderr_level(c));
    }
    if (c->log_file) {
        char stamp[32];
        const time_t now = time(NULL);
        struct tm utc;
        gmtime_r(&now, &utc);
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
        fprintf(c->log_file, "%s %s %s\n", stamp, name, line);
    }
}

static int open_log_file(cli *c)
{
    if (!c->values.log_file || c->log_file || !ranks_is_first()) {
        return 0;
    }
    c->log_file = fopen(c->values.log_file, "ae");
    if (!c->log_file) {
        return console_fail(73, "--log-file %s: %s", c->values.log_file, strerror(errno));
    }
    setvbuf(c->log_file, NULL, _IOLBF, BUFSIZ);
    return 0;
}

// The first line of a log says whose it is.
static int head_log_file(cli *c)
{
    char *line = c->log_file ? text_command_line(c->argc, c->argv) : NULL;
    tess_json *json = NULL;
    const char *text = NULL;

    if (!line) {
        return 0;
    }
    tess_status status = tess_json_create(c->ctx, 0, &json);
    if (status == TESS_OK) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "schema", "tessera.provenance/1");
        tess_json_text(json, "tessera", tess_version());
        tess_json_text(json, "commit", tess_build_commit());
        tess_json_text(json, "stage", "log");
        tess_json_text(json, "command_line", line);
        tess_json_object_end(json);
        status = tess_json_finish(json, &text);
    }
    if (status == TESS_OK) {
        fprintf(c->log_file, "# tessera_provenance %s\n", text);
    }
    tess_json_destroy(json);
    free(line);
    CLI_CALL(status);
    return 0;
}

// A value that only the environment gave is left to the library, which then names the variable
// as its origin.
static int from_environment(const cli *c, int64_t index)
{
    return c->run.origin[index] == SETTING_ENVIRONMENT;
}

int session_context(cli *c, const char *isa, const char *device, tess_context **out)
{
    tess_context_config config;

    tess_context_config_init(&config, sizeof config);
    config.n_thread = from_environment(c, 0) ? 0 : (int32_t)c->run_values.threads;
    config.memory_limit_bytes = from_environment(c, 1) ? 0 : c->run_values.memory_limit;
    config.device_memory_limit_bytes =
        from_environment(c, 2) ? 0 : c->run_values.device_memory_limit;
    config.isa = isa ? isa : c->values.isa;
    config.device = device ? device : c->values.device;
    config.log = on_log;
    config.log_user = c;
    const int is_kept = c->log_file || c->values.log_json || c->values.resume;
    config.log_level =
        is_kept && stderr_level(c) < TESS_LOG_INFO ? TESS_LOG_INFO : warning_level(c);
    config.progress = progress_show;
    config.progress_user = &c->bar;
    config.profile = c->values.profile;
    config.trace_path = c->values.trace;
    char *line = text_command_line(c->argc, c->argv);
    char *words = c->command ? cli_command_words(c) : NULL;
    config.command_line = line;
    config.command = words;
    config.comm = c->command && (c->command->groups & CLI_RANKS) ? "auto" : NULL;
    const tess_status status = tess_context_create(&config, out);
    free(line);
    free(words);
    CLI_CALL(status);
    return 0;
}

static void report_choices(const cli *c)
{
    tess_context_info info;

    if (c->values.verbose == 0 || tess_context_get_info(c->ctx, &info, sizeof info) != TESS_OK) {
        return;
    }
    console_note("%d threads (%s), %llu bytes (%s), isa %s, device %s (%s)", info.n_thread,
                 info.n_thread_origin, (unsigned long long)info.memory_limit_bytes,
                 info.memory_limit_origin, info.isa, info.device, info.device_reason);
}

void session_paths(cli *c)
{
    const char *trace = getenv("TESSERA_TRACE");
    const char *log = getenv("TESSERA_LOG_JSON");

    if (!(c->command->groups & CLI_ENGINE)) {
        return;
    }
    if (!c->values.trace && trace && trace[0]) {
        c->values.trace = trace;
    }
    if (!c->values.log_json && log && log[0]) {
        c->values.log_json = log;
    }
    if (c->forced_profile) {
        c->values.profile = 1;
        c->values.trace = c->values.trace ? c->values.trace : "tessera-trace.json";
    }
}

// A stop without a checkpoint would be the end of all work: nothing to go on from later.
static int limit_time(const cli *c)
{
    if (!(c->command->groups & CLI_RUN) || c->run_values.time_limit <= 0) {
        return 0;
    }
    if (!c->values.checkpoint) {
        return cli_usage_error(c, "--time-limit needs --checkpoint DIR, where the work is kept");
    }
    signals_limit(c->run_values.time_limit);
    return 0;
}

// Found out before the work; how much room it needs the library sees when it knows.
static int take_scratch(const cli *c)
{
    const char *folder = c->values.scratch ? c->values.scratch : getenv("TESSERA_SCRATCH");
    const char *by = c->values.scratch ? "--scratch" : "TESSERA_SCRATCH";
    struct stat info;

    if (!(c->command->groups & CLI_RUN) || (!c->values.scratch && (!folder || !folder[0]))) {
        return 0;
    }
    if (stat(folder, &info) != 0) {
        return console_fail(73, "%s '%s': there is no such folder; create it", by, folder);
    }
    if (!S_ISDIR(info.st_mode)) {
        return console_fail(73, "%s '%s': is a file; name a folder", by, folder);
    }
    if (access(folder, W_OK | X_OK) != 0) {
        return console_fail(73, "%s '%s': cannot write there: %s", by, folder, strerror(errno));
    }
    return setenv("TESSERA_SCRATCH", folder, 1) == 0 ? 0 : console_fail(71, "out of memory");
}

static int names_one_gpu(const char *device)
{
    return device && strncmp(device, "cuda", 4) == 0 && !strchr(device, ',') &&
           strcmp(device, "cuda:all") != 0;
}

int session_open(cli *c, void *const *systems)
{
    progress_init(&c->bar, c->values.progress, c->values.no_progress || c->values.quiet);
    CLI_TRY(open_log_file(c));
    CLI_TRY(settings_files_load(&c->files, c->values.config, 1));
    CLI_TRY(settings_resolve(&c->run, &c->files, &c->run_values));
    for (int i = 0; systems && i < CLI_MAX_TABLE && c->system[i].table; i++) {
        CLI_TRY(settings_resolve(&c->system[i], &c->files, systems[i]));
    }
    // What is said of a device has to wait for it.
    const int is_meanwhile = c->opens_meanwhile && c->values.verbose == 0 &&
                             names_one_gpu(c->values.device) && !ranks_are_several();
    CLI_TRY(session_context(c, NULL, is_meanwhile ? "cpu" : NULL, &c->ctx));
    if (is_meanwhile) {
        CLI_CALL(tess_device_begin(c->ctx, c->values.device));
    }
    ranks_meet(c->ctx);
    signals_watch(c->ctx);
    CLI_TRY(limit_time(c));
    CLI_TRY(take_scratch(c));
    CLI_TRY(head_log_file(c));
    report_choices(c);
    return 0;
}

static int finish_context(cli *c)
{
    const char *profile = "";

    if (c->values.profile && ranks_is_first()) {
        CLI_CALL(tess_context_profile_text(c->ctx, &profile));
        console_erase_bar();
        fputs(profile, stderr);
    }
    if (c->values.trace) {
        CLI_CALL(tess_context_trace_write(c->ctx));
        console_note("trace written to %s (for a Chrome trace viewer)", c->values.trace);
    }
    return 0;
}

int session_close(cli *c)
{
    signals_watch(NULL);
    int code = c->ctx ? finish_context(c) : 0;
    tess_context_destroy(c->ctx);
    settings_files_close(&c->files);
    if (c->log_file) {
        const int is_bad = ferror(c->log_file);
        if (fclose(c->log_file) != 0 || is_bad) {
            code = code ? code
                        : console_fail(74, "--log-file %s: cannot write, the log is not complete",
                                       c->values.log_file);
        }
    }
    c->ctx = NULL;
    c->log_file = NULL;
    return code;
}

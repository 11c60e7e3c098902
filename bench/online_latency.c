// Latency of the online decoder.
//
//   online_latency [--electrodes N] [--encoding N] [--features N] [--places N] [--ripple N]
//                  [--bins N] [--width S] [--delay S] [--threads N] [--burst] [--busy N]
//                  [--empty US] [--cpu N] [--fifo P] [--learn N]
//
// A linear track of N places; every bin holds --ripple spikes spread over the electrodes. A second
// thread pushes them at their times while the first closes bins as the clock tells; --burst pushes
// a bin's spikes all at once at its end instead. --busy starts N processes that never rest. --cpu
// keeps helpers to CPU N and those after it. --fifo takes real-time priority P where that is
// permitted, and prints 0 for it where it is not. --learn teaches every spike that is decoded, too,
// to a window of N spikes per electrode. --empty replaces the decoder by so many microseconds of
// arithmetic on the same two threads: what that loses is the scheduler's. Prints one JSON object;
// times are those of tess_decode_online_advance, in microseconds: by the clock, and (cpu) what its
// thread ran.
#include "tessera/decode.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct settings {
    int64_t n_electrode;
    int64_t n_encoding;
    int64_t n_feature;
    int64_t n_place;
    int64_t n_ripple;
    int64_t n_bin;
    double width_s;
    double delay_s;
    int64_t n_thread;
    int64_t n_busy;
    int64_t cpu;     // -1: anywhere
    int64_t fifo;    // 0: as it is
    int64_t n_learn; // 0: frozen
    double empty_us; // 0: the decoder
    int is_burst;
} settings;

typedef struct bench {
    settings s;
    tess_decode_online *online;
    double begin_s; // of the clock
    float *marks;   // [n_ripple * 64][n_feature]
} bench;

static double read_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_s(void)
{
    return read_s(CLOCK_MONOTONIC);
}

static void sleep_until(double when)
{
    const double left = when - now_s();
    if (left > 0) {
        const struct timespec t = {.tv_sec = (time_t)left,
                                   .tv_nsec = (long)((left - floor(left)) * 1e9)};
        nanosleep(&t, NULL);
    }
}

static double random_real(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static void fail(const char *what)
{
    fprintf(stderr, "online_latency: %s: %s\n", what, tess_last_error());
    exit(1);
}

static void *need(int64_t n, size_t bytes)
{
    void *block = calloc((size_t)n + 1, bytes);
    if (!block) {
        fprintf(stderr, "online_latency: out of memory\n");
        exit(1);
    }
    return block;
}

// Marks of units that lie at different places; hash spikes among them.
static void random_mark(uint64_t *random, double place, const settings *s, double *mark)
{
    const double unit = floor(8 * (place / (double)s->n_place));
    for (int64_t f = 0; f < s->n_feature; f++) {
        const double mean = 60 + 40 * fmod(unit * (double)(f + 3) * 0.37, 3);
        mark[f] = mean + 30 * (random_real(random) + random_real(random) - 1);
    }
}

static tess_decode_encoding *fit(tess_context *ctx, const settings *s, tess_decode_environment *env)
{
    const int64_t n_sample = 100000;
    const double rate = 500;
    double *time = need(n_sample, sizeof *time);
    double *place = need(n_sample, sizeof *place);
    const double length = 2.0 * (double)s->n_place;
    for (int64_t i = 0; i < n_sample; i++) {
        time[i] = (double)i / rate;
        place[i] = length / 2 * (1 + sin(time[i] / 2));
    }
    int64_t *counts = need(s->n_electrode, sizeof *counts);
    int64_t *features = need(s->n_electrode, sizeof *features);
    const double **times = need(s->n_electrode, sizeof *times);
    const void **marks = need(s->n_electrode, sizeof *marks);
    uint64_t random = 1;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        double *t = need(s->n_encoding, sizeof *t);
        double *m = need(s->n_encoding * s->n_feature, sizeof *m);
        for (int64_t i = 0; i < s->n_encoding; i++) {
            t[i] = time[n_sample - 1] * ((double)i + random_real(&random)) / (double)s->n_encoding;
            random_mark(&random, place[(int64_t)(t[i] * rate)] / 2, s, m + i * s->n_feature);
        }
        counts[e] = s->n_encoding;
        features[e] = s->n_feature;
        times[e] = t;
        marks[e] = m;
    }
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    training.spikes.n_electrode = s->n_electrode;
    training.spikes.n_spike = counts;
    training.spikes.n_feature = features;
    training.spikes.times = times;
    training.spikes.marks = marks;
    training.position.n_sample = n_sample;
    training.position.n_dim = 1;
    training.position.time = time;
    training.position.position = place;
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.bin_scale = 0;
    tess_decode_encoding *encoding = NULL;
    if (tess_decode_encoding_create(ctx, env, &training, &config, &encoding) != TESS_OK) {
        fail("encoding");
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        free((void *)(uintptr_t)times[e]);
        free((void *)(uintptr_t)marks[e]);
    }
    free(times);
    free(marks);
    free(counts);
    free(features);
    free(time);
    free(place);
    return encoding;
}

static tess_decode_detector *detect(tess_context *ctx, tess_decode_environment *env,
                                    const tess_decode_encoding *encoding)
{
    static const tess_decode_state states[2] = {{.name = "Continuous"}, {.name = "Fragmented"}};
    static const double initial[2] = {0.5, 0.5};
    static const double transition[4] = {0.98, 0.02, 0.02, 0.98};
    tess_decode_movement movements[4];
    for (int i = 0; i < 4; i++) {
        tess_decode_movement_init(&movements[i], sizeof movements[i]);
        movements[i].kind = i == 0 ? TESS_DECODE_RANDOM_WALK : TESS_DECODE_UNIFORM;
    }
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    config.n_state = 2;
    config.states = states;
    config.movements = movements;
    config.discrete_initial = initial;
    config.discrete_transition = transition;
    tess_decode_detector *detector = NULL;
    if (tess_decode_detector_create(ctx, &config, &env, 1, &encoding, 1, &detector) != TESS_OK) {
        fail("detector");
    }
    return detector;
}

static void push_spike(const bench *b, int64_t bin, int64_t k)
{
    const settings *s = &b->s;
    if (s->empty_us > 0) {
        return;
    }
    const int64_t number = bin * s->n_ripple + k;
    const double time = ((double)bin + ((double)k + 0.5) / (double)s->n_ripple) * s->width_s;
    const float *mark = b->marks + number % (s->n_ripple * 64) * s->n_feature;
    if (tess_decode_online_push_spike(b->online, time, number % s->n_electrode, mark,
                                      s->n_feature) != TESS_OK) {
        fail("push");
    }
}

static void *produce(void *arg)
{
    const bench *b = arg;
    for (int64_t i = 0; i < b->s.n_bin * b->s.n_ripple; i++) {
        const int64_t k = i % b->s.n_ripple;
        const double at =
            ((double)(i / b->s.n_ripple) + ((double)k + 0.5) / (double)b->s.n_ripple) *
            b->s.width_s;
        sleep_until(b->begin_s + at);
        push_spike(b, i / b->s.n_ripple, k);
    }
    return NULL;
}

static void close_bin(const bench *b, double due)
{
    if (b->s.empty_us > 0) {
        const double end = read_s(CLOCK_THREAD_CPUTIME_ID) + 1e-6 * b->s.empty_us;
        while (read_s(CLOCK_THREAD_CPUTIME_ID) < end) {
        }
        return;
    }
    int64_t n_closed = 0;
    if (tess_decode_online_advance(b->online, due, &n_closed) != TESS_OK || n_closed != 1) {
        fail("advance");
    }
}

// The animal and the bin's spikes, after the bin was closed.
static void learn(const bench *b, int64_t bin)
{
    const settings *s = &b->s;
    const double time = (double)(bin + 1) * s->width_s;
    const double place = (double)s->n_place * (1 + sin(time));
    for (int64_t k = 0; k < s->n_ripple; k++) {
        const int64_t number = bin * s->n_ripple + k;
        const float *mark = b->marks + number % (s->n_ripple * 64) * s->n_feature;
        if (tess_decode_online_learn_spike(
                b->online, ((double)bin + ((double)k + 0.5) / (double)s->n_ripple) * s->width_s,
                number % s->n_electrode, mark, s->n_feature) != TESS_OK) {
            fail("learn");
        }
    }
    if (tess_decode_online_learn_position(b->online, time, &place, 1) != TESS_OK) {
        fail("learn");
    }
}

static void consume(bench *b, double *latency, double *cpu)
{
    const settings *s = &b->s;
    pthread_t producer;
    b->begin_s = now_s() + 1.5; // a scheduler that holds the fit's work against us has forgotten it
    if (!s->is_burst && pthread_create(&producer, NULL, produce, b) != 0) {
        fprintf(stderr, "online_latency: cannot start a thread\n");
        exit(1);
    }
    for (int64_t bin = 0; bin < s->n_bin; bin++) {
        const double due = (double)(bin + 1) * s->width_s + s->delay_s + 1e-9;
        if (s->is_burst) {
            for (int64_t k = 0; k < s->n_ripple; k++) {
                push_spike(b, bin, k);
            }
        } else {
            sleep_until(b->begin_s + due);
        }
        const double begin = now_s();
        const double ran = read_s(CLOCK_THREAD_CPUTIME_ID);
        close_bin(b, due);
        latency[bin] = (now_s() - begin) * 1e6;
        cpu[bin] = (read_s(CLOCK_THREAD_CPUTIME_ID) - ran) * 1e6;
        if (s->n_learn > 0) {
            learn(b, bin);
        }
    }
    if (!s->is_burst) {
        pthread_join(producer, NULL);
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void start_busy(const settings *s, pid_t *busy)
{
    for (int64_t k = 0; k < s->n_busy; k++) {
        busy[k] = fork();
        if (busy[k] == 0) {
            const struct sched_param usual = {0};
            sched_setscheduler(0, SCHED_OTHER, &usual);
            alarm(120); // should nobody end it
            for (volatile unsigned i = 0;; i++) {
            }
        }
    }
}

static void end_busy(const settings *s, const pid_t *busy)
{
    for (int64_t k = 0; k < s->n_busy; k++) {
        if (busy[k] > 0) {
            kill(busy[k], SIGKILL);
            waitpid(busy[k], NULL, 0);
        }
    }
}

static void print(const bench *b, double *latency, double *cpu)
{
    const settings *s = &b->s;
    tess_decode_online_stats stats;
    if (tess_decode_online_get_stats(b->online, &stats, sizeof stats) != TESS_OK) {
        fail("stats");
    }
    qsort(latency, (size_t)s->n_bin, sizeof *latency, ascending);
    qsort(cpu, (size_t)s->n_bin, sizeof *cpu, ascending);
    const double last = (double)(s->n_bin - 1);
    printf("{\"electrodes\": %lld, \"encoding_spikes\": %lld, \"features\": %lld, \"places\": %lld,"
           " \"spikes_per_bin\": %lld, \"bins\": %lld, \"threads\": %lld, \"burst\": %s,"
           " \"busy\": %lld, \"cpu\": %lld, \"fifo\": %lld, \"learn\": %lld, \"empty_us\": %g,"
           " \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f,"
           " \"max_us\": %.1f, \"cpu_p50_us\": %.1f, \"cpu_p99_us\": %.1f, \"cpu_max_us\": %.1f,"
           " \"decoded\": %lld, \"late\": %lld, \"dropped\": %lld}\n",
           (long long)s->n_electrode, (long long)s->n_encoding, (long long)s->n_feature,
           (long long)s->n_place, (long long)s->n_ripple, (long long)s->n_bin,
           (long long)s->n_thread, s->is_burst ? "true" : "false", (long long)s->n_busy,
           (long long)s->cpu, (long long)s->fifo, (long long)s->n_learn, s->empty_us,
           latency[(int64_t)(0.5 * last)], latency[(int64_t)(0.9 * last)],
           latency[(int64_t)(0.99 * last)], latency[(int64_t)(0.999 * last)], latency[s->n_bin - 1],
           cpu[(int64_t)(0.5 * last)], cpu[(int64_t)(0.99 * last)], cpu[s->n_bin - 1],
           (long long)stats.n_spike, (long long)stats.n_late, (long long)stats.n_dropped);
}

static void run(const settings *s)
{
    bench b = {.s = *s};
    tess_context_config context;
    tess_context_config_init(&context, sizeof context);
    context.n_thread = (int32_t)s->n_thread;
    tess_context *ctx = NULL;
    if (tess_context_create(&context, &ctx) != TESS_OK) {
        fail("context");
    }
    const double range[2] = {0, 2.0 * (double)s->n_place};
    tess_decode_environment_config place;
    tess_decode_environment_config_init(&place, sizeof place);
    place.position_range = range;
    place.infer_track_interior = 0;
    tess_decode_environment *env = NULL;
    if (tess_decode_environment_create(ctx, &place, NULL, 0, 1, &env) != TESS_OK) {
        fail("environment");
    }
    tess_decode_encoding *encoding = fit(ctx, s, env);
    tess_decode_detector *detector = detect(ctx, env, encoding);
    uint64_t random = 7;
    b.marks = need(s->n_ripple * 64 * s->n_feature, sizeof *b.marks);
    double *mark = need(s->n_feature, sizeof *mark);
    for (int64_t i = 0; i < s->n_ripple * 64; i++) {
        random_mark(&random, random_real(&random) * (double)s->n_place, s, mark);
        for (int64_t f = 0; f < s->n_feature; f++) {
            b.marks[i * s->n_feature + f] = (float)mark[f];
        }
    }
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.bin_width_s = s->width_s;
    config.delay_s = s->delay_s;
    config.helper_cpu = s->cpu;
    if (s->n_learn > 0) {
        config.learn = TESS_DECODE_LEARN_WINDOW;
        config.learn_capacity = s->n_learn;
    }
    if (tess_decode_online_create(ctx, detector, &config, &b.online) != TESS_OK) {
        fail("online");
    }
    double *latency = need(s->n_bin, sizeof *latency);
    double *cpu = need(s->n_bin, sizeof *cpu);
    pid_t *busy = need(s->n_busy, sizeof *busy);
    start_busy(s, busy);
    consume(&b, latency, cpu);
    end_busy(s, busy);
    print(&b, latency, cpu);
    free(busy);
    free(cpu);
    free(latency);
    free(mark);
    free(b.marks);
    tess_decode_online_destroy(b.online);
    tess_decode_detector_destroy(detector);
    tess_decode_encoding_destroy(encoding);
    tess_decode_environment_destroy(env);
    tess_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    settings s = {.n_electrode = 64,
                  .n_encoding = 50000,
                  .n_feature = 4,
                  .n_place = 200,
                  .n_ripple = 40,
                  .n_bin = 1000,
                  .width_s = 0.006,
                  .delay_s = 0.003,
                  .n_thread = 2,
                  .cpu = -1};
    const struct {
        const char *name;
        int64_t *number;
        double *real;
    } options[] = {{"--electrodes", &s.n_electrode, NULL},
                   {"--encoding", &s.n_encoding, NULL},
                   {"--features", &s.n_feature, NULL},
                   {"--places", &s.n_place, NULL},
                   {"--ripple", &s.n_ripple, NULL},
                   {"--bins", &s.n_bin, NULL},
                   {"--threads", &s.n_thread, NULL},
                   {"--width", NULL, &s.width_s},
                   {"--delay", NULL, &s.delay_s},
                   {"--busy", &s.n_busy, NULL},
                   {"--cpu", &s.cpu, NULL},
                   {"--fifo", &s.fifo, NULL},
                   {"--learn", &s.n_learn, NULL},
                   {"--empty", NULL, &s.empty_us}};
    for (int i = 1; i < argc; i++) {
        int known = strcmp(argv[i], "--burst") == 0;
        s.is_burst |= known;
        for (size_t k = 0; !known && k < sizeof options / sizeof *options; k++) {
            if (strcmp(argv[i], options[k].name) == 0 && i + 1 < argc) {
                const double value = strtod(argv[++i], NULL);
                if (options[k].number) {
                    *options[k].number = (int64_t)value;
                } else {
                    *options[k].real = value;
                }
                known = 1;
            }
        }
        if (!known) {
            fprintf(stderr, "online_latency: unknown argument '%s'\n", argv[i]);
            return 2;
        }
    }
    if (s.n_electrode < 1 || s.n_encoding < 1 || s.n_feature < 1 || s.n_place < 1 ||
        s.n_ripple < 1 || s.n_bin < 1 || s.n_busy < 0) {
        fprintf(stderr, "online_latency: numbers must be positive\n");
        return 2;
    }
    const struct sched_param priority = {.sched_priority = (int)s.fifo};
    if (s.fifo > 0 && sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        s.fifo = 0;
    }
    run(&s);
    return 0;
}

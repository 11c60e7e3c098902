// A streamed prediction of a simulated recording, for tests that kill it, take its memory away and
// look at it from outside.
//
//   decode_stream OUT CHECKPOINT|- SIZE ROWS CHUNKS LIMIT_MIB EVERY_S [MODEL]
//
// ROWS 0: all of that size. Goes on with what is in CHECKPOINT. Prints one line of JSON.
#include "tessera/tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_WORD = 8 };

static int fail(const char *what)
{
    fprintf(stderr, "decode_stream: %s: %s\n", what, tess_last_error());
    return 1;
}

static int predict(tess_context *ctx, char **words, const tess_decode_recording *recording,
                   tess_decode_model *model)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    tess_decode_stream_report report = {.struct_size = sizeof report};
    tess_decode_stream_config config;
    tess_decode_stream_config_init(&config, sizeof config);
    config.path = words[1];
    config.checkpoint_dir = strcmp(words[2], "-") == 0 ? NULL : words[2];
    config.resume = config.checkpoint_dir != NULL;
    config.n_chunk = atoll(words[5]);
    config.checkpoint_every_s = atof(words[7]);
    config.recording = info;
    if (tess_decode_stream(ctx, tess_decode_model_detector(model), &info->observation, &config,
                           &report) != TESS_OK) {
        return fail("predict");
    }
    printf("{\"resumed\": %d, \"was_finished\": %d, \"chunks\": %lld, \"rows\": %lld, "
           "\"plan_bytes\": %llu, \"elapsed_s\": %.3f, \"likelihood_s\": %.3f, \"filter_s\": %.3f, "
           "\"smoother_s\": %.3f, \"write_s\": %.3f, \"checkpoints\": %lld}\n",
           report.resumed, report.was_finished, (long long)report.n_chunk,
           (long long)report.rows_per_chunk, (unsigned long long)report.memory_bytes,
           report.elapsed_s, report.likelihood_s, report.filter_s, report.smoother_s,
           report.write_s, (long long)report.n_checkpoint);
    return 0;
}

static int run(tess_context *ctx, int n_word, char **words)
{
    tess_decode_simulate_config config;
    tess_decode_model_config model_config;
    tess_decode_recording *recording = NULL;
    tess_decode_model *model = NULL;
    tess_decode_simulate_config_init(&config, sizeof config);
    tess_decode_model_config_init(&model_config, sizeof model_config);
    const tess_param_table *table = tess_decode_simulate_params();
    for (int64_t i = 0; i < table->n_param; i++) {
        if (strcmp(table->params[i].name, "size") == 0 &&
            tess_param_set_text(&table->params[i], &config, words[3]) != TESS_OK) {
            return fail("size");
        }
    }
    config.n_time = atoll(words[4]);
    if (config.n_time > 0) { // a part: spikes as well
        config.n_electrode = 8;
        config.encoding_spikes = 16000;
        config.decoding_spikes = 2 * config.n_time;
    }
    if (n_word > N_WORD) {
        model_config.model = atoi(words[N_WORD]);
    }
    int result = 0;
    if (tess_decode_simulate(ctx, &config, &recording) != TESS_OK ||
        tess_decode_model_fit(ctx, recording, &model_config, &model) != TESS_OK) {
        result = fail("model");
    } else {
        result = predict(ctx, words, recording, model);
    }
    tess_decode_model_destroy(model);
    tess_decode_recording_close(recording);
    return result;
}

int main(int n_word, char **words)
{
    if (n_word < N_WORD) {
        fprintf(stderr, "decode_stream OUT CHECKPOINT|- SIZE ROWS CHUNKS LIMIT_MIB EVERY_S\n");
        return 2;
    }
    tess_context_config config;
    tess_context *ctx = NULL;
    tess_context_config_init(&config, sizeof config);
    config.memory_limit_bytes = (uint64_t)atoll(words[6]) << 20;
    if (tess_context_create(&config, &ctx) != TESS_OK) {
        return fail("context");
    }
    const int result = run(ctx, n_word, words);
    tess_context_destroy(ctx);
    return result;
}

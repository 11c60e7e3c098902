// Spikes of a golden model, played to online decoders.
#ifndef TESS_TESTS_DECODE_ONLINE_PLAY_H
#define TESS_TESTS_DECODE_ONLINE_PLAY_H

#include "decode_model.h"
#include "systems/decode/online/online.h"

typedef struct online_event {
    double time;
    int64_t electrode;
    float mark[4];
    int64_t n_feature;
} online_event;

// A golden model whose times are multiples of the bin's width.
void online_open_model(golden_model *m, tess_context *with, const char *file);
// The spikes of the decoding window in the order of their times; free() them.
online_event *online_events(const golden_model *m, int64_t *n);
tess_decode_online *online_open(tess_context *with, const golden_model *m, double delay_s);
void online_push(tess_decode_online *online, const online_event *e);
// Pushes and closes bin by bin, looking at the clock after every so many spikes.
void online_play(tess_decode_online *online, const golden_model *m, const online_event *events,
                 int64_t n, int64_t burst);
// The same bits in every bin.
void online_check_same(const tess_decode_online *a, const tess_decode_online *b);

#endif

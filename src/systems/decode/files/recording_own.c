// Life and death of a recording.
#include "base/status.h"
#include "systems/decode/files/recording.h"

static void set_sizes(tess_decode_recording_info *info)
{
    info->struct_size = (uint32_t)sizeof *info;
    info->training.struct_size = (uint32_t)sizeof info->training;
    info->training.spikes.struct_size = (uint32_t)sizeof info->training.spikes;
    info->training.position.struct_size = (uint32_t)sizeof info->training.position;
    info->observation.struct_size = (uint32_t)sizeof info->observation;
    info->observation.spikes.struct_size = (uint32_t)sizeof info->observation.spikes;
    info->observation.position.struct_size = (uint32_t)sizeof info->observation.position;
    info->track.struct_size = (uint32_t)sizeof info->track;
}

tess_status tess_de_recording_new(tess_context *ctx, tess_decode_recording **out)
{
    *out = NULL;
    tess_decode_recording *recording =
        tess_heap_alloc_zero(&ctx->heap, sizeof *recording, TESS_TAG_RESULT, "recording");
    if (!recording) {
        return TESS_E_MEMORY;
    }
    recording->heap = &ctx->heap;
    tess_blocks_init(&recording->blocks, &ctx->heap);
    tess_decode_recording_info *info = &recording->info;
    info->path = "";
    info->format = "";
    info->notes = "";
    set_sizes(info);
    *out = recording;
    return TESS_OK;
}

tess_status tess_de_recording_spikes(tess_decode_recording *recording, tess_decode_spikes *spikes,
                                     int64_t n_electrode, int32_t mark_dtype,
                                     tess_de_spike_lists *lists)
{
    tess_blocks *blocks = &recording->blocks;
    const char *what = "spikes of a recording";
    lists->n_spike = tess_blocks_alloc(blocks, n_electrode, sizeof(int64_t), what);
    lists->n_feature = tess_blocks_alloc(blocks, n_electrode, sizeof(int64_t), what);
    lists->times = tess_blocks_alloc(blocks, n_electrode, sizeof(double *), what);
    lists->marks = tess_blocks_alloc(blocks, n_electrode, sizeof(void *), what);
    if (!lists->n_spike || !lists->n_feature || !lists->times || !lists->marks) {
        return TESS_E_MEMORY;
    }
    spikes->mark_dtype = mark_dtype;
    spikes->n_electrode = n_electrode;
    spikes->n_spike = lists->n_spike;
    spikes->n_feature = lists->n_feature;
    spikes->times = lists->times;
    spikes->marks = lists->marks;
    return TESS_OK;
}

const tess_decode_recording_info *
tess_decode_recording_get_info(const tess_decode_recording *recording)
{
    return &recording->info;
}

void tess_decode_recording_close(tess_decode_recording *recording)
{
    if (recording) {
        tess_blocks_free(&recording->blocks);
        tess_heap_free(recording->heap, recording, sizeof *recording, TESS_TAG_RESULT);
    }
}

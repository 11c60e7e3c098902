// .txc2 files: whatever the bytes, opening tells yes or no, and what it accepts can be read
// through buffers, held in memory, and as rows.
//
// Random bytes hardly ever carry right checksums, so every input is also tried with those of header
// and tables repaired: only then do sizes get past the door.

#include "fuzz_file.h"
#include "systems/xpcs/store/txc2.h"
#include "systems/xpcs/store/txc2_layout.h"

#include <stdlib.h>
#include <string.h>

// A reader that honours the file's size never needs more than this for the inputs we give.
enum { MOST_BYTES = 64 << 20, MAX_ROW = 1 << 16 };

static volatile double sum; // makes the compiler keep the reads

static void repair(uint8_t *bytes, size_t size)
{
    tess_xp_txc2_header header;
    if (size < sizeof header) {
        return;
    }
    memcpy(&header, bytes, sizeof header);
    const tess_hash_kind kind = tess_hash_default();
    memcpy(header.magic, TESS_XP_TXC2_MAGIC, sizeof header.magic);
    header.version = TESS_XP_TXC2_VERSION;
    header.byte_order = TESS_XP_TXC2_BYTE_ORDER;
    header.header_bytes = TESS_XP_TXC2_ALIGN;
    header.hash_kind = (int32_t)kind;
    if (header.tables_bytes <= size - sizeof header) {
        header.tables_hash =
            tess_hash_bytes(kind, bytes + sizeof header, (size_t)header.tables_bytes);
    }
    header.header_hash = tess_hash_bytes(kind, &header, offsetof(tess_xp_txc2_header, header_hash));
    memcpy(bytes, &header, sizeof header);
}

static void read_leaves(tess_xpcs_data *data, bool is_streamed)
{
    tess_xp_reader reader;
    if (tess_xp_reader_open(data->ctx, data, 2, is_streamed, &reader) == TESS_OK) {
        const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
        for (int64_t leaf = 0; leaf < n_leaf; leaf++) {
            const unsigned char *records = NULL;
            if (tess_xp_reader_get(&reader, leaf, 1, &records) != TESS_OK) {
                break;
            }
            const uint64_t begin = tess_xp_tiles_leaf_offset(&data->tiles, leaf);
            sum = sum + records[tess_xp_tiles_leaf_offset(&data->tiles, leaf + 1) - begin - 1];
        }
    }
    tess_xp_reader_close(&reader);
}

static void read_all(tess_context *ctx, const uint8_t *bytes, size_t size)
{
    tess_xpcs_data *data = NULL;
    if (tess_xp_txc2_open(ctx, fuzz_file_of(bytes, size), &data) != TESS_OK) {
        return;
    }
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    if (info->bytes > size || info->n_angle < 1 || info->n_frame < 3) {
        abort(); // more is promised than the file has
    }
    read_leaves(data, true);
    if (tess_xp_data_hold(ctx, data, 0) == TESS_OK) {
        read_leaves(data, false);
    }
    if (info->n_frame <= MAX_ROW) {
        double *row = malloc((size_t)info->n_frame * sizeof *row);
        if (tess_xpcs_data_rows(ctx, data, info->n_angle - 1, info->n_frame / 2, 1, row) ==
            TESS_OK) {
            sum = sum + row[0] + row[info->n_frame - 1];
        }
        free(row);
    }
    sum = sum + (double)strlen(info->notes);
    tess_xpcs_data_destroy(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tess_context *ctx;
    if (ctx == NULL) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.device = "cpu";
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            abort();
        }
    }
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &before, &peak);
    read_all(ctx, data, size);
    uint8_t *repaired = malloc(size + 1);
    memcpy(repaired, data, size);
    repair(repaired, size);
    read_all(ctx, repaired, size);
    free(repaired);
    tess_context_memory(ctx, &after, &peak);
    if (before != after || peak > MOST_BYTES) {
        abort();
    }
    return 0;
}

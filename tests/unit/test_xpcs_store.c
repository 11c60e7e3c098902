// Tiles of triangles, and the data of matrices in memory.
#include "systems/xpcs/store/store.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, LEAF = TESS_STAGE_XPCS_LEAF };

static void tiles_cover_every_pair_once(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const int64_t shapes[][4] = {// frames, angles, item bytes, sigma
                                        {3, 1, 4, 0},    {4, 2, 8, 1},   {17, 3, 4, 0},
                                        {257, 1, 8, 0},  {258, 5, 4, 1}, {259, 2, 4, 0},
                                        {513, 23, 4, 0}, {600, 3, 8, 1}};
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        const int64_t n = shapes[s][0];
        tess_xp_tiles tiles;
        assert_ok(tess_xp_tiles_create(ctx, shapes[s][1], n, (int32_t)shapes[s][2],
                                       (int32_t)shapes[s][3], &tiles));
        int64_t row = 0;
        int64_t column = 1;
        uint64_t offset = 0;
        for (int64_t k = 0; k < tiles.n_tile; k++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&tiles, k);
            assert_int_equal(tile.row, row);
            assert_int_equal(tile.first_column, column);
            assert_true(tile.n_column >= 1 && tile.n_column <= RUN);
            assert_true(tile.width >= tile.n_column && tile.width % TESS_STAGE_XPCS_PAD == 0);
            assert_int_equal(tile.offset, offset);
            assert_int_equal(tile.offset % 64, 0);
            const int64_t samples = shapes[s][1] * tile.width;
            const int64_t least = shapes[s][1] * TESS_STAGE_XPCS_HEAD * 8 + samples * shapes[s][2] +
                                  (shapes[s][3] ? samples * 8 : 0);
            assert_true(tile.bytes >= (uint64_t)least && tile.bytes < (uint64_t)least + 64);
            if (k % LEAF == 0) {
                assert_int_equal(tess_xp_tiles_leaf_offset(&tiles, k / LEAF), offset);
            }
            offset += tile.bytes;
            column += tile.n_column;
            if (column == n) {
                row++;
                column = row + 1;
            }
        }
        assert_int_equal(row, n - 1);
        assert_int_equal(tess_xp_tiles_n_leaf(&tiles), (tiles.n_tile + LEAF - 1) / LEAF);
        assert_int_equal(tess_xp_tiles_leaf_offset(&tiles, tess_xp_tiles_n_leaf(&tiles)), offset);
        tess_xp_tiles_destroy(ctx, &tiles);
        tess_xp_tiles_destroy(ctx, &tiles);
    }
    tess_xp_tiles tiles;
    assert_fails(tess_xp_tiles_create(ctx, 0, 10, 4, 0, &tiles), TESS_E_SHAPE, "no angle");
    assert_fails(tess_xp_tiles_create(ctx, 1, 2, 4, 0, &tiles), TESS_E_SHAPE, "2 frames");
    assert_fails(tess_xp_tiles_create(ctx, 1, INT64_C(1) << 40, 4, 0, &tiles), TESS_E_SHAPE,
                 "addressed");
    assert_fails(tess_xp_tiles_create(ctx, INT64_C(1) << 30, 200000, 8, 1, &tiles), TESS_E_SHAPE,
                 "addressed");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_cover_every_pair_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Several devices of one context: their names, who refuses them, how they divide work and fail.
#include "runtime/group.h"

#include "base/status.h"
#include "tessera/autoreject.h"
#include "tessera/device.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char log_text[4096];

static void take_line(void *user, tess_log_level level, const char *line)
{
    (void)user;
    (void)level;
    const size_t used = strlen(log_text);
    snprintf(log_text + used, sizeof log_text - used, "%s\n", line);
}

static tess_status open_devices(const char *device, tess_context **out)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.device = device;
    config.log = take_line;
    config.log_level = TESS_LOG_INFO;
    log_text[0] = '\0';
    return tess_context_create(&config, out);
}

static int use_fakes(void **state)
{
    (void)state;
    setenv("TESSERA_CUDA_PLUGIN", TESS_FAKE_GPUS, 1);
    setenv("FAKE_GPUS", "3", 1);
    return 0;
}

static void lists_name_several(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *id;
        int32_t n;
    } cases[] = {{"cuda:0,cuda:1", "cuda:0,cuda:1", 2}, {" cuda:0, cuda:1 ", "cuda:0,cuda:1", 2},
                 {"cuda:2,cuda", "cuda:2,cuda:0", 2},   {"cuda:all", "cuda:0,cuda:1,cuda:2", 3},
                 {"cuda:1,cuda:1", "cuda:1,cuda:1", 2}, {"cuda:1", "cuda:1", 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_context *ctx = NULL;
        tess_context_info info;
        assert_ok(open_devices(cases[i].list, &ctx));
        assert_ok(tess_context_get_info(ctx, &info, sizeof info));
        assert_string_equal(info.device, cases[i].id);
        assert_int_equal(tess_group_size(ctx, ctx->device), cases[i].n);
        assert_int_equal(tess_group_size(ctx, &ctx->cpu), 1);
        assert_int_equal(strstr(log_text, "work is divided over") != NULL, cases[i].n > 1);
        assert_int_equal(strstr(log_text, "named twice") != NULL,
                         strcmp(cases[i].list, "cuda:1,cuda:1") == 0);
        tess_context_destroy(ctx);
    }
    setenv("FAKE_GPUS", "1", 1);
    tess_context *ctx = NULL;
    assert_ok(open_devices("cuda:all", &ctx));
    assert_null(ctx->group);
    tess_context_destroy(ctx);
    setenv("FAKE_GPUS", "3", 1);
}

static void wrong_names_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *part;
    } cases[] = {{"cuda:0,cuda:7", "'cuda:7' does not exist: cuda has 3, from cuda:0 on"},
                 {"cpu,cuda:0", "'cpu' in 'cpu,cuda:0' cannot share work"},
                 {"cuda:0,auto", "'auto' in 'cuda:0,auto' cannot share work"},
                 {"cuda:0,", "'' in 'cuda:0,' is not a device"},
                 {",", "'' in ',' is not a device"},
                 {"cuda:0,cuda:all", "write it alone"},
                 {"cuda:0,cuda:x", "'cuda:x' is not a device"},
                 {"cuda:0,cuda:-1", "'cuda:-1' is not a device"},
                 {"cuda:0,cudaisha", "cannot share work"},
                 {"cuda:0, ,cuda:1", "'' in 'cuda:0, ,cuda:1' is not a device"},
                 {"cuda:0,cuda:00000000000000000000000001", "is not a device"},
                 {"cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,cuda,"
                  "cuda",
                  "more than 16 devices"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_context *ctx = NULL;
        assert_fails(open_devices(cases[i].list, &ctx), TESS_E_DEVICE, cases[i].part);
        assert_null(ctx);
    }
    tess_context *ctx = NULL;
    setenv("TESSERA_CUDA_PLUGIN", "none", 1);
    assert_fails(open_devices("cuda:0,cuda:1", &ctx), TESS_E_DEVICE, "'cuda:0' is not available");
    assert_fails(open_devices("cuda:all", &ctx), TESS_E_DEVICE, "'cuda:all' is not available");
    use_fakes(NULL);
}

static void shares_are_all(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n++) {
        for (int32_t n_member = 1; n_member <= 5; n_member++) {
            int64_t at = 7;
            for (int32_t k = 0; k < n_member; k++) {
                const tess_group_range own =
                    tess_group_share((tess_group_range){7, 7 + n}, n_member, k);
                assert_int_equal(own.begin, at);
                assert_in_range(own.end - own.begin, n / n_member, n / n_member + 1);
                at = own.end;
            }
            assert_int_equal(at, 7 + n);
        }
    }
}

// What the members of a run did, and are to fail with.
typedef struct trial {
    tess_status fails[3];
    bool is_named;
    int ran[3];
} trial;

static tess_status try_member(void *self, int32_t member)
{
    trial *t = self;
    t->ran[member]++;
    return t->fails[member] == TESS_OK ? TESS_OK
                                       : tess_error_set(t->fails[member], "%swent wrong on %d",
                                                        t->is_named ? "cuda:2: " : "", member);
}

static void a_failing_device_is_named(void **state)
{
    (void)state;
    tess_context *ctx = NULL;
    assert_ok(open_devices("cuda:0,cuda:1,cuda:2", &ctx));
    trial t = {.fails = {TESS_OK, TESS_OK, TESS_OK}};
    assert_ok(tess_group_run(ctx, 3, try_member, &t));
    t.fails[2] = TESS_E_DEVICE;
    assert_fails(tess_group_run(ctx, 3, try_member, &t), TESS_E_DEVICE, "cuda:2: went wrong on 2");
    t.is_named = true;
    assert_fails(tess_group_run(ctx, 3, try_member, &t), TESS_E_DEVICE, "cuda:2: went wrong on 2");
    assert_null(strstr(tess_last_error(), "cuda:2: cuda:2"));
    t.is_named = false;
    t.fails[1] = TESS_E_MEMORY; // the first
    assert_fails(tess_group_run(ctx, 3, try_member, &t), TESS_E_MEMORY, "cuda:1: went wrong on 1");
    t.fails[0] = TESS_CANCELLED; // is nobody's failure
    assert_fails(tess_group_run(ctx, 3, try_member, &t), TESS_E_MEMORY, "cuda:1: went wrong on 1");
    t.fails[1] = t.fails[2] = TESS_OK;
    assert_fails(tess_group_run(ctx, 3, try_member, &t), TESS_CANCELLED, "went wrong on 0");
    assert_null(strstr(tess_last_error(), "cuda:0"));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(t.ran[k], 6);
    }
    tess_context_destroy(ctx);
}

static void memory_of_a_device_named_twice_is_halved(void **state)
{
    (void)state;
    tess_context *once = NULL;
    tess_context *twice = NULL;
    assert_ok(open_devices("cuda:0,cuda:1", &once));
    assert_ok(open_devices("cuda:0,cuda:0", &twice));
    for (int32_t k = 0; k < 2; k++) {
        const uint64_t whole = once->group->devices[k]->budget->limit_bytes;
        const uint64_t half = twice->group->devices[k]->budget->limit_bytes;
        assert_in_range(half, whole / 2 - whole / 8, whole / 2);
    }
    assert_ptr_not_equal(twice->group->devices[0]->handle, twice->group->devices[1]->handle);
    tess_context_destroy(once);
    tess_context_destroy(twice);
}

static void who_works_on_one_refuses(void **state)
{
    (void)state;
    tess_context *ctx = NULL;
    assert_ok(open_devices("cuda:0,cuda:1", &ctx));
    static float x[2 * 3 * 10];
    static float delta[2 * 3];
    const int64_t shape[3] = {2, 3, 10};
    tess_array in;
    tess_array out;
    assert_ok(tess_array_init(&in, x, TESS_F32, 3, shape));
    assert_ok(tess_array_init(&out, delta, TESS_F32, 2, shape));
    assert_fails(tess_autoreject_ptp(ctx, &in, NULL, &out), TESS_E_UNSUPPORTED,
                 "device 'cuda:0,cuda:1': the autoreject.ptp works on one device in this version; "
                 "name one of them, as --device cuda:0");
    tess_xpcs_data *data = NULL;
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    assert_fails(tess_xpcs_simulate(ctx, &s, 1, &data), TESS_E_UNSUPPORTED,
                 "the simulation works on one device");
    assert_fails(tess_device_begin(ctx, "cuda:0"), TESS_E_ARGUMENT, "another device already");
    tess_context_destroy(ctx);
    assert_ok(open_devices("cpu", &ctx));
    assert_fails(tess_device_begin(ctx, "cuda:0,cuda:1"), TESS_E_UNSUPPORTED,
                 "named when the context is made");
    tess_context_destroy(ctx);
}

// As recordings of a study are worked on.
static void contexts_beside_have_them_in_turn(void **state)
{
    (void)state;
    static const char *const ids[] = {"cuda:2", "cuda:0", "cuda:1", "cuda:2"};
    tess_context *ctx = NULL;
    assert_ok(open_devices("cuda:2,cuda:0,cuda:1", &ctx));
    for (int k = 0; k < 4; k++) {
        tess_context *beside = NULL;
        assert_ok(tess_context_create_beside(ctx, 1, 0, k, NULL, NULL, &beside));
        assert_string_equal(beside->device->info.id, ids[k]);
        assert_null(beside->group);
        tess_context_destroy(beside);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_name_several),
        cmocka_unit_test(wrong_names_are_told),
        cmocka_unit_test(shares_are_all),
        cmocka_unit_test(a_failing_device_is_named),
        cmocka_unit_test(memory_of_a_device_named_twice_is_halved),
        cmocka_unit_test(who_works_on_one_refuses),
        cmocka_unit_test(contexts_beside_have_them_in_turn),
    };
    return cmocka_run_group_tests(tests, use_fakes, NULL);
}

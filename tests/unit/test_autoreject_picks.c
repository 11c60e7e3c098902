#include "systems/autoreject/epochs/epochs.h"
#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { N_CHAN = 9 };

static tess_autoreject_channel channels[N_CHAN];

// grad0 eeg1 mag2 eeg3(bad) stim4 eeg5("a,b") eog6 hbo7 eeg8
static tess_autoreject_epochs *some_epochs(tess_context *ctx)
{
    static const char *const names[N_CHAN] = {"MEG 0113", "Fz",   "MEG 0111", "Cz", "STI 014",
                                              "a,b",      "HEOG", "S1 hbo",   "Oz"};
    static const int32_t types[N_CHAN] = {
        TESS_AUTOREJECT_GRAD, TESS_AUTOREJECT_EEG,  TESS_AUTOREJECT_MAG,
        TESS_AUTOREJECT_EEG,  TESS_AUTOREJECT_STIM, TESS_AUTOREJECT_EEG,
        TESS_AUTOREJECT_EOG,  TESS_AUTOREJECT_HBO,  TESS_AUTOREJECT_EEG};
    static double memory[N_CHAN];
    const int64_t shape[3] = {1, N_CHAN, 1};
    tess_autoreject_sensors sensors;
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    for (int c = 0; c < N_CHAN; c++) {
        channels[c] = (tess_autoreject_channel){.name = names[c], .type = types[c]};
        channels[c].loc[1] = 0.08 + 0.001 * c;
    }
    channels[3].is_bad = 1;
    sensors.n_chan = N_CHAN;
    sensors.channels = channels;
    tess_array x;
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(tess_array_init(&x, memory, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_epochs_from_array(ctx, &x, &sensors, NULL, 100, 0, &epochs));
    return epochs;
}

static void text_becomes_channels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want; // digits
    } cases[] = {
        {NULL, "012578"},       {"data", "012578"},    {"all", "01245678"},
        {"eeg", "158"},         {"Cz", "3"},           {"eeg,Cz", "1358"},
        {"Oz, Fz ,Oz", "18"},   {"meg", "02"},         {"fnirs", "7"},
        {"a,b", "5"},           {"Fz,a,b,mag", "125"}, {"stim", "4"},
        {"grad , HEOG,", "06"},
    };
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = some_epochs(ctx);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t picks[N_CHAN];
        int64_t n_pick = 0;
        assert_ok(tess_autoreject_picks(epochs, cases[i].text, picks, &n_pick));
        assert_int_equal(n_pick, strlen(cases[i].want));
        for (int64_t k = 0; k < n_pick; k++) {
            assert_int_equal(picks[k], cases[i].want[k] - '0');
        }
    }
    int64_t picks[N_CHAN];
    int64_t n_pick = 0;
    assert_fails(tess_autoreject_picks(epochs, "Fz,Pz", picks, &n_pick), TESS_E_ARGUMENT,
                 "'Pz' is neither");
    assert_contains(tess_last_error(), "MEG 0113, Fz, ");
    assert_fails(tess_autoreject_picks(epochs, "EEG", picks, &n_pick), TESS_E_ARGUMENT, "'EEG'");
    assert_fails(tess_autoreject_picks(epochs, "seeg", picks, &n_pick), TESS_E_ARGUMENT,
                 "none of the 9 channels (1 are marked bad)");
    assert_fails(tess_autoreject_picks(epochs, " , ", picks, &n_pick), TESS_E_ARGUMENT, "none");
    assert_int_equal(n_pick, 0);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void groups_follow_the_first_of_their_type(void **state)
{
    (void)state;
    static const int64_t picks[] = {8, 2, 7, 0, 3, 1, 8};
    static const int32_t types[] = {TESS_AUTOREJECT_GRAD, TESS_AUTOREJECT_EEG, TESS_AUTOREJECT_MAG,
                                    TESS_AUTOREJECT_HBO};
    static const int64_t counts[] = {1, 3, 1, 1};
    static const int64_t want[] = {0, 1, 3, 8, 2, 7};
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = some_epochs(ctx);
    int64_t memory[ARRAY_LEN(picks)];
    tess_ar_group groups[TESS_AUTOREJECT_N_SOLVABLE];
    int64_t n_group = 0;
    assert_ok(tess_ar_groups(epochs, picks, ARRAY_LEN(picks), memory, groups, &n_group));
    assert_int_equal(n_group, 4);
    const int64_t *at = want;
    for (int64_t g = 0; g < n_group; g++) {
        assert_int_equal(groups[g].type, types[g]);
        assert_int_equal(groups[g].n_chan, counts[g]);
        for (int64_t c = 0; c < groups[g].n_chan; c++) {
            assert_int_equal(groups[g].channels[c], *at++);
        }
    }
    static const int64_t with_others[] = {1, 6, 4};
    assert_fails(
        tess_ar_groups(epochs, with_others, 3, memory, groups, &n_group), TESS_E_ARGUMENT,
        "2 channels are of a type autoreject does not work on: STI 014 (stim), HEOG (eog)");
    static const int64_t out_of_range[] = {1, 9};
    assert_fails(tess_ar_groups(epochs, out_of_range, 2, memory, groups, &n_group), TESS_E_RANGE,
                 "picks[1]: 9 is not a channel");
    assert_fails(tess_ar_groups(epochs, picks, 0, memory, groups, &n_group), TESS_E_ARGUMENT,
                 "no channels");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void positions_must_be_there(void **state)
{
    (void)state;
    static const int64_t all[N_CHAN] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = some_epochs(ctx);
    tess_autoreject_sensors sensors = epochs->sensors;
    sensors.channels = channels;
    assert_ok(tess_ar_check_positions(&sensors, all, N_CHAN));
    channels[1].loc[1] = 0; // one at the origin is a position, as for the original
    assert_ok(tess_ar_check_positions(&sensors, all, N_CHAN));
    channels[8].loc[2] = (double)NAN;
    assert_fails(tess_ar_check_positions(&sensors, all, N_CHAN), TESS_E_NUMERIC,
                 "Valid channel positions are needed for autoreject to work; 2 of 9 channels have "
                 "none: Fz, Oz; give a montage");
    assert_ok(tess_ar_check_positions(&sensors, all, N_CHAN - 1));
    for (int c = 0; c < N_CHAN; c++) {
        channels[c].loc[0] = channels[c].loc[1] = 0;
        channels[c].loc[2] = 1e-8;
    }
    assert_fails(tess_ar_check_positions(&sensors, all, N_CHAN), TESS_E_NUMERIC, "9 of 9 channels");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_channels),
        cmocka_unit_test(groups_follow_the_first_of_their_type),
        cmocka_unit_test(positions_must_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "autoreject_recordings.h"

#include "systems/autoreject/montage/montage.h"

static double degrees_between(const double a[3], const double b[3])
{
    double dot = 0;
    double aa = 0;
    double bb = 0;
    for (int i = 0; i < 3; i++) {
        dot += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return acos(fmin(1, dot / sqrt(aa * bb))) * 180 / 3.14159265358979323846;
}

static void names_are_compared_loosely(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"Fp1", "fp1"},   {" FC5. ", "fc5"},    {"C3..", "c3"},
        {"EEG Cz", "cz"}, {"eeg PZ-REF", "pz"}, {"EEG T3-LE", "t3"},
        {"EEG", "eeg"},   {"EEG ", "eeg"},      {"", ""},
        {"Oz-Avg", "oz"}, {"X-Y", "x-y"},       {"...", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char key[TESS_AR_KEY_BYTES];
        tess_ar_name_key(names[i][0], key);
        assert_string_equal(key, names[i][1]);
    }
    char key[TESS_AR_KEY_BYTES];
    char longest[300];
    memset(longest, 'A', sizeof longest);
    longest[299] = '\0';
    tess_ar_name_key(longest, key);
    assert_int_equal(strlen(key), TESS_AR_KEY_BYTES - 1);
}

static void the_rule_places_landmarks(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        double x, y, z;
    } places[] = {
        {"cz", 0, 0, 1},
        {"fpz", 0, 1, 0},
        {"oz", 0, -1, 0},
        {"t7", -1, 0, 0},
        {"t8", 1, 0, 0},
        {"t3", -1, 0, 0},
        {"fz", 0, 0.70710678118654752, 0.70710678118654752},
        {"c4", 0.70710678118654752, 0, 0.70710678118654752},
        {"c3", -0.70710678118654752, 0, 0.70710678118654752},
    };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        double p[3];
        const double want[3] = {places[i].x, places[i].y, places[i].z};
        assert_true(tess_ar_rule_1005(places[i].key, p));
        assert_near(p, want, 3, 1e-14);
    }
    static const char *const others[] = {"",     "z",   "1",    "x1",  "e12", "fp0",
                                         "fp11", "cz1", "c3hh", "a3",  "fp",  "heog",
                                         "f1z",  "h",   "t",    "ch1", "c-3"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        double p[3];
        assert_false(tess_ar_rule_1005(others[i], p));
    }
}

// All of the nomenclature lies on the sphere, left mirrors right, and neighbours of a row are
// equally far apart.
static void the_rule_keeps_its_symmetries(void **state)
{
    (void)state;
    static const char *const rows[] = {"AF", "AFF", "F", "FFC", "FC", "FCC", "C",  "CCP",
                                       "CP", "CPP", "P", "PPO", "PO", "POO", "AFp"};
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        double before[3];
        double step = 0;
        char name[16];
        char key[TESS_AR_KEY_BYTES];
        snprintf(name, sizeof name, "%sz", rows[r]);
        tess_ar_name_key(name, key);
        assert_true(tess_ar_rule_1005(key, before));
        for (int half = 1; half <= 10; half++) {
            double left[3];
            double right[3];
            for (int side = 0; side < 2; side++) {
                snprintf(name, sizeof name, "%s%d%s", rows[r], 2 * ((half + 1) / 2) - 1 + side,
                         half % 2 == 1 ? "h" : "");
                tess_ar_name_key(name, key);
                assert_true(tess_ar_rule_1005(key, side == 0 ? left : right));
            }
            assert_true(fabs(left[0] * left[0] + left[1] * left[1] + left[2] * left[2] - 1) <
                        1e-14);
            assert_true(left[0] < 0 && fabs(left[0] + right[0]) < 1e-15);
            assert_true(left[1] == right[1] && left[2] == right[2]);
            const double now = degrees_between(before, left);
            if (half > 1 && half <= 8) {
                assert_true(fabs(now - step) < 1e-6);
            }
            step = now;
            memcpy(before, left, sizeof before);
        }
    }
}

// Channels of the test's recording.
static void open_array(tess_context *ctx, const char *const *names, int64_t n,
                       tess_autoreject_epochs **out)
{
    static const double zeros[64];
    tess_autoreject_channel channels[8] = {0};
    tess_autoreject_sensors sensors;
    tess_array x = {0};
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    for (int64_t c = 0; c < n; c++) {
        channels[c].name = names[c];
        channels[c].type = strcmp(names[c], "EOG") == 0 ? TESS_AUTOREJECT_EOG : TESS_AUTOREJECT_EEG;
        for (int i = 0; i < 12; i++) {
            channels[c].loc[i] = (double)NAN;
        }
    }
    sensors.channels = channels;
    sensors.n_chan = n;
    x.data = (void *)(uintptr_t)zeros;
    x.dtype = TESS_F64;
    x.item_bytes = 8;
    x.rank = 3;
    x.shape[0] = x.shape[2] = 2;
    x.shape[1] = n;
    x.stride[0] = 2 * n;
    x.stride[1] = 2;
    x.stride[2] = 1;
    assert_ok(tess_autoreject_epochs_from_array(ctx, &x, &sensors, NULL, 100, 0, out));
}

static const char *const names[] = {"Fz", "EEG Cz", "T3", "EOG", "X9"};

static void check_places(const tess_autoreject_epochs *epochs, double tolerance)
{
    static const double front[3] = {0, 0.5, 0.8};
    static const double top[3] = {0, 0, 1};
    static const double left[3] = {-1, 0, 0};
    const tess_autoreject_channel *c = epochs->sensors.channels;
    assert_true(degrees_between(c[0].loc, front) < 20);
    assert_true(degrees_between(c[1].loc, top) < tolerance);
    assert_true(degrees_between(c[2].loc, left) < tolerance);
    assert_true(isnan(c[4].loc[0]));
    const double radius =
        sqrt(c[1].loc[0] * c[1].loc[0] + c[1].loc[1] * c[1].loc[1] + c[1].loc[2] * c[1].loc[2]);
    assert_true(radius > 0.08 && radius < 0.11);
    assert_contains(epochs->info.notes, "1 channels have no position there: X9");
    assert_int_equal(epochs->sensors.n_point, 3);
}

static void every_format_tells_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
    } files[] = {
        {"a.locs", "1 0 0.25 Fz\n2 0 0 Cz\n3 -90 0.5 T7\n4 10 0.6 EOG.\n"},
        {"a.loc", "1\t0\t0.25\tFz..\r\n2\t0\t0\tCz..\r\n3\t-90\t.5\tT7..\r\n"},
        {"a.sfp", "fidnz 0 9.5 -3\nFz 0 6 7\nCz 0 0 9.5\nT7 -9.5 0 0\n"},
        {"a.elc", "# ASA\nReferenceLabel avg\nUnitPosition mm\nNumberPositions= 3\nPositions\n"
                  "Fz : 0 60 70\nCz : 0 0 95\nT7 : -95 0 0\nLabels\nFz Cz T7\n"},
        {"b.elc", "UnitPosition mm\nPositions\n0 60 70\n0 0 95\n-95 0 0\nLabels\nFz\nCz\nT7\n"},
        {"a.ced",
         "Number\tlabels\ttheta\tradius\tX\tY\tZ\tsph_theta\n"
         "1\tFz\t0\t0.2\t60\t0\t70\t0\n2\tCz\t0\t0\t0\t0\t95\t0\n3\tT7\t0\t0\t0\t95\t0\t0\n"},
        {"sub_electrodes.tsv", "name\tx\ty\tz\timpedance\nFz\t0.06\t0\t0.07\t5\n"
                               "Cz\t0\t0\t0.095\t5\nT7\t0\t0.095\t0\tn/a\nA\tn/a\tn/a\tn/a\t5\n"},
        {"a.csv", "\"Fz\",0,0.6,0.7\nCz,0,0,1\nT7,-1,0,0\n"},
        {"b.csv", "x;y;z;name\n0;0.06;0.07;FZ\n0;0;.095;cz\n-9.5e-2;0;0;t7\n"},
        {"a.txt", "Fz 0 60 70\nCz 0 0 95\nT3 -95 0 0\n"},
    };
    tess_context *ctx = unit_context(1, 0);
    const char *json = "{\"EEGCoordinateSystem\": \"CTF\", \"EEGCoordinateUnits\":\"m\"}";
    unit_write_file(unit_path("sub_coordsystem.json"), json, strlen(json));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        tess_autoreject_epochs *epochs = NULL;
        const char *path = unit_path(files[i].file);
        unit_write_file(path, files[i].text, strlen(files[i].text));
        open_array(ctx, names, 5, &epochs);
        assert_ok(tess_ar_apply_montage(ctx, path, epochs));
        check_places(epochs, 1e-5);
        tess_autoreject_epochs_close(epochs);
    }
    tess_autoreject_epochs *epochs = NULL;
    open_array(ctx, names, 5, &epochs);
    assert_ok(tess_ar_apply_montage(ctx, "1005", epochs));
    check_places(epochs, 1e-5);
    assert_contains(epochs->info.notes, "not measured on this head");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void what_cannot_be_used_is_explained(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
        tess_status status;
        const char *part;
    } files[] = {
        {"c.xyz", "Fz 0 1 2\n", TESS_E_FORMAT, "not a file of positions"},
        {"c.csv", "", TESS_E_FORMAT, "no positions in this file"},
        {"c.csv", "Fz,1,2\n", TESS_E_FORMAT, "line 1: expected a name and three"},
        {"c.csv", "name,x,y,z\nFz,1,2,drei\n", TESS_E_FORMAT, "line 2"},
        {"c.sfp", "Fz 1 2\n", TESS_E_FORMAT, "line 1"},
        {"c.locs", "Fz 1 2 3\n\n1 x 2 Cz\n", TESS_E_FORMAT, "line 3"},
        {"c.elc", "Positions\n1 2\n", TESS_E_FORMAT, "line 2"},
        {"c.csv", "Q1,1,2,3\n", TESS_E_FORMAT, "Fz, EEG Cz, T3, X9"},
    };
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    open_array(ctx, names, 5, &epochs);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = unit_path(files[i].file);
        unit_write_file(path, files[i].text, strlen(files[i].text));
        assert_fails(tess_ar_apply_montage(ctx, path, epochs), files[i].status, files[i].part);
    }
    assert_fails(tess_ar_apply_montage(ctx, unit_path("none.csv"), epochs), TESS_E_NOT_FOUND,
                 "none.csv");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_compared_loosely),
        cmocka_unit_test(the_rule_places_landmarks),
        cmocka_unit_test(the_rule_keeps_its_symmetries),
        cmocka_unit_test(every_format_tells_the_same),
        cmocka_unit_test(what_cannot_be_used_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The worked examples of xpcs: values of the model known to all digits, and a fit that must find
// the parameters its data were made with.

#include "selftest.h"

#include <tessera/xpcs.h>

#include <math.h>

enum { N_FRAME = 8, N_ANGLE = 4, N_PAIR = 4, N_PARAM = TESS_XPCS_N_LAMINAR };

static const double theta[N_PARAM] = {68480.52, -1.3269,   1707.73, 0.00199,
                                      -0.21192, -0.000607, 2.0011};
static const int64_t first[N_PAIR] = {0, 0, 3, 2};
static const int64_t second[N_PAIR] = {1, 7, 4, 5};
static const double stored[N_ANGLE][N_PAIR] = {
    {1.113752695325792, 1.100006018924253, 1.2563200518139874, 1.126235811341232},
    {1.1241849986467634, 1.1100057220043897, 1.271374725100074, 1.136860231143463},
    {1.1048862773757662, 1.0903050235183234, 1.2503840206129928, 1.1342469543919769},
    {1.1137253420818873, 1.1000054993602453, 1.2561566853036343, 1.1259739653401695},
};
static const double TOLERANCE = 2e-14;

static void make_model(tess_xpcs_model *model)
{
    tess_xpcs_model_init(model, sizeof *model);
    model->mode = TESS_XPCS_LAMINAR_FLOW;
    model->dt_s = 0.1;
    model->gap_angstrom = 2e6;
}

static int model_agrees(tess_context *ctx)
{
    static const double phi[N_ANGLE] = {-5.79, 4.88, 90.01, 180.0};
    static const double q[N_ANGLE] = {0.0054, 0.0054, 0.0054, 0.0054};
    static const double contrast[N_ANGLE] = {0.30, 0.31, 0.29, 0.30};
    static const double offset[N_ANGLE] = {1.10, 1.11, 1.09, 1.10};
    const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                     .n_angle = N_ANGLE,
                                     .phi = phi,
                                     .q = q,
                                     .contrast = contrast,
                                     .offset = offset};
    tess_xpcs_model model;
    double c2[N_ANGLE][N_PAIR];

    make_model(&model);
    model.compat_eps = 1; // the stored values have it
    const tess_status status = tess_xpcs_model_pairs(ctx, &model, &angles, theta, N_FRAME, first,
                                                     second, N_PAIR, &c2[0][0], NULL);
    if (status != TESS_OK) {
        console_status(status);
        return 0;
    }
    for (int a = 0; a < N_ANGLE; a++) {
        for (int k = 0; k < N_PAIR; k++) {
            if (!(fabs(c2[a][k] - stored[a][k]) <= TOLERANCE)) {
                return 0;
            }
        }
    }
    return 1;
}

// Without noise the fit has to come back to the parameters.
static int fit_recovers(tess_context *ctx)
{
    tess_xpcs_simulation simulation;
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *result = NULL;

    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    make_model(&simulation.model);
    simulation.n_angle = 5;
    simulation.n_frame = 40;
    simulation.sigma = 0;
    simulation.dtype = 1; // f64
    simulation.theta = theta;
    tess_status status = tess_xpcs_simulate(ctx, &simulation, 1, &data);
    status = status ? status : tess_xpcs_fit(ctx, data, &simulation.model, NULL, &result);
    if (status != TESS_OK) {
        console_status(status);
    }
    int agrees = status == TESS_OK;
    for (int k = 0; agrees && k < N_PARAM; k++) {
        const double found = tess_xpcs_result_get_info(result)->theta[k];
        agrees = fabs(found - theta[k]) <= 1e-6 * fabs(theta[k]);
    }
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
    return agrees;
}

int selftest_xpcs(tess_context *ctx)
{
    return model_agrees(ctx) && fit_recovers(ctx);
}

// tessera xpcs rates.

#include "xpcs.h"

#include "job.h"

#include <tessera/device.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 12 }; // of the table on the screen

typedef struct rates_job {
    xpcs_job base;
    tess_xpcs_rates_config config;
    tess_xpcs_rates *rates; // owned
} rates_job;

static int take_knots(const cli *c, rates_job *j)
{
    const char *text = c->values.xpcs.knots;
    char *end = NULL;

    if (!text) {
        return 0;
    }
    errno = 0;
    j->config.n_knot = strtoll(text, &end, 10);
    return end == text || *end || errno || j->config.n_knot == 0
               ? cli_usage_error(c, "--knots: '%s' is not a whole number, 4 to 100", text)
               : 0;
}

static int take_smoothness(const cli *c, rates_job *j)
{
    const char *text = c->values.xpcs.smoothness;
    char *end = NULL;

    if (!text || strcmp(text, "auto") == 0) {
        return 0;
    }
    j->config.smoothness = strtod(text, &end);
    return end == text || *end || !(j->config.smoothness > 0) || isinf(j->config.smoothness)
               ? cli_usage_error(c, "--smoothness: '%s' is neither auto nor a number above 0", text)
               : 0;
}

static int take_options(const cli *c, rates_job *j)
{
    const char *shape = c->values.xpcs.shape;
    const char *spacing = c->values.xpcs.spacing;

    tess_xpcs_rates_config_init(&j->config, sizeof j->config);
    j->config.shape =
        shape && strcmp(shape, "monotone") == 0 ? TESS_XPCS_RATES_MONOTONE : TESS_XPCS_RATES_SMOOTH;
    j->config.spacing = spacing && strcmp(spacing, "log") == 0      ? TESS_XPCS_RATES_LOG
                        : spacing && strcmp(spacing, "linear") == 0 ? TESS_XPCS_RATES_LINEAR
                                                                    : TESS_XPCS_RATES_AUTO;
    CLI_TRY(take_knots(c, j));
    return take_smoothness(c, j);
}

static void print_curves(const tess_xpcs_rates_info *i)
{
    printf("%12s %13s %-12s %13s", "t in s", "D in Å²/s", "   sd", "power law");
    printf(i->has_shear ? " %13s %-12s %13s\n" : "\n", "shear in 1/s", "   sd", "power law");
    const int64_t n = i->n_frame < LINES ? i->n_frame : LINES;
    for (int64_t k = 0; k < n; k++) {
        const int64_t f = n > 1 ? k * (i->n_frame - 1) / (n - 1) : 0;
        printf("%12.5g %13.6g +- %-9.2g %13.6g", i->t[f], i->transport.value[f], i->transport.sd[f],
               i->transport.power[f]);
        if (i->has_shear) {
            printf(" %13.6g +- %-9.2g %13.6g", i->shear.value[f], i->shear.sd[f],
                   i->shear.power[f]);
        }
        puts("");
    }
}

static void print_lines(const tess_xpcs_rates_info *i, const char *folder)
{
    printf("verdict        %s\n", i->verdict);
    printf("ln evidence    free form %.2f, power law %.2f +- %.2f\n", i->log_evidence,
           i->log_evidence_power, i->log_evidence_power_error);
    printf("knots          %lld, even in %s\n", (long long)i->n_knot,
           i->spacing == TESS_XPCS_RATES_LOG ? "ln t" : "t");
    printf("transport      smoothness %.4g, %.1f coefficients by the data\n",
           i->transport.smoothness, i->transport.n_effective);
    if (i->has_shear) {
        printf("shear          smoothness %.4g, %.1f coefficients by the data\n",
               i->shear.smoothness, i->shear.n_effective);
        printf("phi0           %.4f +- %.2g degrees\n", i->phi0, i->phi0_sd);
    }
    printf("noise          %.5g, of the power law %.5g\n", i->noise, i->noise_power);
    printf("time           %.3f s, %lld passes\n\n", i->seconds, (long long)i->n_pass);
    print_curves(i);
    printf("\nresults        %s\n", folder);
}

static int print_result(cli *c, const rates_job *j)
{
    char *text = NULL;

    if (!c->values.json) {
        if (!c->values.quiet) {
            print_lines(tess_xpcs_rates_get_info(j->rates), c->values.output);
        }
        return 0;
    }
    CLI_CALL(tess_xpcs_rates_json(c->ctx, j->rates, &text));
    return xpcs_print_json(c, "tessera.xpcs.rates/1", text);
}

static int fit(cli *c, rates_job *j)
{
    j->base.fit_config.checkpoint_dir = NULL; // what a configuration may say of fits
    CLI_TRY(xpcs_status(c, &j->base,
                        tess_xpcs_fit_rates(c->ctx, j->base.data, &j->base.model,
                                            &j->base.fit_config, &j->config, &j->rates)));
    CLI_TRY(job_status(
        c, tess_xpcs_rates_write(c->ctx, j->rates, c->values.output, c->values.overwrite)));
    console_note("results written to %s", c->values.output);
    console_warnings(tess_xpcs_rates_get_info(j->rates)->notes);
    return print_result(c, j);
}

static int run(cli *c, rates_job *j)
{
    CLI_TRY(take_options(c, j));
    CLI_TRY(xpcs_check_output(c, "rates.json", 0));
    CLI_TRY(xpcs_open_session(c, &j->base));
    CLI_TRY(xpcs_take_starts(c, &j->base));
    CLI_TRY(xpcs_open_data(c, &j->base, c->operands[0]));
    return fit(c, j);
}

int cmd_xpcs_rates(cli *c)
{
    rates_job j = {0};
    const int code = run(c, &j);

    tess_xpcs_rates_destroy(j.rates);
    xpcs_close(&j.base);
    return code;
}

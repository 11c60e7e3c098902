// What the xpcs commands tell: data, parameters with errors, bins of a file.

#include "xpcs.h"

#include "job.h"
#include "text.h"

#include <tessera/device.h>

#include <math.h>
#include <string.h>

static const char *dtype_name(int32_t dtype)
{
    return dtype == TESS_F64 ? "f64" : "f32";
}

static const char *residency_name(int32_t residency)
{
    static const char *const names[] = {"in memory", "in a file", "made on demand"};
    return residency >= 0 && residency < 3 ? names[residency] : "?";
}

void xpcs_print_data(const tess_xpcs_data_info *info)
{
    char bytes[32];
    double lowest = info->q[0];
    double highest = info->q[0];

    for (int64_t a = 1; a < info->n_angle; a++) {
        lowest = fmin(lowest, info->q[a]);
        highest = fmax(highest, info->q[a]);
    }
    text_bytes(bytes, sizeof bytes, info->bytes);
    printf("data           %s%s%lld angles of %lld frames, %s, %s, %s\n", info->path,
           info->path[0] ? ": " : "", (long long)info->n_angle, (long long)info->n_frame,
           info->layout, dtype_name(info->dtype), residency_name(info->residency));
    printf("points         %lld used of %lld above the diagonal; %lld in full matrices; %s\n",
           (long long)info->n_used,
           (long long)(info->n_angle * info->n_frame * (info->n_frame - 1) / 2),
           (long long)info->n_point, bytes);
    if (lowest == highest) {
        printf("q              %g 1/Å\n", lowest);
    } else {
        printf("q              %g to %g 1/Å\n", lowest, highest);
    }
    printf("dt             %g s, frames %lld to %lld\n", info->dt_s, (long long)info->start_frame,
           (long long)info->end_frame);
}

void xpcs_write_data(tess_json *json, const tess_xpcs_data_info *info)
{
    tess_json_object_begin(json, "data");
    tess_json_text(json, "path", info->path);
    tess_json_text(json, "layout", info->layout);
    tess_json_text(json, "dtype", dtype_name(info->dtype));
    tess_json_text(json, "residency", residency_name(info->residency));
    tess_json_int(json, "n_angle", info->n_angle);
    tess_json_int(json, "n_frame", info->n_frame);
    tess_json_int(json, "n_point", info->n_point);
    tess_json_int(json, "n_used", info->n_used);
    tess_json_int(json, "start_frame", info->start_frame);
    tess_json_int(json, "end_frame", info->end_frame);
    tess_json_real(json, "dt_s", info->dt_s);
    tess_json_real(json, "gap_angstrom", info->gap_angstrom);
    tess_json_uint(json, "bytes", info->bytes);
    tess_json_array_begin(json, "phi");
    for (int64_t a = 0; a < info->n_angle; a++) {
        tess_json_real(json, NULL, info->phi[a]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "q");
    for (int64_t a = 0; a < info->n_angle; a++) {
        tess_json_real(json, NULL, info->q[a]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

// The least and the largest contrast or offset say whether one pair for all would do.
static void print_range(const char *name, const double *values, const double *sd, int64_t n)
{
    double sum = 0;
    double error = 0;
    double lowest = values[0];
    double highest = values[0];

    for (int64_t a = 0; a < n; a++) {
        sum += values[a];
        error += sd[a] * sd[a];
        lowest = fmin(lowest, values[a]);
        highest = fmax(highest, values[a]);
    }
    printf("%-20s %13.7g +- %-9.2g %g to %g over %lld angles\n", name, sum / (double)n,
           sqrt(error / (double)n), lowest, highest, (long long)n);
}

static void print_parameters(const tess_xpcs_result_info *r)
{
    int64_t n = 0;
    int has_profile = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)r->mode, &n);

    const int has_bootstrap = r->bootstrap_sd != NULL;
    printf("%-20s %13s    %-9s %s%s\n", "", "value", "sd", has_bootstrap ? "bootstrap " : "",
           "95 % interval");
    for (int64_t k = 0; k < r->n_param; k++) {
        const int is_profile = r->interval_kind[k] == TESS_XPCS_INTERVAL_PROFILE;
        char interval[64] = "";
        if (r->status[k] != TESS_XPCS_FIXED) {
            snprintf(interval, sizeof interval, "[%.5g, %.5g]%s", r->interval_lower[k],
                     r->interval_upper[k], is_profile ? " p" : "");
        }
        has_profile |= is_profile;
        printf("%-20s %13.7g +- %-9.2g ", r->names[k], r->theta[k], r->sd[k]);
        if (has_bootstrap) {
            printf("%-9.2g ", r->bootstrap_sd[k]);
        }
        printf("%-25s %s%s%s\n", interval, params[k].unit, params[k].unit[0] ? "  " : "",
               r->status[k] == TESS_XPCS_FREE
                   ? ""
                   : tess_xpcs_param_status_name((tess_xpcs_param_status)r->status[k]));
    }
    if (r->mode == TESS_XPCS_TWO_COMPONENT) {
        printf("%-20s %13.7g +- %-9.2g f0 exp(-f1 f2)\n", "f_product", r->f_product,
               r->f_product_sd);
    }
    if (has_bootstrap) {
        printf("%-20s bootstrap: standard deviation over %lld refits to resampled blocks of "
               "frames\n",
               "", (long long)r->n_bootstrap);
    }
    if (has_profile) {
        printf("%-20s p: where chi2, all else at its best, has risen by 3.84%s\n", "",
               r->noise_photons > 0 ? ", counted for noise that frames share" : "");
    }
}

static void print_minima(const tess_xpcs_result_info *r)
{
    enum { LISTED = 5 };

    for (int64_t b = 1; b < r->n_basin && b <= LISTED; b++) {
        const tess_xpcs_basin *basin = &r->basins[b];
        printf("%schi2 %.8g, above the best by %.3g reduced chi2:",
               b == 1 ? "\nother minima\n  " : "  ", 2 * basin->cost,
               2 * (basin->cost - r->basins[0].cost) / r->reduced_chi2);
        for (int64_t k = 0; k < r->n_param; k++) {
            printf(" %s %.5g", r->names[k], basin->theta[k]);
        }
        puts("");
    }
    if (r->n_basin - 1 > LISTED) {
        printf("  and %lld more\n", (long long)r->n_basin - 1 - LISTED);
    }
}

// The noise that chi2 was measured by: the same for all, or by angle.
static void print_sigma(const tess_xpcs_result_info *r)
{
    double low = (double)INFINITY;
    double high = 0;

    for (int64_t a = 0; r->sigma && a < r->n_angle; a++) {
        low = fmin(low, r->sigma[a]);
        high = fmax(high, r->sigma[a]);
    }
    if (low < high) {
        printf("sigma          %.4g to %.4g by angle\n", low, high);
    } else if (low == high) {
        printf("sigma          %.4g\n", low);
    }
}

static void print_lines(const xpcs_job *j, const char *folder)
{
    const tess_xpcs_result_info *r = tess_xpcs_result_get_info(j->result);

    xpcs_print_data(tess_xpcs_data_get_info(j->data));
    if (r->mode == TESS_XPCS_LAMINAR_FLOW) {
        printf("gap            %.10g Å (%.6g µm)\n", j->model.gap_angstrom,
               1e-4 * j->model.gap_angstrom);
    }
    printf("model          %s, shear kernel %s, %lld free parameters, contrasts and offsets "
           "included\n",
           tess_xpcs_mode_name((tess_xpcs_mode)r->mode),
           r->mode == TESS_XPCS_LAMINAR_FLOW ? tess_xpcs_kernel_name((tess_xpcs_kernel)r->kernel)
                                             : "none",
           (long long)(r->n_free));
    printf("fit            %s after %lld iterations, %lld passes: %s\n",
           tess_xpcs_convergence_name((tess_xpcs_convergence)r->convergence),
           (long long)r->n_iteration, (long long)r->n_pass, r->message);
    printf("chi2           %.10g, reduced %.6g, %lld degrees of freedom: %s%s\n", r->chi2,
           r->reduced_chi2, (long long)r->dof,
           tess_xpcs_quality_name((tess_xpcs_quality)r->quality),
           r->sigma_is_default ? " (sigma is a default)" : "");
    print_sigma(r);
    if (r->noise_photons > 0) {
        printf("noise          as of %.3g pixels with %.3g photons a frame; errors hold for points "
               "that share frames\n",
               r->noise_pixels, r->noise_photons);
    }
    printf("time           %.3f s, %s, %.3g points/s\n\n", r->seconds[4],
           tess_strategy_name((tess_strategy)r->strategy), r->points_per_s);
    print_parameters(r);
    print_range("contrast", r->contrast, r->contrast_sd, r->n_angle);
    print_range("offset", r->offset, r->offset_sd, r->n_angle);
    print_minima(r);
    if (j->posterior) {
        xpcs_print_draws(j);
    }
    printf("\nresults in %s\n", folder);
}

int xpcs_print_fit(cli *c, const xpcs_job *j, const char *folder)
{
    tess_json *json = NULL;
    char *text = NULL;
    char *draws = NULL;

    if (!c->values.json) {
        if (!c->values.quiet) {
            print_lines(j, folder);
        }
        return 0;
    }
    tess_status status = tess_xpcs_result_json(c->ctx, j->result, &text);
    if (status == TESS_OK && j->posterior) {
        status = tess_xpcs_draws_json(c->ctx, tess_xpcs_posterior_get_info(j->posterior),
                                      j->diagnosis, j->result, &j->sample_config, &draws);
    }
    status = status == TESS_OK ? tess_json_create(c->ctx, 2, &json) : status;
    if (status != TESS_OK) {
        tess_text_free(text);
        tess_text_free(draws);
        return console_status(status);
    }
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.fit/1");
    tess_json_text(json, "folder", folder);
    xpcs_write_data(json, tess_xpcs_data_get_info(j->data));
    tess_json_raw(json, "result", text);
    if (draws) {
        tess_json_raw(json, "draws", draws);
    }
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    tess_text_free(text);
    tess_text_free(draws);
    return code;
}

static int print_file_json(cli *c, const char *path, const tess_xpcs_file_info *info)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.inspect/1");
    tess_json_text(json, "path", path);
    tess_json_text(json, "layout", info->layout);
    tess_json_text(json, "filter", info->filter);
    tess_json_text(json, "dtype", dtype_name(info->dtype));
    tess_json_real(json, "dt_s", info->dt_s);
    tess_json_real(json, "frame_time_s", info->frame_time_s);
    tess_json_int(json, "stride", info->stride);
    tess_json_int(json, "averaging", info->averaging);
    tess_json_array_begin(json, "bins");
    for (int64_t k = 0; k < info->n_bin; k++) {
        const tess_xpcs_bin *bin = &info->bins[k];
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "number", bin->number);
        tess_json_bool(json, "valid", bin->is_valid);
        tess_json_real(json, "q", bin->q);
        tess_json_real(json, "phi", bin->phi);
        tess_json_int(json, "n_frame", bin->n_frame);
        tess_json_text(json, "dataset", bin->dataset);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_text(json, "notes", info->notes);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int xpcs_print_file(cli *c, const char *path, const tess_xpcs_file_info *info)
{
    if (c->values.json) {
        return print_file_json(c, path, info);
    }
    printf("%s: %s, %lld matrices, %s, filter %s\n", path, info->layout, (long long)info->n_bin,
           dtype_name(info->dtype), info->filter);
    if (info->dt_s > 0) {
        printf("time between frames %g s = %g s x stride %lld x average of %lld\n", info->dt_s,
               info->frame_time_s, (long long)info->stride, (long long)info->averaging);
    } else {
        printf("the file does not say the time between frames: give --dt\n");
    }
    printf("%6s %14s %12s %8s  %s\n", "bin", "q (1/Å)", "phi (deg)", "frames", "data set");
    for (int64_t k = 0; k < info->n_bin; k++) {
        const tess_xpcs_bin *bin = &info->bins[k];
        if (bin->is_valid) {
            printf("%6lld %13.8g %12.6g %8lld  ", (long long)bin->number, bin->q, bin->phi,
                   (long long)bin->n_frame);
        } else {
            printf("%6lld %13s %12s %8lld  ", (long long)bin->number, "out of range", "",
                   (long long)bin->n_frame);
        }
        for (const char *letter = bin->dataset; *letter; letter++) {
            text_print_char(stdout, *letter);
        }
        puts("");
    }
    console_notes(info->notes);
    return 0;
}

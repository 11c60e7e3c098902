/* The smallest useful program: peak-to-peak of two epochs of two channels. */

#include <tessera/tessera.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    float x[2][2][4] = {{{0, 1, 2, 3}, {5, 5, 5, 5}}, {{-1, 1, 0, 0}, {2, -6, 1, 0}}};
    const float expected[2][2] = {{3, 0}, {2, 8}};
    float ptp[2][2] = {{0}};
    const int64_t x_shape[3] = {2, 2, 4};
    const int64_t ptp_shape[2] = {2, 2};
    tess_array in;
    tess_array out;
    tess_context *ctx = NULL;

    tess_status status = tess_array_init(&in, x, TESS_F32, 3, x_shape);
    if (status == TESS_OK) {
        status = tess_array_init(&out, ptp, TESS_F32, 2, ptp_shape);
    }
    if (status == TESS_OK) {
        status = tess_context_create(NULL, &ctx);
    }
    if (status == TESS_OK) {
        status = tess_autoreject_ptp(ctx, &in, NULL, &out);
    }
    if (status != TESS_OK) {
        fprintf(stderr, "%s: %s\n", tess_status_name(status), tess_last_error());
    }
    tess_context_destroy(ctx);

    const int right = status == TESS_OK && memcmp(ptp, expected, sizeof ptp) == 0;
    printf("tessera %s: %s\n", tess_version(), right ? "right" : "wrong");
    return right ? 0 : 1;
}

// Results and views of decode for Python.

#include "decode.h"

#include <string.h>

core_array *decode_result(const core_state *state, int32_t dtype, int32_t rank, int64_t rows,
                          int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    const int64_t item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)dtype);
    return core_array_create(state, dtype, item_bytes, rank, shape);
}

int decode_dtype(const core_state *state, PyObject *value, int32_t *dtype)
{
    const char *name = "float64";
    if (core_to_text(value, "dtype", &name) < 0) {
        return -1;
    }
    if (strcmp(name, "float32") == 0) {
        *dtype = TESS_F32;
    } else if (strcmp(name, "float64") == 0) {
        *dtype = TESS_F64;
    } else {
        core_fail(state, TESS_E_DTYPE, "dtype: expected float32 or float64, got %s", name);
        return -1;
    }
    return 0;
}

PyObject *decode_report_dict(const tess_decode_likelihood_report *report)
{
    return Py_BuildValue("{sLsLsLsLsLsLsLsdsdsd}", "n_spike", (long long)report->n_spike, "n_value",
                         (long long)report->n_value, "n_floored", (long long)report->n_floored,
                         "n_flat_spike", (long long)report->n_flat_spike, "n_excluded",
                         (long long)report->n_excluded, "n_before", (long long)report->n_before,
                         "n_after", (long long)report->n_after, "bound", report->bound, "bin_scale",
                         report->bin_scale, "pairs", report->pairs);
}

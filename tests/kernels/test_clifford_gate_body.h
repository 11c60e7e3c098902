// The tests of gates for one dtype; included by test_clifford_rows_body.h only.

// Of one row.
static void T_NAME(run_gates)(const tess_kernels *kernels, SCALAR *x, SCALAR *y, size_t n,
                              int activation, SCALAR *gate, SCALAR *slope_x, SCALAR *slope_y)
{
    const T_NAME(tess_cl_gates) gates = {.activation = activation,
                                         .n_component = 1,
                                         .n_row = 1,
                                         .n = n,
                                         .x = {.data = x},
                                         .y = {.data = y},
                                         .gate = gate,
                                         .slope_x = slope_x,
                                         .slope_y = slope_y};
    kernels->T_NAME(clifford_gates)(&gates);
}

static void T_NAME(gates_match)(check *t)
{
    for (size_t at = 0; at < ARRAY_LEN(lengths); at++) {
        const size_t n = lengths[at];
        check_block x = check_take(n * sizeof(SCALAR), 0), y = check_take(n * sizeof(SCALAR), 0);
        static SCALAR want[3][N_MAX + 64], got[3][N_MAX + 64];
        for (size_t i = 0; i < n; i++) {
            ((SCALAR *)x.data)[i] = (SCALAR)check_uniform(t, -6, 6);
            ((SCALAR *)y.data)[i] = (SCALAR)check_uniform(t, -6, 6);
        }
        for (int activation = TESS_CLIFFORD_IDENTITY; activation <= TESS_CLIFFORD_SILU;
             activation++) {
            T_NAME(run_gates)(t->ref, x.data, y.data, n, activation, want[0], want[1], want[2]);
            T_NAME(run_gates)(t->isa, x.data, y.data, n, activation, got[0], got[1], got[2]);
            for (int which = 0; which < 3; which++) {
                for (size_t i = 0; i < n; i++) {
                    const double a = (double)want[which][i], b = (double)got[which][i];
                    CHECK(t, fabs(a - b) <= 40 * EPS * (fabs(a) + 0.1),
                          "activation %d, n=%zu, result %d: %g, not %g", activation, n, which, b,
                          a);
                }
            }
        }
        check_release(&x);
        check_release(&y);
    }
}

// Phi alone: the gate beside that of a y where Phi is 1.
static void T_NAME(tail_is_precise)(check *t)
{
    static const double special[] = {0,    -0.0,  1e-300, (double)INFINITY, -(double)INFINITY,
                                     1e30, -1e30, -40,    (double)NAN};
    const double last = T_MANTISSA == 23 ? -13 : -37;
    double worst = 0;
    SCALAR x[64], y[64], gate[64], slope_x[64], slope_y[64];
    for (int round = 0; round < (t->quick ? 100 : 4000); round++) {
        for (size_t i = 0; i < 64; i++) {
            x[i] = (SCALAR)check_uniform(t, last, 8);
            y[i] = 60;
        }
        for (size_t i = 0; i < ARRAY_LEN(special); i++) {
            x[7 * i] = (SCALAR)special[i];
        }
        T_NAME(run_gates)(t->isa, x, y, 64, TESS_CLIFFORD_GELU, gate, slope_x, slope_y);
        for (size_t i = 0; i < 64; i++) {
            const long double exact = 0.5L * erfcl(-(long double)x[i] * sqrtl(0.5L));
            const double square = (double)x[i] * (double)x[i];
            const double error = (double)fabsl((long double)gate[i] - exact);
            const double least = T_MANTISSA == 23 ? 0x1p-149 : 0x1p-1074;
            const double allowed = 4 * EPS * (1 + square) * (double)exact + least;
            if (isnan(x[i])) {
                CHECK(t, isnan(gate[i]), "Phi(NaN) is %g", (double)gate[i]);
            } else if (isinf(x[i]) || square > 1500) {
                CHECK(t, gate[i] == (SCALAR)(x[i] > 0), "Phi(%g) is %g", (double)x[i],
                      (double)gate[i]);
            } else {
                CHECK(t, error <= allowed, "Phi(%g) is %g, off by %g of %g", (double)x[i],
                      (double)gate[i], error, allowed);
                const double ratio = error / allowed;
                worst = ratio > worst ? ratio : worst;
            }
        }
    }
    snprintf(t->note, sizeof t->note, "largest error %.2f of 4 eps (1 + x^2)", worst);
}

static void T_NAME(gate_passes_match)(check *t)
{
    for (size_t at = 0; at < ARRAY_LEN(lengths); at++) {
        const size_t n = lengths[at];
        const int d = at % 2 ? 8 : 16;
        T_NAME(block) b[7];
        for (int k = 0; k < 7; k++) {
            b[k] = T_NAME(take_rows)(t, d, n);
            T_NAME(fill_rows)(t, b[k].rows, d, n);
        }
        for (int activation = TESS_CLIFFORD_IDENTITY; activation <= TESS_CLIFFORD_SILU;
             activation++) {
            const T_NAME(tess_cl_gate) gate = {.activation = activation,
                                               .n_component = d,
                                               .n_row = ROWS_MAX,
                                               .n = n,
                                               .x = b[0].rows,
                                               .g = b[1].rows,
                                               .u = b[2].rows};
            t->ref->T_NAME(clifford_gate)(&gate, b[3].rows);
            t->isa->T_NAME(clifford_gate)(&gate, b[4].rows);
            double off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n);
            CHECK(t, off <= 20 * EPS, "gate %d of %zu: off by %g", activation, n, off);
            t->ref->T_NAME(clifford_gate_back)(&gate, b[3].rows);
            t->isa->T_NAME(clifford_gate_back)(&gate, b[4].rows);
            off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n);
            CHECK(t, off <= 40 * EPS, "backward %d of %zu: off by %g", activation, n, off);
            t->ref->T_NAME(clifford_gate_twice)(&gate, b[3].rows, b[5].rows);
            t->isa->T_NAME(clifford_gate_twice)(&gate, b[4].rows, b[6].rows);
            off = T_NAME(rows_differ)(b[3].rows, b[4].rows, d, n) +
                  T_NAME(rows_differ)(b[5].rows, b[6].rows, d, n);
            CHECK(t, off <= 80 * EPS, "twice %d of %zu: off by %g", activation, n, off);
        }
        for (int k = 0; k < 7; k++) {
            check_release(&b[k].memory);
        }
    }
}

// The weighted product, gates and norms of clifford in plain f64 on the host.
#ifndef TESS_GPU_CLIFFORD_REFERENCE_H
#define TESS_GPU_CLIFFORD_REFERENCE_H

#include "gpu_clifford_algebra.h"

inline double gate_value(int activation, double s)
{
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        return 0.5 * erfc(-s / sqrt(2.0));
    case TESS_CLIFFORD_GELU_TANH:
        return 0.5 * s * (1.0 + tanh(sqrt(2.0 / M_PI) * (s + 0.044715 * s * s * s)));
    case TESS_CLIFFORD_RELU:
        return s > 0 ? s : 0;
    case TESS_CLIFFORD_SIGMOID:
        return 1.0 / (1.0 + exp(-s));
    case TESS_CLIFFORD_TANH:
        return tanh(s);
    case TESS_CLIFFORD_SILU:
        return s / (1.0 + exp(-s));
    default:
        return 1.0;
    }
}

inline double gate_slope(int activation, double s)
{
    const double f = gate_value(activation, s);
    const double c = sqrt(2.0 / M_PI);
    const double t = tanh(c * (s + 0.044715 * s * s * s));
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        return exp(-0.5 * s * s) / sqrt(2.0 * M_PI);
    case TESS_CLIFFORD_GELU_TANH:
        return 0.5 * (1.0 + t) + 0.5 * s * (1.0 - t * t) * c * (1.0 + 3 * 0.044715 * s * s);
    case TESS_CLIFFORD_RELU:
        return s > 0 ? 1 : 0;
    case TESS_CLIFFORD_SIGMOID:
        return f * (1.0 - f);
    case TESS_CLIFFORD_TANH:
        return 1.0 - f * f;
    case TESS_CLIFFORD_SILU:
        return (1.0 + f * exp(-s)) / (1.0 + exp(-s));
    default:
        return 0.0;
    }
}

// Shapes and options of one computation.
struct setting {
    const tess_clifford_algebra *algebra;
    int64_t n_row;
    int64_t n;
    uint64_t path_mask;
    int activation;
    int normalize;
    int metric;
    double eps;

    int64_t items() const
    {
        return algebra->n_component * n_row * n;
    }
    size_t at(int k, int64_t b, int64_t i) const
    {
        return static_cast<size_t>((k * n_row + b) * n + i);
    }
};

inline bool takes_size(int metric)
{
    return metric == TESS_CLIFFORD_NORM_ABS || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

inline bool shares_root(int metric)
{
    return metric == TESS_CLIFFORD_NORM_CLAMP || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

// r of every grade and row (all equal for clamp) and whether it moves with its inputs.
inline void reference_statistics(const setting &s, const numbers &o, int64_t b, double *r)
{
    const tess_clifford_algebra &a = *s.algebra;
    double sums[TESS_CLIFFORD_MAX_GRADES] = {0};
    double all = 0;
    for (int64_t i = 0; i < s.n; i++) {
        double kappa[TESS_CLIFFORD_MAX_GRADES] = {0};
        for (int k = 0; k < a.n_component; k++) {
            const double v = o[s.at(k, b, i)];
            kappa[a.grade[k]] += (s.metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : a.eta[k]) * v * v;
        }
        for (int g = 0; g < a.n_grade; g++) {
            const double part = takes_size(s.metric) ? fabs(kappa[g]) : kappa[g];
            sums[g] += part;
            all += part;
        }
    }
    for (int g = 0; g < a.n_grade; g++) {
        r[g] = shares_root(s.metric) ? sqrt(fmax(all / double(s.n), s.eps))
                                     : sqrt(sums[g] / double(s.n) + s.eps);
    }
}

// h from gz: the gradient through o / r. Without its second part it only tells the size of the
// two parts, whose difference may be small.
inline numbers reference_norm_gradient(const setting &s, const numbers &o, const numbers &gz,
                                       bool is_whole = true)
{
    const tess_clifford_algebra &a = *s.algebra;
    numbers h(o.size());
    for (int64_t b = 0; b < s.n_row; b++) {
        double r[TESS_CLIFFORD_MAX_GRADES];
        double dots[TESS_CLIFFORD_MAX_GRADES] = {0};
        double all = 0;
        reference_statistics(s, o, b, r);
        for (int k = 0; k < a.n_component; k++) {
            for (int64_t i = 0; i < s.n; i++) {
                dots[a.grade[k]] += gz[s.at(k, b, i)] * o[s.at(k, b, i)];
                all += gz[s.at(k, b, i)] * o[s.at(k, b, i)];
            }
        }
        const bool is_clamp = shares_root(s.metric);
        for (int64_t i = 0; i < s.n; i++) {
            double kappa[TESS_CLIFFORD_MAX_GRADES] = {0};
            for (int k = 0; k < a.n_component; k++) {
                kappa[a.grade[k]] += a.eta[k] * o[s.at(k, b, i)] * o[s.at(k, b, i)];
            }
            for (int k = 0; k < a.n_component; k++) {
                const int g = a.grade[k];
                double e = s.metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : a.eta[k];
                if (takes_size(s.metric)) {
                    e *= kappa[g] > 0 ? 1 : kappa[g] < 0 ? -1 : 0;
                }
                if (!is_whole || (is_clamp && r[g] <= sqrt(s.eps))) {
                    e = 0;
                }
                const size_t at = s.at(k, b, i);
                h[at] = gz[at] / r[g] -
                        e * o[at] * (is_clamp ? all : dots[g]) / (double(s.n) * r[g] * r[g] * r[g]);
            }
        }
    }
    return h;
}

inline numbers reference_norm(const setting &s, const numbers &o, numbers *statistics)
{
    const tess_clifford_algebra &a = *s.algebra;
    numbers z(o);
    for (int64_t b = 0; b < s.n_row; b++) {
        double r[TESS_CLIFFORD_MAX_GRADES];
        reference_statistics(s, o, b, r);
        for (int k = 0; k < a.n_component; k++) {
            for (int64_t i = 0; i < s.n; i++) {
                z[s.at(k, b, i)] /= r[a.grade[k]];
            }
        }
        for (int g = 0; g < a.n_grade && statistics != nullptr; g++) {
            (*statistics)[static_cast<size_t>(g * s.n_row + b)] = r[g];
        }
    }
    return z;
}

struct sgp_results {
    numbers z, statistics, gx, gy, gw;
};

inline numbers reference_gate(const setting &s, const numbers &x)
{
    numbers z(x);
    for (int64_t b = 0; b < s.n_row; b++) {
        for (int64_t i = 0; i < s.n; i++) {
            const double f = gate_value(s.activation, x[s.at(0, b, i)]);
            for (int k = 0; k < s.algebra->n_component; k++) {
                z[s.at(k, b, i)] *= f;
            }
        }
    }
    return z;
}

inline numbers reference_gate_gradient(const setting &s, const numbers &x, const numbers &g)
{
    numbers gx(x.size());
    for (int64_t b = 0; b < s.n_row; b++) {
        for (int64_t i = 0; i < s.n; i++) {
            const double f = gate_value(s.activation, x[s.at(0, b, i)]);
            double dot = 0;
            for (int k = 0; k < s.algebra->n_component; k++) {
                gx[s.at(k, b, i)] = f * g[s.at(k, b, i)];
                dot += x[s.at(k, b, i)] * g[s.at(k, b, i)];
            }
            gx[s.at(0, b, i)] += gate_slope(s.activation, x[s.at(0, b, i)]) * dot;
        }
    }
    return gx;
}

inline sgp_results reference_sgp(const setting &s, const numbers &x, const numbers &y,
                                 const numbers &w, const numbers &gz, bool is_whole = true)
{
    const tess_clifford_algebra &a = *s.algebra;
    const numbers gated_x = reference_gate(s, x);
    const numbers gated_y = reference_gate(s, y);
    numbers o(x.size());
    sgp_results all;
    auto each_term = [&](auto &&visit) {
        for (int t = 0; t < a.n_term; t++) {
            const tess_clifford_term &term = a.terms[t];
            if (s.path_mask >> term.path & 1) {
                for (int64_t b = 0; b < s.n_row; b++) {
                    for (int64_t i = 0; i < s.n; i++) {
                        visit(term, s.at(term.k, b, i), s.at(term.i, b, i), s.at(term.j, b, i),
                              static_cast<size_t>(i * a.n_path + term.path));
                    }
                }
            }
        }
    };
    each_term([&](const tess_clifford_term &t, size_t k, size_t i, size_t j, size_t p) {
        o[k] += t.sign * w[p] * gated_x[i] * gated_y[j];
    });
    all.statistics.resize(static_cast<size_t>(a.n_grade * s.n_row));
    all.z = s.normalize ? reference_norm(s, o, &all.statistics) : o;
    const numbers h = s.normalize ? reference_norm_gradient(s, o, gz, is_whole) : gz;
    numbers left(x.size());
    numbers right(x.size());
    all.gw.resize(static_cast<size_t>(s.n * a.n_path));
    each_term([&](const tess_clifford_term &t, size_t k, size_t i, size_t j, size_t p) {
        left[i] += t.sign * w[p] * h[k] * gated_y[j];
        right[j] += t.sign * w[p] * h[k] * gated_x[i];
        all.gw[p] += t.sign * h[k] * gated_x[i] * gated_y[j];
    });
    all.gx = reference_gate_gradient(s, x, left);
    all.gy = reference_gate_gradient(s, y, right);
    return all;
}

#endif

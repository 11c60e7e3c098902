// Parts of blocks of L-GATr on packed rows, as one node of autograd each: what
// tessera.clifford.equivariant._native and ._fused do, step by step the same, without Python.
//
// Rows are (row, 16 channels + scalars), contiguous; the library reads and writes their
// multivectors where they are.

constexpr int64_t N_COMPONENT = 16;
constexpr double SCALAR_EPS = 1e-5;
constexpr int64_t NARROW = 8; // torch's layer norm takes a block of threads per row
constexpr int64_t ROW_STEP = 128;

// The operations of a geometry.
struct Geometry {
    const Op *norm;
    const Op *gate;
    const Op *product;
    PyObject *backward; // of Python, for gradients that are differentiated
};

// A view of the multivectors of rows as (component, row, channel).
struct Multivectors {
    int64_t shape[3];
    int64_t stride[3];
    clifford_native_array array;

    Multivectors(const Tensor &rows, int64_t c)
        : shape{N_COMPONENT, rows.size(0), c}, stride{1, rows.stride(0), N_COMPONENT},
          array{rows.data_ptr(), shape, stride, 3, dtype_of(rows.scalar_type())}
    {
    }
    Multivectors(const Multivectors &) = delete;
};

Tensor scalars_of(const Tensor &rows, int64_t c)
{
    return rows.narrow(1, N_COMPONENT * c, rows.size(1) - N_COMPONENT * c);
}

bool has_scalars(const Tensor &rows, int64_t c)
{
    return rows.size(0) > 0 && rows.size(1) > N_COMPONENT * c;
}

// Multivectors of a pass; the exact precision, as there are no matrix products.
void run_rows(const Op &op, int32_t pass, const Tensor &any, clifford_native_pass &p,
              const Multivectors &x, const Multivectors *y)
{
    if (x.shape[1] == 0) {
        return;
    }
    Tensor workspace;
    const clifford_native_array none = view_of({});
    begin_pass(op.by_precision[0], pass, any, workspace, p);
    p.in[X] = x.array;
    p.in[Y] = y ? y->array : none;
    p.in[WEIGHT] = p.in[LINEAR_WEIGHT] = p.in[BIAS] = none;
    p.statistics = p.linear_out = none;
    const int32_t status = calls->run(&p);
    if (status != 0) {
        fail(status);
    }
}

void rows_forward(const Op &op, const Tensor &x, const Tensor *y, const Tensor &z, int64_t c)
{
    clifford_native_pass p;
    const Multivectors in(x, c);
    const Multivectors out(z, c);
    p.z = out.array;
    if (!y) {
        return run_rows(op, 1, x, p, in, nullptr);
    }
    const Multivectors right(*y, c);
    run_rows(op, 1, x, p, in, &right);
}

void rows_backward(const Op &op, const Tensor &x, const Tensor *y, const Tensor &gz,
                   const Tensor &gx, const Tensor *gy, int64_t c)
{
    clifford_native_pass p;
    const clifford_native_array none = view_of({});
    const Multivectors in(x, c);
    const Multivectors cotangent(gz, c);
    const Multivectors gradient(gx, c);
    p.z = none;
    p.gz = cotangent.array;
    std::fill(p.gradients, p.gradients + N, none);
    p.gradients[X] = gradient.array;
    if (!y) {
        return run_rows(op, 2, x, p, in, nullptr);
    }
    const Multivectors right(*y, c);
    const Multivectors gradient_right(*gy, c);
    p.gradients[Y] = gradient_right.array;
    run_rows(op, 2, x, p, in, &right);
}

Tensor norm(const Tensor &rows, int64_t c, const Geometry &g)
{
    Tensor z = at::empty_like(rows);
    rows_forward(*g.norm, rows, nullptr, z, c);
    if (!has_scalars(rows, c)) {
        return z;
    }
    const Tensor s = scalars_of(rows, c);
    if (s.size(1) > NARROW) {
        scalars_of(z, c).copy_(at::layer_norm(s, {s.size(1)}, {}, {}, SCALAR_EPS));
    } else {
        auto [var, mean] = at::var_mean(s, at::IntArrayRef{1}, at::Scalar(0), true);
        Tensor out = scalars_of(z, c);
        at::mul_out(out, s.sub(mean), var.add_(SCALAR_EPS).rsqrt_());
    }
    return z;
}

Tensor norm_back(const Tensor &rows, const Tensor &grad, int64_t c, const Geometry &g)
{
    Tensor found = at::empty_like(rows);
    rows_backward(*g.norm, rows, nullptr, grad, found, nullptr, c);
    if (!has_scalars(rows, c)) {
        return found;
    }
    const Tensor s = scalars_of(rows, c);
    const Tensor gs = scalars_of(grad, c);
    Tensor out = scalars_of(found, c);
    if (s.size(1) > NARROW) {
        const Tensor rows_s = s.contiguous();
        const auto [unit, mean, inverse] =
            at::native_layer_norm(rows_s, {s.size(1)}, {}, {}, SCALAR_EPS);
        out.copy_(std::get<0>(at::native_layer_norm_backward(
            gs.contiguous(), rows_s, {s.size(1)}, mean, inverse, {}, {}, {true, false, false})));
    } else {
        auto [var, mean] = at::var_mean(s, at::IntArrayRef{1}, at::Scalar(0), true);
        const Tensor inverse = var.add_(SCALAR_EPS).rsqrt_();
        const Tensor unit = s.sub(mean).mul_(inverse);
        const Tensor along = at::linalg_vecdot(gs, unit).unsqueeze(1).div(-double(s.size(1)));
        const Tensor slope = at::addcmul(gs, unit, along).sub_(gs.mean(at::IntArrayRef{1}, true));
        at::mul_out(out, slope, inverse);
    }
    return found;
}

Tensor gate(const Tensor &rows, int64_t c, const Geometry &g)
{
    Tensor z = at::empty_like(rows);
    rows_forward(*g.gate, rows, nullptr, z, c);
    if (has_scalars(rows, c)) {
        Tensor out = scalars_of(z, c);
        at::gelu_out(out, scalars_of(rows, c), "tanh");
    }
    return z;
}

Tensor gate_back(const Tensor &rows, const Tensor &grad, int64_t c, const Geometry &g)
{
    Tensor found = at::empty_like(rows);
    rows_backward(*g.gate, rows, nullptr, grad, found, nullptr, c);
    if (has_scalars(rows, c)) {
        Tensor out = scalars_of(found, c);
        at::gelu_backward_out(out, scalars_of(grad, c), scalars_of(rows, c), "tanh");
    }
    return found;
}

struct Sizes {
    int64_t c;
    int64_t s;
    int64_t hidden_c;
    int64_t hidden_s;
    int64_t chunk_bytes;
    const Geometry *geometry;
};

Tensor product(const std::array<Tensor, 2> &factors, const Tensor &x, const Sizes &n)
{
    const int64_t width = N_COMPONENT * n.hidden_c;
    Tensor z = at::empty({x.size(0), width + n.s}, x.options());
    rows_forward(*n.geometry->product, factors[0], &factors[1], z, n.hidden_c);
    if (n.s > 0) {
        scalars_of(z, n.hidden_c).copy_(scalars_of(x, n.c));
    }
    return z;
}

// A packed matrix: its rows, and the bias in the last one.
Tensor body(const Tensor &matrix)
{
    return matrix.narrow(0, 0, matrix.size(0) - 1);
}

Tensor bias_of(const Tensor &matrix)
{
    return matrix.select(0, matrix.size(0) - 1);
}

Tensor half(const Tensor &pair, int which)
{
    const int64_t width = pair.size(1) / 2;
    return pair.narrow(1, which * width, width);
}

// A linear map of rows: of a packed matrix, or, where there is one axis, of items by pairs of
// components.
struct Map {
    const Tensor &weights;
    MapSizes sizes;

    bool is_matrix() const
    {
        return weights.dim() == 2;
    }
    void into(Tensor to, const Tensor &x) const
    {
        if (is_matrix()) {
            at::addmm_out(to, bias_of(weights), x, body(weights));
        } else {
            map_into(sizes, to, x, weights);
        }
    }
    Tensor of(const Tensor &x) const
    {
        Tensor z = at::empty({x.size(0), width_of(sizes.z)}, x.options());
        into(z, x);
        return z;
    }
    // Gradients of its input x and, added to what earlier rows gave, of the weights.
    void back(Tensor g_x, const Tensor &sums, const Tensor &x, const Tensor &gz,
              bool is_first) const
    {
        if (!is_matrix()) {
            return map_backward(sizes, x, weights, gz, &g_x, &sums, !is_first);
        }
        at::mm_out(g_x, gz, body(weights).t());
        Tensor matrix = body(sums);
        Tensor bias = bias_of(sums);
        if (is_first) {
            at::mm_out(matrix, x.t(), gz);
            at::sum_out(bias, gz, at::IntArrayRef{0});
        } else {
            matrix.addmm_(x.t(), gz);
            bias.add_(gz.sum(0));
        }
    }
    Tensor back(const Tensor &sums, const Tensor &x, const Tensor &gz, bool is_first) const
    {
        Tensor g_x = at::empty_like(x);
        back(g_x, sums, x, gz, is_first);
        return g_x;
    }
};

// The three maps of a feed-forward part.
struct Maps {
    Map pair;
    Map out;
    Map last;

    Maps(const Tensor &a, const Tensor &b, const Tensor &c, const Sizes &n)
        : pair{a, {{n.c, n.s, 1}, {2 * n.hidden_c, 0, 1}, false, true}},
          out{b, {{n.hidden_c, n.s, 1}, {n.hidden_c, n.hidden_s, 1}, false, true}},
          last{c, {{n.hidden_c, n.hidden_s, 1}, {n.c, n.s, 1}, false, true}}
    {
    }
};

// Both factors of the product, side by side: matrix products are fast where they are wide.
std::array<Tensor, 2> factors_of(const Tensor &x, const Map &pair)
{
    const Tensor both = pair.of(x);
    return {half(both, 0), half(both, 1)};
}

template <class Work>
void by_chunks(int64_t n_row, int64_t item, const Sizes &n, Work work)
{
    const int64_t width = (N_COMPONENT * n.hidden_c + std::max(n.hidden_s, n.s)) * item;
    const int64_t n_chunk =
        std::max<int64_t>((n_row * width + n.chunk_bytes - 1) / n.chunk_bytes, 1);
    const int64_t step = (n_row + n_chunk * ROW_STEP - 1) / (n_chunk * ROW_STEP) * ROW_STEP;
    for (int64_t first = 0; first < n_row; first += step) {
        work(first, std::min(step, n_row - first));
    }
}

// z, and what the second map gave.
std::array<Tensor, 2> feed_forward(const Tensor &rows, const Maps &maps, const Sizes &n)
{
    Tensor hidden = at::empty({rows.size(0), width_of(maps.out.sizes.z)}, rows.options());
    Tensor z = at::empty({rows.size(0), width_of(maps.last.sizes.z)}, rows.options());
    by_chunks(rows.size(0), rows.itemsize(), n, [&](int64_t first, int64_t count) {
        const Tensor x = rows.narrow(0, first, count);
        const Tensor inner = hidden.narrow(0, first, count);
        maps.out.into(inner, product(factors_of(x, maps.pair), x, n));
        const Tensor open = gate(norm(inner, n.hidden_c, *n.geometry), n.hidden_c, *n.geometry);
        maps.last.into(z.narrow(0, first, count), open);
    });
    return {z, hidden};
}

variable_list feed_backward(const Tensor &rows, const Maps &maps, const Tensor &hidden,
                            const Tensor &gz, const Sizes &n)
{
    const Geometry &geometry = *n.geometry;
    const int64_t c = n.hidden_c;
    Tensor sums[3] = {at::empty_like(maps.pair.weights), at::empty_like(maps.out.weights),
                      at::empty_like(maps.last.weights)};
    if (rows.size(0) == 0) {
        std::for_each(sums, sums + 3, [](Tensor &t) { t.zero_(); });
    }
    Tensor g_rows = at::empty_like(rows);
    by_chunks(rows.size(0), rows.itemsize(), n, [&](int64_t first, int64_t count) {
        const bool is_first = first == 0;
        const Tensor x = rows.narrow(0, first, count);
        const Tensor inner = hidden.narrow(0, first, count);
        Tensor g;
        {
            const Tensor unit = norm(inner, c, geometry);
            g = maps.last.back(sums[2], gate(unit, c, geometry), gz.narrow(0, first, count),
                               is_first);
            g = gate_back(unit, g, c, geometry);
        }
        g = norm_back(inner, g, c, geometry);
        Tensor g_pair;
        {
            const std::array<Tensor, 2> factors = factors_of(x, maps.pair);
            g = maps.out.back(sums[1], product(factors, x, n), g, is_first);
            g_pair = at::empty({count, width_of(maps.pair.sizes.z)}, x.options());
            const Tensor g_right = half(g_pair, 1);
            rows_backward(*geometry.product, factors[0], &factors[1], g, half(g_pair, 0), &g_right,
                          c);
        }
        const Tensor g_x = g_rows.narrow(0, first, count);
        maps.pair.back(g_x, sums[0], x, g_pair, is_first);
        if (n.s > 0) {
            scalars_of(g_x, n.c).add_(scalars_of(g, c));
        }
    });
    return {g_rows, sums[0], sums[1], sums[2]};
}

variable_list rows_by_python(const Sizes &n, const variable_list &inputs, const Tensor &gz,
                             unsigned bits)
{
    pybind11::gil_scoped_acquire gil;
    PyObject *tensors = PyTuple_New(Py_ssize_t(inputs.size()));
    PyObject *wanted = PyTuple_New(Py_ssize_t(inputs.size()));
    for (size_t i = 0; i < inputs.size(); i++) {
        PyTuple_SET_ITEM(tensors, Py_ssize_t(i), wrap(inputs[i]));
        PyTuple_SET_ITEM(wanted, Py_ssize_t(i), PyBool_FromLong(bits >> i & 1));
    }
    return called_back(n.geometry->backward,
                       Py_BuildValue("(NNNLLLL)", tensors, wanted, wrap(gz), (long long)n.c,
                                     (long long)n.s, (long long)n.hidden_c, (long long)n.hidden_s),
                       inputs.size());
}

// Of a part of a block: rows, or rows, three matrices and what the second of them gave.
variable_list rows_gradients(const Numbers &numbers, const variable_list &tensors,
                             const Tensor &grad, unsigned wanted)
{
    const Sizes n = {numbers[0], numbers[1], numbers[2],
                     numbers[3], numbers[4], &at_address<Geometry>(numbers[5])};
    const bool is_norm = tensors.size() == 1;
    const variable_list inputs(tensors.begin(), tensors.begin() + (is_norm ? 1 : 4));
    bool is_everyday =
        !at::GradMode::is_enabled() && nobody_watches() && is_plain(grad) && !has_tangent(grad);
    for (const Tensor &t : inputs) {
        is_everyday = is_everyday && !has_tangent(t);
    }
    if (!is_everyday) {
        return rows_by_python(n, inputs, grad, wanted);
    }
    const c10::DeviceGuard guard(inputs[0].device());
    const Tensor gz = aligned(grad);
    if (is_norm) {
        return {norm_back(inputs[0], gz, n.c, *n.geometry)};
    }
    const Maps maps(inputs[1], inputs[2], inputs[3], n);
    return feed_backward(inputs[0], maps, tensors[4], gz, n);
}

Tensor rows_node(bool is_norm, const Sizes &n, const variable_list &in)
{
    const auto compute = [&]() -> std::array<Tensor, 2> {
        at::AutoDispatchBelowADInplaceOrView below;
        const c10::DeviceGuard guard(in[0].device());
        if (is_norm) {
            return {norm(in[0], n.c, *n.geometry), Tensor()};
        }
        return feed_forward(in[0], Maps(in[1], in[2], in[3], n), n);
    };
    const bool is_wanted =
        at::GradMode::is_enabled() &&
        std::any_of(in.begin(), in.end(), [](const Tensor &t) { return t.requires_grad(); });
    if (!is_wanted) {
        return compute()[0];
    }
    NodePointer pointer = make_recorded<NodePointer>();
    Recorded &node = static_cast<Recorded &>(*pointer);
    node.title = is_norm ? "TesseraNormRowsBackward" : "TesseraFeedForwardBackward";
    node.gradients = rows_gradients;
    node.numbers = {n.c, n.s, n.hidden_c, n.hidden_s, n.chunk_bytes, number_of(n.geometry)};
    node.set_next_edges(torch::autograd::collect_next_edges(in));
    for (const Tensor &t : in) {
        node.kept.emplace_back(t, false);
    }
    const std::array<Tensor, 2> found = compute();
    if (!is_norm) {
        node.kept.emplace_back(found[1], false);
    }
    torch::autograd::set_history(found[0], pointer);
    return found[0];
}

// geometry, (c, s, hidden_c, hidden_s, chunk_bytes), rows[, pair, out, last]: z, or None where the
// call is none for this file.
PyObject *py_rows(PyObject *, PyObject *const *args, Py_ssize_t n_arg)
{
    HANDLE_TH_ERRORS
    const bool is_norm = n_arg == 3;
    const auto *geometry =
        static_cast<const Geometry *>(PyCapsule_GetPointer(args[0], "tessera.clifford.Geometry"));
    long long size[5];
    if (!geometry ||
        !PyArg_ParseTuple(args[1], "LLLLL", &size[0], &size[1], &size[2], &size[3], &size[4])) {
        return nullptr;
    }
    if (!nobody_watches()) {
        Py_RETURN_NONE;
    }
    variable_list in;
    for (Py_ssize_t i = 2; i < n_arg; i++) {
        if (!THPVariable_CheckExact(args[i])) {
            Py_RETURN_NONE;
        }
        in.push_back(THPVariable_Unpack(args[i]));
        const Tensor &t = in.back();
        if (!is_plain(t) || dtype_of(t.scalar_type()) == 0 || has_tangent(t) ||
            t.device() != in[0].device() || t.scalar_type() != in[0].scalar_type() ||
            !t.is_contiguous()) {
            Py_RETURN_NONE;
        }
    }
    if (at::autocast::is_autocast_enabled(in[0].device().type()) ||
        (in[0].is_cuda() && !current_stream)) {
        Py_RETURN_NONE;
    }
    const Sizes n = {size[0], size[1], size[2], size[3], size[4], geometry};
    pybind11::gil_scoped_release no_gil;
    const at::IntArrayRef shape = in[0].sizes();
    c10::SmallVector<int64_t, 6> out_shape(shape.begin(), shape.end());
    in[0] = in[0].view({-1, shape.back()});
    Tensor z = rows_node(is_norm, n, in);
    out_shape.back() = z.size(1);
    z = z.view(out_shape);
    pybind11::gil_scoped_acquire gil;
    return THPVariable_Wrap(std::move(z));
    END_HANDLE_TH_ERRORS
}

// Operations of the norm, the gate and the product, and what differentiates gradients.
PyObject *py_geometry(PyObject *, PyObject *args)
{
    PyObject *ops[3];
    PyObject *python;
    if (!PyArg_ParseTuple(args, "OOOO", &ops[0], &ops[1], &ops[2], &python)) {
        return nullptr;
    }
    const Op *found[3];
    for (int i = 0; i < 3; i++) {
        found[i] = static_cast<const Op *>(PyCapsule_GetPointer(ops[i], "tessera.clifford.Op"));
        if (!found[i]) {
            return nullptr;
        }
        Py_INCREF(ops[i]);
    }
    return PyCapsule_New(new Geometry{found[0], found[1], found[2], Py_NewRef(python)},
                         "tessera.clifford.Geometry", nullptr);
}

// Linear maps of packed rows by pairs of components (tessera/clifford/maps.h), and one of them as a
// node of autograd.
//
// rows: (row, feature), contiguous; items: (n), as the library orders them.

constexpr uintptr_t MAP_ALIGN = 16;

// What a map is: channels, scalars and groups of either side.
struct MapSizes {
    std::array<int64_t, 3> x;
    std::array<int64_t, 3> z;
    bool is_null; // pairs k and e0 k, instead of k and 15 - k
    bool has_bias;
};

int64_t width_of(const std::array<int64_t, 3> &row)
{
    return 16 * row[0] + row[1];
}

// The same numbers, one behind the other, where maps on a GPU read words of 16 bytes: a slice of
// other memory may begin anywhere.
Tensor aligned(const Tensor &t)
{
    const Tensor dense = t.contiguous();
    const bool fits =
        !dense.is_cuda() || reinterpret_cast<uintptr_t>(dense.data_ptr()) % MAP_ALIGN == 0;
    return fits ? dense : dense.clone();
}

clifford_native_maps begin_map(const MapSizes &sizes, const Tensor &rows, const Tensor &items,
                               const Tensor &z, Tensor &workspace)
{
    clifford_native_maps m = {};
    std::copy(sizes.x.begin(), sizes.x.end(), m.x);
    std::copy(sizes.z.begin(), sizes.z.end(), m.z);
    m.n_row = rows.size(0);
    m.pairs = sizes.is_null;
    m.has_bias = sizes.has_bias;
    clifford_native_pass place;
    begin_pass(nullptr, 0, rows, workspace, place);
    m.device = place.device;
    m.threads = place.threads;
    m.stream = place.stream;
    m.take_workspace = place.take_workspace;
    m.user = place.user;
    m.x_data = rows.data_ptr();
    m.items = items.data_ptr();
    m.z_data = z.data_ptr();
    return m;
}

void run_map(const clifford_native_maps &m)
{
    const int32_t status = calls->map(&m);
    if (status != 0) {
        fail(status);
    }
}

void map_into(const MapSizes &sizes, const Tensor &z, const Tensor &given_rows,
              const Tensor &given_items)
{
    const Tensor rows = aligned(given_rows);
    const Tensor items = aligned(given_items);
    Tensor workspace;
    clifford_native_maps m = begin_map(sizes, rows, items, z, workspace);
    m.is_forward = 1;
    run_map(m);
}

Tensor map_rows(const MapSizes &sizes, const Tensor &rows, const Tensor &items)
{
    Tensor z = at::empty({rows.size(0), width_of(sizes.z)}, rows.options());
    map_into(sizes, z, rows, items);
    return z;
}

// Gradients of rows and of items where these are given; the latter are added to what is there.
void map_backward(const MapSizes &sizes, const Tensor &given_rows, const Tensor &given_items,
                  const Tensor &given_gz, const Tensor *g_rows, const Tensor *g_items, bool adds)
{
    const Tensor rows = aligned(given_rows);
    const Tensor items = aligned(given_items);
    const Tensor gz = aligned(given_gz);
    Tensor workspace;
    clifford_native_maps m = begin_map(sizes, rows, items, gz, workspace);
    m.x_grad = g_rows ? g_rows->data_ptr() : nullptr;
    m.items_grad = g_items ? g_items->data_ptr() : nullptr;
    m.adds = adds;
    run_map(m);
}

MapSizes map_sizes_of(const Numbers &numbers)
{
    return {{numbers[1], numbers[2], numbers[3]},
            {numbers[4], numbers[5], numbers[6]},
            numbers[7] != 0,
            numbers[8] != 0};
}

// numbers: the address of what differentiates gradients, in Python, then the sizes.
variable_list map_gradients(const Numbers &numbers, const variable_list &tensors,
                            const Tensor &grad, unsigned wanted)
{
    const Tensor &rows = tensors[0];
    const Tensor &items = tensors[1];
    if (at::GradMode::is_enabled() || !nobody_watches() || !is_plain(grad) || has_tangent(grad) ||
        has_tangent(rows) || has_tangent(items)) {
        pybind11::gil_scoped_acquire gil;
        auto *python = reinterpret_cast<PyObject *>(intptr_t(numbers[0]));
        PyObject *sizes = PyTuple_New(8);
        for (Py_ssize_t i = 0; i < 8; i++) {
            PyTuple_SET_ITEM(sizes, i, PyLong_FromLongLong(numbers[size_t(i) + 1]));
        }
        return called_back(python,
                           Py_BuildValue("(NNNN)", wrap(rows), wrap(items), wrap(grad), sizes), 2);
    }
    const c10::DeviceGuard guard(rows.device());
    variable_list found(2);
    if (wanted & 1) {
        found[0] = at::empty_like(rows);
    }
    if (wanted & 2) {
        found[1] = at::empty_like(items);
    }
    map_backward(map_sizes_of(numbers), rows, items, grad, wanted & 1 ? &found[0] : nullptr,
                 wanted & 2 ? &found[1] : nullptr, false);
    return found;
}

Tensor map_node(const Numbers &numbers, const Tensor &rows, const Tensor &items)
{
    const MapSizes sizes = map_sizes_of(numbers);
    const auto compute = [&]() {
        at::AutoDispatchBelowADInplaceOrView below;
        const c10::DeviceGuard guard(rows.device());
        return map_rows(sizes, rows, items);
    };
    if (!torch::autograd::compute_requires_grad(rows, items)) {
        return compute();
    }
    NodePointer pointer = make_recorded<NodePointer>();
    Recorded &node = static_cast<Recorded &>(*pointer);
    node.title = "TesseraMapRowsBackward";
    node.gradients = map_gradients;
    node.numbers = numbers;
    node.set_next_edges(torch::autograd::collect_next_edges(rows, items));
    node.kept.emplace_back(rows, false);
    node.kept.emplace_back(items, false);
    const Tensor found = compute();
    torch::autograd::set_history(found, pointer);
    return found;
}

// What differentiates gradients, which the caller keeps; eight sizes as of MapSizes; rows; items:
// z, or None where the call is none for this file.
PyObject *py_map(PyObject *, PyObject *const *args, Py_ssize_t n_arg)
{
    HANDLE_TH_ERRORS
    long long size[8];
    if (n_arg != 4 || !PyArg_ParseTuple(args[1], "LLLLLLLL", &size[0], &size[1], &size[2], &size[3],
                                        &size[4], &size[5], &size[6], &size[7])) {
        return nullptr;
    }
    if (!nobody_watches() || !THPVariable_CheckExact(args[2]) || !THPVariable_CheckExact(args[3])) {
        Py_RETURN_NONE;
    }
    const Tensor rows = THPVariable_Unpack(args[2]);
    const Tensor items = THPVariable_Unpack(args[3]);
    for (const Tensor *t : {&rows, &items}) {
        if (!is_plain(*t) || t->scalar_type() != at::kFloat || has_tangent(*t) ||
            !t->is_contiguous() || t->device() != rows.device()) {
            Py_RETURN_NONE;
        }
    }
    if (rows.dim() != 2 || at::autocast::is_autocast_enabled(rows.device().type()) ||
        (rows.is_cuda() && !current_stream)) {
        Py_RETURN_NONE;
    }
    Numbers numbers = {number_of(args[0])};
    numbers.insert(numbers.end(), size, size + 8);
    pybind11::gil_scoped_release no_gil;
    Tensor found = map_node(numbers, rows, items);
    pybind11::gil_scoped_acquire gil;
    return THPVariable_Wrap(std::move(found));
    END_HANDLE_TH_ERRORS
}

// Attention among few items on queries, keys and values side by side, as one node of autograd.
//
// Logits of all pairs lie in memory and products go head by head, with torch's own products of
// matrices: these read rows where they lie and write gradients where they belong. The pass backward
// makes the logits again.
//
// z: (set, item, 3, head, feature); result: (set, item, head, feature).

constexpr int64_t LOGIT_BYTES = 64 << 20; // of one array of logits, of which a pass has three
enum { QUERIES, KEYS, VALUES };

// Of a head: (set, item, feature).
Tensor part_of(const Tensor &z, int64_t part, int64_t head)
{
    return z.select(2, part).select(2, head);
}

Tensor head_of(const Tensor &rows, int64_t head)
{
    return rows.select(2, head);
}

double scale_of(const Tensor &z)
{
    return 1 / std::sqrt(double(z.size(4)));
}

// to = factor a b.
void multiply(Tensor to, const Tensor &a, const Tensor &b, double factor)
{
    at::baddbmm_out(to, to, a, b, 0, factor);
}

// Weights of all pairs: (head, set, item, item).
Tensor weights_of(const Tensor &z)
{
    Tensor logits = at::empty({z.size(3), z.size(0), z.size(1), z.size(1)}, z.options());
    for (int64_t head = 0; head < z.size(3); head++) {
        multiply(logits.select(0, head), part_of(z, QUERIES, head),
                 part_of(z, KEYS, head).transpose(1, 2), scale_of(z));
    }
    return at::_softmax(logits, -1, false);
}

// Calls work(first set, number of sets) for stretches of about equal length.
template <class Work>
void by_sets(const Tensor &z, Work work)
{
    const int64_t n_set = z.size(0);
    const int64_t bytes = z.size(3) * z.size(1) * z.size(1) * int64_t(z.itemsize());
    const int64_t n_part = std::max<int64_t>((n_set * bytes + LOGIT_BYTES - 1) / LOGIT_BYTES, 1);
    const int64_t step = std::max<int64_t>((n_set + n_part - 1) / n_part, 1);
    for (int64_t first = 0; first < n_set; first += step) {
        work(first, std::min(step, n_set - first));
    }
}

Tensor attend(const Tensor &z)
{
    Tensor out = at::empty({z.size(0), z.size(1), z.size(3), z.size(4)}, z.options());
    by_sets(z, [&](int64_t first, int64_t count) {
        const Tensor rows = z.narrow(0, first, count);
        const Tensor to = out.narrow(0, first, count);
        const Tensor weights = weights_of(rows);
        for (int64_t head = 0; head < z.size(3); head++) {
            multiply(head_of(to, head), weights.select(0, head), part_of(rows, VALUES, head), 1);
        }
    });
    return out;
}

Tensor attend_backward(const Tensor &z, const Tensor &grad)
{
    Tensor found = at::empty_like(z);
    by_sets(z, [&](int64_t first, int64_t count) {
        const Tensor rows = z.narrow(0, first, count);
        const Tensor g = grad.narrow(0, first, count);
        const Tensor to = found.narrow(0, first, count);
        const Tensor weights = weights_of(rows);
        Tensor slopes = at::empty_like(weights);
        for (int64_t head = 0; head < z.size(3); head++) {
            const Tensor weight = weights.select(0, head);
            multiply(part_of(to, VALUES, head), weight.transpose(1, 2), head_of(g, head), 1);
            multiply(slopes.select(0, head), head_of(g, head),
                     part_of(rows, VALUES, head).transpose(1, 2), 1);
        }
        slopes = at::_softmax_backward_data(slopes, weights, -1, z.scalar_type());
        for (int64_t head = 0; head < z.size(3); head++) {
            const Tensor slope = slopes.select(0, head);
            multiply(part_of(to, QUERIES, head), slope, part_of(rows, KEYS, head), scale_of(z));
            multiply(part_of(to, KEYS, head), slope.transpose(1, 2), part_of(rows, QUERIES, head),
                     scale_of(z));
        }
    });
    return found;
}

// numbers: the address of what differentiates gradients, in Python.
variable_list attention_gradients(const Numbers &numbers, const variable_list &tensors,
                                  const Tensor &grad, unsigned)
{
    const Tensor &z = tensors[0];
    if (!at::GradMode::is_enabled() && nobody_watches() && is_plain(grad) && !has_tangent(grad) &&
        !has_tangent(z)) {
        return {attend_backward(z, grad.contiguous())};
    }
    pybind11::gil_scoped_acquire gil;
    auto *python = reinterpret_cast<PyObject *>(intptr_t(numbers[0]));
    return called_back(python, Py_BuildValue("(NN)", wrap(z), wrap(grad)), 1);
}

Tensor attention_node(PyObject *python, const Tensor &z)
{
    const auto compute = [&]() {
        at::AutoDispatchBelowADInplaceOrView guard;
        return attend(z);
    };
    if (!torch::autograd::compute_requires_grad(z)) {
        return compute();
    }
    NodePointer pointer = make_recorded<NodePointer>();
    Recorded &node = static_cast<Recorded &>(*pointer);
    node.title = "TesseraAttentionBackward";
    node.gradients = attention_gradients;
    node.numbers = {number_of(python)};
    node.set_next_edges(torch::autograd::collect_next_edges(z));
    node.kept.emplace_back(z, false);
    const Tensor found = compute();
    torch::autograd::set_history(found, pointer);
    return found;
}

// What differentiates gradients, which the caller keeps; z: the result, or None where the call is
// none for this file.
PyObject *py_attention(PyObject *, PyObject *const *args, Py_ssize_t n_arg)
{
    HANDLE_TH_ERRORS
    if (n_arg != 2 || !nobody_watches() || !THPVariable_CheckExact(args[1])) {
        Py_RETURN_NONE;
    }
    const Tensor z = THPVariable_Unpack(args[1]);
    if (!is_plain(z) || z.dim() != 5 || z.size(2) != 3 || has_tangent(z) || !z.is_contiguous() ||
        at::autocast::is_autocast_enabled(z.device().type())) {
        Py_RETURN_NONE;
    }
    pybind11::gil_scoped_release no_gil;
    Tensor found = attention_node(args[0], z);
    pybind11::gil_scoped_acquire gil;
    return THPVariable_Wrap(std::move(found));
    END_HANDLE_TH_ERRORS
}

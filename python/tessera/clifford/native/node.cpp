// Operations of tessera.clifford as nodes of torch's autograd, without Python between the call and
// the library: one call per pass. tessera.clifford.native compiles this file on the user's machine,
// for the torch that is there.
//
// Whatever is not an everyday call is declined (None is returned) and goes the way of Python: other
// classes of tensors, modes, transformations, tracers. Second derivatives go there as well.

#include "calls.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vecdot.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var_mean.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/utils/object_ptr.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
#define HAS_COMPILED_AUTOGRAD 1
#include <torch/csrc/dynamo/compiled_autograd.h>
#else
#define HAS_COMPILED_AUTOGRAD 0
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace
{

using at::Tensor;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

constexpr int N = CLIFFORD_N_MEMBER;
enum { X, Y, WEIGHT, LINEAR_WEIGHT, BIAS };
using Members = std::array<Tensor, N>;

// From here on memory on the CPU comes from a pool that Python keeps, and the time of a pass makes
// the way there short.
constexpr int64_t LARGE_BYTES = 8 << 20;

const clifford_native_calls *calls;
int (*current_stream)(int32_t device_type, int32_t device, void **stream); // DLPack's, of torch
PyObject *python_backward;        // gradients that can be differentiated
int default_threads;              // 0: as many as torch has
constexpr int MAX_THREADS = 1024; // as _torch_call._MAX_THREADS
constexpr int DLPACK_CUDA = 2;

// An operation of tessera.clifford._spec; lives as long as the process.
struct Op {
    const void *by_precision[2];
    PyObject *python;
    bool is_layer;
    bool is_connected;
    bool is_linear;
    bool normalizes;
    int64_t n_grade;
};

int32_t dtype_of(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return CLIFFORD_F32;
    case at::kDouble:
        return CLIFFORD_F64;
    case at::kHalf:
        return CLIFFORD_F16;
    case at::kBFloat16:
        return CLIFFORD_BF16;
    default:
        return 0;
    }
}

clifford_native_array view_of(const Tensor &t)
{
    if (!t.defined()) {
        return {nullptr, nullptr, nullptr, -1, 0};
    }
    return {t.data_ptr(), t.sizes().data(), t.strides().data(), int32_t(t.dim()),
            dtype_of(t.scalar_type())};
}

// Room beside x, on the current device: what at::empty_strided gives, without torch's dispatcher,
// which takes twice as long as the allocator.
Tensor room_of(const Tensor &x, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type)
{
    if (!x.is_cuda()) {
        return at::detail::empty_strided_cpu(sizes, strides, type);
    }
    return at::detail::empty_strided_generic(sizes, strides,
                                             at::detail::getCUDAHooks().getCUDADeviceAllocator(),
                                             c10::DispatchKeySet(c10::DispatchKey::CUDA), type);
}

Tensor room_like(const Tensor &t)
{
    return t.is_non_overlapping_and_dense() ? room_of(t, t.sizes(), t.strides(), t.scalar_type())
                                            : at::empty_like(t);
}

void *take_workspace(void *user, uint64_t bytes)
{
    Tensor &room = *static_cast<Tensor *>(user);
    const c10::DeviceGuard guard(room.device());
    room = room_of(room, {int64_t(bytes)}, {1}, at::kByte);
    return room.data_ptr();
}

[[noreturn]] void fail(int32_t status)
{
    pybind11::gil_scoped_acquire gil;
    calls->raise(status);
    python_error error;
    error.persist();
    throw std::move(error);
}

// What every pass has: the operation, where it runs, memory. x tells the device.
void begin_pass(const void *op, int32_t pass, const Tensor &x, Tensor &workspace,
                clifford_native_pass &p)
{
    p.op = op;
    p.pass = pass;
    p.device = x.is_cuda() ? x.get_device() : -1;
    p.threads = x.is_cuda()       ? 0
                : default_threads ? default_threads
                                  : std::min(at::get_num_threads(), MAX_THREADS);
    p.stream = nullptr;
    if (x.is_cuda() && current_stream(DLPACK_CUDA, p.device, &p.stream) != 0) {
        throw python_error();
    }
    workspace = x; // whose options it takes
    p.take_workspace = take_workspace;
    p.user = &workspace;
}

clifford_native_pass pass_of(const Op &op, int32_t pass, const Members &in, Tensor &workspace)
{
    clifford_native_pass p;
    const bool is_fast =
        at::globalContext().float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST;
    begin_pass(op.by_precision[is_fast], pass, in[X], workspace, p);
    for (int i = 0; i < N; i++) {
        p.in[i] = view_of(in[i]);
    }
    return p;
}

#include "recorded.hpp"

struct Kept {
    Tensor z;
    Tensor statistics;
    Tensor linear_out;
};

Tensor result_like(const Op &op, const Members &in)
{
    const Tensor &x = in[X];
    const Tensor &mixing = op.is_linear ? in[LINEAR_WEIGHT] : in[WEIGHT];
    if (!(op.is_linear || op.is_connected) || !mixing.defined() || mixing.dim() == 0 ||
        x.dim() == 0) {
        return room_like(x);
    }
    c10::SmallVector<int64_t, 4> shape(x.sizes().begin(), x.sizes().end());
    shape.back() = mixing.size(-1);
    return at::empty(shape, x.options());
}

Kept forward(const Op &op, const Members &in, bool keeps)
{
    const Tensor &x = in[X];
    const c10::DeviceGuard guard(x.device());
    Kept kept;
    Tensor workspace;
    kept.z = result_like(op, in);
    if (keeps && op.normalizes && (x.is_cuda() || op.is_connected)) {
        const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        const int64_t n_row = x.dim() > 1 ? x.size(1) : 0;
        kept.statistics = room_of(x, {op.n_grade, n_row}, {n_row, 1}, type);
    }
    if (keeps && op.is_layer && (x.is_cuda() || x.itemsize() > 2)) {
        kept.linear_out = room_like(x);
    }
    clifford_native_pass p = pass_of(op, 1, in, workspace);
    p.z = view_of(kept.z);
    p.statistics = view_of(kept.statistics);
    p.linear_out = view_of(kept.linear_out);
    const int32_t status = calls->run(&p);
    if (status != 0) {
        fail(status);
    }
    return kept;
}

variable_list backward(const Op &op, const Members &in, const Kept &kept, const Tensor &gz,
                       unsigned wanted)
{
    const c10::DeviceGuard guard(in[X].device());
    variable_list gradients(N);
    Tensor workspace;
    clifford_native_pass p = pass_of(op, 2, in, workspace);
    if (kept.linear_out.defined()) {
        p.in[Y] = view_of(kept.linear_out);
    }
    p.gz = view_of(gz);
    p.z = view_of(kept.z);
    p.statistics = view_of(kept.statistics);
    p.linear_out = view_of({});
    for (int i = 0; i < N; i++) {
        if (in[i].defined() && (wanted >> i & 1)) {
            gradients[i] = room_like(in[i]);
        }
        p.gradients[i] = view_of(gradients[i]);
    }
    const int32_t status = calls->run(&p);
    if (status != 0) {
        fail(status);
    }
    return gradients;
}

// Whether memory alone tells the numbers of a tensor, and nobody but autograd looks on.
bool is_plain(const Tensor &t)
{
    using c10::DispatchKey;
    static const uint64_t allowed =
        c10::DispatchKeySet({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::ADInplaceOrView,
                             DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA,
                             DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA})
            .raw_repr();
    return (t.key_set().raw_repr() & ~allowed) == 0;
}

bool nobody_watches()
{
    const auto included = c10::impl::tls_local_dispatch_key_set().included_;
    return (included.raw_repr() & ~c10::default_included_set.raw_repr()) == 0 &&
           at::impl::PythonTorchFunctionTLS::stack_len() == 0;
}

bool has_tangent(const Tensor &t)
{
    return t.defined() && t._fw_grad(0).defined();
}

PyObject *wrap(const Tensor &t)
{
    return t.defined() ? THPVariable_Wrap(t) : Py_NewRef(Py_None);
}

// Calls a function of Python that returns n tensors or None; with the GIL. arguments is given away.
variable_list called_back(PyObject *function, PyObject *arguments, size_t n)
{
    const THPObjectPtr held(arguments);
    const THPObjectPtr answer(arguments ? PyObject_CallObject(function, arguments) : nullptr);
    if (!answer) {
        python_error error;
        error.persist();
        throw std::move(error);
    }
    variable_list found(n);
    for (size_t i = 0; i < n; i++) {
        PyObject *t = PyTuple_GET_ITEM(answer.get(), Py_ssize_t(i));
        if (t != Py_None) {
            found[i] = THPVariable_Unpack(t);
        }
    }
    return found;
}

variable_list gradients_by_python(const Op &op, const Members &inputs, const Kept &kept,
                                  const Tensor &gz, unsigned wanted)
{
    pybind11::gil_scoped_acquire gil;
    PyObject *arguments = PyTuple_New(6 + N);
    PyTuple_SET_ITEM(arguments, 0, Py_NewRef(op.python));
    PyTuple_SET_ITEM(arguments, 1, PyLong_FromUnsignedLong(wanted));
    PyTuple_SET_ITEM(arguments, 2, wrap(kept.statistics));
    PyTuple_SET_ITEM(arguments, 3, wrap(kept.linear_out));
    PyTuple_SET_ITEM(arguments, 4, wrap(kept.z));
    PyTuple_SET_ITEM(arguments, 5, wrap(gz));
    for (int i = 0; i < N; i++) {
        PyTuple_SET_ITEM(arguments, 6 + i, wrap(inputs[i]));
    }
    return called_back(python_backward, arguments, N);
}

// What an operation keeps: its inputs, then these.
enum { STATISTICS = N, LINEAR_OUT, RESULT, N_KEPT };

variable_list gradients_of(const Numbers &numbers, const variable_list &tensors, const Tensor &gz,
                           unsigned wanted)
{
    const Op &op = at_address<Op>(numbers[0]);
    Members inputs;
    std::copy_n(tensors.begin(), N, inputs.begin());
    const Kept kept = {tensors[RESULT], tensors[STATISTICS], tensors[LINEAR_OUT]};
    bool is_everyday =
        !at::GradMode::is_enabled() && nobody_watches() && is_plain(gz) && !has_tangent(gz);
    for (const Tensor &t : inputs) {
        is_everyday = is_everyday && !has_tangent(t);
    }
    return is_everyday ? backward(op, inputs, kept, gz, wanted)
                       : gradients_by_python(op, inputs, kept, gz, wanted);
}

Tensor differentiable(const Op &op, const Members &in)
{
    if (!torch::autograd::compute_requires_grad(in[X], in[Y], in[WEIGHT], in[LINEAR_WEIGHT],
                                                in[BIAS])) {
        return forward(op, in, false).z;
    }
    NodePointer pointer = make_recorded<NodePointer>();
    Recorded &node = static_cast<Recorded &>(*pointer);
    node.title = "TesseraCliffordBackward";
    node.gradients = gradients_of;
    node.numbers = {number_of(&op)};
    node.set_next_edges(
        torch::autograd::collect_next_edges(in[X], in[Y], in[WEIGHT], in[LINEAR_WEIGHT], in[BIAS]));
    node.kept.reserve(N_KEPT);
    for (const Tensor &t : in) {
        node.kept.emplace_back(t, false);
    }
    Kept kept = forward(op, in, true);
    node.kept.emplace_back(kept.statistics, false);
    node.kept.emplace_back(kept.linear_out, false);
    torch::autograd::set_history(kept.z, pointer);
    const bool keeps_result = op.normalizes && op.is_connected && in[X].itemsize() > 2;
    node.kept.emplace_back(keeps_result ? kept.z : Tensor(), keeps_result);
    node.result = keeps_result ? RESULT : -1;
    return kept.z;
}

// op, x, y, weight, linear_weight, bias, of which the last ones may be missing: z, or None where
// the call is none for this file.
PyObject *py_forward(PyObject *, PyObject *const *args, Py_ssize_t n_arg)
{
    HANDLE_TH_ERRORS
    if (n_arg < 2 || n_arg > 1 + N) {
        PyErr_SetString(PyExc_TypeError, "forward() takes an operation and up to five tensors");
        return nullptr;
    }
    const Op *op = static_cast<const Op *>(PyCapsule_GetPointer(args[0], "tessera.clifford.Op"));
    if (!op) {
        return nullptr;
    }
    Members in;
    if (!nobody_watches()) {
        Py_RETURN_NONE;
    }
    for (int i = 0; i < n_arg - 1; i++) {
        PyObject *t = args[1 + i];
        if (t == Py_None && i != X) {
            continue;
        }
        if (!THPVariable_CheckExact(t)) {
            Py_RETURN_NONE;
        }
        in[i] = THPVariable_Unpack(t);
        if (!is_plain(in[i]) || dtype_of(in[i].scalar_type()) == 0 || in[i].dim() > 8 ||
            in[i].device() != in[X].device() || has_tangent(in[i])) {
            Py_RETURN_NONE;
        }
    }
    const auto device = in[X].device().type();
    if (in[X].is_cuda() ? !current_stream : int64_t(in[X].nbytes()) >= LARGE_BYTES) {
        Py_RETURN_NONE;
    }
    pybind11::gil_scoped_release no_gil;
    if (at::autocast::is_autocast_enabled(device)) {
        const auto dtype = at::autocast::get_autocast_dtype(device);
        for (int i : {int(X), int(Y)}) {
            if (in[i].defined() && in[i].scalar_type() != at::kDouble) {
                in[i] = in[i].to(dtype);
            }
        }
    }
    Tensor z = differentiable(*op, in);
    pybind11::gil_scoped_acquire gil;
    return THPVariable_Wrap(std::move(z));
    END_HANDLE_TH_ERRORS
}

// Operation, addresses for either precision, is_layer, is_connected, is_linear, normalizes, grades.
PyObject *py_operation(PyObject *, PyObject *args)
{
    PyObject *python;
    unsigned long long highest;
    unsigned long long high;
    int is_layer;
    int is_connected;
    int is_linear;
    int normalizes;
    long long n_grade;
    if (!PyArg_ParseTuple(args, "OKKppppL", &python, &highest, &high, &is_layer, &is_connected,
                          &is_linear, &normalizes, &n_grade)) {
        return nullptr;
    }
    const void *by_precision[2] = {reinterpret_cast<const void *>(uintptr_t(highest)),
                                   reinterpret_cast<const void *>(uintptr_t(high))};
    Op *op = new Op{{by_precision[0], by_precision[1]},
                    Py_NewRef(python),
                    is_layer != 0,
                    is_connected != 0,
                    is_linear != 0,
                    normalizes != 0,
                    n_grade};
    return PyCapsule_New(op, "tessera.clifford.Op", nullptr);
}

#include "attention.hpp"
#include "maps.hpp"
#include "rows.hpp"

// The leading members of DLPack's table for C.
struct Exchange {
    uint32_t major;
    uint32_t minor;
    Exchange *previous;
    void *others[4];
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
};

// Table of tessera._core, DLPack's table of torch or None, what differentiates gradients.
PyObject *py_connect(PyObject *, PyObject *args)
{
    PyObject *table;
    PyObject *exchange;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "OOO", &table, &exchange, &function)) {
        return nullptr;
    }
    const auto *found = static_cast<const clifford_native_calls *>(
        PyCapsule_GetPointer(table, "tessera.clifford_native_calls"));
    if (!found) {
        return nullptr;
    }
    if (found->version != CLIFFORD_CALLS_VERSION) {
        PyErr_SetString(PyExc_ImportError, "tessera._core is of another version");
        return nullptr;
    }
    calls = found;
    python_backward = Py_NewRef(function);
    if (exchange != Py_None) {
        auto *api = static_cast<Exchange *>(PyCapsule_GetPointer(exchange, "dlpack_exchange_api"));
        if (!api) {
            return nullptr;
        }
        current_stream = api->major == 1 ? api->current_stream : nullptr;
    }
    Py_RETURN_NONE;
}

PyObject *py_set_threads(PyObject *, PyObject *threads)
{
    default_threads = int(PyLong_AsLong(threads));
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_forward)),
     METH_FASTCALL, nullptr},
    {"rows", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_rows)), METH_FASTCALL,
     nullptr},
    {"attention", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_attention)),
     METH_FASTCALL, nullptr},
    {"map", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_map)), METH_FASTCALL,
     nullptr},
    {"geometry", py_geometry, METH_VARARGS, nullptr},
    {"operation", py_operation, METH_VARARGS, nullptr},
    {"connect", py_connect, METH_VARARGS, nullptr},
    {"set_threads", py_set_threads, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "tessera_clifford_node",
                      nullptr,
                      -1,
                      methods,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

} // namespace

PyMODINIT_FUNC PyInit_tessera_clifford_node()
{
    return PyModule_Create(&module);
}

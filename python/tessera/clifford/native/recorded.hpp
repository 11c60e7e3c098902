// The node of autograd that every operation of node.cpp and rows.hpp leaves behind: numbers and
// tensors, and the function that makes gradients of them.
//
// torch's compiled autograd records nodes and calls their functions again with the tensors of other
// steps, outside of the program that it compiles.

using Numbers = std::vector<int64_t>; // addresses among them

// Tensors that were kept, gradient of the result, bits of the gradients that are wanted.
using Gradients = variable_list (*)(const Numbers &, const variable_list &, const Tensor &,
                                    unsigned);

template <class T>
int64_t number_of(const T *pointer)
{
    return reinterpret_cast<intptr_t>(pointer);
}

template <class T>
const T &at_address(int64_t number)
{
    return *reinterpret_cast<const T *>(intptr_t(number));
}

#if HAS_COMPILED_AUTOGRAD
// Address of the function, bits wanted, places of the tensors among those kept, numbers, tensors,
// how many are kept.
variable_list call_again(const variable_list &grads, const std::vector<c10::IValue> &args)
{
    const Gradients gradients = reinterpret_cast<Gradients>(intptr_t(args[0].toInt()));
    const Numbers places = args[2].toIntVector();
    variable_list kept(size_t(args[5].toInt()));
    const auto tensors = args[4].toTensorVector();
    for (size_t i = 0; i < places.size(); i++) {
        kept[size_t(places[i])] = tensors[i];
    }
    return gradients(args[3].toIntVector(), kept, grads[0], unsigned(args[1].toInt()));
}
#endif

struct Recorded : Node {
    const char *title = "";
    Gradients gradients = nullptr;
    Numbers numbers;
    std::vector<SavedVariable> kept;
    int result = -1; // which of the tensors kept is the result, if one is

    std::string name() const override
    {
        return title;
    }

    void release_variables() override
    {
        for (SavedVariable &t : kept) {
            t.reset_data();
        }
    }

    unsigned wanted() const
    {
        unsigned bits = 0;
        for (size_t i = 0; i < num_outputs(); i++) {
            bits |= unsigned(task_should_compute_output(i)) << i;
        }
        return bits;
    }

    variable_list apply(variable_list &&grads) override
    {
        if (!grads[0].defined() || wanted() == 0) {
            return variable_list(num_outputs());
        }
        variable_list tensors;
        for (size_t i = 0; i < kept.size(); i++) {
            tensors.push_back(int(i) == result ? kept[i].unpack(getptr()) : kept[i].unpack());
        }
        return gradients(numbers, tensors, grads[0], wanted());
    }

#if HAS_COMPILED_AUTOGRAD
    void compiled_args(torch::dynamo::autograd::CompiledNodeArgs &args) const override
    {
        args.collect(number_of(title));
        for (int64_t number : numbers) {
            args.collect(number);
        }
        for (size_t i = 0; i < kept.size(); i++) {
            args.collect(kept[i], int(i) == result);
        }
    }

    variable_list apply_with_saved(const variable_list &grads,
                                   torch::dynamo::autograd::SwapSavedVariables &saved) override
    {
        using namespace torch::dynamo::autograd;
        c10::List<Tensor> tensors;
        Numbers places;
        for (size_t i = 0; i < kept.size(); i++) {
            saved.before(kept[i]);
            const Tensor t = kept[i].unpack();
            if (t.defined()) {
                tensors.push_back(t);
                places.push_back(int64_t(i));
            }
        }
        const std::vector<c10::IValue> args = {int64_t(reinterpret_cast<intptr_t>(gradients)),
                                               int64_t(wanted()),
                                               places,
                                               numbers,
                                               tensors,
                                               int64_t(kept.size())};
        std::vector<at::TypePtr> schema;
        for (const c10::IValue &one : args) {
            schema.push_back(one.type());
        }
        const auto &compiler = getPyCompilerInterface();
        PyObject *python = saved.get_py_compiler();
        const std::string bound =
            compiler->bind_function(python, title, call_again, schema, true, false);
        const variable_list found = compiler->call_function(
            python, "apply_functional", bound, grads, args,
            IValuePacker<std::vector<std::optional<torch::autograd::InputMetadata>>>::pack(
                get_input_metadata(next_edges())));
        for (SavedVariable &t : kept) {
            saved.after(t);
        }
        return found;
    }
#endif
};

// Versions of torch hold nodes by pointers of different kinds.
template <class Pointer>
Pointer make_recorded()
{
    if constexpr (std::is_same_v<Pointer, std::shared_ptr<typename Pointer::element_type>>) {
        typename Pointer::element_type *made = new Recorded();
        return Pointer(made, [](auto *node) { deleteNode(node); });
    } else {
        return Pointer(c10::make_intrusive<Recorded>());
    }
}

using NodePointer = std::decay_t<decltype(torch::autograd::Edge::function)>;

// The reference of products for one dtype; included by clifford_ref_body.h only.

// Multiplies the components of an item with its gate and adds up the squares.
static void T_NAME(gate_item)(const PRODUCT *p, ptrdiff_t r, ptrdiff_t i, double *out)
{
    double fa[3], fb[3];
    activate(TESS_CLIFFORD_GELU, (double)AT(p->a, 0, r, i), fa);
    activate(TESS_CLIFFORD_GELU, (double)AT(p->b, 0, r, i), fb);
    const double gate = p->gate ? (double)p->gate[r * (ptrdiff_t)p->gate_row + i] : fa[0] * fb[0];
    for (int g = 0; g < p->grades->n_grade; g++) {
        for (int k = T_NAME(first_of)(p->grades, g); k < p->grades->end[g]; k++) {
            out[k] *= gate;
            p->squares[r * TESS_CLIFFORD_MAX_GRADES + g] += out[k] * out[k];
        }
    }
}

// One item: out by the list, and what its terms add to the weights' gradient.
static void T_NAME(product_item)(const PRODUCT *p, ptrdiff_t r, ptrdiff_t i)
{
    double out[TESS_CLIFFORD_MAX_COMPONENTS] = {0}, pair = 0, path = 0;
    for (int t = 0; t < p->list->n_entry; t++) {
        const tess_cl_entry *e = &p->list->entries[t];
        const size_t at = e->path * p->weight_stride + (size_t)i;
        const double term = (double)AT(p->a, e->a, r, i) * (double)AT(p->b, e->b, r, i);
        pair += e->is_negative ? -term : term;
        if (e->ends_pair) {
            out[e->out] += (double)p->weight[at] * pair;
            path += p->grad_weight ? (double)AT(p->x, e->out, r, i) * pair : 0;
            pair = 0;
        }
        if (p->grad_weight && e->ends_path) {
            p->grad_weight[at] += (SCALAR)path;
            path = 0;
        }
    }
    if (p->tau) {
        const size_t at = (size_t)r * p->tau_row + (size_t)i;
        out[0] += (double)p->tau[at] * (double)p->slope[at];
    }
    if (p->squares) {
        T_NAME(gate_item)(p, r, i, out);
    }
    for (ptrdiff_t k = 0; p->out.data && k < p->list->n_component; k++) {
        AT(p->out, k, r, i) = (SCALAR)out[k];
    }
}

void TESS_KFN(T_NAME(clifford_product))(const PRODUCT *restrict product)
{
    for (size_t k = 0; product->squares && k < product->n_row * TESS_CLIFFORD_MAX_GRADES; k++) {
        product->squares[k] = 0;
    }
    for (ptrdiff_t r = 0; r < (ptrdiff_t)product->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)product->n; i++) {
            T_NAME(product_item)(product, r, i);
        }
    }
}

// The forms of one algebra, named by ALGEBRA, for one dtype; ALGEBRA_GATHERS: factors are brought
// together first. Included by clifford_product_body.h only.

#define FORM gated
#define FORM_TERMS out
#define FORM_IS_GATED 1
#define FORM_IS_LEFT 0
#define FORM_HAS_TAU 0
#include "kernels/clifford_form_body.h"

#define FORM out
#define FORM_TERMS out
#define FORM_IS_GATED 0
#define FORM_IS_LEFT 0
#define FORM_HAS_TAU 0
#include "kernels/clifford_form_body.h"

#define FORM left
#define FORM_TERMS left
#define FORM_IS_GATED 0
#define FORM_IS_LEFT 1
#define FORM_HAS_TAU 1
#include "kernels/clifford_form_body.h"

#define FORM right
#define FORM_TERMS right
#define FORM_IS_GATED 0
#define FORM_IS_LEFT 0
#define FORM_HAS_TAU 1
#include "kernels/clifford_form_body.h"

#undef ALGEBRA
#undef ALGEBRA_GATHERS

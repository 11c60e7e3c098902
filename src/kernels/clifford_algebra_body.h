// The forms of one algebra, named by ALGEBRA, for one dtype; included by clifford_product_body.h
// only.

#define FORM out
#define FORM_IS_FIRST 1
#define FORM_IS_LEFT 0
#define FORM_HAS_TAU 0
#include "kernels/clifford_form_body.h"

#define FORM left
#define FORM_IS_FIRST 0
#define FORM_IS_LEFT 1
#define FORM_HAS_TAU 1
#include "kernels/clifford_form_body.h"

#define FORM right
#define FORM_IS_FIRST 0
#define FORM_IS_LEFT 0
#define FORM_HAS_TAU 1
#include "kernels/clifford_form_body.h"

#undef ALGEBRA

// Sets the names a body file is written in, from T_BITS (32 or 64), which whoever includes the body
// defines: the body includes this file first, once per dtype.
//
//   SCALAR, UINT      float and uint32_t, or double and uint64_t
//   VF, VU, VM        vector of floats, of unsigned integers of that width, and mask
//   V(add), U(add)    the vocabulary's v_add_f32, v_add_u32
//   T_NAME(exp)       exp_f32
#undef SCALAR
#undef UINT
#undef VF
#undef VU
#undef VM
#undef V
#undef U
#undef T_NAME
#undef T_MANTISSA
#undef T_BIAS

#if T_BITS == 32
#define SCALAR float
#define UINT uint32_t
#define VF v_f32
#define VU v_u32
#define VM v_mask_f32
#define V(word) v_##word##_f32
#define U(word) v_##word##_u32
#define T_NAME(name) name##_f32
#define T_MANTISSA 23
#define T_BIAS 127
#else
#define SCALAR double
#define UINT uint64_t
#define VF v_f64
#define VU v_u64
#define VM v_mask_f64
#define V(word) v_##word##_f64
#define U(word) v_##word##_u64
#define T_NAME(name) name##_f64
#define T_MANTISSA 52
#define T_BIAS 1023
#endif
#undef T_BITS

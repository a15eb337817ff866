/* Settings of the arithmetic: products, cache, instruction set. */
#ifndef GEODEC_MODEL_KERNELS_SETTINGS_H
#define GEODEC_MODEL_KERNELS_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>

/* Arithmetic of a pass. exact: float activations. fast: where the weights are block-quantised, activations are rounded
 * to int8 in blocks of 32 and multiplied in integers; other weights as in exact. integer: the whole pass in integers
 * (integer/engine/engine.h), the same bits on every processor. */
typedef enum geodec_arithmetic { GEODEC_EXACT, GEODEC_FAST, GEODEC_INTEGER } geodec_arithmetic;
enum { GEODEC_ARITHMETICS = 2 /* those that prepare floats' matrices */ };
/* Element types of the key and value cache: X(NAME, name). */
#define GEODEC_KV_TYPES(X) X(F32, f32) X(F16, f16) X(Q8_0, q8_0) X(Q4_0, q4_0)
#define GEODEC__KV_MEMBER(NAME, name) GEODEC_KV_##NAME,
typedef enum geodec_kv_type { GEODEC_KV_TYPES(GEODEC__KV_MEMBER) } geodec_kv_type;
/* Their names separated by '|'. */
#define GEODEC__KV_CHOICE(NAME, name) "|" #name
#define GEODEC_KV_CHOICES (&(GEODEC_KV_TYPES(GEODEC__KV_CHOICE))[1])

/* Instruction sets; AUTO: the best of the CPU. */
typedef enum geodec_isa { GEODEC_ISA_AUTO, GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512 } geodec_isa;
GEODEC_API bool geodec_kernels_isa_available(geodec_isa isa);
GEODEC_API const char *geodec_kernels_isa_name(geodec_isa isa);

#endif

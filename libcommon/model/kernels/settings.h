/* Settings of the arithmetic: products, cache, instruction set. */
#ifndef GEODEC_MODEL_KERNELS_SETTINGS_H
#define GEODEC_MODEL_KERNELS_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>

/* Arithmetic of the matrix products. exact: float activations. fast: where the weights are block-quantised, activations
 * are rounded to int8 in blocks of 32 and multiplied in integers; other weights as in exact. */
typedef enum geodec_arithmetic { GEODEC_EXACT, GEODEC_FAST } geodec_arithmetic;
enum { GEODEC_ARITHMETICS = 2 };
/* Element type of the key and value cache. */
typedef enum geodec_kv_type { GEODEC_KV_F32, GEODEC_KV_F16, GEODEC_KV_Q8_0, GEODEC_KV_Q4_0 } geodec_kv_type;

/* Instruction sets; AUTO: the best of the CPU. */
typedef enum geodec_isa { GEODEC_ISA_AUTO, GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512 } geodec_isa;
GEODEC_API bool geodec_kernels_isa_available(geodec_isa isa);
GEODEC_API const char *geodec_kernels_isa_name(geodec_isa isa);

#endif

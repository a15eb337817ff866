#define WORD uint64_t
#define BITS 64
#define HIGH(a, b) (geodec_mulmod_product(a, b).high)
#define PRODUCT(c, a, b) geodec_mulmod_reduce(c, geodec_mulmod_product(a, b), NULL)

#include "lab/integer/ntt/ntt_scalar_body.h"

const geodec__ntt_kernel geodec__ntt_scalar64 = KERNEL(GEODEC_NTT_SCALAR);

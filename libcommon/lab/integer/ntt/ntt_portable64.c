#define WORD uint64_t
#define BITS 64
#define HIGH(a, b) (geodec_mulmod_product_portable(a, b).high)
#define PRODUCT(c, a, b) geodec_mulmod_reduce_portable(c, geodec_mulmod_product_portable(a, b))

#include "lab/integer/ntt/ntt_scalar_body.h"

const geodec__ntt_kernel geodec__ntt_portable64 = KERNEL(GEODEC_NTT_PORTABLE);

#define KERNEL expm_scalar
#define PRODUCT product_scalar
#include "linalg/expm_body.h"

const geodec__expm_kernels geodec__expm_scalar = {"scalar", expm_scalar, product_scalar};

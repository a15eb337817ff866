#define KERNEL expm_scalar
#include "linalg/expm_body.h"

const geodec__expm_kernels geodec__expm_scalar = {"scalar", expm_scalar};

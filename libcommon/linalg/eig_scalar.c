#define KERNEL eig_scalar
#include "linalg/eig_body.h"

const geodec__eig_kernels geodec__eig_scalar = {"scalar", eig_scalar};

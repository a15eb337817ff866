#define KERNELS geodec__apply_scalar
#define KERNEL_NAME "scalar"
#include "linalg/apply_body.h"

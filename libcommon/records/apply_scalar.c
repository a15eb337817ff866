#define KERNELS geodec__apply_scalar
#define KERNEL_NAME "scalar"
#include "records/apply_body.h"

#define KERNEL low_block_scalar
#include "model/kernels/lowkv_body.h"

const geodec__low_block geodec__lowkv_block_scalar = low_block_scalar;

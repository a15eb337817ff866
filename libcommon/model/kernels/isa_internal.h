/* Internal: the instruction set that a caller asks for, as a mask of what its functions may use. */
#ifndef GEODEC_MODEL_KERNELS_ISA_INTERNAL_H
#define GEODEC_MODEL_KERNELS_ISA_INTERNAL_H

#include "base/cpu_internal.h"
#include "kernels/settings.h"

/* What of geodec__cpu() the set allows: all for AUTO and AVX512, AVX2 alone for AVX2, nothing for SCALAR. */
unsigned geodec__isa_cpu(geodec_isa isa);

#endif

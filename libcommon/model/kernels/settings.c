/* Instruction sets of this processor. Apart from the kernels, so that a program can ask without linking them. */
#include "base/names_internal.h"
#include "kernels/isa_internal.h"

unsigned geodec__isa_cpu(geodec_isa isa)
{
    if (isa == GEODEC_ISA_SCALAR) return 0;
    return isa == GEODEC_ISA_AVX2 ? geodec__cpu() & GEODEC__CPU_AVX2 : geodec__cpu();
}

bool geodec_kernels_isa_available(geodec_isa isa)
{
    if (isa == GEODEC_ISA_AVX512) return geodec__cpu() & GEODEC__CPU_AVX512;
    if (isa == GEODEC_ISA_AVX2) return geodec__cpu() & GEODEC__CPU_AVX2;
    return isa == GEODEC_ISA_AUTO || isa == GEODEC_ISA_SCALAR;
}

GEODEC__NAME(geodec_kernels_isa_name, geodec_isa, "auto", "scalar", "avx2", "avx512")

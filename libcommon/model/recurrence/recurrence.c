#include "kernels/isa_internal.h"
#include "recurrence/recurrence_internal.h"

void geodec_recurrence_run(geodec_isa isa, const void *from, void *to, bool half, int64_t stride, int64_t first,
                           int64_t end, const geodec_recurrence_rows *rows, float *scratch)
{
    geodec__recurrence_fn *run = geodec__recurrence_scalar;
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512 && geodec__recurrence_avx512)
        run = geodec__recurrence_avx512;
    else if (has & GEODEC__CPU_AVX2 && geodec__recurrence_avx2)
        run = geodec__recurrence_avx2;
    run(from, to, half, stride, first, end, rows, scratch);
}

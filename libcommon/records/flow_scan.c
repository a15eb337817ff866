#include "records/flow_scan.h"

#define VARIANT(name) name##_scalar
#include "records/flow_scan.inc"

static void distance_scalar(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                            int32_t *distance)
{
    for (int64_t b = 0; b < blocks; b++, distance += GEODEC__FLOW_BLOCK) {
        for (int i = 0; i < GEODEC__FLOW_BLOCK; i++) distance[i] = 0;
        for (int32_t g = 0; g < groups; g++, block += 4 * GEODEC__FLOW_BLOCK)
            for (int i = 0; i < GEODEC__FLOW_BLOCK; i++)
                for (int c = 0; c < 4; c++) {
                    const int32_t diff = (int32_t)block[4 * i + c] - query[4 * g + c];
                    distance[i] += diff * diff;
                }
    }
}

const geodec__flow_kernels geodec__flow_scalar = {"scalar",         distance_scalar, below_scalar,
                                                  apply_f32_scalar, apply_i8_scalar, scatter_scalar};

const geodec__flow_kernels *geodec__flow_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return &geodec__flow_avx512;
    if (__builtin_cpu_supports("avx2")) return &geodec__flow_avx2;
#endif
    return &geodec__flow_scalar;
}

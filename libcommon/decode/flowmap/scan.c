#include "flowmap/scan_internal.h"

#include "base/cpu_internal.h"

#include <math.h>
#include <string.h>

#define VARIANT(name) name##_scalar
#include "flowmap/scan.inc"

static void distance_scalar(const uint8_t *block, const int32_t *which, int64_t n, int32_t groups, const uint8_t *query,
                            int32_t norm, int32_t *distance, int32_t *low)
{
    for (int i = 0; i < GEODEC__FLOW_LOWS; i++) low[i] = INT32_MAX;
    for (int64_t b = 0; b < n; b++, distance += GEODEC__FLOW_BLOCK) {
        const uint8_t *at = block + (int64_t)which[b] * (groups + 2) * 64;
        int32_t dot[GEODEC__FLOW_BLOCK] = {0}, own[GEODEC__FLOW_BLOCK];
        int32_t *least = low + b * GEODEC__FLOW_BLOCK % GEODEC__FLOW_LOWS;
        for (int32_t g = 0; g < groups; g++, at += 4 * GEODEC__FLOW_BLOCK)
            for (int i = 0; i < GEODEC__FLOW_BLOCK; i++)
                for (int c = 0; c < 4; c++) dot[i] += (int32_t)at[4 * i + c] * query[4 * g + c];
        memcpy(own, at, sizeof own);
        for (int i = 0; i < GEODEC__FLOW_BLOCK; i++) {
            distance[i] = own[i] - 2 * dot[i] + norm;
            if (distance[i] < least[i]) least[i] = distance[i];
        }
    }
}

static void boxes_scalar(const uint8_t *box, int64_t n, const uint8_t *query, int32_t *bound)
{
    for (int64_t i = 0; i < n; i++, box += GEODEC__FLOW_BOX) {
        const uint8_t *most = box + GEODEC_FLOW_DIMS_MAX;
        int32_t sum = 0;
        for (int c = 0; c < GEODEC_FLOW_DIMS_MAX; c++) {
            const int32_t off = query[c] < box[c] ? box[c] - query[c] : query[c] > most[c] ? query[c] - most[c] : 0;
            sum += off * off;
        }
        bound[i] = sum;
    }
}

static int64_t collect_scalar(const int32_t *x, int64_t n, int32_t limit, int32_t *index)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        index[count] = (int32_t)i;
        count += x[i] < limit;
    }
    return count;
}

const geodec__flowmap_scan_kernels geodec__flowmap_scan_scalar = SCAN_KERNELS("scalar");

const geodec__flowmap_scan_kernels *geodec__flowmap_scan_best(void)
{
#if defined(__x86_64__)
    if (geodec__flowmap_scan_vnni.name && geodec__cpu() & GEODEC__CPU_VNNI) return &geodec__flowmap_scan_vnni;
    if (geodec__cpu() & GEODEC__CPU_AVX512) return &geodec__flowmap_scan_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__flowmap_scan_avx2;
#endif
    return &geodec__flowmap_scan_scalar;
}

#include "records/flow_scan.h"

void geodec__flow_distance_scalar(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
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

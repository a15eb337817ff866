/* Blocks of TQ1_0 and TQ2_0 from 256 trits, -1, 0 or 1: their bytes without the scale, which the caller adds. */
#ifndef GEODEC_GGUF_TRITS_INTERNAL_H
#define GEODEC_GGUF_TRITS_INTERNAL_H

#include <stdint.h>

enum { GEODEC__TRITS = 256 /* of a block */ };

/* Bytes of TQ1_0: of each, so many trits, the first most significant; trit k of byte j of a run is weight
 * first + k bytes + j. */
static const struct {
    int at, bytes, trits, first;
} geodec__trits_runs[3] = {{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}};

/* A byte is ceil(256 v / 243), v the number of its five digits t + 1, so that digits come out as carries of 3 q. */
static inline void geodec__trits_tq1_0(const int8_t *t, uint8_t *p)
{
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < geodec__trits_runs[r].bytes; j++) {
            const int8_t *first = t + geodec__trits_runs[r].first + j;
            int v = 0;
            for (int k = 0; k < 5; k++)
                v = 3 * v + (k < geodec__trits_runs[r].trits ? first[k * geodec__trits_runs[r].bytes] + 1 : 0);
            p[geodec__trits_runs[r].at + j] = (uint8_t)((256 * v + 242) / 243);
        }
}

static inline void geodec__trits_tq2_0(const int8_t *t, uint8_t *p)
{
    for (int i = 0; i < GEODEC__TRITS / 4; i++) p[i] = 0;
    for (int i = 0; i < GEODEC__TRITS; i++)
        p[32 * (i / 128) + i % 32] = (uint8_t)(p[32 * (i / 128) + i % 32] | (t[i] + 1) << 2 * (i % 128 / 32));
}

#endif

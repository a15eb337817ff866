/* Internal: the parts of a memory that its file holds. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_HDM_INTERNAL_H
#define GEODEC_PERSPECTIVE_MEMORY_HDM_INTERNAL_H

#include "lab/perspective/memory/hdm.h"
#include "lab/perspective/memory/hv_internal.h"

enum { GEODEC__HDM_LOW = 1024 /* vectors of the lower table of values */ };

typedef struct geodec__hdm_bank {
    int16_t *count;      /* [GEODEC_HV_COUNTS], NULL = no pairs */
    geodec_hv sign;      /* their majority */
    int64_t pairs;       /* above 32,767 counters may have stopped */
    int64_t first, last; /* entries; -1 */
} geodec__hdm_bank;

typedef struct geodec__hdm_entry {
    int64_t next; /* entry of the same bank, -1 = none */
    int64_t at;   /* text, in bytes from the first */
    int32_t n;
    int32_t bank;
} geodec__hdm_entry;

struct geodec_hdm {
    uint64_t seed;
    int32_t bank_bits;
    geodec_hv_projection project;
    int64_t width;
    float *mean;                                  /* [width] */
    char fingerprint[GEODEC_HDM_FINGERPRINT + 1]; /* zeros after the text */
    geodec_hv *low, *high;                        /* value i = low[i % 1024] XOR high[i / 1024] */
    int64_t lows, low_room, highs, high_room;
    geodec__hdm_bank *bank;   /* [1 << bank_bits] */
    geodec__hdm_entry *entry; /* [entries] */
    int64_t entries, room;
    uint8_t *text; /* [bytes] */
    int64_t bytes, text_room;
};

/* Makes the values of entries 0 .. n - 1. */
geodec_status geodec__hdm_values(geodec_hdm *m, int64_t n, geodec_err *err) GEODEC_MUST_USE;
/* Memory for the counters of a bank. */
geodec_status geodec__hdm_open_bank(geodec_hdm *m, int32_t bank, geodec_err *err) GEODEC_MUST_USE;
/* Makes the signs of a bank from its counters. */
void geodec__hdm_settle(geodec_hdm *m, int32_t bank, geodec_isa isa);
/* Appends an entry to the lists; there is room. */
void geodec__hdm_link(geodec_hdm *m, int32_t bank, int32_t n);

#endif

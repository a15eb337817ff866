/* Methods behind the table of codes, one per file. */
#ifndef GEODEC_INTEGER_CODES_CODES_INTERNAL_H
#define GEODEC_INTEGER_CODES_CODES_INTERNAL_H

#include "lab/integer/codes/codes.h"

struct geodec_codes {
    const geodec_codes_kind *kind;
    int64_t dim;
    void *tables;   /* of the method */
    int64_t shared; /* their bytes */
};

struct geodec_codes_method {
    int32_t rows;
    int64_t (*bytes)(int32_t parameter, int64_t dim); /* 0: no such dimension */
    /* NULL: no tables. */
    geodec_status (*create)(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err);
    void (*destroy)(void *tables);
    void (*encode)(const geodec_codes *c, const float *x, uint8_t *bytes);
    geodec_status (*decode)(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err);
};

extern const geodec_codes_method geodec__codes_gguf;   /* parameter: a type of GGUF */
extern const geodec_codes_method geodec__codes_group;  /* bits of a code; fp16 scale per 32 values */
extern const geodec_codes_method geodec__codes_band;   /* decimal digits: bits of the bands of VHT2, order mu1 */
extern const geodec_codes_method geodec__codes_varied; /* the same, in order of calibrated variance */
extern const geodec_codes_method geodec__codes_lowrank;
extern const geodec_codes_method geodec__codes_channel; /* 2 bits, per channel over 32 vectors (KIVI, keys) */
extern const geodec_codes_method geodec__codes_token;   /* 2 bits, per vector and 32 channels (KIVI, values) */
extern const geodec_codes_method geodec__codes_h63;     /* reading */
extern const geodec_codes_method geodec__codes_v1;
extern const geodec_codes_method geodec__codes_klt; /* budget in 63rds; code_klt.c */

#endif

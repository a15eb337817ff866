/* Internal: sums of ternary products, one table for each instruction set. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_MULTIPLY_INTERNAL_H
#define GEODEC_PERSPECTIVE_TERNARY_MULTIPLY_INTERNAL_H

#include "ternary/multiply.h"

enum {
    GEODEC__TERNARY_TILE = 4, /* rows or vectors of a call */
    GEODEC__TERNARY_LANES = 16
};

/* Some rows of a matrix. */
typedef struct geodec__ternary_rows {
    const uint8_t *data;
    int64_t row_bytes, blocks;
    int64_t ahead; /* distance of prefetches: whole tiles, so that every line is asked for once */
    int rows;      /* 1 .. GEODEC__TERNARY_TILE */
} geodec__ternary_rows;

/* sum[v GEODEC__TERNARY_TILE + r] = sum of codes times q for n vectors, 1 .. GEODEC__TERNARY_TILE. */
typedef void (*geodec__ternary_dot)(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int n,
                                    int32_t *sum);
/* The lanes of each row for one vector. */
typedef void (*geodec__ternary_add)(const geodec__ternary_rows *w, const float *x, float lane[][GEODEC__TERNARY_LANES]);

typedef struct geodec__ternary_ops {
    const char *name;
    geodec__ternary_dot dot[3]; /* [encoding] */
    geodec__ternary_add add[3];
    /* a row of cols columns as float32; NULL: geodec__ternary_expand_columns */
    void (*expand)(int encoding, const uint8_t *row, int64_t cols, float s, float *out);
} geodec__ternary_ops;

extern const geodec__ternary_ops geodec__ternary_scalar;
extern const geodec__ternary_ops geodec__ternary_avx2;
extern const geodec__ternary_ops geodec__ternary_vnni;
/* Additions of geodec__ternary_vnni: AVX-512 without further extensions. */
void geodec__ternary_add3_avx512(const geodec__ternary_rows *w, const float *x, float lane[][GEODEC__TERNARY_LANES]);
void geodec__ternary_add2_avx512(const geodec__ternary_rows *w, const float *x, float lane[][GEODEC__TERNARY_LANES]);

/* Columns begin .. end - 1 of a row, by the definition. */
void geodec__ternary_expand_columns(int encoding, const uint8_t *row, int64_t begin, int64_t end, float s, float *out);
void geodec__ternary_expand_avx2(int encoding, const uint8_t *row, int64_t cols, float s, float *out);

/* The best of this CPU up to the requested set; AUTO: the best. Never NULL. */
const geodec__ternary_ops *geodec__ternary_for(geodec_isa isa);
/* All that this CPU has, the scalar one first; returns their number. */
int geodec__ternary_all(const geodec__ternary_ops *all[3]);
/* geodec_ternary_multiply with one of them. */
void geodec__ternary_multiply_with(const geodec__ternary_ops *ops, const geodec_ternary_matrix *m,
                                   const geodec_ternary_input *in, int64_t n, geodec_pool *pool, float *const *y);

#endif

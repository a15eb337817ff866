/* Internal: products of a packed matrix, compiled once for each instruction set. */
#include "base/simd_internal.h"
#include "linalg/small_internal.h"

/* Q vectors x by V vecs of rows, two sums each: 2 V Q registers. tail: rows of the last vec, 8 = all. */
INLINE void apply_tile(const int V, const int Q, int64_t n, int64_t rows, const double *column, const double *x,
                       double *y, int64_t tail)
{
    vec even[8][4], odd[8][4];
    UNROLL
    for (int q = 0; q < Q; q++) {
        UNROLL
        for (int v = 0; v < V; v++) even[q][v] = odd[q][v] = v_zero();
    }
    int64_t j = 0;
    UNROLL
    for (; j + 2 <= n; j += 2, column += 2 * rows) {
        vec a[4];
        UNROLL
        for (int v = 0; v < V; v++) a[v] = v_load(column + v * VEC);
        UNROLL
        for (int q = 0; q < Q; q++) {
            const vec s = v_set1(x[q * n + j]);
            UNROLL
            for (int v = 0; v < V; v++) even[q][v] = v_fma(a[v], s, even[q][v]);
        }
        UNROLL
        for (int v = 0; v < V; v++) a[v] = v_load(column + rows + v * VEC);
        UNROLL
        for (int q = 0; q < Q; q++) {
            const vec s = v_set1(x[q * n + j + 1]);
            UNROLL
            for (int v = 0; v < V; v++) odd[q][v] = v_fma(a[v], s, odd[q][v]);
        }
    }
    if (j < n) {
        UNROLL
        for (int q = 0; q < Q; q++) {
            const vec s = v_set1(x[q * n + j]);
            UNROLL
            for (int v = 0; v < V; v++) even[q][v] = v_fma(v_load(column + v * VEC), s, even[q][v]);
        }
    }
    UNROLL
    for (int q = 0; q < Q; q++) {
        UNROLL
        for (int v = 0; v < V; v++) {
            const vec s = v_add(even[q][v], odd[q][v]);
            if (v == V - 1 && tail < VEC)
                v_store_n(y + q * n + v * VEC, s, tail);
            else
                v_store(y + q * n + v * VEC, s);
        }
    }
}

/* Q at a time, then four, two and one. */
#define STRIP(V, Q)                                                                                                    \
    do {                                                                                                               \
        int64_t b = 0;                                                                                                 \
        for (; b + (Q) <= count; b += (Q)) apply_tile(V, Q, n, rows, column, x + b * n, y + b * n, tail);              \
        if ((Q) > 4 && b + 4 <= count) {                                                                               \
            apply_tile(V, 4, n, rows, column, x + b * n, y + b * n, tail);                                             \
            b += 4;                                                                                                    \
        }                                                                                                              \
        if ((Q) > 2 && b + 2 <= count) {                                                                               \
            apply_tile(V, 2, n, rows, column, x + b * n, y + b * n, tail);                                             \
            b += 2;                                                                                                    \
        }                                                                                                              \
        for (; b < count; b++) apply_tile(V, 1, n, rows, column, x + b * n, y + b * n, tail);                          \
    } while (0)

enum { FIT1 = VEC_SIZE == 1 ? 8 : 4, FIT2 = VEC_SIZE == 1 ? 6 : 1 }; /* 2 V Q registers of sums, V of the matrix */

static void many_8(int64_t count, const double *column, const double *x, double *y)
{
    const int64_t n = 8, rows = 8, tail = 8;
    STRIP(1, FIT1);
}

/* Strips of one vec by eight queries hold all sums in registers and broadcast from memory in the multiply-add. They
 * reach the peak, but are no faster than two vecs for few queries. */
static void many_16(int64_t count, const double *all, const double *x_all, double *y_all)
{
    enum { CHUNK = 64 }; /* queries that stay in the first-level cache between strips */
    const int64_t n = 16, rows = 16, tail = 8, whole = count / FIT1 * FIT1;
    for (int64_t at = 0; at < whole; at += CHUNK) {
        const int64_t end = whole - at < CHUNK ? whole - at : CHUNK;
        for (int64_t strip = 0; strip < 2; strip++)
            for (int64_t b = at; b < at + end; b += FIT1)
                apply_tile(1, FIT1, n, rows, all + VEC * strip, x_all + b * n, y_all + b * n + VEC * strip, tail);
    }
    const double *column = all, *x = x_all + whole * n;
    double *y = y_all + whole * n;
    count -= whole;
    STRIP(2, FIT2);
}

static void many(int64_t n, int64_t rows, const double *all, int64_t count, const double *x_all, double *y_all)
{
    if (n == 8) {
        many_8(count, all, x_all, y_all);
        return;
    }
    if (n == 16) {
        many_16(count, all, x_all, y_all);
        return;
    }
    const double *x = x_all;
    int64_t at = 0;
    for (; at + VEC < rows; at += 2 * VEC) {
        const double *column = all + at;
        double *y = y_all + at;
        const int64_t tail = at + 2 * VEC <= n ? VEC : n - at - VEC;
        STRIP(2, FIT2);
    }
    if (at < rows) {
        const double *column = all + at;
        double *y = y_all + at;
        const int64_t tail = n - at;
        STRIP(1, FIT1);
    }
}

static double peak(int64_t rounds)
{
    vec s[12];
    const vec a = v_set1(0.999), b = v_set1(1e-3);
    for (int i = 0; i < 12; i++) s[i] = v_set1(i);
    for (int64_t r = 0; r < rounds; r++) {
        UNROLL
        for (int i = 0; i < 12; i++) s[i] = v_fma(s[i], a, b);
    }
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += v_sum(s[i]);
    return sum;
}

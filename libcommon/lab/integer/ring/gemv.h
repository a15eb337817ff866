/* Products of a matrix and a vector over Z[w] (ring.h): y_i = sum_k W_ik x_k, from the lane sums AC, BD, AD, BC of
 *
 *   y = (AC - 41 BD) + (AD + BC + BD) w
 *
 * Forms
 *   pairs16  int16 pairs. With u = (c, -41 d) and v = (d, c + d), real = <row, u> and imag = <row, v> are ordinary dot
 *            products of length 2 K. Sums of int32 are widened to int64 every `block` steps of a lane, floor((2^31 - 1)
 *            / bound of a step), so they cannot overflow. Needs W, u and v in int16, hence |d| <= 799.
 *   pairs64  int64 pairs in place, sums modulo 2^64: only the final values must fit. Vector forms multiply 32 bits, so
 *            rows with larger coordinates take the scalar one.
 *   wide     exact sums of 192 bits; what does not fit in int64 is reported
 *
 * The load-time check has the exact largest |a|, |b| of each block of 16 rows. pairs64 is safe for a block iff
 *   K (A_a X_c + 41 A_b X_d) <= 2^63 - 1 and K (A_a X_d + A_b X_c + A_b X_d) <= 2^63 - 1,
 * which is K A X <= 219604096115589900 where all of A and all of X are equal. A block that is not safe takes the wide
 * form. Where W has b = 0 throughout, half of the products are left out (zero_b). */
#ifndef GEODEC_INTEGER_RING_GEMV_H
#define GEODEC_INTEGER_RING_GEMV_H

#include "kernels/settings.h"
#include "lab/integer/ring/ring.h"

#include <stdbool.h>

typedef enum geodec_ring_form {
    GEODEC_RING_AUTO, /* pairs16 if possible, else pairs64 where it is safe, else wide */
    GEODEC_RING_PAIRS16,
    GEODEC_RING_PAIRS64, /* also where it is not safe: values modulo 2^64 */
    GEODEC_RING_WIDE
} geodec_ring_form;
const char *geodec_ring_form_name(geodec_ring_form form); /* "auto", "pairs16", "pairs64", "wide" */

/* Largest |a| and |b|. narrow: every coordinate is an int32. */
typedef struct geodec_ring_bound {
    int64_t a, b; /* -1: INT64_MIN occurs, whose magnitude is no int64 */
    bool narrow;
} geodec_ring_bound;
geodec_ring_bound geodec_ring_bound_of(const geodec_ring_element *x, int64_t n);
/* Whether sums of k products of an element within w and one within x fit in int64, whatever their signs. */
bool geodec_ring_bound_safe(int64_t k, geodec_ring_bound w, geodec_ring_bound x);
/* Steps after which int32 sums are widened: floor((2^31 - 1) / (A_a X_c + 41 A_b X_d or A_a X_d + A_b X_cd, the
 * larger)), X_cd = max |c + d|. 0: a single step does not fit. Coordinates within +-2^30. */
int64_t geodec_ring_bound_block(geodec_ring_bound w, geodec_ring_bound x, int64_t cd);

/* W [rows][cols], which must outlive the matrix. int16: keep a copy of 16-bit pairs (of a alone where b = 0) if all
 * coordinates fit. GEODEC_RANGE (a size below 1), GEODEC_NOMEM. */
typedef struct geodec_ring_matrix geodec_ring_matrix;
geodec_status geodec_ring_matrix_create(const geodec_ring_element *w, int64_t rows, int64_t cols, bool int16,
                                        geodec_ring_matrix **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_ring_matrix_destroy(geodec_ring_matrix *m); /* NULL ok */
bool geodec_ring_matrix_zero_b(const geodec_ring_matrix *m);
int64_t geodec_ring_matrix_bytes16(const geodec_ring_matrix *m); /* of the 16-bit copy; 0: there is none */

/* A vector with what every row needs: a copy, the copy with halves swapped, u and v. n >= 1. */
typedef struct geodec_ring_vector geodec_ring_vector;
geodec_status geodec_ring_vector_create(const geodec_ring_element *x, int64_t n, geodec_ring_vector **out,
                                        geodec_err *err) GEODEC_MUST_USE;
void geodec_ring_vector_destroy(geodec_ring_vector *v); /* NULL ok */

typedef struct geodec_ring_gemv_options {
    geodec_isa isa;
    geodec_ring_form form;
} geodec_ring_gemv_options;

/* Which paths ran, and over how many rows. */
typedef struct geodec_ring_gemv_report {
    geodec_isa isa16, isa64;                /* of the kernels; AUTO: the form did not run */
    int64_t rows16, rows64, scalar64, wide; /* rows by form; scalar64: of rows64, those with coordinates beyond int32 */
    int64_t unsafe;                         /* rows of pairs64 without the bound: right modulo 2^64 */
    int64_t overflows;                      /* rows of the wide form that do not fit */
    int64_t block;                          /* steps between widenings of pairs16 */
    bool zero_b, zero_d;                    /* W has b = 0 throughout, and so has x */
} geodec_ring_gemv_report;

/* y [rows]. overflow [rows]: 1 where a value does not fit in int64 (known for the wide form only), whose y is then
 * right modulo 2^64; NULL: that is GEODEC_NUMERIC. o, report: or NULL. GEODEC_RANGE (sizes differ; a form that does not
 * suit these values), GEODEC_UNSUPPORTED (instruction set). */
geodec_status geodec_ring_gemv(const geodec_ring_matrix *w, const geodec_ring_vector *x,
                               const geodec_ring_gemv_options *o, geodec_ring_element *y, uint8_t *overflow,
                               geodec_ring_gemv_report *report, geodec_err *err) GEODEC_MUST_USE;

#endif

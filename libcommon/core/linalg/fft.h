/* Discrete Fourier transform of any length: X_f = sum_t x_t exp(-2 pi i f t / N).
 *
 * Powers of two by the radix-2 transform; other lengths as a convolution of one (Bluestein, IEEE Trans. Audio
 * Electroacoust. 18 (1970) 451), with chirp angles reduced exactly. float64, the same bytes every time. */
#ifndef GEODEC_LINALG_FFT_H
#define GEODEC_LINALG_FFT_H

#include "base/err.h"

#include <stdint.h>

typedef struct geodec_fft geodec_fft;

/* n in 1 .. 2^28. GEODEC_RANGE, GEODEC_NOMEM. */
geodec_status geodec_fft_create(int64_t n, geodec_fft **out, geodec_err *err) GEODEC_MUST_USE;
/* NULL ok. */
void geodec_fft_destroy(geodec_fft *f);
/* In place: re, im [n]. Not for two threads at once on one plan. The inverse is the transform of the conjugate,
 * conjugated, divided by n. */
void geodec_fft_run(geodec_fft *f, double *re, double *im);

#endif

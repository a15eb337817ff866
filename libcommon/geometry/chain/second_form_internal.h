/* Internal: what the computation and the file of the second fundamental form share. */
#ifndef GEODEC_CHAIN_SECOND_FORM_INTERNAL_H
#define GEODEC_CHAIN_SECOND_FORM_INTERNAL_H

#include "chain/second_form.h"

/* Mean and median over centres whose offset is at most this; .25 of the radius leaves out the edge of a ball. */
static const double geodec__second_form_edge = 0.25;

/* scalar, offset [centres], `stride` doubles from one centre to the next; without [centres][groups]. */
geodec_status geodec__second_form_pool(int64_t centres, int64_t stride, const double *scalar, const double *offset,
                                       int64_t groups, const double *without, geodec_second_form_pool *out,
                                       geodec_err *err) GEODEC_MUST_USE;
/* *deviation: root of the median of noise over the centres that have one; NaN without. */
geodec_status geodec__second_form_noise(int64_t centres, int64_t stride, const double *noise, double *deviation,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif

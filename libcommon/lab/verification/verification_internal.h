/* Internal: the parts of the checker. */
#ifndef GEODEC_LAB_VERIFICATION_VERIFICATION_INTERNAL_H
#define GEODEC_LAB_VERIFICATION_VERIFICATION_INTERNAL_H

#include "lab/verification/verification.h"

/* max |d_l g_ij - Gamma^m_li g_mj - Gamma^m_lj g_im| over max(|dg|, |g| |gamma|, least); at (may be NULL): the entry
 * (l, i, j) that has it. */
double geodec__verification_compatibility(int64_t n, const double *g, const double *dg, const double *gamma,
                                          double least, int64_t at[3]);
/* low_abcd = g_ae R^e_bcd */
void geodec__verification_lower(int64_t n, const double *g, const double *riem, double *low);
/* The four symmetries of a lowered tensor: first pair, last pair, exchange, first Bianchi; absolute. */
void geodec__verification_symmetries(int64_t n, const double *low, double out[4]);
/* Adds notes on a field that failed. */
geodec_status geodec__verification_diagnose(const geodec_verification_field *f, const double *curvature,
                                            geodec_verification *v, geodec_err *err) GEODEC_MUST_USE;

#endif

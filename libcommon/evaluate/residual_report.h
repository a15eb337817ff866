/* Tables of a residual profile. */
#ifndef GEODEC_EVALUATE_RESIDUAL_REPORT_H
#define GEODEC_EVALUATE_RESIDUAL_REPORT_H

#include "evaluate/residual.h"

#include <stdio.h>

/* A row a layer. */
GEODEC_API geodec_status geodec_residual_report_layers(FILE *out, const geodec_model *m,
                                                       const geodec_residual_profile *p,
                                                       geodec_err *err) GEODEC_MUST_USE;
/* The exponents of growth. */
GEODEC_API geodec_status geodec_residual_report_fits(const char *path, const geodec_model *m,
                                                     const geodec_residual_profile *p, geodec_err *err) GEODEC_MUST_USE;

#endif

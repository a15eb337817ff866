/* Reports of a verification: text, JSON and a table. */
#ifndef GEODEC_LAB_VERIFICATION_REPORT_H
#define GEODEC_LAB_VERIFICATION_REPORT_H

#include "lab/verification/verification.h"

#include <stdio.h>

/* Checks that failed. */
int geodec_verification_report_failures(const geodec_verification *v);
void geodec_verification_report_text(const geodec_verification *v, const geodec_verification_control *c,
                                     const char *subject, FILE *out);
/* To the file `path`, or to `standard` when it is "-". GEODEC_IO. */
geodec_status geodec_verification_report_json(const geodec_verification *v, const geodec_verification_control *c,
                                              const char *subject, const char *path, FILE *standard,
                                              geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_verification_report_tsv(const geodec_verification *v, const char *path, FILE *standard,
                                             geodec_err *err) GEODEC_MUST_USE;

#endif

/* The error of each tensor as a table and as JSON. */
#ifndef GEODEC_GGUF_QUANTIZE_REPORT_H
#define GEODEC_GGUF_QUANTIZE_REPORT_H

#include "base/hooks.h"
#include "gguf/quantize.h"

#include <stdio.h>

geodec_status geodec_quantize_report_table(FILE *out, const geodec_quantize_row *rows, int64_t n,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_quantize_report_json(const char *path, const char *command_line, const geodec_quantize_row *rows,
                                          int64_t n, geodec_err *err) GEODEC_MUST_USE;

/* Logs the error over all tensors that changed, weighted by their values. */
void geodec_quantize_report_say(const geodec_hooks *hooks, const char *output, const geodec_quantize_row *rows,
                                int64_t n);

#endif

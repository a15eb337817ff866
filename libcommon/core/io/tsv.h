/* Tables as text: a header line, then rows of cells separated by tabs. Numbers are exact (io/format.h).
 *
 *     geodec_tsv_create(path, &t, err); geodec_tsv_columns(t, 2, (const char *[]){"eps", "error"}, err);
 *     geodec_tsv_f64(t, eps); geodec_tsv_f64(t, error); geodec_tsv_end_row(t, err); ... geodec_tsv_finish(&t, err);
 *
 * An error in a cell is reported by the next end_row or finish. */
#ifndef GEODEC_IO_TSV_H
#define GEODEC_IO_TSV_H

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

typedef struct geodec_tsv geodec_tsv;

/* Writes a file that is put in place by finish (io/atomic.h). */
geodec_status geodec_tsv_create(const char *path, geodec_tsv **out, geodec_err *err) GEODEC_MUST_USE;
/* Writes to a stream that the caller owns. */
geodec_status geodec_tsv_on(FILE *stream, geodec_tsv **out, geodec_err *err) GEODEC_MUST_USE;
/* The header; names contain no tab or newline. */
geodec_status geodec_tsv_columns(geodec_tsv *t, int n, const char *const *names, geodec_err *err) GEODEC_MUST_USE;
void geodec_tsv_i64(geodec_tsv *t, int64_t v);
void geodec_tsv_u64(geodec_tsv *t, uint64_t v);
void geodec_tsv_f64(geodec_tsv *t, double v);
/* Writes n cells. */
void geodec_tsv_f64s(geodec_tsv *t, int n, const double *v);
/* Control characters in v become spaces. */
void geodec_tsv_str(geodec_tsv *t, const char *v);
/* GEODEC_INVAL when the number of cells differs from that of the columns, GEODEC_IO when a write failed. */
geodec_status geodec_tsv_end_row(geodec_tsv *t, geodec_err *err) GEODEC_MUST_USE;
/* Frees *t in every case and sets it to NULL, so that clean-up code can call abandon in every case. */
geodec_status geodec_tsv_finish(geodec_tsv **t, geodec_err *err) GEODEC_MUST_USE;
/* NULL ok. */
void geodec_tsv_abandon(geodec_tsv *t);

/* Sets the columns as geodec_tsv_columns does, from one text of names separated by blanks. */
geodec_status geodec_tsv_names(geodec_tsv *t, const char *names, geodec_err *err) GEODEC_MUST_USE;

#endif

/* Single values of artifacts and tables by reference:
 *
 *     FILE.h5#NAME                    an attribute, or a field without axes
 *     FILE.h5#NAME[2][0]              an element of a field, with an index for each axis; [-1] is the last
 *     FILE.h5#NAME[eps=0.01]          the index at which the field `eps` of one axis has that value, or of a word in an
 *                                     attribute of words joined by commas; [eps~0.01]: the nearest
 *     FILE.h5#NAME{place=0}|WORD      a summary of the elements (after the indices given, of the rows where the field
 *                                     `place` has that value): max, min, sum (NaN where an element is not finite),
 *                                     max_finite, count, distinct, nonfinite, nonzero; abs_median, abs_median_low and
 *                                     abs_median_high: the median of the magnitudes and its 95 % interval by order
 *                                     statistics
 *     FILE.tsv#NAME{drafter=ngram,gamma=4}
 *                                     the cell of the only row with these words (numbers are compared as numbers);
 *                                     gamma~4: of these rows the one with the nearest number
 *     FILE.tsv#NAME[3]                the fourth row's cell (geodec-value only, not in lists of rules)
 *
 * FILE is relative to the root, unless it begins with /. If FILE.not-measured exists, there is no value, and its first
 * line gives the reason. */
#ifndef GEODEC_VERDICT_REFERENCE_H
#define GEODEC_VERDICT_REFERENCE_H

#include "artifact/artifact.h"

enum { GEODEC_REFERENCE_MAX = 4096 };

typedef struct geodec_references geodec_references;

/* root, kinds: must outlive the object. Artifacts stay open until closed. */
geodec_status geodec_references_open(const char *root, const geodec_kind *const *kinds, int n_kinds,
                                     geodec_references **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_references_close(geodec_references *r); /* NULL ok */

/* GEODEC_NOTFOUND: the value does not exist (no file, not measured, a missing optional member, no row with that key).
 * Any other failure: the reference is broken (no such name in the kind, no such column, a wrong number of indices,
 * several rows, a damaged file). */
geodec_status geodec_reference_read(geodec_references *r, const char *text, char value[GEODEC_REFERENCE_MAX],
                                    geodec_err *err) GEODEC_MUST_USE;
/* The artifact of the file in a reference, for its provenance. */
geodec_status geodec_reference_artifact(geodec_references *r, const char *file, const geodec_artifact **out,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Whether the text has the form of a reference; by_index: it names a table's cell by the number of its row. */
geodec_status geodec_reference_check(const char *text, bool *by_index, geodec_err *err) GEODEC_MUST_USE;

#endif

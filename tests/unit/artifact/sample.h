/* A kind that uses every type and feature, for the tests of the artifact engine. */
#ifndef GEODEC_TESTS_IO_SAMPLE_H
#define GEODEC_TESTS_IO_SAMPLE_H

#include "artifact/artifact.h"

extern const geodec_kind sample_kind;     /* "sample" 1.1 */
extern const geodec_kind sample_kind_1_0; /* the table before minor 1 */
extern const geodec_kind sample_kind_2;   /* another major */
extern const geodec_kind other_kind;      /* "other" 1.0 */

enum { SAMPLE_N = 1000, SAMPLE_K = 3 };

/* A provenance with one input and fingerprints. */
geodec_provenance sample_provenance(void);
/* Writes a complete sample with values that depend on the field and the element's index only. */
void sample_write(const geodec_kind *kind, const char *path);
/* Writes a sample as sample_write does, but stops before commit. */
geodec_artifact *sample_start(const geodec_kind *kind, const char *path);
/* Value of element i of a field of the sample, by the field's number in the table. */
int64_t sample_value(int field, int64_t i);

#endif

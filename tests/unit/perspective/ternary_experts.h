/* Small experts for the tests of .trit and .trd files. */
#ifndef GEODEC_TESTS_PERSPECTIVE_EXPERTS_H
#define GEODEC_TESTS_PERSPECTIVE_EXPERTS_H

#include "ternary/trit.h"

enum { EXPERTS_D = 70, EXPERTS_F = 330, EXPERTS_LAYERS = 3, EXPERTS_FILE = 1 << 18 };
extern const int32_t experts_layers[EXPERTS_LAYERS]; /* the numbers of the layers */

geodec_trit_shape experts_shape(int encoding, bool by_row);
/* Matrices of a layer of expert `expert`: those of expert 0 with each weight changed with probability p. Owned; freed
 * by experts_drop. */
typedef struct experts_matrices {
    geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
    uint8_t *data;
    float *scale;
} experts_matrices;
experts_matrices experts_make(const geodec_trit_shape *s, int32_t layer, int32_t expert, double p);
void experts_drop(experts_matrices *e);
/* Writes the file of an expert. */
geodec_status experts_write(const char *path, const geodec_trit_shape *s, int32_t expert, double p, geodec_err *err);
/* Files as bytes; at most EXPERTS_FILE. */
int64_t experts_slurp(const char *path, uint8_t *to);
void experts_spill(const char *path, const uint8_t *from, int64_t n);

#endif

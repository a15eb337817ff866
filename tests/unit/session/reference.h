/* The forward pass a second time, in float64 and as plainly as the equations read: no cache, no batching, nothing
 * shared with the library but the GGUF reader. */
#ifndef GEODEC_TESTS_REFERENCE_H
#define GEODEC_TESTS_REFERENCE_H

#include "session/model.h"

/* Logits of every position ([n][n_vocab]) and, when residual is not NULL, the stream after each block
 * ([n_layer + 1][n][d_model]). Caller frees logits with free. */
double *reference_logits(const geodec_model *m, const int32_t *token, int n, double *residual);
/* reference_logits with the residual stream recombined over depth; rescale is treated as the identity. */
double *reference_attnres(const geodec_model *m, const geodec_attnres *a, const int32_t *token, int n,
                          double *residual);

#endif

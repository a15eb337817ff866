/* Small models with seeded weights, built in memory field by field: of architectures, and of several parts of layers at
 * once, so that the reference is tested without the code that reads configurations from files. */
#ifndef GEODEC_TESTS_REFERENCE_MODELS_H
#define GEODEC_TESTS_REFERENCE_MODELS_H

#include "reference/reference.h"
#include "session/weights_internal.h"

enum { MODEL_STREAMS = 28 /* the last one has a residual of several streams */, MODEL_KINDS };
/* kind 0 .. MODEL_KINDS-1. Never NULL. */
geodec_model *models_create(int kind);
void models_destroy(geodec_model *m);
const char *models_name(int kind);
/* Whether the map from that boundary on is a function of the stream there, and not of the embedding or other streams
 * too. */
bool models_start_at(const geodec_model *m, int32_t boundary);
/* The float64 evaluation of a text, whose tokens are borrowed. */
geodec_reference *models_reference(const geodec_model *m, const int32_t *token, int64_t n);
/* n tokens, the same for the same model. */
void models_tokens(const geodec_model *m, int32_t *token, int64_t n);

#endif

/* Rows of the embedding and of the head as floats, for code that uses a model's geometry without running it. */
#ifndef GEODEC_MODEL_EMBEDDINGS_H
#define GEODEC_MODEL_EMBEDDINGS_H

#include "session/model.h"

/* out [count][d_model]: embeddings of tokens first .. first+count-1, without the architecture's scale. GEODEC_RANGE. */
geodec_status geodec_model_embeddings(const geodec_model *m, int64_t first, int64_t count, float *out,
                                      geodec_err *err) GEODEC_MUST_USE;
/* out [count][d_model]: the factors of the scaled state s = h / rms(h) in the logits of these tokens, with the final
 * norm's weight: logit_t = out_t . s (before a soft cap, which keeps their order). GEODEC_RANGE. */
geodec_status geodec_model_readout(const geodec_model *m, int64_t first, int64_t count, float *out,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif

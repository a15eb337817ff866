/* What the routes of stored texts teach the simpler predictors: which experts a token used, alone or after another
 * one; a linear map; and stored maps of gate probabilities.
 *
 * A position is a row of a stored window with a row before it. Memory: 2 bytes for each expert used and 16 for each
 * position, (2 d + 1)(2 d + 1 + n_layer n_expert) float64 while adding, and the stored maps. */
#ifndef GEODEC_FORESIGHT_HISTORY_H
#define GEODEC_FORESIGHT_HISTORY_H

#include "foresight/routes.h"

typedef struct geodec_history_options {
    int64_t maps;       /* most maps of gate probabilities that are kept; default 8192 */
    int64_t every;      /* a map is kept of one position in this number; default 16 */
    double ridge;       /* of the linear map, in observations of unit variance; default 10 */
    int64_t max_tokens; /* rows read; 0: no limit */
} geodec_history_options;
geodec_history_options geodec_history_defaults(void);

typedef struct geodec_history geodec_history;

/* Reads all windows of the recorder. GEODEC_SCARCE: fewer than 16 positions; GEODEC_NUMERIC: streams not finite. */
geodec_status geodec_history_read(geodec_routes_recorder *r, const geodec_model_config *c,
                                  const geodec_history_options *o, const geodec_hooks *hooks, geodec_history **out,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec_history_free(geodec_history *h);
int64_t geodec_history_positions(const geodec_history *h);

/* Scores [n_layer][n_expert]; larger is likelier.
 *   popular  share of each expert in all uses of its layer
 *   token    (counts of the token's positions + 2 popular) / (their sum + 2)
 *   pair     counts of the positions of this token after that one, + 2 token
 *   linear   the routers' logits by ridge regression on (s, e, 1): s = the last stream / its rms, e = the embedding
 *            of the token / its rms
 *   maps     FineMoE: of the stored positions, the 16 whose gate probabilities in all layers are nearest by cosine to
 *            those of the previous token; their next tokens' experts, each weighted by the cosine. It knows no token */
void geodec_history_popular(const geodec_history *h, float *score);
void geodec_history_token(const geodec_history *h, int32_t token, float *score);
void geodec_history_pair(const geodec_history *h, int32_t before, int32_t token, float *score);
void geodec_history_linear(const geodec_history *h, const float *state, const float *embedding, float *score);
void geodec_history_maps(const geodec_history *h, const float *gate, float *score);

#endif

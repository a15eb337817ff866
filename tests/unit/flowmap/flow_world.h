/* A known flow: a point rotates on a circle by an angle that depends on its kind. Tokens are sectors, so
 * the newest token alone does not determine the next one, but token and state do. */
#ifndef GEODEC_TESTS_FLOW_WORLD_H
#define GEODEC_TESTS_FLOW_WORLD_H

#include "base/rng.h"
#include "chain/activations.h"
#include "flowmap/track.h"

enum { WORLD_TOP = 5, WORLD_D = 10, WORLD_KINDS = 4, WORLD_SECTORS = 12, WORLD_VOCAB = WORLD_SECTORS + 3 };

typedef struct world_text {
    int32_t n;
    int32_t *token, *argmax; /* [n] */
    float *state;            /* [n][WORLD_D] */
} world_text;

/* Text i of a seed; with `leaps` the text leaves its own most probable path now and then, as sampled text does. */
world_text world_write(uint64_t seed, uint64_t i, int32_t n, double leaps);
void world_free(world_text *t);

/* The k-th best logit of every row of the file below, of token (argmax + k) mod vocabulary. */
float world_logit(int32_t k);
/* An activations file of `texts` texts of n positions (layer 3 of 3, and another one); returns its path. */
const char *world_file(const char *name, uint64_t seed, int64_t texts, int32_t n);

/* A chain of up to n <= 64 drafts after `newest`: the best child of each node in turn, fewer when the flow ends.
 * Arguments as in flowmap/track.h; forbid's i is the number of the draft. */
int32_t world_propose(geodec_flowmap_track *t, int32_t newest, int32_t n, int32_t skip, bool sampled,
                      bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx, geodec_flow_draft *out);

#endif

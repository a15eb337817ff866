#include "foresight/predictors.h"

#include <string.h>

typedef geodec_predictor_input input;

static int64_t cells_of(const input *in) { return (int64_t)in->config->n_layer * in->config->n_expert; }

static void popular(const input *in, float *score) { geodec_history_popular(in->history, score); }

static void last(const input *in, float *score)
{
    const geodec_model_config *c = in->config;
    geodec_history_popular(in->history, score);
    for (int64_t i = 0; i < cells_of(in); i++) score[i] *= 1e-3F;
    for (int64_t i = 0; i < (int64_t)c->n_layer * c->n_expert_used; i++)
        if (in->last[i] >= 0 && in->last[i] < c->n_expert) score[i / c->n_expert_used * c->n_expert + in->last[i]] += 1;
}

static void maps(const input *in, float *score) { geodec_history_maps(in->history, in->gate, score); }
static void token(const input *in, float *score) { geodec_history_token(in->history, in->token, score); }
static void pair(const input *in, float *score) { geodec_history_pair(in->history, in->before, in->token, score); }

static void linear(const input *in, float *score)
{
    geodec_history_linear(in->history, in->state, in->embedding, score);
}

static void copy(const input *in, const float *from, float *score)
{
    memcpy(score, from, (size_t)cells_of(in) * sizeof *score);
}

static void further(const input *in, float *score) { copy(in, in->further, score); }
static void flowmap(const input *in, float *score) { copy(in, in->early, score); }
static void router3(const input *in, float *score) { copy(in, in->logit[GEODEC_ROUTES_FURTHER], score); }
static void router2(const input *in, float *score) { copy(in, in->logit[GEODEC_ROUTES_EARLIER], score); }
static void router15(const input *in, float *score) { copy(in, in->logit[GEODEC_ROUTES_EXPERTS], score); }
static void router1(const input *in, float *score) { copy(in, in->logit[GEODEC_ROUTES_BLOCK], score); }

static void mixed(const input *in, const geodec_mixture *m, const float *early, geodec_routes_stream stream,
                  float *score)
{
    const geodec_model_config *c = in->config;
    for (int64_t l = 0; l < c->n_layer; l++) {
        const int64_t at = l * c->n_expert, cell = ((int64_t)stream - GEODEC_ROUTES_BLOCK) * c->n_layer + l;
        geodec_mixture_shares(c->n_expert, c->n_expert_used, m ? m->weight[cell] : 1, early + at,
                              in->logit[stream] + at, score + at);
    }
}

static void mix_table(const input *in, float *score) { mixed(in, NULL, in->table, GEODEC_ROUTES_BLOCK, score); }
static void mix2(const input *in, float *score) { mixed(in, in->mixture, in->early, GEODEC_ROUTES_EARLIER, score); }
static void mix15(const input *in, float *score) { mixed(in, in->mixture, in->early, GEODEC_ROUTES_EXPERTS, score); }
static void mix(const input *in, float *score) { mixed(in, in->mixture, in->early, GEODEC_ROUTES_BLOCK, score); }
static void product(const input *in, float *score) { mixed(in, NULL, in->early, GEODEC_ROUTES_BLOCK, score); }

#define ALWAYS GEODEC_PREDICTOR_ALWAYS
#define PREVIOUS GEODEC_PREDICTOR_PREVIOUS
#define TOKEN GEODEC_PREDICTOR_TOKEN
#define BLOCK GEODEC_PREDICTOR_BLOCK
const geodec_predictor geodec_predictors[] = {
    {"none", "nothing", ALWAYS, 0, false, NULL},
    {"popular", "how often each expert was used", ALWAYS, 0, false, popular},
    {"last", "the experts of the previous token", PREVIOUS, 0, false, last},
    {"expertmaps", "stored maps of gate probabilities that are nearest to the previous token's (FineMoE)", PREVIOUS, 0,
     false, maps},
    {"further", "the flow map, asked about the previous token: what follows its neighbours", PREVIOUS, 0, true,
     further},
    {"token", "the token: which experts it used", TOKEN, 0, false, token},
    {"pair", "the token and the one before it", TOKEN, 0, false, pair},
    {"linear", "the last state and the token, by a linear map", TOKEN, 0, false, linear},
    {"flowmap", "the last state and the token: the nearest nodes of a flow map", TOKEN, 0, true, flowmap},
    {"router3", "the layer's router on the stream before the two previous blocks", BLOCK, 3, false, router3},
    {"router2", "the layer's router on the stream before the previous block", BLOCK, 2, false, router2},
    {"router1.5", "the layer's router on the stream before the previous block's experts", BLOCK, 1, false, router15},
    {"router1", "the layer's router on the stream before its block", BLOCK, 1, false, router1},
    {"tokenmix", "token table x router1", BLOCK, 1, true, mix_table},
    {"product", "flowmap x router1, with equal weights", BLOCK, 1, true, product},
    {"mix2", "flowmap x router2, with fitted weights", BLOCK, 2, true, mix2},
    {"mix1.5", "flowmap x router1.5, with fitted weights", BLOCK, 1, true, mix15},
    {"mix1", "flowmap x router1, with fitted weights", BLOCK, 1, true, mix},
};
const int geodec_predictors_count = (int)(sizeof geodec_predictors / sizeof *geodec_predictors);

const char *geodec_predictors_when(geodec_predictor_when when)
{
    static const char *const word[] = {"always", "previous", "token", "block"};
    return word[when];
}

#include "decode/perspectives.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "session/tail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct geodec_perspectives {
    geodec_session *session;
    geodec_perspectives_options o;
    int32_t first;                           /* block at which the last layers begin */
    geodec_tail_route route[GEODEC_MIX_MAX]; /* of each row */
    float *capture;                          /* [2][d] stream before the last layers, after all */
    float *stream;                           /* [1 + n][d] */
    float *logits, *more;                    /* [v]; [1 + n][v] */
    double *logp, *mixed, *recalled;         /* [1 + n][v], [v], [v] */
    geodec_perspectives_counters count;
};

static const char *const names[] = {"second", "jitter", "dropout", "antipode", "random"};

static geodec_perspectives_options defaults(void)
{
    return (geodec_perspectives_options){
        .rule = geodec_mix_defaults(),
        .n = 3,
        .kind = {GEODEC_PERSPECTIVE_SECOND, GEODEC_PERSPECTIVE_JITTER, GEODEC_PERSPECTIVE_DROPOUT},
        .layers = 5,
        .sigma = 0.01,
        .dropout = 0.1};
}

/* ---- options as a text ------------------------------------------------------------------------------------------- */

static geodec_status read_kinds(const char *text, size_t n, geodec_perspectives_options *o, geodec_err *err)
{
    if (n == 7 && strncmp(text, "default", n) == 0) return GEODEC_OK;
    o->n = 0;
    if (n == 4 && strncmp(text, "base", n) == 0) return GEODEC_OK;
    for (const char *at = text, *end = text + n; at <= end;) {
        const char *plus = memchr(at, '+', (size_t)(end - at));
        const size_t length = (size_t)((plus ? plus : end) - at);
        int kind = 0;
        while (kind < GEODEC_PERSPECTIVE_KINDS &&
               (strlen(names[kind]) != length || strncmp(names[kind], at, length) != 0))
            kind++;
        if (kind == GEODEC_PERSPECTIVE_KINDS || o->n == GEODEC_MIX_MAX - 1)
            GEODEC_FAIL(GEODEC_INVAL,
                        "perspectives '%.60s': give default, base, or second, jitter, dropout, antipode and random "
                        "joined by +",
                        text);
        o->kind[o->n++] = (geodec_perspective)kind;
        at += length + 1;
    }
    return GEODEC_OK;
}

/* name=value, up to a comma or the end. */
static geodec_status read_setting(const char *text, size_t n, geodec_perspectives_options *o, geodec_err *err)
{
    const struct {
        const char *name;
        double *value, least, most;
    } settings[] = {{"sigma=", &o->sigma, 0, 100},
                    {"dropout=", &o->dropout, 0, 0.99},
                    {"tau=", &o->rule.tau, 0, 100},
                    {"top=", &o->rule.least_top, 0, 1},
                    {"entropy=", &o->rule.most_entropy, 0, 100}};
    char *end = NULL;
    if (strncmp(text, "m=", 2) == 0) {
        const long m = strtol(text + 2, &end, 10);
        if (end == text + n && m >= 1 && m <= 100000) {
            o->layers = (int32_t)m;
            return GEODEC_OK;
        }
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const size_t head = strlen(settings[i].name);
        if (strncmp(text, settings[i].name, head) != 0) continue;
        const double x = strtod(text + head, &end);
        if (end != text + n || n == head || !(x >= settings[i].least && x <= settings[i].most)) break;
        *settings[i].value = x;
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_INVAL,
                "perspectives: '%.40s' is no setting: m=, sigma=, dropout=, tau=, top= or entropy= and a "
                "number in its range",
                text);
}

geodec_status geodec_perspectives_parse(const char *text, geodec_perspectives_options *out, geodec_err *err)
{
    geodec_perspectives_options o = defaults();
    size_t n = strcspn(text, ",");
    GEODEC_PASS(read_kinds(text, n, &o, err));
    for (const char *at = text + n; *at;) {
        at++;
        n = strcspn(at, ",");
        GEODEC_PASS(read_setting(at, n, &o, err));
        at += n;
    }
    o.seed = out->seed;
    o.always = out->always;
    o.recall = out->recall;
    o.recall_ctx = out->recall_ctx;
    *out = o;
    return GEODEC_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static bool routes(geodec_perspective k)
{
    return k == GEODEC_PERSPECTIVE_SECOND || k == GEODEC_PERSPECTIVE_ANTIPODE || k == GEODEC_PERSPECTIVE_RANDOM;
}

/* Kinds that do something here. */
static void choose(geodec_perspectives *p, const geodec_perspectives_options *o)
{
    p->o.n = 0;
    for (int32_t i = 0; i < o->n; i++) {
        if (routes(o->kind[i]) && !geodec_session_tail_routes(p->session, p->first)) continue;
        p->route[1 + p->o.n] = o->kind[i] == GEODEC_PERSPECTIVE_SECOND     ? GEODEC_TAIL_ROUTE_SECOND
                               : o->kind[i] == GEODEC_PERSPECTIVE_ANTIPODE ? GEODEC_TAIL_ROUTE_ANTIPODE
                               : o->kind[i] == GEODEC_PERSPECTIVE_RANDOM   ? GEODEC_TAIL_ROUTE_RANDOM
                                                                           : GEODEC_TAIL_ROUTE_OWN;
        p->o.kind[p->o.n++] = o->kind[i];
    }
}

geodec_status geodec_perspectives_create(geodec_session *s, const geodec_perspectives_options *o,
                                         geodec_perspectives **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    geodec_perspectives *p = NULL;
    if (o->n < 0 || o->n >= GEODEC_MIX_MAX || o->layers < 1 || !(o->sigma >= 0) || !isfinite(o->sigma) ||
        !(o->dropout >= 0 && o->dropout < 1))
        GEODEC_THROW(GEODEC_RANGE, "%d perspectives over %d layers with sigma %g and dropout %g", o->n, o->layers,
                     o->sigma, o->dropout);
    if (geodec_session_arithmetic(s) == GEODEC_INTEGER)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "perspectives in integer arithmetic");
    GEODEC_NEW(p, 1);
    p->session = s;
    p->o = *o;
    p->first = c->n_layer > o->layers ? c->n_layer - o->layers : 0;
    choose(p, o);
    const int64_t n = 1 + p->o.n, v = c->n_vocab;
    GEODEC_NEW(p->capture, 2 * (int64_t)c->d_model);
    GEODEC_NEW(p->stream, n * c->d_model);
    GEODEC_NEW(p->logits, v);
    GEODEC_NEW_EACH(n * v, p->more, p->logp);
    GEODEC_NEW_EACH(v, p->mixed, p->recalled);
    *out = p;
    p = NULL;
done:
    geodec_perspectives_destroy(p);
    return st;
}

void geodec_perspectives_destroy(geodec_perspectives *p)
{
    if (!p) return;
    GEODEC_FREE(p->capture, p->stream, p->logits, p->more, p->logp, p->mixed, p->recalled, p);
}

int32_t geodec_perspectives_n(const geodec_perspectives *p) { return 1 + p->o.n; }
geodec_perspectives_counters geodec_perspectives_counted(const geodec_perspectives *p) { return p->count; }

/* ---- a token ----------------------------------------------------------------------------------------------------- */

/* The stream of a perspective at this position. */
static void disturb(const geodec_perspectives *p, geodec_perspective kind, uint64_t position, int64_t d, float *x)
{
    double square = 0;
    for (int64_t i = 0; i < d; i++) square += (double)x[i] * (double)x[i];
    geodec_rng r = geodec_rng_stream(p->o.seed, geodec_rng_id(names[kind], position));
    const double scale = p->o.sigma * sqrt(square / (double)d), keep = 1 / (1 - p->o.dropout);
    for (int64_t i = 0; kind == GEODEC_PERSPECTIVE_JITTER && i < d; i++)
        x[i] = (float)((double)x[i] + scale * geodec_rng_normal(&r));
    for (int64_t i = 0; kind == GEODEC_PERSPECTIVE_DROPOUT && i < d; i++)
        x[i] = geodec_rng_uniform(&r) < p->o.dropout ? 0 : (float)(keep * (double)x[i]);
}

/* Log p of all perspectives after the base's, and the mixture. */
static geodec_status ask(geodec_perspectives *p, int64_t d, int64_t v, geodec_perspectives_token *t, geodec_err *err)
{
    const uint64_t position = (uint64_t)geodec_session_length(p->session) - 1;
    double z = NAN;
    for (int32_t i = 0; i <= p->o.n; i++) {
        memcpy(p->stream + i * d, p->capture, (size_t)d * sizeof *p->stream);
        if (i > 0) disturb(p, p->o.kind[i - 1], position, d, p->stream + i * d);
    }
    const geodec_tail tail = {
        .first = p->first, .n = 1 + p->o.n, .stream = p->stream, .route = p->route, .seed = p->o.seed};
    if (p->o.n > 0) GEODEC_PASS(geodec_session_tail(p->session, &tail, p->more, err));
    for (int32_t i = 1; i <= p->o.n; i++)
        GEODEC_PASS(geodec_mix_log_softmax(v, p->more + i * v, 1, p->logp + i * v, err));
    if (p->o.recall) p->o.recall(p->o.recall_ctx, p->capture + d, p->recalled, &z);
    return geodec_mix_decide(&p->o.rule, 1 + p->o.n, v, p->logp, p->o.recall ? p->recalled : NULL, z, p->mixed,
                             &t->report, err);
}

static void count(geodec_perspectives *p, int64_t v, const geodec_perspectives_token *t)
{
    geodec_perspectives_counters *k = &p->count;
    k->tokens++;
    k->by_top += t->by_top;
    k->by_entropy += t->by_entropy;
    k->asked += t->asked;
    if (!t->asked) return;
    k->geometric += t->report.way == GEODEC_MIX_GEOMETRIC;
    k->arithmetic += t->report.way == GEODEC_MIX_VOTE;
    k->changed += geodec_mix_top(v, t->base, NULL) != geodec_mix_top(v, t->mixed, NULL);
    k->js += t->report.js;
    k->pairs += t->report.pairs;
}

geodec_status geodec_perspectives_next(geodec_perspectives *p, int32_t token, geodec_perspectives_token *out,
                                       geodec_err *err)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(p->session));
    const int64_t d = c->d_model, v = c->n_vocab;
    const int32_t layers[2] = {p->first, c->n_layer};
    const geodec_capture capture = {.n_layers = 2, .layer = layers, .state = p->capture};
    const double begin = geodec_clock_process_seconds();
    GEODEC_PASS(geodec_forward(p->session, &(geodec_batch){.n = 1, .token = &token}, p->logits, &capture, err));
    const double forwarded = geodec_clock_process_seconds();
    GEODEC_PASS(geodec_mix_log_softmax(v, p->logits, 1, p->logp, err));
    double top;
    (void)geodec_mix_top(v, p->logp, &top);
    geodec_perspectives_token t = {
        .logits = p->logits,
        .base = p->logp,
        .mixed = p->logp,
        .state = p->capture + d,
        .by_top = top<p->o.rule.least_top, .by_entropy = geodec_mix_entropy(v, p->logp)> p->o.rule.most_entropy,
        .report = {.way = GEODEC_MIX_BASE, .confidence = 1}};
    const bool room = geodec_session_length(p->session) + p->o.n <= geodec_session_n_ctx(p->session);
    t.asked = p->o.n > 0 && room && (p->o.always || t.by_top || t.by_entropy);
    if (t.asked) {
        GEODEC_PASS(ask(p, d, v, &t, err));
        t.mixed = p->mixed;
    }
    count(p, v, &t);
    p->count.base_seconds += forwarded - begin;
    p->count.more_seconds += geodec_clock_process_seconds() - forwarded;
    *out = t;
    return GEODEC_OK;
}

/* ---- as a target ------------------------------------------------------------------------------------------------- */

static geodec_status target_forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                                    float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_perspectives *p = self;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(p->session));
    const int64_t d = c->d_model, v = c->n_vocab;
    const int32_t before = geodec_session_length(p->session);
    for (int32_t i = 0; parent && i < n; i++)
        if (parent[i] != i - 1) GEODEC_FAIL(GEODEC_UNSUPPORTED, "trees of drafts with perspectives");
    if (!logits) {
        const geodec_target plain = geodec_target_session(p->session, n);
        return plain.forward(plain.self, token, NULL, n, NULL, state, err);
    }
    for (int32_t i = 0; i < n; i++) {
        geodec_perspectives_token t;
        GEODEC_TRY(geodec_perspectives_next(p, token[i], &t, err));
        if (state) memcpy(state + i * d, t.state, (size_t)d * sizeof *state);
        if (!t.asked) memcpy(logits + i * v, t.logits, (size_t)v * sizeof *logits);
        for (int64_t k = 0; t.asked && k < v; k++) logits[i * v + k] = (float)t.mixed[k];
    }
done:
    if (st != GEODEC_OK) geodec_session_truncate(p->session, before);
    return st;
}

static int32_t target_length(const void *self)
{
    return geodec_session_length(((const geodec_perspectives *)self)->session);
}

static void target_truncate(void *self, int32_t length)
{
    geodec_session_truncate(((geodec_perspectives *)self)->session, length);
}

static void target_compact(void *self, int32_t base, const int32_t *row, int32_t n)
{
    geodec_session_compact(((geodec_perspectives *)self)->session, base, row, n);
}

static geodec_counters target_counters(const void *self)
{
    return geodec_session_counters(((const geodec_perspectives *)self)->session);
}

geodec_target geodec_perspectives_target(geodec_perspectives *p, int32_t max_batch)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(p->session));
    return (geodec_target){.self = p,
                           .n_vocab = c->n_vocab,
                           .d_state = c->d_model,
                           .n_ctx = geodec_session_n_ctx(p->session),
                           .max_batch = max_batch,
                           .forward = target_forward,
                           .length = target_length,
                           .truncate = target_truncate,
                           .compact = target_compact,
                           .counters = target_counters};
}

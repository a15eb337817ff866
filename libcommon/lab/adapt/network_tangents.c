#include "lab/adapt/network_tangents.h"

#include "base/mem.h"
#include "lab/perspective/dual/adapt_forward.h"
#include "lab/perspective/dual/dual.h"
#include "routing/torus.h"
#include "session/arch_internal.h"

#include <math.h>
#include <string.h>

/* A vector with its tangent. */
typedef struct pair {
    double *x, *dx;
} pair;

/* Room of one evaluation. */
typedef struct room {
    double *all;
    pair stream, h, p, v, q, k, o, y, gate, up, turned, logits;
    pair *state;       /* [n_layer] of recurrent layers [d][r] */
    pair *key, *value; /* [n_layer] of attention layers [length][kv] */
    double *work;
} room;

struct geodec_network {
    geodec_layout *layout;
    double *w; /* [total] */
    geodec_network_options o;
    int64_t adapters, size, places;
    int64_t *adapter; /* [n_layer] offset in x, -1 = none */
    int64_t *place;   /* [n_layer] row in the places, -1 = none */
    room *room;       /* [threads] */
};

static bool recurs(const geodec_network *n, int32_t layer) { return n->layout->layer[layer].recur >= 0; }

static geodec_status check(const geodec_layout *l, const geodec_network_options *o, geodec_err *err)
{
    const geodec_model_config *c = &l->config;
    int32_t recurrent = 0;
    for (int32_t i = 0; i < c->n_layer; i++) recurrent += l->layer[i].recur >= 0;
    if (recurrent == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a model without recurrent layers");
    if (c->n_expert > 0 && c->route == GEODEC_ROUTE_SCORES)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "experts that are chosen by scores");
    if (c->rope_dim != c->head_dim) GEODEC_FAIL(GEODEC_UNSUPPORTED, "rotation of a part of the heads");
    if (o->rank < 1 || o->rank > 256 || o->first < 0 || o->last < o->first || o->last >= recurrent)
        GEODEC_FAIL(GEODEC_RANGE, "adapters of rank %lld on recurrent layers %d to %d of %d", (long long)o->rank,
                    o->first, o->last, recurrent);
    if (o->length < 2 || o->length > c->n_ctx || o->threads < 1)
        GEODEC_FAIL(GEODEC_RANGE, "windows of %lld tokens, %d threads", (long long)o->length, o->threads);
    return GEODEC_OK;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

/* all NULL: only counts. */
static pair take(double *all, int64_t *at, int64_t n)
{
    const pair p = {all ? all + *at : NULL, all ? all + *at + n : NULL};
    *at += 2 * n;
    return p;
}

static int64_t lay_room(const geodec_network *n, room *r, double *all)
{
    const geodec_model_config *c = &n->layout->config;
    const int64_t d = c->d_model, heads = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    int64_t ff = c->d_ff, wide = heads > d ? heads : d, at = 0;
    if (c->d_ff_dense > ff) ff = c->d_ff_dense;
    r->stream = take(all, &at, d);
    r->h = take(all, &at, d);
    r->p = take(all, &at, wide);
    r->v = take(all, &at, wide);
    r->q = take(all, &at, wide > c->recur_rank ? wide : c->recur_rank);
    r->k = take(all, &at, wide > c->recur_rank ? wide : c->recur_rank);
    r->o = take(all, &at, wide);
    r->y = take(all, &at, wide);
    r->turned = take(all, &at, wide);
    r->gate = take(all, &at, ff);
    r->up = take(all, &at, ff);
    r->logits = take(all, &at, c->n_vocab);
    r->work = all ? all + at : NULL;
    at += 2 * (n->o.length + n->o.rank + 16);
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (recurs(n, i)) {
            const pair s = take(all, &at, d * c->recur_rank);
            if (r->state) r->state[i] = s;
            continue;
        }
        const pair key = take(all, &at, n->o.length * kv), value = take(all, &at, n->o.length * kv);
        if (r->key) r->key[i] = key, r->value[i] = value;
    }
    return at;
}

static geodec_status create_room(const geodec_network *n, room *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    room counted = {0};
    GEODEC_NEW(r->all, lay_room(n, &counted, NULL));
    GEODEC_NEW_EACH(n->layout->config.n_layer, r->state, r->key, r->value);
    (void)lay_room(n, r, r->all);
done:
    return st;
}

geodec_status geodec_network_create(const geodec_layout *layout, const float *params, const geodec_network_options *o,
                                    geodec_network **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_network *n = NULL;
    const geodec_model_config *c = &layout->config;
    int32_t recurrent = 0;
    GEODEC_TRY(check(layout, o, err));
    GEODEC_NEW(n, 1);
    n->o = *o;
    GEODEC_TRY(geodec_layout_create(c, &n->layout, err));
    GEODEC_NEW(n->w, layout->total);
    for (int64_t i = 0; i < layout->total; i++) n->w[i] = (double)params[i];
    GEODEC_NEW_EACH(c->n_layer, n->adapter, n->place);
    for (int32_t i = 0; i < c->n_layer; i++) {
        const bool adapted = recurs(n, i) && recurrent >= o->first && recurrent <= o->last;
        n->adapter[i] = adapted ? n->size : -1;
        if (adapted) n->size += 2 * o->rank * c->d_model;
        recurrent += recurs(n, i);
        n->place[i] = n->layout->layer[i].place >= 0 ? n->places : -1;
        if (n->place[i] >= 0) n->places += c->n_expert;
    }
    GEODEC_NEW(n->room, o->threads);
    for (int t = 0; t < o->threads; t++) GEODEC_TRY(create_room(n, &n->room[t], err));
    GEODEC_MOVE(*out, n);
done:
    geodec_network_destroy(n);
    return st;
}

void geodec_network_destroy(geodec_network *n)
{
    if (!n) return;
    for (int t = 0; n->room && t < n->o.threads; t++)
        GEODEC_FREE(n->room[t].all, n->room[t].state, n->room[t].key, n->room[t].value);
    geodec_layout_destroy(n->layout);
    GEODEC_FREE(n->w, n->adapter, n->place, n->room, n);
}

int64_t geodec_network_size(const geodec_network *n) { return n->size; }
int64_t geodec_network_places(const geodec_network *n) { return n->places; }

void geodec_network_start(const geodec_network *n, uint64_t seed, double *x)
{
    const int64_t d = n->layout->config.d_model;
    for (int32_t i = 0; i < n->layout->config.n_layer; i++)
        if (n->adapter[i] >= 0) geodec_adapt_lora(d, d, n->o.rank, seed, (uint64_t)i, x + n->adapter[i]);
}

void geodec_network_read_places(const geodec_network *n, double *place)
{
    const int64_t width = GEODEC_TORUS_AXES, count = width * n->layout->config.n_expert;
    for (int32_t i = 0; i < n->layout->config.n_layer; i++)
        if (n->place[i] >= 0)
            memcpy(place + width * n->place[i], n->w + n->layout->layer[i].place, (size_t)count * sizeof *place);
}

void geodec_network_merge(const geodec_network *n, const double *x, const double *place, float *params)
{
    const int64_t d = n->layout->config.d_model, rank = n->o.rank, width = GEODEC_TORUS_AXES;
    for (int32_t l = 0; l < n->layout->config.n_layer; l++) {
        const geodec_layer_offsets *o = &n->layout->layer[l];
        for (int64_t i = 0; x && n->adapter[l] >= 0 && i < d * d; i++) {
            const double *a = x + n->adapter[l], *b = a + rank * d;
            double add = 0;
            for (int64_t j = 0; j < rank; j++) add += b[i / d * rank + j] * a[j * d + i % d];
            params[o->recur + i] = (float)(n->w[o->recur + i] + add);
        }
        for (int64_t i = 0; place && n->place[l] >= 0 && i < width * n->layout->config.n_expert; i++)
            params[o->place + i] = (float)place[width * n->place[l] + i];
    }
}

/* ---- one token --------------------------------------------------------------------------------------------------- */

typedef struct pass {
    const geodec_network *n;
    room *r;
    const double *x, *v, *place; /* may be NULL */
    int64_t at;                  /* position */
} pass;

static void matvec(const double *w, int64_t rows, int64_t cols, pair x, pair y)
{
    geodec_dual_f64_matvec(rows, cols, w, NULL, x.x, x.dx, y.x, y.dx);
}

static void norm(const pass *p, const double *gain, pair x, pair y)
{
    const geodec_model_config *c = &p->n->layout->config;
    geodec_dual_f64_rmsnorm(c->d_model, (double)c->rms_eps, gain, x.x, x.dx, y.x, y.dx);
}

static void add(int64_t n, pair x, pair to)
{
    for (int64_t i = 0; i < n; i++) to.x[i] += x.x[i];
    for (int64_t i = 0; i < n; i++) to.dx[i] += x.dx[i];
}

static void scale(int64_t n, double a, pair x)
{
    for (int64_t i = 0; i < n; i++) x.x[i] *= a;
    for (int64_t i = 0; i < n; i++) x.dx[i] *= a;
}

/* g = max(sigmoid(W h + B A h + bias), exp(least)) */
static void gates(const pass *p, int32_t layer, pair h, pair g)
{
    const geodec_model_config *c = &p->n->layout->config;
    const geodec_layer_offsets *o = &p->n->layout->layer[layer];
    const int64_t d = c->d_model, rank = p->n->o.rank, at = p->n->adapter[layer];
    const double least = c->recur_log_decay_min < 0 ? exp((double)c->recur_log_decay_min) : 0;
    matvec(p->n->w + o->recur, d, d, h, g);
    if (p->x && at >= 0) {
        const double *a = p->x + at, *b = a + rank * d;
        const double *da = p->v ? p->v + at : NULL, *db = p->v ? da + rank * d : NULL;
        geodec_dual_f64_lowrank(d, d, rank, b, db, a, da, h.x, h.dx, g.x, g.dx, p->r->work);
    }
    for (int64_t i = 0; i < d; i++) g.x[i] += p->n->w[o->recur_bias + i];
    geodec_dual_f64_sigmoid(d, g.x, g.dx, g.x, g.dx);
    for (int64_t i = 0; i < d; i++)
        if (g.x[i] < least) g.x[i] = least, g.dx[i] = 0;
}

static void recurrence(const pass *p, int32_t layer)
{
    const geodec_model_config *c = &p->n->layout->config;
    const geodec_layer_offsets *o = &p->n->layout->layer[layer];
    const double *w = p->n->w + o->recur;
    const int64_t d = c->d_model, k = c->recur_rank;
    room *r = p->r;
    gates(p, layer, r->h, r->p);
    matvec(w + d * d, d, d, r->h, r->v);
    matvec(w + 2 * d * d, k, d, r->h, r->q);
    matvec(w + 2 * d * d + k * d, k, d, r->h, r->k);
    scale(k, 1 / sqrt((double)k), r->k);
    const pair s = r->state[layer];
    geodec_dual_f64_step(d, k, r->p.x, r->p.dx, r->v.x, r->v.dx, r->k.x, r->k.dx, r->q.x, r->q.dx, s.x, s.dx, r->o.x,
                         r->o.dx);
    norm(p, p->n->w + o->recur_norm, r->o, r->y);
    matvec(p->n->w + o->recur_output, d, d, r->y, r->o);
    add(d, r->o, r->stream);
}

static void attention(const pass *p, int32_t layer)
{
    const geodec_model_config *c = &p->n->layout->config;
    const geodec_layer_offsets *o = &p->n->layout->layer[layer];
    const double *w = p->n->w + o->qkv;
    const int64_t d = c->d_model, heads = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    const int64_t window = c->window > 0 ? c->window : p->n->o.length;
    room *r = p->r;
    const pair key = {r->key[layer].x + p->at * kv, r->key[layer].dx + p->at * kv};
    const pair value = {r->value[layer].x + p->at * kv, r->value[layer].dx + p->at * kv};
    matvec(w, heads, d, r->h, r->q);
    matvec(w + heads * d, kv, d, r->h, r->k);
    matvec(w + (heads + kv) * d, kv, d, r->h, value);
    geodec_dual_f64_rope(c->n_head, c->head_dim, p->at, (double)c->rope_base, r->q.x, r->q.dx, r->turned.x,
                         r->turned.dx);
    geodec_dual_f64_rope(c->n_kv_head, c->head_dim, p->at, (double)c->rope_base, r->k.x, r->k.dx, key.x, key.dx);
    geodec_dual_f64_attend(c->n_head, c->n_kv_head, c->head_dim, p->at + 1, window, r->turned.x, r->turned.dx,
                           r->key[layer].x, r->key[layer].dx, r->value[layer].x, r->value[layer].dx, r->y.x, r->y.dx,
                           r->work);
    matvec(p->n->w + o->attn_output, d, heads, r->y, r->o);
    add(d, r->o, r->stream);
}

/* The nearest expert, as the model chooses it: in float32. */
static int64_t choose(const pass *p, int32_t layer, const double *h)
{
    const geodec_model_config *c = &p->n->layout->config;
    const geodec_layer_offsets *o = &p->n->layout->layer[layer];
    const geodec_torus_projection how = c->route == GEODEC_ROUTE_ANGLE ? GEODEC_TORUS_ANGLE : GEODEC_TORUS_MOD;
    const double *place = p->place ? p->place + GEODEC_TORUS_AXES * p->n->place[layer] : p->n->w + o->place;
    float u[6], z[GEODEC_TORUS_AXES], at[GEODEC_TORUS_AXES], least = INFINITY;
    int64_t best = 0;
    for (int64_t i = 0; i < geodec_torus_rows(how); i++) {
        double s = p->n->w[o->router_bias + i];
        for (int64_t j = 0; j < c->d_model; j++) s += p->n->w[o->router + i * c->d_model + j] * h[j];
        u[i] = (float)s;
    }
    geodec_torus_project(how, u, z);
    for (int64_t e = 0; e < c->n_expert; e++) {
        for (int a = 0; a < GEODEC_TORUS_AXES; a++) at[a] = (float)place[GEODEC_TORUS_AXES * e + a];
        const float d2 = geodec_torus_distance2(z, at);
        if (d2 < least) least = d2, best = e;
    }
    return best;
}

static void feed(const pass *p, int32_t layer, int64_t expert)
{
    const geodec_layer_offsets *o = &p->n->layout->layer[layer];
    const int64_t d = p->n->layout->config.d_model, ff = o->ff, at = expert * ff * d;
    room *r = p->r;
    matvec(p->n->w + o->gate + at, ff, d, r->h, r->gate);
    matvec(p->n->w + o->up + at, ff, d, r->h, r->up);
    geodec_dual_f64_silu(ff, r->gate.x, r->gate.dx, r->gate.x, r->gate.dx);
    geodec_dual_f64_multiply(ff, r->gate.x, r->gate.dx, r->up.x, r->up.dx, r->gate.x, r->gate.dx);
    matvec(p->n->w + o->down + at, d, ff, r->gate, r->o);
    add(d, r->o, r->stream);
}

static void token(const pass *p, int32_t id)
{
    const geodec_layout *l = p->n->layout;
    const geodec_model_config *c = &l->config;
    const int64_t d = c->d_model;
    const double size = c->embed_scale != 0 ? (double)c->embed_scale : 1;
    room *r = p->r;
    for (int64_t i = 0; i < d; i++) r->stream.x[i] = size * p->n->w[l->token_embd + id * d + i];
    memset(r->stream.dx, 0, (size_t)d * sizeof(double));
    for (int32_t i = 0; i < c->n_layer; i++) {
        const geodec_layer_offsets *o = &l->layer[i];
        const bool routed = o->place >= 0;
        int64_t expert = 0;
        norm(p, p->n->w + o->attn_norm, r->stream, r->h);
        if (routed && c->route_before) expert = choose(p, i, r->h.x);
        if (recurs(p->n, i))
            recurrence(p, i);
        else
            attention(p, i);
        norm(p, p->n->w + o->ffn_norm, r->stream, r->h);
        if (routed && !c->route_before) expert = choose(p, i, r->h.x);
        feed(p, i, expert);
    }
    norm(p, p->n->w + l->output_norm, r->stream, r->h);
}

geodec_status geodec_network_loss(geodec_network *n, int worker, const geodec_network_window *w, const double *x,
                                  const double *v, const double *place, double *loss, double *derivative,
                                  int64_t *counted, geodec_err *err)
{
    const geodec_model_config *c = &n->layout->config;
    pass p = {.n = n, .r = &n->room[worker], .x = x, .v = v, .place = place};
    if (w->n < 1 || w->n > n->o.length)
        GEODEC_FAIL(GEODEC_RANGE, "a window of %lld tokens; at most %lld", (long long)w->n, (long long)n->o.length);
    for (int32_t i = 0; i < c->n_layer; i++)
        if (recurs(n, i))
            memset(p.r->state[i].x, 0, (size_t)(2 * (int64_t)c->d_model * c->recur_rank) * sizeof(double));
    *loss = *derivative = 0;
    *counted = 0;
    for (int64_t t = 0; t < w->n; t++) {
        double one, slope;
        if (w->token[t] < 0 || w->token[t] >= c->n_vocab || w->target[t] >= c->n_vocab)
            GEODEC_FAIL(GEODEC_RANGE, "token %d of %d", w->token[t], c->n_vocab);
        p.at = t;
        token(&p, w->token[t]);
        if (w->target[t] < 0) continue;
        matvec(n->w + n->layout->output, c->n_vocab, c->d_model, p.r->h, p.r->logits);
        geodec_dual_f64_cross_entropy(c->n_vocab, w->target[t], p.r->logits.x, p.r->logits.dx, &one, &slope);
        *loss += one;
        *derivative += slope;
        ++*counted;
    }
    return GEODEC_OK;
}

/* Sizes of a streamed model, and its stream with the first session. */
#include "base/mem.h"
#include "base/memory_limit.h"
#include "session/layer_pass_internal.h"
#include "session/streamed_internal.h"

#include <string.h>

/* Bytes of the program itself: what a limit of memory must allow beside a budget. */
static const int64_t PROGRAM = 32 << 20;

geodec_status geodec_streamed_begin(geodec_model *m, const geodec_streaming *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__streamed *t = NULL;
    if (m->config.n_expert == 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: no experts, so nothing can be streamed", geodec_gguf_path(m->gguf));
    if (o->arithmetic == GEODEC_INTEGER || !m->layer)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: integer arithmetic needs all experts in memory",
                     geodec_gguf_path(m->gguf));
    if (m->streamed || m->prepared[GEODEC__PREPARE_PANELS][o->arithmetic])
        GEODEC_THROW(GEODEC_INVAL, "%s: streaming begins before the first session, once", geodec_gguf_path(m->gguf));
    if (o->mapped && m->trits)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: ternary experts are in several files, which are not read through a map",
                     geodec_model_path(m));
    GEODEC_NEW(t, 1);
    t->options = *o;
    t->n_layer = m->config.n_layer;
    GEODEC_TRY(geodec__expert_source_open(m, o->arithmetic, &t->source, err));
    t->slot_bytes = t->source.blobs.slot_bytes;
    if (!m->trits && o->ternary != GEODEC_STREAMED_TERNARY_EXACT)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: its experts are not ternary", geodec_model_path(m));
    if (m->trits) GEODEC_TRY(geodec__streamed_trits_edges(t, err));
    GEODEC_TRY(geodec__streamed_ahead_create(m, &t->ahead, err));
    if (o->mapped && m->store) GEODEC_TRY(geodec_file_map_open(t->source.blobs.path, &t->map, err));
    m->streamed = t;
    t = NULL;
done:
    geodec__streamed_free(t);
    return st;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

typedef struct sum {
    geodec_arithmetic arithmetic;
    int64_t bytes;
} sum;

static void add(void *ctx, const geodec__matrix *w)
{
    sum *s = ctx;
    const geodec__panel_format *f = geodec__panel_format_in(s->arithmetic, w->type);
    s->bytes += ((f ? geodec__expert_panels_bytes(f, w->rows, w->cols) : w->rows * w->row_bytes) + 63) / 64 * 64;
}

static int64_t resident(const geodec_model *m, geodec_arithmetic a)
{
    const geodec__matrix *e = &m->embedding;
    sum all = {.arithmetic = a};
    geodec__weights_each(m, add, &all);
    if (!m->config.tied) all.bytes += e->rows * e->row_bytes; /* it is read a row at a time, in the end maybe all */
    return all.bytes;
}

/* What the limit of the control group, less the use of its other processes, leaves for a budget; 0: there is none. */
static int64_t allowed(const geodec__streamed *t)
{
    if (!t->options.limits) return 0;
    const geodec_memory_limit l = geodec_memory_limit_of(t->options.limits);
    if (l.group_room < 0) return 0;
    /* the group's use contains what this process has */
    const int64_t with_own = l.group_room + geodec_memory_limit_anonymous();
    const int64_t room = with_own < l.tight_limit ? with_own : l.tight_limit;
    return room > PROGRAM ? room - PROGRAM : 1;
}

static geodec_streamed_plan plan(const geodec_session *s)
{
    const geodec_model *m = s->model;
    const geodec_model_config *c = &m->config;
    const geodec__streamed *t = m->streamed;
    geodec_streamed_plan p = {.slot = t->slot_bytes, .n_expert = c->n_expert, .n_expert_used = c->n_expert_used};
    double read = 0;
    p.resident = resident(m, s->arithmetic) + (t->source.packs ? p.slot : 0);
    /* a later session may have all blocks */
    const int64_t blocks = s->cache.bytes / s->n_blocks * (c->n_layer - s->n_blocks);
    p.session = (geodec__session_bytes(s) + blocks) * (t->options.sessions > 1 ? t->options.sessions : 1);
    p.session += geodec__layer_pass_least_bytes(s); /* of one session at a time */
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (!m->layer[i].router.data) continue;
        p.layers++;
        p.experts += c->n_expert;
        for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
            const geodec__matrix *w = &t->source.matrix[i * GEODEC__EXPERT_MATRICES + k].w;
            read += (double)(w->rows * w->row_bytes) * c->n_expert_used;
        }
    }
    const int64_t least = 2 * (int64_t)c->n_expert_used + 2;
    p.least = (int32_t)(least < p.experts ? least : p.experts);
    p.smallest = p.resident + p.session + p.least * p.slot;
    int64_t slots = t->options.slots > 0 ? t->options.slots : (t->options.ram - p.resident - p.session) / p.slot;
    if (slots > p.experts) slots = p.experts;
    p.allowed = allowed(t);
    if (p.allowed > 0 && slots > (p.allowed - p.resident - p.session) / p.slot)
        slots = (p.allowed - p.resident - p.session) / p.slot;
    p.slots = (int32_t)(slots < 0 ? 0 : slots);
    p.per_layer = p.layers ? p.slots / p.layers : 0;
    p.token = read * (1 - (double)p.slots / (double)p.experts);
    return p;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

/* Whether the smallest number of slots fits. */
static geodec_status check(const geodec__streamed *t, const geodec_streamed_plan *p, geodec_err *err)
{
    if (p->slots >= p->least) return GEODEC_OK;
    const bool group =
        p->allowed > 0 && p->allowed < p->smallest && (t->options.slots > 0 || t->options.ram >= p->smallest);
    GEODEC_FAIL(GEODEC_LIMIT,
                "%s of %lld bytes is too small: %lld of weights, %lld of cache and work space and %d slots of %lld "
                "need %lld",
                group ? "what the control group's limit leaves" : "a budget",
                (long long)(group ? p->allowed : t->options.ram), (long long)p->resident, (long long)p->session,
                p->least, (long long)p->slot, (long long)p->smallest);
}

/* The session's part of the budget. */
static geodec_status claim(geodec_session *s, geodec_err *err)
{
    const geodec__streamed *t = s->model->streamed;
    const int64_t bytes = geodec__session_bytes(s);
    const int64_t missing = geodec_stream_claim(t->stream, bytes);
    if (missing > 0)
        GEODEC_FAIL(
            GEODEC_LIMIT,
            "a budget of %lld bytes is too small for one more session of %lld: with %d slots of %lld it needs %lld",
            (long long)t->options.ram, (long long)bytes, t->plan.least, (long long)t->plan.slot,
            (long long)(t->options.ram + missing));
    s->claimed = bytes;
    return GEODEC_OK;
}

/* A session that makes no pass tells its bytes; no weight is read for it. */
geodec_status geodec_streamed_beside(const geodec_model *m, const geodec_model *other, const geodec_session_options *o,
                                     geodec_err *err)
{
    geodec_session *s = NULL;
    if (!m->streamed || !m->streamed->stream || other->streamed) return GEODEC_OK;
    const geodec__streamed *t = m->streamed;
    GEODEC_PASS(geodec_session_create(other, o, &s, err));
    const int64_t weights = resident(other, o->arithmetic), session = geodec__session_bytes(s);
    geodec_session_destroy(s);
    const int64_t missing = geodec_stream_claim(t->stream, weights + session);
    if (missing > 0)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "%s: a budget of %lld bytes is too small for this model beside the streamed one: %lld of weights "
                    "and %lld of cache and work space; with %d slots of %lld it needs %lld",
                    geodec_gguf_path(other->gguf), (long long)t->options.ram, (long long)weights, (long long)session,
                    t->plan.least, (long long)t->plan.slot, (long long)(t->options.ram + missing));
    return GEODEC_OK;
}

void geodec__streamed_leave(geodec_session *s)
{
    if (s->claimed > 0) (void)geodec_stream_claim(s->model->streamed->stream, -s->claimed);
    s->claimed = 0;
}

static geodec_status open_stream(geodec_session *s, geodec_err *err)
{
    geodec__streamed *t = s->model->streamed;
    const geodec_streamed_plan p = plan(s);
    if (t->options.planned) t->options.planned(t->options.planned_ctx, &p);
    GEODEC_PASS(check(t, &p, err));
    t->plan = p;
    /* a quarter of the slots, but two for each layer at most: more would evict what is used again */
    const int32_t quarter = p.slots / 4 < 2 * p.layers ? p.slots / 4 : 2 * p.layers;
    const int32_t most = t->options.prefetch_most < 0 ? quarter : t->options.prefetch_most;
    geodec_stream_options o = {.disk = t->options.disk,
                               .trace = t->options.trace,
                               .usage = t->options.usage,
                               .fingerprint = t->options.usage ? geodec_model_fingerprint(s->model) : NULL,
                               .hooks = t->options.hooks,
                               .least = p.least,
                               .check_differences = t->options.check_differences,
                               .limits = t->options.limits,
                               .look = t->options.look,
                               .spare = t->source.packs};
    const bool held = p.allowed > 0 && p.allowed < t->options.ram;
    const int64_t budget = held ? p.allowed : t->options.ram;
    o.beside = t->options.slots > 0 ? INT64_MAX / 4 : budget - p.resident - p.slots * p.slot;
    o.slots = (geodec_slots_options){
        .n_slots = p.slots, .eviction = t->options.eviction, .shared = t->options.shared, .prefetch_most = most};
    if (held && p.slots < p.experts)
        geodec_hooks_log(t->options.hooks, GEODEC_LOG_WARN,
                         "the limit of the control group leaves %lld bytes of the budget of %lld: %d slots",
                         (long long)p.allowed, (long long)t->options.ram, p.slots);
    GEODEC_PASS(geodec_stream_open(&t->source.blobs, &o, &t->stream, err));
    return GEODEC_OK;
}

geodec_status geodec__streamed_open(geodec_session *s, geodec_err *err)
{
    geodec__streamed *t = s->model->streamed;
    if (s->arithmetic != t->options.arithmetic)
        GEODEC_FAIL(GEODEC_INVAL, "a session in another arithmetic than that of the streamed experts");
    if (t->options.mapped) return GEODEC_OK;
    if (t->options.ternary != GEODEC_STREAMED_TERNARY_EXACT) GEODEC_PASS(geodec__streamed_trits_open(s, err));
    GEODEC_PASS(geodec__streamed_follow(s, err));
    if (!t->stream) GEODEC_PASS(open_stream(s, err));
    GEODEC_PASS(claim(s, err));
    return geodec__streamed_price_create(s, err);
}

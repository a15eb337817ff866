#include "session/team_internal.h"

#include "base/pool.h"

#include <sched.h>

enum {
    CLOSED = 1 << 16,      /* bit of geodec__team.joined */
    MOMENT = 100,          /* spins during which a waiting thread arrives at once: a few microseconds */
    SPIN = 4000,           /* spins before a waiting member yields the processor */
    MOST_BYTES = 12 << 20, /* bytes of weights: more do not fit the caches, and a team reads them once per member */
    SHORT = 1700000,       /* bytes of weights of a model whose operations are short for any number of rows */
    EVEN = 4               /* rows per member from which shares are even enough for longer operations too */
};

static void look_again(int looks)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (looks >= SPIN) (void)sched_yield();
}

int geodec__team_join(geodec__team *t, int worker, int wanted)
{
    if (worker > 0) {
        const int number = atomic_fetch_add(&t->joined, 1) + 1;
        /* also when the team is full: a thread that continued before worker 0 has begun would take worker 0's task */
        for (int i = 0; atomic_load_explicit(&t->members, memory_order_acquire) == 0; i++) look_again(i);
        return number < wanted ? number : -1;
    }
    if (atomic_load(&t->joined) & CLOSED) return -1;
    for (int i = 0; i < MOMENT && atomic_load_explicit(&t->joined, memory_order_relaxed) < wanted - 1; i++)
        look_again(i);
    const int others = atomic_fetch_or(&t->joined, CLOSED);
    atomic_store_explicit(&t->members, others < wanted ? 1 + others : wanted, memory_order_release);
    return 0;
}

void geodec__team_meet(geodec__team *t)
{
    const int meeting = atomic_load_explicit(&t->meetings, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1 ==
        atomic_load_explicit(&t->members, memory_order_relaxed)) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->meetings, meeting + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&t->meetings, memory_order_acquire) == meeting; i++) look_again(i);
}

typedef struct size {
    int64_t bytes, weights;
} size;

static void add(void *ctx, const geodec__matrix *w)
{
    size *all = ctx;
    all->bytes += w->rows * w->row_bytes;
    all->weights += w->rows * w->cols;
}

int32_t geodec__team_rows(const geodec_model *m)
{
    size all = {0};
    geodec__weights_each(m, add, &all);
    return all.bytes > MOST_BYTES ? 0 : all.weights <= SHORT ? 1 : EVEN;
}

int64_t geodec__team_members(const geodec_session *s, int64_t n)
{
    const int64_t threads = geodec_pool_threads(s->pool);
    /* observers see whole batches; attnres and caches of low rank work on rows of the session, merging on the order of
     * the rows, rewriting on groups of them */
    if (s->team_rows == 0 || n < 2 || (s->team_rows > 1 && n < s->team_rows * threads) || s->watch || s->watch_update ||
        s->attnres || s->model->low || s->rewrite)
        return 1;
    return n < threads ? n : threads;
}

geodec_session geodec__team_view(const geodec_session *s, geodec__team *t, int worker, int64_t first, int64_t rows)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t k = c->n_expert_used, place = first * (k > 0 ? k : 1);
    geodec_session v = *s;
    v.team = t;
    v.first = (int32_t)first;
    v.pool = NULL;
    v.worker = s->worker + worker;
    v.n_workers = 1;
    v.partial = NULL;
    v.x_row += first;
    v.norm_row += first;
    v.query_row += first;
    v.key_row += first;
    v.value_row += first;
    v.mixed_row += first;
    v.gate_row += place;
    v.up_row += place;
    v.down_row += place;
    if (v.low_row) v.low_row += first;
    if (v.both_row) v.both_row += first;
    if (v.gating_row) v.gating_row += first;
    if (v.inputs_row) v.inputs_row += first;
    if (v.inner_row) v.inner_row += first;
    if (v.own_row) v.own_row += first;
    if (v.entry_row) v.entry_row += first;
    if (v.place_weight) v.place_weight += place;
    if (v.dense_gate_row) {
        v.dense_gate_row += first;
        v.dense_up_row += first;
    }
    if (v.shared_row) v.shared_row += first;
    v.input += place;
    v.output += first;
    v.parent += first;
    v.depth += first;
    v.job = v.worker->job;
    if (c->n_expert > 0) {
        v.router_row += first;
        v.expert_id += place * c->n_layer;
        v.expert_weight += place * c->n_layer;
        v.assigned += place;
        if (v.adjugate_id) {
            v.adjugate_id += place;
            v.adjugate_weight += place;
            v.adjugate_gate_row += place;
            v.adjugate_up_row += place;
        }
        v.expert_end = v.worker->expert_end;
    }
    if (v.made) {
        const int64_t each = s->made_size / s->max_batch;
        v.made += first * each * s->made_bytes;
        v.made_size = rows * each;
    }
    return v;
}

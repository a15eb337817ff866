/* The parts of a layer beside attention: norms, products, gates. */
#include "integer/engine/engine_internal.h"

void geodec__engine_norm(const geodec_engine *e, const int64_t *x, const geodec_network_vector *w, int64_t n,
                         int64_t *y)
{
    /* n max^2 stays below 2^62, and |x| below 2^31 */
    const int room = (61 - geodec_wide_bits(n)) / 2, most = room < 30 ? room : 30,
              top = geodec_wide_bits((int64_t)e->rows->reach(x, n));
    const int shift = top > most ? top - most : 0;
    uint64_t ss = e->rows->squares(x, n, shift);
    const geodec_network_factor f = e->c->rms_eps;
    const int64_t eps = geodec_wide_shift(n * f.multiplier, f.shift - 2 * (GEODEC__ENGINE_UNIT - shift));
    ss += (uint64_t)eps < (uint64_t)1 << 61 ? (uint64_t)eps : (uint64_t)1 << 61;
    if (ss == 0) {
        for (int64_t i = 0; i < n; i++) y[i] = 0;
        return;
    }
    e->rows->scale(geodec_fixed_rms_of(ss, n), x, shift, w->v, n, y);
}

int64_t geodec__engine_cap(geodec_network_factor cap, int64_t x)
{
    /* x / cap in Q16; scores have at most 40 bits, caps are at least 1 */
    const int64_t limit = (int64_t)1 << 40, v = x > limit ? limit : x < -limit ? -limit : x;
    const int up = cap.shift < 0 ? 0 : cap.shift > 22 ? 22 : cap.shift;
    const int64_t unit = geodec_wide_shift(cap.multiplier, cap.shift - up);
    const int64_t share = v * ((int64_t)1 << up) / (unit > 0 ? unit : 1);
    return geodec_wide_shift(geodec__engine_times(geodec_fixed_tanh(share), cap), 14);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct products {
    geodec_engine *e;
    int64_t jobs, step; /* panels of a task */
} products;

static int64_t panels(const geodec__engine_job *j)
{
    return (j->w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS;
}

static int64_t tasks_of(const geodec__engine_job *j, int64_t step) { return (panels(j) + step - 1) / step; }

static void product_task(void *ctx, int64_t task, int worker)
{
    const products *p = ctx;
    const geodec__engine_job *j = p->e->job;
    (void)worker;
    for (int64_t n; task >= (n = tasks_of(j, p->step)); j++) task -= n;
    const int64_t begin = task * p->step, end = begin + p->step < panels(j) ? begin + p->step : panels(j);
    p->e->product->multiply(j->w, begin, end, j->x, j->n, j->y);
}

void geodec__engine_products(geodec_engine *e, int64_t jobs)
{
    enum { TASKS = 8 /* of a thread */ };
    if (e->multiply) {
        e->multiply(e->multiply_ctx, e->job, jobs, e->pool);
        return;
    }
    int64_t all = 0, tasks = 0;
    for (int64_t i = 0; i < jobs; i++) all += panels(&e->job[i]);
    products p = {.e = e, .jobs = jobs, .step = all / (TASKS * e->n_workers)};
    if (p.step < 1) p.step = 1;
    for (int64_t i = 0; i < jobs; i++) tasks += tasks_of(&e->job[i], p.step);
    geodec_pool_run_dynamic(e->pool, tasks, product_task, &p);
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

enum { PIECE = 512 /* numbers of a task */ };

typedef struct gates {
    geodec_engine *e;
    int64_t *const *gate, *const *up;
    int64_t width, pieces;
    geodec_rounded *to;
} gates;

static void gate_task(void *ctx, int64_t task, int worker)
{
    const gates *g = ctx;
    (void)worker;
    const int64_t r = task / g->pieces, begin = task % g->pieces * PIECE;
    const int64_t end = begin + PIECE < g->width ? begin + PIECE : g->width;
    int64_t *y = g->gate[r];
    g->e->rows->gate(y + begin, g->up[r] + begin, end - begin, g->e->c->gelu);
}

static void round_task(void *ctx, int64_t r, int worker)
{
    const gates *g = ctx;
    (void)worker;
    g->e->rows->round(g->gate[r], g->width, GEODEC__ENGINE_UNIT, g->e->c->activation_bits, &g->to[r]);
}

void geodec__engine_gate(geodec_engine *e, int64_t *const *gate, int64_t *const *up, int64_t n, int64_t width,
                         geodec_rounded *to)
{
    gates g = {e, gate, up, width, (width + PIECE - 1) / PIECE, to};
    geodec_pool_run_dynamic(e->pool, n * g.pieces, gate_task, &g);
    geodec_pool_run_dynamic(n > 1 ? e->pool : NULL, n, round_task, &g);
}

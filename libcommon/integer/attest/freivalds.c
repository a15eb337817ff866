#include "integer/attest/freivalds.h"

#include "base/mem.h"
#include "base/rng.h"
#include "integer/attest/projection_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

enum { RANGE = GEODEC_TRANSCRIPT_RANGE - 1 /* bits of a sum's magnitude */, INPUT = 15 + GEODEC_ROUNDED_SHIFT };

static int64_t panels(const geodec_panels16 *w) { return (w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS; }

static int64_t code_size(const geodec_panels16 *w, int64_t r, int64_t b)
{
    const uint8_t *codes = geodec__product_codes(w, r / GEODEC__PRODUCT_ROWS, b);
    int64_t sum = 0;
    for (int c = 0; c < GEODEC_CODED_BLOCK; c++)
        sum += abs(geodec__product_get(codes, w->bits, (int)(r % GEODEC__PRODUCT_ROWS), c));
    return sum;
}

bool geodec_freivalds_bounded(const geodec_panels16 *w)
{
    const int64_t most = (int64_t)1 << (RANGE - INPUT), largest = GEODEC_CODED_BLOCK * ((int64_t)1 << (w->bits - 1));
    const int64_t blocks = geodec_coded_blocks(w->cols);
    if (blocks * largest <= most >> GEODEC_CODED_MULTIPLIER) return true;
    for (int64_t r = 0; r < w->rows; r++) {
        int64_t by_multipliers = 0, by_codes = 0;
        for (int64_t b = 0; b < blocks; b++)
            by_multipliers +=
                abs(geodec__product_multipliers(w, r / GEODEC__PRODUCT_ROWS, b)[r % GEODEC__PRODUCT_ROWS]);
        if (by_multipliers <= most / largest) continue;
        for (int64_t b = 0; b < blocks; b++)
            by_codes += abs(geodec__product_multipliers(w, r / GEODEC__PRODUCT_ROWS, b)[r % GEODEC__PRODUCT_ROWS]) *
                        code_size(w, r, b);
        if (by_codes > most) return false;
    }
    return true;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

typedef struct matrix {
    const geodec_panels16 *w;
    bool bounded, ready;
    int32_t least;  /* of the shifts */
    uint64_t *r;    /* [16 panels] */
    uint64_t *u;    /* [64 pairs] */
    uint64_t total; /* of r */
} matrix;

/* A product of one row: what the transcript says, and whether it is right. */
typedef struct item {
    const geodec_engine_product *job;
    int64_t i; /* of the job */
    matrix *m;
    geodec_transcript_sums sums;
    bool right;
} item;

struct geodec_freivalds {
    matrix *matrix; /* [n], by address */
    int64_t n;
    uint64_t *numbers; /* of all matrices */
    int64_t bytes;
    uint64_t secret;
    const geodec__product_ops *product;
    const geodec__projection_ops *projection;
    geodec_transcript_writer *writer;
    geodec_transcript *transcript;
    item *item; /* [room] of a call */
    int64_t room, items;
    geodec_freivalds_report report;
    /* of a run of tasks */
    const geodec_engine_product *job;
    int64_t jobs;
    matrix *current;
};

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const matrix *)a)->w, y = (uintptr_t)((const matrix *)b)->w;
    return (x > y) - (x < y);
}

static void add_matrix(geodec_freivalds *f, const geodec_panels16 *w)
{
    if (!w) return;
    if (f->matrix) f->matrix[f->n].w = w;
    f->n++;
}

static void add_all(geodec_freivalds *f, const geodec_network *net)
{
    f->n = 0;
    add_matrix(f, net->head);
    for (int32_t i = 0; i < net->config.n_layer; i++) {
        const geodec_network_layer *l = &net->layer[i];
#define X(field, name) add_matrix(f, l->field);
        GEODEC_NETWORK_MATRICES(X)
#undef X
        for (int32_t k = 0; l->expert && k < 3 * net->config.n_expert; k++) add_matrix(f, l->expert[k]);
    }
}

static geodec_status create(const geodec_engine *e, geodec_freivalds **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_freivalds *f = NULL;
    GEODEC_NEW(f, 1);
    f->product = geodec__product_for(geodec_engine_isa(e));
    f->projection = geodec__projection_for(geodec_engine_isa(e));
    add_all(f, geodec_engine_network(e));
    GEODEC_NEW(f->matrix, f->n);
    add_all(f, geodec_engine_network(e));
    qsort(f->matrix, (size_t)f->n, sizeof *f->matrix, by_address);
    for (int64_t i = 0; i < f->n; i++) f->matrix[i].bounded = geodec_freivalds_bounded(f->matrix[i].w);
    GEODEC_MOVE(*out, f);
done:
    geodec_freivalds_free(f);
    return st;
}

void geodec_freivalds_free(geodec_freivalds *f)
{
    if (!f) return;
    geodec_mem_unmap(f->numbers, f->bytes);
    GEODEC_FREE(f->matrix, f->item, f);
}

static matrix *find(const geodec_freivalds *f, const geodec_panels16 *w)
{
    const matrix key = {.w = w};
    return bsearch(&key, f->matrix, (size_t)f->n, sizeof *f->matrix, by_address);
}

/* ---- proving ----------------------------------------------------------------------------------------------------- */

geodec_status geodec_freivalds_prover(const geodec_engine *e, geodec_transcript_writer *w, geodec_freivalds **out,
                                      geodec_err *err)
{
    GEODEC_PASS(create(e, out, err));
    (*out)->writer = w;
    return GEODEC_OK;
}

static void sums_task(void *ctx, int64_t task, int worker)
{
    const geodec_freivalds *f = ctx;
    const geodec_engine_product *j = f->job;
    (void)worker;
    for (; task >= panels(j->w); j++) task -= panels(j->w);
    geodec__product_sums(f->product, j->w, task, task + 1, j->x, j->n, j->y);
}

void geodec_freivalds_prove(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool)
{
    geodec_freivalds *f = ctx;
    int64_t tasks = 0;
    f->job = job;
    for (int64_t k = 0; k < jobs; k++) tasks += panels(job[k].w);
    geodec_pool_run_dynamic(pool, tasks, sums_task, f);
    for (const geodec_engine_product *j = job; j < job + jobs; j++) {
        const bool bounded = find(f, j->w)->bounded;
        for (int64_t i = 0; i < j->n; i++) {
            int64_t *y = j->y[i];
            (void)geodec_transcript_add(f->writer, j->row ? j->row[i] : (int32_t)i, bounded ? y : NULL, j->w->rows);
            for (int64_t p = 0; p < panels(j->w); p++)
                geodec__product_finish(j->w, p, j->x[i], y + p * GEODEC__PRODUCT_ROWS, y);
        }
    }
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

geodec_status geodec_freivalds_verifier(const geodec_engine *e, geodec_transcript *t, int32_t rows, uint64_t secret,
                                        geodec_freivalds **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_freivalds *f = NULL;
    const int64_t most = 2 * (int64_t)geodec_engine_network(e)->config.n_expert_used;
    GEODEC_TRY(create(e, &f, err));
    f->transcript = t;
    f->secret = secret;
    f->report.missing = f->report.wrong = -1;
    f->room = rows * (most > 3 ? most : 3);
    GEODEC_NEW(f->item, f->room);
    for (int64_t i = 0; i < f->n; i++)
        f->bytes += (panels(f->matrix[i].w) * GEODEC__PRODUCT_ROWS + 2 * f->matrix[i].w->pairs * GEODEC_CODED_BLOCK) *
                    (int64_t)sizeof *f->numbers;
    f->numbers = geodec_mem_map(f->bytes); /* pages of matrices that are never used stay untouched */
    if (!f->numbers) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld bytes of projections", (long long)f->bytes);
    uint64_t *at = f->numbers;
    for (int64_t i = 0; i < f->n; i++) {
        f->matrix[i].r = at;
        at += panels(f->matrix[i].w) * GEODEC__PRODUCT_ROWS;
        f->matrix[i].u = at;
        at += 2 * f->matrix[i].w->pairs * GEODEC_CODED_BLOCK;
    }
    GEODEC_MOVE(*out, f);
done:
    geodec_freivalds_free(f);
    return st;
}

geodec_freivalds_report geodec_freivalds_pass_report(geodec_freivalds *f)
{
    const geodec_freivalds_report r = f->report;
    f->report.missing = f->report.wrong = -1;
    return r;
}

static void columns_task(void *ctx, int64_t task, int worker)
{
    const geodec_freivalds *f = ctx;
    const matrix *m = f->current;
    (void)worker;
    const geodec__projection_ops *ops = m->w->bits == 16 ? &geodec__projection_scalar : f->projection;
    ops->columns(m->w, m->r, task, task + 1, m->u);
}

static void project(geodec_freivalds *f, matrix *m, geodec_pool *pool)
{
    const uint64_t stream = geodec_rng_id("freivalds", (uint64_t)(m - f->matrix));
    m->least = m->w->shift[0];
    geodec_rng_fill(f->secret, stream, m->w->rows, m->r);
    for (int64_t i = 0; i < m->w->rows; i++) {
        m->r[i] >>= 64 - GEODEC__PROJECTION_BITS;
        m->total = geodec__projection_plus(m->total, m->r[i]);
        if (m->w->shift[i] < m->least) m->least = m->w->shift[i];
    }
    f->current = m;
    geodec_pool_run_dynamic(pool, m->w->pairs, columns_task, f);
    m->ready = true;
    f->report.matrices++;
}

static void check_task(void *ctx, int64_t task, int worker)
{
    const geodec_freivalds *f = ctx;
    item *t = &f->item[task];
    const geodec_panels16 *w = t->m->w;
    const geodec_rounded *x = t->job->x[t->i];
    int64_t *y = t->job->y[t->i];
    (void)worker;
    if (t->sums.bits == 0) {
        f->product->multiply(w, 0, panels(w), &x, 1, &y);
        return;
    }
    const geodec__projection_finish finish = {w->shift, t->m->least,
                                              x->exponent + GEODEC_ROUNDED_SHIFT - GEODEC__PRODUCT_UNIT};
    const uint8_t *next = task + 1 < f->items && f->item[task + 1].sums.bits ? f->item[task + 1].sums.packed : NULL;
    const uint64_t output = f->projection->output(&t->sums, t->m->r, t->m->total, w->rows, &finish, y, next);
    t->right = output == f->projection->input(t->m->u, x, geodec_coded_blocks(w->cols));
}

static void lower(int32_t *first, int32_t row)
{
    if (*first < 0 || row < *first) *first = row;
}

void geodec_freivalds_check(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool)
{
    geodec_freivalds *f = ctx;
    f->items = 0;
    for (const geodec_engine_product *j = job; j < job + jobs; j++) {
        matrix *m = find(f, j->w);
        if (m->bounded && !m->ready) project(f, m, pool);
        for (int64_t i = 0; i < j->n; i++) {
            const int32_t row = j->row ? j->row[i] : (int32_t)i;
            item *t = &f->item[f->items++];
            *t = (item){.job = j, .i = i, .m = m, .right = true};
            const bool there = geodec_transcript_next(f->transcript, row, j->w->rows, &t->sums);
            if (!there || (t->sums.bits && !m->bounded)) {
                lower(&f->report.missing, row);
                t->sums.bits = 0;
            }
        }
    }
    geodec_pool_run_dynamic(pool, f->items, check_task, f);
    for (const item *t = f->item; t < f->item + f->items; t++) {
        *(t->sums.bits ? &f->report.checked : &f->report.recomputed) += 1;
        if (!t->right) lower(&f->report.wrong, t->job->row ? t->job->row[t->i] : (int32_t)t->i);
    }
}

#include "attest/freivalds.h"

#include "attest/projection_internal.h"
#include "base/mem.h"
#include "base/rng.h"

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

enum { TILE = 2048 /* rows whose random numbers stay in the first-level cache, for all inputs */ };

typedef struct matrix {
    const geodec_panels16 *w;
    bool bounded, ready;
    int32_t least;   /* of the shifts */
    uint64_t *r;     /* [16 panels] */
    uint64_t *total; /* [tiles] of r */
    uint64_t *u;     /* [64 pairs] */
    uint64_t *joint; /* [64 pairs] of the matrices that had the inputs of this one last: the sum of their u */
    int64_t joined;  /* their number, 0: none so far */
    const struct matrix *first;
} matrix;

/* A product of one row: what the transcript says, and both sides of its equation. */
typedef struct item {
    const geodec_engine_product *job;
    int64_t i; /* of the job */
    matrix *m;
    geodec_transcript_sums sums;
    uint64_t output, input;
} item;

/* A task: the input of an item, with u; or the claimed sums of a tile; or a product that is computed. */
typedef struct piece {
    item *item;
    const uint64_t *u; /* NULL: no input */
    int64_t tile;
    uint64_t sum;
} piece;

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
    item *item; /* of a call */
    piece *piece;
    int64_t items, pieces;
    geodec_freivalds_report report;
    /* of a run of tasks */
    const geodec_engine_product *job;
    int64_t jobs, strips;
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
    GEODEC_FREE(f->matrix, f->item, f->piece, f);
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

static int64_t tiles(const geodec_panels16 *w) { return (w->rows + TILE - 1) / TILE; }

/* Numbers of a matrix from `at` on; returns what is behind them. */
static uint64_t *place(matrix *m, uint64_t *at)
{
    const int64_t columns = GEODEC__PROJECTION_COLUMNS * m->w->pairs;
    m->r = at;
    m->u = m->r + panels(m->w) * GEODEC__PRODUCT_ROWS;
    m->joint = m->u + columns;
    m->total = m->joint + columns;
    return m->total + tiles(m->w);
}

geodec_status geodec_freivalds_verifier(const geodec_engine *e, geodec_transcript *t, int32_t rows, uint64_t secret,
                                        geodec_freivalds **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_freivalds *f = NULL;
    const int64_t experts = 2 * (int64_t)geodec_engine_network(e)->config.n_expert_used;
    const int64_t room = rows * (experts > 3 ? experts : 3); /* products of a call */
    int64_t numbers = 0, most = 1;
    GEODEC_TRY(create(e, &f, err));
    f->transcript = t;
    f->secret = secret;
    f->report.missing = f->report.wrong = -1;
    for (int64_t i = 0; i < f->n; i++) {
        const geodec_panels16 *w = f->matrix[i].w;
        if (tiles(w) > most) most = tiles(w);
        numbers += panels(w) * GEODEC__PRODUCT_ROWS + 2 * GEODEC__PROJECTION_COLUMNS * w->pairs + tiles(w);
    }
    GEODEC_NEW(f->item, room);
    GEODEC_NEW(f->piece, room * (most + 1));
    f->bytes = numbers * (int64_t)sizeof *f->numbers;
    f->numbers = geodec_mem_map(f->bytes); /* pages of matrices that are never used stay untouched */
    if (!f->numbers) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld bytes of projections", (long long)f->bytes);
    uint64_t *at = f->numbers;
    for (int64_t i = 0; i < f->n; i++) at = place(&f->matrix[i], at);
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
    ops->columns(m->w, m->r, m->w->pairs * task / f->strips, m->w->pairs * (task + 1) / f->strips, m->u);
}

static void project(geodec_freivalds *f, matrix *m, geodec_pool *pool)
{
    const int64_t workers = geodec_pool_threads(pool);
    m->least = m->w->shift[0];
    for (int64_t i = 0; i < m->w->rows; i++)
        if (m->w->shift[i] < m->least) m->least = m->w->shift[i];
    for (int64_t i = 0; i < tiles(m->w); i++) {
        const uint64_t stream = geodec_rng_id("freivalds", (uint64_t)(m - f->matrix) << 24 | (uint64_t)i);
        const int64_t left = m->w->rows - TILE * i;
        m->total[i] = f->projection->draw(f->secret, stream, left < TILE ? left : TILE, m->r + TILE * i);
    }
    f->current = m;
    f->strips = workers == 1 ? 1 : 4 * workers < m->w->pairs ? 4 * workers : m->w->pairs;
    geodec_pool_run_dynamic(pool, f->strips, columns_task, f);
    m->ready = true;
    f->report.matrices++;
}

/* The sum of u over the matrices of n jobs. */
static const uint64_t *join(const geodec_freivalds *f, const geodec_engine_product *job, int64_t n)
{
    matrix *first = find(f, job->w);
    if (n == 1) return first->u;
    bool same = first->joined == n;
    for (int64_t k = 0; same && k < n; k++) same = find(f, job[k].w)->first == first;
    if (same) return first->joint;
    memcpy(first->joint, first->u, (size_t)(GEODEC__PROJECTION_COLUMNS * first->w->pairs) * sizeof *first->u);
    for (int64_t k = 0; k < n; k++) {
        matrix *m = find(f, job[k].w);
        m->first = first;
        for (int64_t c = 0; k > 0 && c < GEODEC__PROJECTION_COLUMNS * first->w->pairs; c++)
            first->joint[c] = geodec__projection_split(
                geodec__projection_plus(geodec__projection_whole(first->joint[c]), geodec__projection_whole(m->u[c])));
    }
    first->joined = n;
    return first->joint;
}

static void check_task(void *ctx, int64_t task, int worker)
{
    const geodec_freivalds *f = ctx;
    piece *p = &f->piece[task];
    const item *t = p->item;
    const geodec_panels16 *w = t->m->w;
    const geodec_rounded *x = t->job->x[t->i];
    int64_t *y = t->job->y[t->i];
    (void)worker;
    if (p->u) {
        p->sum = f->projection->input(p->u, x, geodec_coded_blocks(w->cols));
    } else if (t->sums.bits == 0) {
        f->product->multiply(w, 0, panels(w), &x, 1, &y);
    } else {
        const int64_t begin = TILE * p->tile, left = w->rows - begin;
        const piece *next = p + 1 < f->piece + f->pieces && !p[1].u && p[1].item->sums.bits ? p + 1 : NULL;
        const geodec_transcript_sums s = geodec_transcript_part(&t->sums, begin);
        const geodec__projection_finish finish = {w->shift + begin, t->m->least,
                                                  x->exponent + GEODEC_ROUNDED_SHIFT - GEODEC__PRODUCT_UNIT};
        p->sum = f->projection->output(
            &s, t->m->r + begin, t->m->total[p->tile], left < TILE ? left : TILE, &finish, y + begin,
            next ? geodec_transcript_part(&next->item->sums, TILE * next->tile).packed : NULL);
    }
}

static void lower(int32_t *first, int32_t row)
{
    if (*first < 0 || row < *first) *first = row;
}

static int32_t row_of(const item *t) { return t->job->row ? t->job->row[t->i] : (int32_t)t->i; }

/* The items of a job, and the pieces of their sums. */
static void take(geodec_freivalds *f, const geodec_engine_product *j, geodec_pool *pool)
{
    matrix *m = find(f, j->w);
    item *first = f->item + f->items;
    if (m->bounded && !m->ready) project(f, m, pool);
    for (int64_t i = 0; i < j->n; i++) {
        item *t = &f->item[f->items++];
        *t = (item){.job = j, .i = i, .m = m};
        const bool there = geodec_transcript_next(f->transcript, row_of(t), j->w->rows, &t->sums);
        if (!there || (t->sums.bits && !m->bounded)) {
            lower(&f->report.missing, row_of(t));
            t->sums.bits = 0;
        }
    }
    for (int64_t k = 0; k < tiles(j->w); k++)
        for (item *t = first; t < f->item + f->items; t++)
            if (k == 0 || t->sums.bits) f->piece[f->pieces++] = (piece){.item = t, .tile = k};
}

/* Whether all of `jobs` products of an input have sums; t: of the first job. */
static bool together(const item *t, int64_t jobs)
{
    for (int64_t k = 0; k < jobs; k++)
        if (t[k * t->job->n].sums.bits == 0) return false;
    return true;
}

/* The pieces of inputs of `jobs` jobs with the same inputs. */
static void take_inputs(geodec_freivalds *f, item *first, const geodec_engine_product *job, int64_t jobs)
{
    const int64_t n = job->n;
    for (item *t = first; t < first + n; t++) {
        if (together(t, jobs)) {
            f->piece[f->pieces++] = (piece){.item = t, .u = join(f, job, jobs)};
        } else {
            for (int64_t k = 0; k < jobs; k++)
                if (t[k * n].sums.bits) f->piece[f->pieces++] = (piece){.item = t + k * n, .u = t[k * n].m->u};
        }
    }
}

/* Compares both sides. */
static void compare(geodec_freivalds *f, const item *first, int64_t n, int64_t jobs)
{
    for (const item *t = first; t < first + n; t++) {
        const bool all = together(t, jobs);
        uint64_t output = 0;
        for (int64_t k = 0; k < jobs; k++) {
            const item *one = t + k * n;
            *(one->sums.bits ? &f->report.checked : &f->report.recomputed) += 1;
            output = geodec__projection_plus(output, one->output);
            if (!all && one->sums.bits && one->output != one->input) lower(&f->report.wrong, row_of(one));
        }
        if (all && output != t->input) lower(&f->report.wrong, row_of(t));
    }
}

/* Jobs with the inputs of the first one. */
static int64_t group(const geodec_engine_product *job, int64_t jobs)
{
    int64_t n = 1;
    while (n < jobs && job[n].x == job->x && job[n].n == job->n && job[n].row == job->row) n++;
    return n;
}

void geodec_freivalds_check(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool)
{
    geodec_freivalds *f = ctx;
    f->items = f->pieces = 0;
    for (int64_t k = 0; k < jobs; k++) take(f, &job[k], pool);
    item *t = f->item;
    for (int64_t k = 0, same; k < jobs; t += same * job[k].n, k += same) {
        same = group(job + k, jobs - k);
        take_inputs(f, t, job + k, same);
    }
    geodec_pool_run_dynamic(pool, f->pieces, check_task, f);
    for (const piece *p = f->piece; p < f->piece + f->pieces; p++) {
        uint64_t *sum = p->u ? &p->item->input : &p->item->output;
        *sum = geodec__projection_plus(*sum, p->sum);
    }
    t = f->item;
    for (int64_t k = 0, same; k < jobs; t += same * job[k].n, k += same) {
        same = group(job + k, jobs - k);
        compare(f, t, job[k].n, same);
    }
}

/* Matrix products of a layer, dispatched by blocks of output rows. */
#include "gguf/gguf.h"
#include "session/model_internal.h"
#include "ternary/multiply.h"

#include <string.h>

enum {
    BLOCK = 32, /* output rows that stay together: whole panels and vectors, and a gate is applied where its block was
                 * computed */
    SMALL_WORK = 1 << 16,  /* multiply-adds below which dispatch to the pool costs more than it saves */
    SMALL_INPUT = 1 << 13, /* the same for numbers to round or pack */
    /* rows of x from which packing pays: for weights in floats, for bytes with 16 and with 32 registers, for decoded
     * weights */
    MANY_FLOATS = 16,
    MANY_BYTES = 8,
    MANY_BYTES_AVX512 = 16,
    MANY_DECODED = 6,
    LEAST = 16 /* number of weight rows below which packing does not pay */
};

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* A prepared input: rounded for weights of one offset and group, or packed for weights in floats. Jobs that share it
 * are consecutive. */
typedef struct making {
    const float *const *x;
    int64_t n, cols;
    int offset, group; /* rounded; group 0: packed */
    uint8_t *out;
    const geodec__product *product;
    const geodec__kernels *kernels;
} making;

static void round_row(void *ctx, int64_t row, int worker)
{
    (void)worker;
    const making *m = ctx;
    const int64_t first = row / GEODEC__PRODUCT_TILE * GEODEC__PRODUCT_TILE;
    const int64_t stride = m->n - first < GEODEC__PRODUCT_TILE ? m->n - first : GEODEC__PRODUCT_TILE;
    m->product->round(m->x[row], m->cols, m->offset, m->group,
                      m->out + (first * (m->cols / 32) + row - first) * m->product->block_bytes, stride);
}

static void pack_group(void *ctx, int64_t g, int worker)
{
    (void)worker;
    const making *m = ctx;
    const int64_t groups = (m->n + m->kernels->gemm_group - 1) / m->kernels->gemm_group;
    const int64_t first = m->n * g / groups, last = m->n * (g + 1) / groups;
    m->kernels->gemm_pack(m->x + first, last - first, m->cols, (float *)(void *)m->out + first * geodec__pad(m->cols));
}

/* The input of n rows for these weights; *last is the previous one, *at the index of the next. NULL: no slot left. */
static const uint8_t *make_input(geodec_session *s, const making *wanted, making *last, int64_t *at)
{
    const making *w = wanted;
    if (last->x == w->x && last->n == w->n && last->cols == w->cols && last->offset == w->offset &&
        last->group == w->group)
        return last->out;
    const int64_t size = (w->n * geodec__pad(w->cols) + 31) / 32;
    if (size > s->made_size - *at) return NULL;
    *last = *w;
    last->out = s->made + *at * s->made_bytes;
    last->product = s->product;
    last->kernels = s->kernels;
    *at += size;
    const int64_t tasks = w->group ? w->n : (w->n + s->kernels->gemm_group - 1) / s->kernels->gemm_group;
    const geodec_pool_fn fn = w->group ? round_row : pack_group;
    if (w->n * w->cols < SMALL_INPUT)
        for (int64_t i = 0; i < tasks; i++) fn(last, i, 0);
    else
        geodec_pool_run_dynamic(s->pool, tasks, fn, last);
    return last->out;
}

/* Whether x is packed for products in floats. Small models have columns: there each row of x is used directly. */
static bool packs(const geodec_session *s, const geodec__matrix *w, const geodec__columns *columns, int64_t n)
{
    if (w->trits) return false;
    const geodec_ggml_product product = geodec_ggml_traits_of(w->type)->product;
    const int64_t bytes = s->kernels->isa == GEODEC_ISA_AVX512 ? MANY_BYTES_AVX512 : MANY_BYTES;
    const int64_t many = product == GEODEC_GGML_FLOATS  ? MANY_FLOATS
                         : product == GEODEC_GGML_BYTES ? bytes
                                                        : MANY_DECODED;
    return s->kernels->gemm && !columns->data && w->rows >= LEAST && n >= many;
}

/* Prepares x for the weights of a side; it stays unchanged where they need nothing. False: no slot left. */
static bool make_side(geodec_session *s, geodec__side *a, int64_t n, making *last, int64_t *at)
{
    const geodec__panel_format *f = a->panels.format;
    making wanted = {.x = a->x, .n = n, .cols = a->w.cols};
    a->made = NULL;
    if (f)
        wanted.offset = f->offset, wanted.group = f->group;
    else if (!packs(s, &a->w, &a->columns, n))
        return true;
    a->made = make_input(s, &wanted, last, at);
    return a->made || (!f && *at == 0);
}

/* Prepares the inputs of as many jobs as there are slots (at least one); returns the number of jobs. */
static int64_t make_inputs(geodec_session *s, geodec__job *job, int64_t n_jobs)
{
    making last = {0};
    int64_t at = 0, i = 0;
    for (; i < n_jobs; i++) {
        geodec__job *j = &job[i];
        if (!make_side(s, &j->main, j->n, &last, &at)) break;
        if (j->up.w.data && !make_side(s, &j->up, j->n, &last, &at)) break;
    }
    return i;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Weights that are not packed yet are packed one panel at a time. */
static void multiply_unpacked(const geodec_session *s, const geodec__matrix *w, geodec__panels one,
                              const uint8_t *rounded, int64_t n, float *const *y, int64_t begin, int64_t end,
                              uint8_t *room)
{
    one.data = room;
    for (int64_t p = begin / GEODEC__PANEL; p < geodec__panels_count(end); p++) {
        geodec__panel_pack(one.format, w, p, room);
        one.first = p;
        s->product->multiply(&one, p, p + 1, rounded, n, y);
    }
}

enum { TRIT_ROWS = 16, TRIT_VECTORS = 64 };

/* Trits become float32 a few rows at a time, which are multiplied as such a matrix is: the bits are the same. */
static void multiply_trits(const geodec_session *s, const geodec__side *a, int64_t n, int64_t begin, int64_t end,
                           float *scratch)
{
    const geodec__matrix *w = &a->w;
    const geodec_ternary_matrix m = {.encoding = w->trits,
                                     .rows = w->rows,
                                     .cols = w->cols,
                                     .data = w->data,
                                     .scale = w->scale,
                                     .row_scale = w->row_scale};
    const int64_t stride = geodec__apart(w->cols);
    for (int64_t o = begin; o < end; o += TRIT_ROWS) {
        const int64_t rows = end - o < TRIT_ROWS ? end - o : TRIT_ROWS;
        const geodec__matrix f = {.data = (const uint8_t *)scratch,
                                  .rows = rows,
                                  .cols = w->cols,
                                  .row_bytes = stride * (int64_t)sizeof(float),
                                  .type = GEODEC_GGML_F32};
        for (int64_t r = 0; r < rows; r++) geodec_ternary_expand(&m, o + r, s->kernels->isa, scratch + r * stride);
        for (int64_t v = 0; v < n; v += TRIT_VECTORS) {
            float *y[TRIT_VECTORS];
            const int64_t vectors = n - v < TRIT_VECTORS ? n - v : TRIT_VECTORS;
            for (int64_t i = 0; i < vectors; i++) y[i] = a->y[v + i] + o;
            s->kernels->matmul(&f, 0, rows, a->x + v, vectors, y, scratch + TRIT_ROWS * stride);
        }
    }
}

/* Address of row `begin` in the layout that is multiplied. */
static const uint8_t *weights_at(const geodec__side *a, int64_t begin)
{
    if (a->panels.format)
        return a->panels.data ? a->panels.data + begin / GEODEC__PANEL * geodec__panel_bytes(&a->panels) : NULL;
    return a->columns.data ? NULL : a->w.data + begin * a->w.row_bytes;
}

/* next: weights that this worker reads afterwards, or NULL. */
static void multiply(const geodec_session *s, const geodec__side *a, int64_t n, int64_t begin, int64_t end, int worker,
                     const uint8_t *next)
{
    geodec__matrix w = a->w;
    geodec__panels panels = a->panels;
    w.next = panels.next = next;
    float *const scratch = s->worker[worker].weights;
    if (a->w.trits)
        multiply_trits(s, a, n, begin, end, scratch);
    else if (a->panels.data)
        s->product->multiply(&panels, begin / GEODEC__PANEL, geodec__panels_count(end), a->made, n, a->y);
    else if (a->panels.format)
        multiply_unpacked(s, &a->w, a->panels, a->made, n, a->y, begin, end, s->worker[worker].panel);
    else if (a->made)
        s->kernels->gemm(&a->w, begin, end, (const float *)(const void *)a->made, n, a->y, scratch);
    else if (a->columns.data)
        s->kernels->columns(&a->columns, begin, end, a->x, n, a->y, scratch);
    else
        s->kernels->matmul(&w, begin, end, a->x, n, a->y, scratch);
}

/* Factors of rows, and the bias. */
static void adjust(const geodec__job *j, const geodec__side *a, int64_t begin, int64_t end)
{
    for (int64_t r = 0; j->scale && r < j->n; r++)
        for (int64_t i = begin; i < end; i++) a->y[r][i] *= j->scale[r];
    for (int64_t r = 0; a->bias && r < j->n; r++)
        for (int64_t i = begin; i < end; i++) a->y[r][i] += a->bias[i];
}

static void run_rows(const geodec_session *s, const geodec__job *j, int64_t begin, int64_t end, int worker,
                     const uint8_t *next)
{
    const bool fused = j->up.w.data != NULL;
    multiply(s, &j->main, j->n, begin, end, worker, fused ? weights_at(&j->up, begin) : next);
    adjust(j, &j->main, begin, end);
    if (fused) {
        multiply(s, &j->up, j->n, begin, end, worker, next);
        adjust(j, &j->up, begin, end);
    }
    const geodec__layer *l = j->layer;
    for (int64_t r = 0; (fused || j->plain) && r < j->n; r++) {
        float *y = j->main.y[r] + begin;
        const float *up = fused ? j->up.y[r] + begin : NULL, most = j->limit;
        const bool limited = up && most > 0;
        s->kernels->activate(s->model->config.activation, l ? l->xielu : NULL, y, limited ? NULL : up, end - begin);
        for (int64_t i = 0; limited && i < end - begin; i++)
            y[i] = (y[i] < most ? y[i] : most) * (up[i] > most ? most : up[i] < -most ? -most : up[i]);
        for (int64_t i = 0; l && l->hidden_scale && i < end - begin; i++) y[i] /= l->hidden_scale[begin + i];
    }
}

/* The concatenated blocks of all jobs are divided into pieces: a large one for each thread, which it processes without
 * synchronisation, then small ones that balance different speeds. */
typedef struct dispatch {
    const geodec_session *s;
    const geodec__job *job;
    int64_t n_jobs, blocks, threads;
    int64_t large, small; /* blocks of a piece */
    int64_t tasks;        /* all pieces, in the order of piece_of */
} dispatch;

static int64_t blocks_of(const geodec__job *j) { return (j->main.w.rows + BLOCK - 1) / BLOCK; }

static int64_t piece_begin(const dispatch *d, int64_t piece)
{
    const int64_t at = piece < d->threads ? piece * d->large : d->threads * d->large + (piece - d->threads) * d->small;
    return at < d->blocks ? at : d->blocks;
}

/* A worker takes the tasks of its own range first (pool.h), in order: its large piece, then its share of the small
 * ones. If the large pieces were the first tasks, one worker would own them all. */
static int64_t piece_of(const dispatch *d, int64_t task)
{
    const int64_t owner = ((task + 1) * d->threads - 1) / d->tasks;
    return task == d->tasks * owner / d->threads ? owner : d->threads + task - (owner + 1);
}

/* What is read after a job: the next one's weights, or those that the session expects after the last one. */
static const uint8_t *weights_after(const geodec_session *s, const geodec__job *j, const geodec__job *end)
{
    return j + 1 < end ? weights_at(&j[1].main, 0) : s->then;
}

static void run_piece(void *ctx, int64_t task, int worker)
{
    const dispatch *d = ctx;
    const int64_t piece = piece_of(d, task);
    int64_t begin = piece_begin(d, piece), end = piece_begin(d, piece + 1);
    for (const geodec__job *j = d->job; j < d->job + d->n_jobs && end > 0; j++) {
        const int64_t blocks = blocks_of(j), last = end < blocks ? end : blocks;
        const uint8_t *next = last < end ? weights_after(d->s, j, d->job + d->n_jobs) : NULL;
        if (begin < last)
            run_rows(d->s, j, begin * BLOCK, last * BLOCK < j->main.w.rows ? last * BLOCK : j->main.w.rows, worker,
                     next);
        begin = begin > blocks ? begin - blocks : 0;
        end -= blocks;
    }
}

static void run_jobs(const geodec_session *s, const geodec__job *job, int64_t n_jobs)
{
    int64_t work = 0, blocks = 0;
    const int64_t threads = geodec_pool_threads(s->pool);
    for (int64_t i = 0; i < n_jobs; i++) {
        work += job[i].main.w.rows * job[i].main.w.cols * job[i].n * (job[i].up.w.data ? 2 : 1);
        blocks += blocks_of(&job[i]);
    }
    if (threads == 1 || work < SMALL_WORK) {
        for (int64_t i = 0; i < n_jobs; i++)
            run_rows(s, &job[i], 0, job[i].main.w.rows, 0, weights_after(s, &job[i], job + n_jobs));
        return;
    }
    dispatch d = {.s = s, .job = job, .n_jobs = n_jobs, .blocks = blocks, .threads = threads};
    d.large = blocks * 3 / (4 * threads);
    d.small = blocks / (16 * threads) + 1;
    const int64_t rest = blocks - threads * d.large;
    d.tasks = threads + (rest + d.small - 1) / d.small;
    geodec_pool_run_dynamic(s->pool, d.tasks, run_piece, &d);
}

/* Finds the weights in their layouts; all are identified by their offset in the file. */
static void find_weights(const geodec_session *s, geodec__side *a)
{
    if (a->placed) return;
    a->columns = geodec__prepare_columns(s->columns, &a->w);
    a->panels = geodec__prepare_find(s->prepared, &a->w);
    a->w.data = geodec__prepare_data(s->copies, &a->w);
}

void geodec__jobs_then(geodec_session *s, geodec__matrix w)
{
    geodec__side a = {.w = w};
    find_weights(s, &a);
    s->then = weights_at(&a, 0);
}

void geodec__jobs_run(geodec_session *s, int64_t n_jobs)
{
    for (int64_t i = 0; i < n_jobs; i++) {
        find_weights(s, &s->job[i].main);
        if (s->job[i].up.w.data) find_weights(s, &s->job[i].up);
    }
    for (int64_t done = 0; done < n_jobs;) {
        const int64_t n = make_inputs(s, s->job + done, n_jobs - done);
        run_jobs(s, s->job + done, n);
        done += n;
    }
    s->then = NULL;
}

/* Matrix products of a layer, handed out by blocks of output rows. */
#include "model/internal.h"

#include <string.h>

enum {
    BLOCK = 32, /* output rows that stay together: whole panels and vectors, and a block's gate is finished where it was
                   computed */
    SMALL_WORK = 1 << 16,    /* multiply-adds below which a hand-over to the pool costs more than it saves */
    SMALL_ROUNDING = 1 << 13 /* the same for activations to be rounded */
};

/* ---- rounding of the inputs -------------------------------------------------------------------------------------- */

/* An input that was rounded for weights of one offset and group; the jobs that share it come after each other. */
typedef struct rounding {
    const float *const *x;
    int64_t n, cols;
    int offset, group;
    uint8_t *out;
    const geodec__product *product;
} rounding;

static void round_row(void *ctx, int64_t row, int worker)
{
    (void)worker;
    const rounding *r = ctx;
    const int64_t first = row / GEODEC__PRODUCT_TILE * GEODEC__PRODUCT_TILE;
    const int64_t stride = r->n - first < GEODEC__PRODUCT_TILE ? r->n - first : GEODEC__PRODUCT_TILE;
    r->product->round(r->x[row], r->cols, r->offset, r->group,
                      r->out + (first * (r->cols / 32) + row - first) * r->product->block_bytes, stride);
}

/* The input of j for these weights; *last is the one made before, *at where the next goes. NULL: no room left. */
static const uint8_t *round_input(geodec_session *s, const geodec__job *j, const float *const *x,
                                  const geodec__panels *w, rounding *last, int64_t *at)
{
    const geodec__panel_format *f = w->format;
    const int64_t cols = w->records * 32 * f->blocks, size = j->n * (cols / 32);
    if (last->x == x && last->n == j->n && last->cols == cols && last->offset == f->offset && last->group == f->group)
        return last->out;
    if (size > s->rounded_size - *at) return NULL;
    *last = (rounding){x, j->n, cols, f->offset, f->group, s->rounded + *at * s->product->block_bytes, s->product};
    *at += size;
    if (j->n * cols < SMALL_ROUNDING)
        for (int64_t r = 0; r < j->n; r++) round_row(last, r, 0);
    else
        geodec_pool_run_dynamic(s->pool, j->n, round_row, last);
    return last->out;
}

static const float *const *up_input(const geodec__job *j) { return j->x_up ? j->x_up : j->x; }

/* Rounds the inputs of as many jobs as there is room for (at least one); returns how many. */
static int64_t round_inputs(geodec_session *s, geodec__job *job, int64_t n_jobs)
{
    rounding last = {0};
    int64_t at = 0;
    for (int64_t i = 0; i < n_jobs; i++) {
        geodec__job *j = &job[i];
        if (j->panels.format && !(j->rounded = round_input(s, j, j->x, &j->panels, &last, &at))) return i;
        if (j->panels_up.format && !(j->rounded_up = round_input(s, j, up_input(j), &j->panels_up, &last, &at)))
            return i;
    }
    return n_jobs;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Weights that are not packed yet: a panel at a time. */
static void multiply_loose(const geodec_session *s, const geodec__matrix *w, geodec__panels one, const uint8_t *rounded,
                           int64_t n, float *const *y, int64_t begin, int64_t end, uint8_t *room)
{
    one.data = room;
    for (int64_t p = begin / GEODEC__PANEL; p < geodec__panels_count(end); p++) {
        if ((p + 1) * GEODEC__PANEL > w->rows) memset(room, 0, (size_t)geodec__panel_bytes(&one));
        geodec__panel_pack(one.format, w, p, room);
        one.first = p;
        s->product->multiply(&one, p, p + 1, rounded, n, y);
    }
}

static void multiply(const geodec_session *s, const geodec__matrix *w, const geodec__panels *panels,
                     const geodec__columns *columns, const uint8_t *rounded, int64_t n, const float *const *x,
                     float *const *y, int64_t begin, int64_t end, int worker)
{
    if (panels->data)
        s->product->multiply(panels, begin / GEODEC__PANEL, geodec__panels_count(end), rounded, n, y);
    else if (panels->format)
        multiply_loose(s, w, *panels, rounded, n, y, begin, end, s->worker[worker].panel);
    else if (columns->data)
        s->kernels->columns(columns, begin, end, x, n, y, s->worker[worker].weights);
    else
        s->kernels->matmul(w, begin, end, x, n, y, s->worker[worker].weights);
}

static void run_rows(const geodec_session *s, const geodec__job *j, int64_t begin, int64_t end, int worker)
{
    multiply(s, &j->w, &j->panels, &j->columns, j->rounded, j->n, j->x, j->y, begin, end, worker);
    if (!j->up.data) return;
    multiply(s, &j->up, &j->panels_up, &j->columns_up, j->rounded_up, j->n, up_input(j), j->y_up, begin, end, worker);
    const bool gelu = s->model->config.activation == GEODEC_GELU_TANH;
    for (int64_t r = 0; r < j->n; r++)
        (gelu ? s->kernels->geglu : s->kernels->swiglu)(j->y[r] + begin, j->y_up[r] + begin, end - begin);
}

/* The blocks of all jobs one after another are cut in pieces: a large one for each thread, which it streams through
 * without asking, then small ones that even out what the threads did not do at the same speed. */
typedef struct dispatch {
    const geodec_session *s;
    const geodec__job *job;
    int64_t n_jobs, blocks, threads;
    int64_t large, small; /* blocks of a piece */
    int64_t tasks;        /* pieces, in the order of piece_of */
} dispatch;

static int64_t blocks_of(const geodec__job *j) { return (j->w.rows + BLOCK - 1) / BLOCK; }

static int64_t piece_begin(const dispatch *d, int64_t piece)
{
    const int64_t at = piece < d->threads ? piece * d->large : d->threads * d->large + (piece - d->threads) * d->small;
    return at < d->blocks ? at : d->blocks;
}

/* A worker takes the tasks of its own range first (pool.h), in order: its large piece, then its share of the small
 * ones. Were the large pieces the first tasks, one worker would own them all and the others would begin with small
 * ones. */
static int64_t piece_of(const dispatch *d, int64_t task)
{
    const int64_t owner = ((task + 1) * d->threads - 1) / d->tasks;
    return task == d->tasks * owner / d->threads ? owner : d->threads + task - (owner + 1);
}

static void run_piece(void *ctx, int64_t task, int worker)
{
    const dispatch *d = ctx;
    const int64_t piece = piece_of(d, task);
    int64_t begin = piece_begin(d, piece), end = piece_begin(d, piece + 1);
    for (const geodec__job *j = d->job; j < d->job + d->n_jobs && end > 0; j++) {
        const int64_t blocks = blocks_of(j), last = end < blocks ? end : blocks;
        if (begin < last) run_rows(d->s, j, begin * BLOCK, last * BLOCK < j->w.rows ? last * BLOCK : j->w.rows, worker);
        begin = begin > blocks ? begin - blocks : 0;
        end -= blocks;
    }
}

static void run_jobs(const geodec_session *s, const geodec__job *job, int64_t n_jobs)
{
    int64_t work = 0, blocks = 0;
    const int64_t threads = geodec_pool_threads(s->pool);
    for (int64_t i = 0; i < n_jobs; i++) {
        work += job[i].w.rows * job[i].w.cols * job[i].n * (job[i].up.data ? 2 : 1);
        blocks += blocks_of(&job[i]);
    }
    if (threads == 1 || work < SMALL_WORK) {
        for (int64_t i = 0; i < n_jobs; i++) run_rows(s, &job[i], 0, job[i].w.rows, 0);
        return;
    }
    dispatch d = {.s = s, .job = job, .n_jobs = n_jobs, .blocks = blocks, .threads = threads};
    d.large = blocks * 3 / (4 * threads);
    d.small = blocks / (16 * threads) + 1;
    const int64_t rest = blocks - threads * d.large;
    d.tasks = threads + (rest + d.small - 1) / d.small;
    geodec_pool_run_dynamic(s->pool, d.tasks, run_piece, &d);
}

void geodec__jobs_run(geodec_session *s, int64_t n_jobs)
{
    for (int64_t i = 0; i < n_jobs; i++) {
        geodec__job *j = &s->job[i];
        /* all are found by their place in the file */
        j->columns = geodec__columns_find(s->columns, &j->w);
        j->panels = geodec__prepared_find(s->prepared, &j->w);
        j->panels_up = j->up.data ? geodec__prepared_find(s->prepared, &j->up) : (geodec__panels){0};
        j->w.data = geodec__prepared_data(s->copies, &j->w);
        if (!j->up.data) continue;
        j->columns_up = geodec__columns_find(s->columns, &j->up);
        j->up.data = geodec__prepared_data(s->copies, &j->up);
    }
    if (!s->prepared) {
        run_jobs(s, s->job, n_jobs);
        return;
    }
    for (int64_t done = 0; done < n_jobs;) {
        const int64_t n = round_inputs(s, s->job + done, n_jobs - done);
        run_jobs(s, s->job + done, n);
        done += n;
    }
}

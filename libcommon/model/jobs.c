/* Matrix products of a layer, handed out by blocks of output rows. */
#include "model/internal.h"

enum {
    BLOCK = 32, /* output rows of a task: whole vectors, so that a block's gate is finished where it was computed */
    SMALL_WORK = 1 << 16 /* multiply-adds below which a hand-over to the pool costs more than it saves */
};

typedef struct dispatch {
    const geodec_session *s;
    int64_t n_jobs;
} dispatch;

static int64_t blocks_of(const geodec__job *j) { return (j->w.rows + BLOCK - 1) / BLOCK; }

static void run_rows(const geodec_session *s, const geodec__job *j, int64_t begin, int64_t end, int worker)
{
    float *scratch = s->worker[worker].weights;
    s->kernels->matmul(&j->w, begin, end, j->x, j->n, j->y, scratch);
    if (!j->up.data) return;
    s->kernels->matmul(&j->up, begin, end, j->x, j->n, j->y_up, scratch);
    const bool gelu = s->model->config.activation == GEODEC_GELU_TANH;
    for (int64_t r = 0; r < j->n; r++)
        (gelu ? s->kernels->geglu : s->kernels->swiglu)(j->y[r] + begin, j->y_up[r] + begin, end - begin);
}

static void run_task(void *ctx, int64_t task, int worker)
{
    const dispatch *d = ctx;
    for (const geodec__job *j = d->s->job; j < d->s->job + d->n_jobs; j++) {
        const int64_t blocks = blocks_of(j);
        if (task < blocks) {
            const int64_t begin = task * BLOCK, end = begin + BLOCK < j->w.rows ? begin + BLOCK : j->w.rows;
            run_rows(d->s, j, begin, end, worker);
            return;
        }
        task -= blocks;
    }
}

void geodec__jobs_run(geodec_session *s, int64_t n_jobs)
{
    int64_t work = 0, tasks = 0;
    for (int64_t i = 0; i < n_jobs; i++) {
        work += s->job[i].w.rows * s->job[i].w.cols * s->job[i].n * (s->job[i].up.data ? 2 : 1);
        tasks += blocks_of(&s->job[i]);
    }
    if (geodec_pool_threads(s->pool) == 1 || work < SMALL_WORK) {
        for (int64_t i = 0; i < n_jobs; i++) run_rows(s, &s->job[i], 0, s->job[i].w.rows, 0);
        return;
    }
    dispatch d = {s, n_jobs};
    geodec_pool_run_dynamic(s->pool, tasks, run_task, &d);
}

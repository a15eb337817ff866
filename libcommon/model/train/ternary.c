#include "train/ternary.h"

#include "base/f16.h"

#include <math.h>

/* a = mean |w|, as float16. */
static float scale_of(const float *w, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs((double)w[i]);
    return geodec_f16_to_f32(geodec_f32_to_f16((float)(sum / (double)n)));
}

typedef struct job {
    const geodec_layout *l;
    const float *params;
    float *out;
} job;

/* Matrix `task` of all experts, counted over the tensors. */
static void quantise_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const job *j = ctx;
    for (int64_t i = 0; i < j->l->n_params; i++) {
        const geodec_param *p = &j->l->param[i];
        if (p->n_dims != 3) continue;
        if (task >= p->dim[2]) {
            task -= p->dim[2];
            continue;
        }
        const int64_t n = p->dim[0] * p->dim[1];
        const float *w = j->params + p->offset + task * n;
        float *q = j->out + p->offset + task * n;
        const float a = scale_of(w, n), half = 0.5f * a;
        for (int64_t k = 0; k < n; k++) q[k] = w[k] > half ? a : w[k] < -half ? -a : 0;
        return;
    }
}

void geodec_ternary_experts(const geodec_layout *l, const float *params, float *out, geodec_pool *pool)
{
    job j = {l, params, out};
    int64_t matrices = 0;
    for (int64_t i = 0; i < l->n_params; i++)
        if (l->param[i].n_dims == 3) matrices += l->param[i].dim[2];
    geodec_pool_run_dynamic(pool, matrices, quantise_task, &j);
}

double geodec_ternary_neighbours(const geodec_layout *l, const float *params, int64_t n, const int32_t (*edge)[2],
                                 double beta, float *grad)
{
    double total = 0;
    for (int64_t i = 0; i < l->n_params; i++) {
        const geodec_param *p = &l->param[i];
        if (p->n_dims != 3) continue;
        const int64_t size = p->dim[0] * p->dim[1];
        for (int64_t e = 0; e < n; e++) {
            const int64_t x = p->offset + edge[e][0] * size, y = p->offset + edge[e][1] * size;
            const double a = 0.5 * ((double)scale_of(params + x, size) + (double)scale_of(params + y, size));
            const float step = a > 0 ? (float)(beta / (a * (double)size)) : 0;
            double sum = 0;
            for (int64_t k = 0; k < size; k++) {
                const float d = params[x + k] - params[y + k];
                sum += fabs((double)d);
                if (beta == 0 || d == 0) continue;
                grad[x + k] += d > 0 ? step : -step;
                grad[y + k] -= d > 0 ? step : -step;
            }
            total += a > 0 ? sum / (a * (double)size) : 0;
        }
    }
    return beta == 0 ? total : beta * total;
}

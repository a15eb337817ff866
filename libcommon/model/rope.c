/* Rotary position embedding: the table of angles and the rotation (Su et al. 2021). */
#include "base/mem.h"
#include "model/internal.h"

#include <math.h>

/* Angles in double, rounded once: angle of pair i at position p is p base^(-2i/rope_dim). */
geodec_status geodec__rope_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = c->rope_dim / 2;
    GEODEC_NEW(s->cosine, s->n_ctx * pairs);
    GEODEC_NEW(s->sine, s->n_ctx * pairs);
    for (int64_t i = 0; i < pairs; i++) {
        const double step = pow(c->rope_base, -2.0 * (double)i / (double)c->rope_dim);
        for (int64_t p = 0; p < s->n_ctx; p++) {
            s->cosine[p * pairs + i] = (float)cos((double)p * step);
            s->sine[p * pairs + i] = (float)sin((double)p * step);
        }
    }
done:
    return st;
}

/* Rotates adjacent pairs of each head's first rope_dim dimensions. */
void geodec__rope_apply(const geodec_session *s, float *x, int32_t heads, int64_t position)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = c->rope_dim / 2;
    const float *cosine = s->cosine + position * pairs, *sine = s->sine + position * pairs;
    for (int32_t h = 0; h < heads; h++, x += c->head_dim)
        for (int64_t i = 0; i < pairs; i++) {
            const float a = x[2 * i], b = x[2 * i + 1];
            x[2 * i] = a * cosine[i] - b * sine[i];
            x[2 * i + 1] = a * sine[i] + b * cosine[i];
        }
}

/* Rotary position embedding: the table of angles and the rotation (Su et al. 2021). */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "session/model_internal.h"

#include <math.h>

int32_t geodec__rope_dim(const geodec_model_config *c, int32_t table)
{
    return table > 0 && c->rope_dim_local > 0 ? c->rope_dim_local : c->rope_dim;
}

/* Angle of pair i per position in table t: base^(-2i/dim), scaled (in the ramp of YaRN by parts) and divided as the
 * file says; the sliding layers' table (1) has neither factor, unless it is scaled like the other. */
double geodec__rope_step(const geodec_model *m, int32_t n_ctx, int32_t t, int64_t i)
{
    const geodec_model_config *c = &m->config;
    const double base = t == 0 ? c->rope_base : c->rope_base_local;
    double step = pow(base, -2.0 * (double)i / (double)geodec__rope_dim(c, t));
    if (t > 0 && !c->rope_local_scaled) return step;
    if (c->rope_scale > 0) step *= geodec__rope_scale_of(c, i);
    const float *divisor =
        m->rope_divisor[c->rope_n_ctx_original > 0 && n_ctx > c->rope_n_ctx_original && m->rope_divisor[1] ? 1 : 0];
    return divisor ? step / (double)divisor[i] : step;
}

/* Pairs of a row of the tables. */
static int64_t row_pairs(const geodec_model_config *c)
{
    return geodec__max(geodec__rope_dim(c, 0), geodec__rope_dim(c, 1)) / 2;
}

geodec_status geodec__rope_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = row_pairs(c), tables = c->rope_base_local > 0 ? 2 : 1;
    GEODEC_NEW(s->rope_step, tables * pairs);
    s->rope_rows = geodec__session_forgets(s) && s->back + s->max_batch < s->n_ctx ? s->back + s->max_batch : s->n_ctx;
    GEODEC_NEW_EACH(tables * s->rope_rows * pairs, s->cosine, s->sine);
    for (int64_t k = 0; k < tables * pairs; k++)
        s->rope_step[k] = geodec__rope_step(s->model, s->n_ctx, (int32_t)(k / pairs), k % pairs);
done:
    return st;
}

/* Index at which the row of a position begins in a table. */
static int64_t row_of(const geodec_session *s, int64_t table, int64_t position)
{
    return (table * s->rope_rows + position % s->rope_rows) * row_pairs(&s->model->config);
}

/* In double, rounded once. Rows are computed when reached, so that sessions with a long context start at once. */
void geodec__rope_reach(geodec_session *s, int32_t begin, int32_t end)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = row_pairs(c), tables = c->rope_base_local > 0 ? 2 : 1;
    const double magnitude = c->rope_magnitude > 0 ? (double)c->rope_magnitude : 1;
    if (begin < s->rope_first || begin > s->rope_end) s->rope_first = s->rope_end = begin;
    for (; s->rope_end < end; s->rope_end++)
        for (int64_t k = 0; k < tables * pairs; k++) {
            const int64_t at = row_of(s, k / pairs, s->rope_end) + k % pairs;
            const double size = k < pairs || c->rope_local_scaled ? magnitude : 1;
            s->cosine[at] = (float)(size * cos((double)s->rope_end * s->rope_step[k]));
            s->sine[at] = (float)(size * sin((double)s->rope_end * s->rope_step[k]));
        }
    if (s->rope_first < s->rope_end - s->rope_rows) s->rope_first = s->rope_end - s->rope_rows;
}

/* Rotates the pairs of each head's dimensions from rope_at on. */
void geodec__rope_apply(const geodec_session *s, const geodec__layer *l, float *x, int32_t heads, int64_t position)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = geodec__rope_dim(c, l->rope) / 2, at = row_of(s, l->rope, position);
    const float *cosine = s->cosine + at, *sine = s->sine + at;
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    const int64_t next = halves ? 1 : 2, partner = halves ? pairs : 1;
    x += l->rope_at;
    for (int32_t h = 0; h < heads; h++, x += l->head_dim)
        for (int64_t i = 0; i < pairs; i++) {
            const float a = x[next * i], b = x[next * i + partner];
            x[next * i] = a * cosine[i] - b * sine[i];
            x[next * i + partner] = a * sine[i] + b * cosine[i];
        }
}

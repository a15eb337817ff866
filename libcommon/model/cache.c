/* The key and value cache: allocation, moving and dropping rows. Writing into it is attention's (attention.c). */
#include "base/mem.h"
#include "model/internal.h"

#include <string.h>
#include <unistd.h>

/* The cache is written as it fills; one that can never fit is refused now, not by the kernel in the middle of a run. */
static geodec_status check_memory(const geodec_model_config *c, int64_t n_ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double row =
        (double)c->n_layer * c->n_kv_head * (double)(c->head_dim + geodec__pad(c->head_dim)) * sizeof(float);
    const double total = row * (double)n_ctx, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (total > memory)
        GEODEC_THROW(GEODEC_LIMIT,
                     "a cache of %lld tokens takes %.1f GiB; this machine has %.1f (choose a shorter context)",
                     (long long)n_ctx, total / 0x1p30, memory / 0x1p30);
done:
    return st;
}

geodec_status geodec__cache_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    GEODEC_TRY(check_memory(c, s->n_ctx, err));
    s->k_head = geodec__pad(s->n_ctx) * c->head_dim;
    s->v_head = (int64_t)s->n_ctx * geodec__pad(c->head_dim);
    GEODEC_NEW(s->k, (int64_t)c->n_layer * c->n_kv_head * s->k_head);
    GEODEC_NEW(s->v, (int64_t)c->n_layer * c->n_kv_head * s->v_head);
done:
    return st;
}

void geodec__cache_destroy(geodec_session *s)
{
    geodec_mem_free(s->k);
    geodec_mem_free(s->v);
}

void geodec_session_truncate(geodec_session *s, int32_t length)
{
    if (length >= 0 && length < s->length) s->length = length;
}

/* Cache row `from` becomes row `to` in every layer and head. */
static void move_row(geodec_session *s, int64_t from, int64_t to)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t heads = (int64_t)c->n_layer * c->n_kv_head, dim = c->head_dim, stride = geodec__pad(dim);
    for (int64_t h = 0; h < heads; h++) {
        float *v = s->v + h * s->v_head;
        memcpy(v + to * stride, v + from * stride, (size_t)stride * sizeof *v);
        float *k = s->k + h * s->k_head;
        for (int64_t d = 0; d < dim; d++)
            k[(to / 16 * dim + d) * 16 + to % 16] = k[(from / 16 * dim + d) * 16 + from % 16];
    }
}

void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (row[i] != i) move_row(s, (int64_t)base + row[i], (int64_t)base + i);
    s->length = base + n;
}

/* The products of l->q, whose rows are those of each head's queries, and where l->gated_query then those of its gate
 * (qwen3next). Each half is computed by itself: z is multiplied by the whole matrix, and the other half dropped. */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

/* Of n rows [n_head][query, gate][head_dim], the queries or the gates, from `both` to `one` or the other way. */
static void split(const geodec__layer *l, bool gate, int64_t heads, double *both, double *one, bool join)
{
    const int64_t dim = l->head_dim;
    for (int64_t i = 0; i < heads; i++) {
        double *at = both + (2 * i + gate) * dim;
        memcpy(join ? at : one + i * dim, join ? one + i * dim : at, (size_t)dim * sizeof *one);
    }
}

geodec_status geodec__reference_queries(const geodec__ref_tape *t, const geodec__layer *l, bool gate, int64_t n,
                                        const double *z, double *y, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *both = NULL;
    if (!l->gated_query) return geodec__reference_product(t->r->pool, gate ? &l->attn_gate : &l->q, n, z, y, err);
    GEODEC_NEW(both, n * l->q.rows);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->q, n, z, both, err));
    split(l, gate, n * l->n_head, both, y, false);
done:
    geodec_mem_free(both);
    return st;
}

geodec_status geodec__reference_queries_vjp(const geodec__ref_tape *t, const geodec__layer *l, bool gate, int64_t n,
                                            double *gy, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *both = NULL;
    if (!l->gated_query) return geodec__reference_product_vjp(t->r->pool, gate ? &l->attn_gate : &l->q, n, gy, gz, err);
    GEODEC_NEW(both, n * l->q.rows); /* zeros where the other half is */
    split(l, gate, n * l->n_head, both, gy, true);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->q, n, both, gz, err));
done:
    geodec_mem_free(both);
    return st;
}

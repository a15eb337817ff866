#include "model/model_internal.h"

void geodec__matrices_each(const geodec_model *m, void (*fn)(void *ctx, const geodec__matrix *w), void *ctx)
{
    const int64_t experts = m->config.n_expert > 0 ? m->config.n_expert : 1;
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        const geodec__matrix *const single[] = {&l->q, &l->k, &l->v, &l->o, &l->router};
        const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (size_t k = 0; k < sizeof single / sizeof *single; k++)
            if (single[k]->data) fn(ctx, single[k]);
        for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
            if (!many[k]->data) continue;
            for (int64_t e = 0; e < (l->router.data ? experts : 1); e++) {
                const geodec__matrix w = geodec__expert(many[k], e);
                fn(ctx, &w);
            }
        }
        for (int k = 0; k < GEODEC_SLOTS; k++)
            if (l->basis[k].data && (k == 0 || l->basis[k].data != l->basis[k - 1].data)) fn(ctx, &l->basis[k]);
    }
    fn(ctx, &m->head);
}

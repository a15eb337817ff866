/* Low rank: fp16 coefficients of the leading principal components, as many as fit into the budget. */
#include "base/f16.h"
#include "base/mem.h"
#include "lab/integer/codes/bits_internal.h"
#include "lab/integer/codes/codes_internal.h"
#include "lab/integer/codes/principal_internal.h"

typedef struct lowrank {
    int64_t rank;
    float *mean, *analysis, *synthesis;
} lowrank;

static int64_t lowrank_bytes(int32_t parameter, int64_t dim)
{
    (void)parameter;
    return geodec_codes_budget(dim) / 2 * 2;
}

static geodec_status lowrank_create(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    lowrank *l = NULL;
    GEODEC_NEW(l, 1);
    c->tables = l;
    l->rank = lowrank_bytes(0, c->dim) / 2;
    GEODEC_NEW(l->mean, c->dim);
    GEODEC_NEW_EACH(c->dim * c->dim, l->analysis, l->synthesis);
    GEODEC_TRY(geodec__principal_fit(c->dim, sample, l->mean, l->analysis, l->synthesis, err));
    c->shared = 4 * c->dim * (1 + l->rank * (sample->metric ? 2 : 1));
done:
    return st;
}

static void lowrank_destroy(void *tables)
{
    lowrank *l = tables;
    GEODEC_FREE(l->mean, l->analysis, l->synthesis, l);
}

static void lowrank_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const lowrank *l = c->tables;
    double y[GEODEC_CODES_DIM_MAX];
    geodec__principal_analyse(c->dim, l->rank, l->mean, l->analysis, x, y);
    for (int64_t i = 0; i < l->rank; i++) {
        const double within = y[i] > 65504 ? 65504 : y[i] < -65504 ? -65504 : y[i];
        geodec__bits_put16(bytes + 2 * i, geodec_f32_to_f16((float)within));
    }
}

static geodec_status lowrank_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const lowrank *l = c->tables;
    double y[GEODEC_CODES_DIM_MAX];
    (void)err;
    for (int64_t i = 0; i < l->rank; i++) y[i] = (double)geodec_f16_to_f32(geodec__bits_get16(bytes + 2 * i));
    geodec__principal_synthesise(c->dim, l->rank, l->mean, l->synthesis, y, x);
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_lowrank = {
    1, lowrank_bytes, lowrank_create, lowrank_destroy, lowrank_encode, lowrank_decode};

#include "lab/integer/codes/codes.h"

#include "base/mem.h"
#include "gguf/gguf.h"
#include "lab/integer/codes/block_h63.h"
#include "lab/integer/codes/codes_internal.h"

#include <string.h>

/* A new code is a method in a file of its own and a row here. Values of 128 dimensions in the comments. */
static const geodec_codes_kind kinds[] = {
    {"q8_0", "8 bits, fp16 scale per 32 (GGUF)", NULL, false, &geodec__codes_gguf, GEODEC_GGML_Q8_0},
    {"q4_0", "4 bits, fp16 scale per 32 (GGUF)", NULL, false, &geodec__codes_gguf, GEODEC_GGML_Q4_0},
    {"q3", "3 bits, fp16 scale per 32", NULL, false, &geodec__codes_group, 3},
    {"band-5543", "VHT2, order mu1, bands of 5, 5, 4, 3 bits", NULL, false, &geodec__codes_band, 5543},
    {"band-4443", "VHT2, order mu1, bands of 4, 4, 4, 3 bits", NULL, false, &geodec__codes_band, 4443},
    {"band-4333", "VHT2, order mu1, bands of 4, 3, 3, 3 bits", NULL, false, &geodec__codes_band, 4333},
    {"band-4333-variance", "the same bands in order of calibrated variance", NULL, true, &geodec__codes_varied, 4333},
    {"lowrank", "fp16 coefficients of leading principal components, as many as fit in the budget", NULL, true,
     &geodec__codes_lowrank, 0},
    {"kivi2", "2 bits, per channel over 32 keys; values as in kivi2-token", "kivi2-token", false,
     &geodec__codes_channel, 2},
    {"kivi2-token", "2 bits, fp16 scale and minimum per 32 channels of a vector", NULL, false, &geodec__codes_token, 2},
    {"h63", "H63 block, sign and magnitude (for the record)", NULL, true, &geodec__codes_h63,
     GEODEC_BLOCK_H63_MAGNITUDE},
    {"h63-prediction", "H63 block, second reading (for the record)", NULL, true, &geodec__codes_h63,
     GEODEC_BLOCK_H63_PREDICTION},
    {"v1", "v1 container: 8 bits, fp32 scale and CRC-8 per 55", NULL, false, &geodec__codes_v1, 0},
    {"klt", "principal components, one step per vector, entropy-coded into the budget", NULL, true, &geodec__codes_klt,
     63},
    {"klt-48", "the same in 48/63 of the budget", NULL, true, &geodec__codes_klt, 48},
    {"klt-32", "the same in 32/63 of the budget", NULL, true, &geodec__codes_klt, 32},
};
enum { KINDS = (int)(sizeof kinds / sizeof *kinds) };

const geodec_codes_kind *geodec_codes_at(int i) { return i >= 0 && i < KINDS ? &kinds[i] : NULL; }

const geodec_codes_kind *geodec_codes_named(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

int32_t geodec_codes_rows(const geodec_codes_kind *k) { return k->method->rows; }

int64_t geodec_codes_bytes(const geodec_codes_kind *k, int64_t dim)
{
    return dim >= 1 && dim <= GEODEC_CODES_DIM_MAX ? k->method->bytes(k->parameter, dim) : 0;
}

int64_t geodec_codes_budget(int64_t dim) { return 63 * dim / 128 > 2 ? 63 * dim / 128 : 2; }

geodec_status geodec_codes_create(const geodec_codes_kind *k, int64_t dim, const geodec_codes_sample *sample,
                                  geodec_codes **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_codes *c = NULL;
    if (geodec_codes_bytes(k, dim) == 0)
        GEODEC_THROW(GEODEC_RANGE, "the code %s has no vectors of %lld values", k->name, (long long)dim);
    if (k->calibrated && (!sample || sample->n < 2))
        GEODEC_THROW(GEODEC_SCARCE, "the code %s needs at least 2 vectors to calibrate", k->name);
    GEODEC_NEW(c, 1);
    c->kind = k;
    c->dim = dim;
    if (k->method->create) GEODEC_TRY_MSG(k->method->create(c, sample, err), "code %s", k->name);
    GEODEC_MOVE(*out, c);
done:
    geodec_codes_destroy(c);
    return st;
}

void geodec_codes_destroy(geodec_codes *c)
{
    if (!c) return;
    if (c->tables && c->kind->method->destroy) c->kind->method->destroy(c->tables);
    geodec_mem_free(c);
}

const geodec_codes_kind *geodec_codes_kind_of(const geodec_codes *c) { return c->kind; }
int64_t geodec_codes_shared(const geodec_codes *c) { return c->shared; }
void geodec_codes_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    c->kind->method->encode(c, x, bytes);
}

geodec_status geodec_codes_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    GEODEC_PASS_MSG(c->kind->method->decode(c, bytes, x, err), "code %s", c->kind->name);
    return GEODEC_OK;
}

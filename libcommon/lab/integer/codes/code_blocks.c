/* The two 63-byte blocks of the paper as codes of the table. */
#include "base/mem.h"
#include "lab/integer/codes/block_h63.h"
#include "lab/integer/codes/block_v1.h"
#include "lab/integer/codes/codes_internal.h"

enum { PAD_MAX = 320 };

static int64_t h63_bytes(int32_t reading, int64_t dim)
{
    geodec_block_h63 h = {0};
    geodec_err err = {0};
    if (geodec_block_h63_create(dim, (geodec_block_h63_reading)reading, &h, &err) != GEODEC_OK) return 0;
    const int64_t bytes = geodec_block_h63_bytes(&h);
    geodec_block_h63_clear(&h);
    return bytes;
}

static geodec_status h63_create(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_block_h63 *h = NULL;
    GEODEC_NEW(h, 1);
    c->tables = h;
    GEODEC_TRY(geodec_block_h63_create(c->dim, (geodec_block_h63_reading)c->kind->parameter, h, err));
    GEODEC_TRY(geodec_block_h63_fit(h, sample->n, sample->x, err));
    c->shared = geodec_block_h63_header_bytes(h);
done:
    return st;
}

static void h63_destroy(void *tables)
{
    geodec_block_h63_clear(tables);
    geodec_mem_free(tables);
}

static void h63_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    float coefficient[PAD_MAX];
    geodec_block_h63_transform(c->tables, x, coefficient);
    geodec_block_h63_encode(c->tables, coefficient, bytes);
}

static geodec_status h63_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const geodec_block_h63 *h = c->tables;
    double decoded[PAD_MAX];
    float coefficient[PAD_MAX];
    (void)err;
    geodec_block_h63_decode(h, bytes, decoded);
    for (int32_t i = 0; i < h->pad; i++) coefficient[i] = (float)decoded[i];
    geodec_block_h63_restore(h, coefficient, x);
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_h63 = {1, h63_bytes, h63_create, h63_destroy, h63_encode, h63_decode};

static int64_t v1_bytes(int32_t parameter, int64_t dim)
{
    (void)parameter;
    return geodec_block_v1_blocks(dim) * GEODEC_BLOCK_V1_BYTES;
}

static void v1_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    geodec_block_v1_encode_vector(x, c->dim, bytes);
}

static geodec_status v1_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    return geodec_block_v1_decode_vector(bytes, c->dim, x, err);
}

const geodec_codes_method geodec__codes_v1 = {1, v1_bytes, NULL, NULL, v1_encode, v1_decode};

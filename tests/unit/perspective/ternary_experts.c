#include "perspective/ternary_experts.h"

#include "base/mem.h"
#include "base/rng.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

const int32_t experts_layers[EXPERTS_LAYERS] = {0, 1, 5};

geodec_trit_shape experts_shape(int encoding, bool by_row)
{
    return (geodec_trit_shape){.layers = EXPERTS_LAYERS,
                               .d = EXPERTS_D,
                               .f = EXPERTS_F,
                               .encoding = encoding,
                               .by_row = by_row,
                               .model = UINT64_C(0xfedcba9876543210)};
}

static void fill_row(int8_t *t, int64_t cols, uint64_t stream, int32_t expert, double p)
{
    for (int64_t i = 0; i < cols; i++) {
        const uint64_t at = (uint64_t)i;
        int code = (int)(geodec_rng_at(1, stream, at) % 3);
        if (expert > 0 && geodec_rng_uniform_at(1 + (uint64_t)expert, stream, 2 * at) < p)
            code = (code + 1 + (int)(geodec_rng_at(1 + (uint64_t)expert, stream, 2 * at + 1) % 2)) % 3;
        t[i] = (int8_t)(code - 1);
    }
}

experts_matrices experts_make(const geodec_trit_shape *s, int32_t layer, int32_t expert, double p)
{
    experts_matrices e = {.data = geodec_mem_new(geodec_trit_payload_bytes(s), 1),
                          .scale = geodec_mem_new(2 * (int64_t)s->f + s->d, sizeof(float))};
    cr_assert(e.data && e.scale);
    geodec_trit_matrices(s, e.data, e.m);
    float *scale = e.scale;
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        geodec_ternary_matrix *m = &e.m[k];
        uint8_t *row = e.data + (m->data - e.data);
        int8_t *t = geodec_mem_new(m->cols, 1);
        cr_assert_not_null(t);
        for (int64_t o = 0; o < m->rows; o++, row += geodec_ternary_row_bytes(s->encoding, m->cols)) {
            fill_row(t, m->cols, (uint64_t)((layer * 3 + k) * 100000 + o), expert, p);
            geodec_ternary_pack(s->encoding, t, m->cols, row);
            scale[o] = 0.01f * (float)(o + 1 + expert);
        }
        m->scale = 0.25f * (float)(k + 1 + expert);
        m->row_scale = s->by_row ? scale : NULL;
        scale += m->rows;
        geodec_mem_free(t);
    }
    return e;
}

void experts_drop(experts_matrices *e) { GEODEC_FREE(e->data, e->scale); }

geodec_status experts_write(const char *path, const geodec_trit_shape *s, int32_t expert, double p, geodec_err *err)
{
    geodec_trit_writer *w = NULL;
    GEODEC_PASS(geodec_trit_writer_create(path, s, expert, &w, err));
    for (int i = 0; i < EXPERTS_LAYERS; i++) {
        experts_matrices e = experts_make(s, experts_layers[i], expert, p);
        const geodec_status st = geodec_trit_writer_blob(w, experts_layers[i], e.m, err);
        experts_drop(&e);
        if (st != GEODEC_OK) {
            geodec_trit_writer_abandon(w);
            return st;
        }
    }
    return geodec_trit_writer_commit(w, err);
}

int64_t experts_slurp(const char *path, uint8_t *to)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    const size_t n = fread(to, 1, EXPERTS_FILE, f);
    (void)fclose(f);
    cr_assert_lt(n, EXPERTS_FILE);
    return (int64_t)n;
}

void experts_spill(const char *path, const uint8_t *from, int64_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(from, 1, (size_t)n, f), (size_t)n);
    (void)fclose(f);
}

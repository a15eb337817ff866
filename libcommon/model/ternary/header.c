#include "ternary/header_internal.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <math.h>

const geodec__header_kind geodec__header_trit = {"TRIT", "an expert (.trit)", GEODEC__HEADER_TRIT};
const geodec__header_kind geodec__header_trd = {"TRD1", "a difference (.trd)", GEODEC__HEADER_TRD};

/* Offsets. */
enum {
    VERSION = 4,
    BYTES = 8,
    EXPERT = 12,
    LAYERS = 16,
    WIDTH = 20,
    INNER = 24,
    ENCODING = 28,
    SCALES = 32,
    MATRICES = 36,
    STRIDE = 40,
    FILE_BYTES = 48,
    MODEL = 56
};

bool geodec__header_zeros(const uint8_t *p, int64_t n)
{
    uint8_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= p[i];
    return any == 0;
}

geodec_status geodec__header_write_zeros(geodec_atomic *file, int64_t n, geodec_err *err)
{
    static const uint8_t page[GEODEC_TRIT_PAGE];
    for (; n > 0; n -= GEODEC_TRIT_PAGE)
        GEODEC_PASS(geodec_atomic_write(file, page, (size_t)(n < GEODEC_TRIT_PAGE ? n : GEODEC_TRIT_PAGE), err));
    return GEODEC_OK;
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

void geodec__header_fill(const geodec__header_kind *k, const geodec__header *h, uint8_t *page)
{
    const geodec_trit_shape *s = &h->shape;
    const uint32_t version = GEODEC_TRIT_VERSION, bytes = (uint32_t)h->header_bytes, by_row = s->by_row;
    const uint32_t matrices = GEODEC_TRIT_MATRICES;
    geodec__header_put(page, k->magic, 4);
    geodec__header_put(page + VERSION, &version, 4);
    geodec__header_put(page + BYTES, &bytes, 4);
    /* A .trit has one number of 32 bits, a .trd two of 16. */
    geodec__header_put(page + EXPERT, &h->expert[0], k == &geodec__header_trd ? 2 : 4);
    if (k == &geodec__header_trd) geodec__header_put(page + EXPERT + 2, &h->expert[1], 2);
    geodec__header_put(page + LAYERS, &s->layers, 4);
    geodec__header_put(page + WIDTH, &s->d, 4);
    geodec__header_put(page + INNER, &s->f, 4);
    geodec__header_put(page + ENCODING, &s->encoding, 4);
    geodec__header_put(page + SCALES, &by_row, 4);
    geodec__header_put(page + MATRICES, &matrices, 4);
    geodec__header_put(page + STRIDE, &h->stride, 8);
    geodec__header_put(page + FILE_BYTES, &h->file_bytes, 8);
    geodec__header_put(page + MODEL, &s->model, 8);
    const uint32_t crc = geodec_crc32c(0, page, GEODEC__HEADER_CRC);
    geodec__header_put(page + GEODEC__HEADER_CRC, &crc, 4);
}

static geodec_status parse(const geodec_regular *f, const geodec__header_kind *k, const uint8_t *p, geodec__header *h,
                           geodec_err *err)
{
    if (memcmp(p, k->magic, 4) != 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: not %s", f->path, k->name);
    const uint32_t version = geodec__header_u32(p + VERSION);
    if (version != GEODEC_TRIT_VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "%s: version %u of %s is not supported (%d is)", f->path, version, k->name,
                    GEODEC_TRIT_VERSION);
    if (geodec_crc32c(0, p, GEODEC__HEADER_CRC) != geodec__header_u32(p + GEODEC__HEADER_CRC))
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: the header does not match its CRC-32C", f->path);
    const uint32_t layers = geodec__header_u32(p + LAYERS), d = geodec__header_u32(p + WIDTH),
                   inner = geodec__header_u32(p + INNER), encoding = geodec__header_u32(p + ENCODING),
                   scales = geodec__header_u32(p + SCALES), matrices = geodec__header_u32(p + MATRICES);
    if (layers > INT32_MAX || d > INT32_MAX || inner > INT32_MAX || encoding > INT32_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: the header has sizes beyond 2^31", f->path);
    if (scales > 1 || matrices != GEODEC_TRIT_MATRICES)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: scales of type %u and %u matrices are not known", f->path, scales, matrices);
    h->shape = (geodec_trit_shape){.layers = (int32_t)layers,
                                   .d = (int32_t)d,
                                   .f = (int32_t)inner,
                                   .encoding = (int32_t)encoding,
                                   .by_row = scales == 1,
                                   .model = (uint64_t)geodec__header_i64(p + MODEL)};
    GEODEC_PASS_MSG(geodec_trit_shape_check(&h->shape, err), "%s", f->path);
    const uint32_t expert = geodec__header_u32(p + EXPERT);
    h->expert[0] = k == &geodec__header_trd ? geodec__header_u16(p + EXPERT) : (int32_t)expert;
    h->expert[1] = k == &geodec__header_trd ? geodec__header_u16(p + EXPERT + 2) : -1;
    if (h->expert[0] < 0 || h->expert[0] > GEODEC_TRIT_NUMBER || (h->expert[1] >= 0 && h->expert[0] >= h->expert[1]))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: no experts of a file: %d, %d", f->path, h->expert[0], h->expert[1]);
    h->header_bytes = geodec__header_u32(p + BYTES);
    h->stride = geodec__header_i64(p + STRIDE);
    h->file_bytes = geodec__header_i64(p + FILE_BYTES);
    if (h->header_bytes != geodec__header_bytes(k, h->shape.layers) || h->stride != geodec_trit_stride(&h->shape))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: a header of %lld bytes and a stride of %lld do not fit the sizes", f->path,
                    (long long)h->header_bytes, (long long)h->stride);
    if (h->file_bytes != f->size)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: has %lld bytes, not the %lld of its header (%s)", f->path, (long long)f->size,
                    (long long)h->file_bytes, f->size < h->file_bytes ? "truncated" : "bytes were appended");
    return GEODEC_OK;
}

geodec_status geodec__header_read(const geodec_regular *f, const geodec__header_kind *k, geodec__header *h,
                                  uint8_t **page, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *p = NULL;
    uint8_t front[GEODEC__HEADER_TABLE];
    if (f->size < (int64_t)sizeof front) GEODEC_THROW(GEODEC_FORMAT, "%s: the file ends inside the header", f->path);
    GEODEC_TRY(geodec_regular_read(f, 0, front, sizeof front, err));
    GEODEC_TRY(parse(f, k, front, h, err));
    GEODEC_NEW(p, h->header_bytes);
    GEODEC_TRY(geodec_regular_read(f, 0, p, h->header_bytes, err));
    if (memcmp(p, front, sizeof front) != 0) GEODEC_THROW(GEODEC_IO, "%s: changes while it is read", f->path);
    const int64_t end = GEODEC__HEADER_TABLE + (int64_t)h->shape.layers * k->entry_bytes;
    if (!geodec__header_zeros(p + GEODEC__HEADER_CRC + 4, GEODEC__HEADER_TABLE - GEODEC__HEADER_CRC - 4) ||
        !geodec__header_zeros(p + end, h->header_bytes - end))
        GEODEC_THROW(GEODEC_FORMAT, "%s: unused bytes of the header are not zero", f->path);
    GEODEC_MOVE(*page, p);
done:
    geodec_mem_free(p);
    return st;
}

geodec_status geodec__header_prefix(const uint8_t *prefix, int32_t layer, int32_t expert, geodec_err *err)
{
    const int32_t l = geodec_trit_payload_layer(prefix), e = geodec_trit_payload_expert(prefix);
    if (memcmp(prefix, "EXPB", 4) != 0) GEODEC_FAIL(GEODEC_FORMAT, "the blob does not begin with EXPB");
    if ((layer >= 0 && l != layer) || e != expert)
        GEODEC_FAIL(GEODEC_FORMAT, "the blob is that of layer %d, expert %d", l, e);
    for (int i = 0; i < GEODEC_TRIT_MATRICES; i++) {
        float scale;
        memcpy(&scale, prefix + GEODEC__PREFIX_SCALE + 4 * i, sizeof scale);
        if (!isfinite(scale)) GEODEC_FAIL(GEODEC_FORMAT, "a scale of the blob is not finite");
    }
    if (!geodec__header_zeros(prefix + GEODEC__PREFIX_END, GEODEC_TRIT_PREFIX - GEODEC__PREFIX_END))
        GEODEC_FAIL(GEODEC_FORMAT, "unused bytes of the blob's prefix are not zero");
    return GEODEC_OK;
}

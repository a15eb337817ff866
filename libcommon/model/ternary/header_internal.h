/* Internal: what .trit and .trd files have in common: pages, header, reads. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_HEADER_INTERNAL_H
#define GEODEC_PERSPECTIVE_TERNARY_HEADER_INTERNAL_H

#include "io/atomic.h"
#include "io/regular.h"
#include "ternary/trit.h"

#include <string.h>

enum {
    GEODEC__HEADER_TABLE = 256,
    GEODEC__HEADER_CRC = 64,
    GEODEC__HEADER_TRIT = 24, /* bytes of an entry */
    GEODEC__HEADER_TRD = 40,
    /* in the prefix of a payload */
    GEODEC__PREFIX_LAYER = 4,
    GEODEC__PREFIX_EXPERT = 6,
    GEODEC__PREFIX_SCALE = 8,
    GEODEC__PREFIX_NONZEROS = 20,
    GEODEC__PREFIX_END = 32 /* then zeros */
};

typedef struct geodec__header_kind {
    const char *magic, *name;
    int entry_bytes;
} geodec__header_kind;
extern const geodec__header_kind geodec__header_trit, geodec__header_trd;

/* The first 64 bytes. expert: of a .trit; of a .trd A and B. */
typedef struct geodec__header {
    geodec_trit_shape shape;
    int32_t expert[2];
    int64_t header_bytes, stride, file_bytes;
} geodec__header;

static inline int64_t geodec__header_pages(int64_t n)
{
    return (n + GEODEC_TRIT_PAGE - 1) / GEODEC_TRIT_PAGE * GEODEC_TRIT_PAGE;
}
static inline int64_t geodec__header_bytes(const geodec__header_kind *k, int32_t layers)
{
    return geodec__header_pages(GEODEC__HEADER_TABLE + (int64_t)layers * k->entry_bytes);
}
/* Machines and files are little-endian. */
static inline void geodec__header_put(uint8_t *p, const void *v, size_t n) { memcpy(p, v, n); }
static inline uint32_t geodec__header_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline int64_t geodec__header_i64(const uint8_t *p)
{
    int64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline int32_t geodec__header_u16(const uint8_t *p) { return p[0] | p[1] << 8; }

/* The whole header in *page [h->header_bytes], which the caller frees, and its first 64 bytes, checked: limits, CRC,
 * the size of the file, zeros where nothing is defined. */
geodec_status geodec__header_read(const geodec_regular *f, const geodec__header_kind *k, geodec__header *h,
                                  uint8_t **page, geodec_err *err) GEODEC_MUST_USE;
/* Fills bytes 0 .. 67 of the page. */
void geodec__header_fill(const geodec__header_kind *k, const geodec__header *h, uint8_t *page);
/* Checks a prefix: magic, layer (-1: any), expert, finite scales, zeros. */
geodec_status geodec__header_prefix(const uint8_t *prefix, int32_t layer, int32_t expert,
                                    geodec_err *err) GEODEC_MUST_USE;
bool geodec__header_zeros(const uint8_t *p, int64_t n);
geodec_status geodec__header_write_zeros(geodec_atomic *file, int64_t n, geodec_err *err) GEODEC_MUST_USE;

#endif

/* Where the experts of a model are read from, and how a slot of memory is used after a read. The file is a GGUF (two or
 * three slices an expert, or one) or a store (streaming/store.h), whose matrices may be packed already. */
#ifndef GEODEC_MODEL_EXPERT_SOURCE_INTERNAL_H
#define GEODEC_MODEL_EXPERT_SOURCE_INTERNAL_H

#include "kernels/panels_internal.h"
#include "session/weights_internal.h"
#include "streaming/blobs.h"

/* Bytes of a whole matrix as panels. */
static inline int64_t geodec__expert_panels_bytes(const geodec__panel_format *f, int64_t rows, int64_t cols)
{
    return geodec__panels_count(rows) * (cols / (32 * f->blocks)) * f->record_bytes;
}

enum { GEODEC__EXPERT_GATE, GEODEC__EXPERT_UP, GEODEC__EXPERT_DOWN, GEODEC__EXPERT_MATRICES };

/* One matrix of every expert of a layer. */
typedef struct geodec__expert_matrix {
    geodec__matrix w;                   /* shape and type; data NULL */
    const geodec__panel_format *format; /* of the panels that the arithmetic multiplies; NULL: it multiplies rows */
    bool packed;                        /* the file has the panels */
    int64_t bytes;                      /* as it is multiplied: panels or rows */
    int64_t at;                         /* offset in the slot after geodec__expert_source_pack, a multiple of 64 */
} geodec__expert_matrix;

typedef struct geodec__expert_source {
    geodec_blobs blobs;            /* slot_bytes: room for the read and for what is packed from it */
    int32_t n_layer, n_expert;     /* of the blobs, which may be handed on */
    geodec__expert_matrix *matrix; /* [n_layer][GEODEC__EXPERT_MATRICES]; w.rows = 0: no experts */
    bool *pack;                    /* [n_layer] the experts of the layer must be packed after a read */
    int64_t *read_at; /* [n_layer][n_expert][GEODEC__EXPERT_MATRICES] offset in the slot after the read; stays when the
                       * blobs are handed on */
    const struct geodec__trits *trits; /* of the model: ternary experts; NULL: others */
    bool packs;                        /* those of some layer must */
} geodec__expert_source;

/* The experts of a model opened from a file. GEODEC_UNSUPPORTED: no experts; bytes in memory; a store whose panels this
 * arithmetic does not multiply. */
geodec_status geodec__expert_source_open(const geodec_model *m, geodec_arithmetic a, geodec__expert_source *out,
                                         geodec_err *err) GEODEC_MUST_USE;
void geodec__expert_source_clear(geodec__expert_source *s); /* s may be all zero */
/* Packs what was read into a slot of a layer with pack[layer]. to [slot_bytes], another slot's memory. */
void geodec__expert_source_pack(const geodec__expert_source *s, int32_t layer, int32_t expert, const uint8_t *slot,
                                uint8_t *to, geodec_pool *pool);
/* What a CRC does not say of a blob that was just read: whose it is, and the bytes behind it. Ternary experts only. */
geodec_status geodec__expert_source_check(const geodec__expert_source *s, int32_t layer, int32_t expert,
                                          const uint8_t *slot, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* A matrix in a slot that was read and, where needed, packed. With a format in the result it is *panels that are
 * multiplied, and w.data is their address (a key that no other matrix has); otherwise the rows at w.data. */
geodec__matrix geodec__expert_source_find(const geodec__expert_source *s, int32_t layer, int32_t expert, int which,
                                          const uint8_t *slot, geodec__panels *panels);

#endif

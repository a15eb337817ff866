#include "lab/integer/scores/keys.h"

#include "base/mem.h"

enum { MOST_HEADS = 65535, MOST_ROOM = 1 << 24 };

/* 0: more than 2^62. */
static int64_t bytes_of(const geodec_keys *k)
{
    int64_t bytes;
    if (geodec_mem_mul((int64_t)k->layers * k->heads, k->room, &bytes) != 0 ||
        geodec_mem_mul(bytes, geodec_scores_block(k->dim), &bytes) != 0)
        return 0;
    return bytes;
}

geodec_status geodec_keys_create(geodec_scores_by by, int32_t dim, int32_t layers, int32_t heads, int64_t room,
                                 geodec_keys **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_keys *k = NULL;
    if ((by != GEODEC_SCORES_NTT_P60 && by != GEODEC_SCORES_NTT_CRT) || dim < 1 || dim > GEODEC_SCORES_MOST ||
        layers < 1 || layers > MOST_HEADS || heads < 1 || heads > MOST_HEADS || room < 1 || room > MOST_ROOM)
        GEODEC_THROW(GEODEC_INVAL, "no store of keys: %s, %d layers, %d heads, %lld positions of %d numbers",
                     geodec_scores_name(by), layers, heads, (long long)room, dim);
    GEODEC_NEW(k, 1);
    k->by = by;
    k->dim = dim;
    k->layers = layers;
    k->heads = heads;
    k->room = room;
    const int64_t bytes = bytes_of(k);
    k->block = bytes ? geodec_mem_map(bytes) : NULL;
    if (!k->block) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld transformed keys", (long long)room * layers * heads);
    GEODEC_NEW(k->exponent, (int64_t)layers * heads * room);
    GEODEC_MOVE(*out, k);
done:
    geodec_keys_destroy(k);
    return st;
}

void geodec_keys_destroy(geodec_keys *k)
{
    if (!k) return;
    geodec_mem_unmap(k->block, bytes_of(k));
    GEODEC_FREE(k->exponent, k);
}

int64_t geodec_keys_bytes(const geodec_keys *k)
{
    return (int64_t)k->layers * k->heads * (geodec_scores_block(k->dim) + (int64_t)sizeof *k->exponent);
}

#include "streaming/blobs.h"

#include "base/mem.h"

void geodec_blobs_clear(geodec_blobs *b)
{
    for (int32_t i = 0; i < b->n_files && b->file; i++) geodec_mem_free(b->file[i].path);
    GEODEC_FREE(b->path, b->file, b->piece, b->crc, b->edge);
    *b = (geodec_blobs){0};
}

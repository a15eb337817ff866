#include "streaming/blobs.h"

#include "base/mem.h"

void geodec_blobs_clear(geodec_blobs *b)
{
    GEODEC_FREE(b->path, b->piece, b->crc);
    *b = (geodec_blobs){0};
}

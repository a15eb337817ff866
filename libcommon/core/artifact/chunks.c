/* Writes whole chunks of a growing field directly. HDF5's filter pipeline copies each chunk twice and allocates memory
 * for it every time. */
#include "artifact/artifact_internal.h"

#include <string.h>

enum { LANES = 8, STEPS = 128 };

/* Sums of 16-bit words, the first byte high, modulo 65535: first = sum w, second = sum of all partial sums. Lane l
 * takes the words l, l + LANES, ... of a block of N = LANES STEPS words; with f and g the two sums of a lane within the
 * block, the lane adds LANES g - l f to the second sum, and the block adds N times the first sum so far. g stays below
 * 2^31. */
static void block(const uint8_t *data, uint64_t *first, uint64_t *second)
{
    uint32_t f[LANES] = {0}, g[LANES] = {0};
    for (int k = 0; k < STEPS; k++) {
        uint16_t w[LANES];
        memcpy(w, data + (size_t)k * sizeof w, sizeof w);
        for (int l = 0; l < LANES; l++) {
            f[l] += (uint32_t)((uint16_t)(w[l] << 8 | w[l] >> 8));
            g[l] += f[l];
        }
    }
    *second += LANES * STEPS * *first;
    for (uint64_t l = 0; l < LANES; l++) {
        *second += LANES * (uint64_t)g[l] - l * f[l];
        *first += f[l];
    }
    *first %= 65535;
    *second %= 65535;
}

/* The Fletcher-32 checksum of HDF5's filter (16-bit words, first byte high). An odd last byte is ignored. */
static uint32_t fletcher32(const void *bytes, size_t n)
{
    const uint8_t *data = bytes;
    uint64_t first = 0, second = 0;
    bool some =
        false; /* HDF5 folds carries: a sum that is a multiple of 65535 stays 65535 unless all words were zero */
    size_t at = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; n - at >= LANES * STEPS * 2; at += LANES * STEPS * 2) block(data + at, &first, &second);
#endif
    for (; at + 1 < n; at += 2) {
        first = (first + ((uint64_t)data[at] << 8 | data[at + 1])) % 65535;
        second = (second + first) % 65535;
    }
    for (size_t i = 0; i < n && !some; i++) some = data[i] != 0;
    if (some && first == 0) first = 65535;
    if (some && second == 0) second = 65535;
    return (uint32_t)(second << 16 | first);
}

bool geodec__chunks_direct(const geodec_field *f, const int64_t *shape, const hsize_t *chunk, int rank)
{
    int64_t bytes = (int64_t)geodec_type_size(f->type) * (int64_t)chunk[0];
    if (f->flags & GEODEC_FIELD_COMPRESS) return false;
    if (H5Tequal(geodec__h5_file_type(f->type), geodec__h5_memory_type(f->type)) <= 0) return false;
    for (int d = 1; d < rank; d++) {
        if ((int64_t)chunk[d] != shape[d]) return false;
        bytes *= shape[d];
    }
    return bytes > 0 && bytes % 2 == 0;
}

geodec_status geodec__chunks_write(hid_t dataset, const char *path, int64_t row, char *buffer, int64_t bytes,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hsize_t offset[GEODEC_RANK_MAX] = {0};
    const uint32_t sum = fletcher32(buffer, (size_t)bytes);
    offset[0] = (hsize_t)row;
    for (int i = 0; i < GEODEC__CHECKSUM; i++) buffer[bytes + i] = (char)(sum >> (8 * i) & 0xffu);
    GEODEC__H5(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, (size_t)bytes + GEODEC__CHECKSUM, buffer), GEODEC_IO,
               "field %s: cannot write", path);
done:
    return st;
}

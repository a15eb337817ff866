/* Checks of an HDF5 dataset before HDF5 reads its numbers. HDF5 follows links into other files, invents the numbers of
 * missing chunks, lets a compressed chunk grow to any size, and trusts the size of a chunk. */
#include "base/mem.h"
#include "io/h5_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* The most bytes that deflate adds to incompressible data: 5 per block of at least 16383 bytes, and its header. */
#define DEFLATE_ROOM(bytes) ((bytes) + (bytes) / 1000 + 64)
enum { DEFLATE_RATIO_MAX = 1100 /* deflate compresses by at most 1032 : 1 */, SUM_BYTES = 4, WINDOW = 1 << 16 };

geodec_status geodec__h5_walk(hid_t file, const char *path, bool *present, bool *elsewhere, H5O_type_t *sort,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *part = NULL;
    const size_t n = strlen(path);
    *present = true;
    *elsewhere = false;
    *sort = H5O_TYPE_GROUP;
    GEODEC_NEW(part, (int64_t)n + 1);
    for (size_t i = 1; i <= n; i++) {
        if ((i < n && path[i] != '/') || path[i - 1] == '/') continue;
        H5L_info_t link;
        H5O_info_t object;
        memcpy(part, path, i);
        if (*sort != H5O_TYPE_GROUP) {
            *present = false;
            break;
        }
        const htri_t there = H5Lexists(file, part, H5P_DEFAULT);
        GEODEC__H5(there, GEODEC_FORMAT, "unreadable group");
        *present = there > 0;
        if (!*present) break;
        GEODEC__H5(H5Lget_info(file, part, &link, H5P_DEFAULT), GEODEC_FORMAT, "unreadable link");
        *elsewhere = link.type != H5L_TYPE_HARD;
        if (*elsewhere) break;
        GEODEC__H5(H5Oget_info_by_name2(file, part, &object, H5O_INFO_BASIC, H5P_DEFAULT), GEODEC_FORMAT,
                   "unreadable object");
        *sort = object.type;
    }
done:
    geodec_mem_free(part);
    return st;
}

/* Filters in the order of writing: [shuffle] [fletcher32] deflate [fletcher32]. Any other filter is an error that names
 * it: HDF5 would look for a plug-in, and its other built-in filters (szip, nbit, scaleoffset) can produce many bytes
 * from none. */
static geodec_status read_filters(hid_t made, const char *what, geodec__h5_storage *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bool shuffled = false;
    const int n = H5Pget_nfilters(made);
    GEODEC__H5(n, GEODEC_FORMAT, "%s", what);
    for (int k = 0; k < n; k++) {
        unsigned flags, config;
        size_t values = 0;
        char name[64] = "";
        const H5Z_filter_t filter =
            H5Pget_filter2(made, (unsigned)k, &flags, &values, NULL, sizeof name, name, &config);
        GEODEC__H5(filter, GEODEC_FORMAT, "%s", what);
        name[sizeof name - 1] = '\0';
        geodec__h5_make_plain(name);
        bool *seen;
        if (filter == H5Z_FILTER_DEFLATE)
            seen = &s->deflated;
        else if (filter == H5Z_FILTER_SHUFFLE)
            seen = &shuffled;
        else if (filter == H5Z_FILTER_FLETCHER32)
            seen = &s->summed;
        else
            GEODEC_THROW(GEODEC_FORMAT, "%s uses filter %d (%s), not deflate, shuffle or fletcher32", what, (int)filter,
                         name[0] ? name : "without a name");
        if (*seen || (filter == H5Z_FILTER_SHUFFLE && (s->deflated || s->summed)))
            GEODEC_THROW(GEODEC_FORMAT, "%s uses filter %s twice, or not first", what, name);
        *seen = true;
        if (filter == H5Z_FILTER_DEFLATE) {
            s->deflate_bit = 1U << k;
            s->sum_inside = s->summed;
        } else if (filter == H5Z_FILTER_FLETCHER32) {
            s->sum_bit = 1U << k;
        }
    }
done:
    return st;
}

/* Every chunk must be present (HDF5 would invent its numbers) and of a size that can be allocated. */
static geodec_status read_chunks(hid_t set, hid_t made, hid_t space, const char *what, int64_t limit,
                                 geodec__h5_storage *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hsize_t stored = 0, chunk[GEODEC__H5_RANK_MAX];
    int64_t bytes = s->element, wanted = 1;
    if (s->rank < 1 || H5Pget_chunk(made, GEODEC__H5_RANK_MAX, chunk) != s->rank)
        GEODEC_THROW(GEODEC_FORMAT, "%s: malformed chunks", what);
    for (int d = 0; d < s->rank; d++) {
        if (chunk[d] < 1 || chunk[d] > (hsize_t)limit || geodec_mem_mul(bytes, (int64_t)chunk[d], &bytes) != 0 ||
            bytes > limit)
            GEODEC_THROW(GEODEC_LIMIT, "%s: chunks are above the limit of %lld MiB", what, (long long)(limit >> 20));
        s->chunk[d] = (int64_t)chunk[d];
        s->across[d] = (s->extent[d] + s->chunk[d] - 1) / s->chunk[d];
        if (geodec_mem_mul(wanted, s->across[d], &wanted) != 0)
            GEODEC_THROW(GEODEC_LIMIT, "%s: dimensions overflow", what);
    }
    GEODEC__H5(H5Dget_num_chunks(set, space, &stored), GEODEC_FORMAT, "%s", what);
    if (stored != (hsize_t)wanted)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %llu of %lld chunks are stored", what, (unsigned long long)stored,
                     (long long)wanted);
    s->chunk_bytes = bytes;
    s->chunks = wanted;
done:
    return st;
}

geodec_status geodec__h5_storage_check(hid_t set, const char *what, int64_t file_bytes, int64_t chunk_limit,
                                       geodec__h5_storage *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t made = -1, space = -1, type = -1;
    hsize_t extent[GEODEC__H5_RANK_MAX] = {0};
    memset(s, 0, sizeof *s);
    GEODEC__H5(made = H5Dget_create_plist(set), GEODEC_FORMAT, "%s", what);
    GEODEC__H5(space = H5Dget_space(set), GEODEC_FORMAT, "%s", what);
    GEODEC__H5(type = H5Dget_type(set), GEODEC_FORMAT, "%s", what);
    const H5D_layout_t layout = H5Pget_layout(made);
    if (H5Pget_external_count(made) != 0 ||
        (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT))
        GEODEC_THROW(GEODEC_FORMAT, "%s is stored outside the file", what);
    s->rank = H5Sget_simple_extent_type(space) == H5S_NULL ? -1 : H5Sget_simple_extent_ndims(space);
    if (s->rank < 0 || s->rank > GEODEC__H5_RANK_MAX) GEODEC_THROW(GEODEC_FORMAT, "%s has rank %d", what, s->rank);
    GEODEC__H5(H5Sget_simple_extent_dims(space, extent, NULL), GEODEC_FORMAT, "%s", what);
    s->element = (int64_t)H5Tget_size(type);
    s->bytes = s->element;
    for (int d = 0; d < s->rank; d++) {
        if (extent[d] > (hsize_t)GEODEC_FIELD_BYTES_MAX || geodec_mem_mul(s->bytes, (int64_t)extent[d], &s->bytes) != 0)
            GEODEC_THROW(GEODEC_LIMIT, "%s: dimensions overflow", what);
        s->extent[d] = (int64_t)extent[d];
    }
    s->chunked = layout == H5D_CHUNKED;
    if (s->chunked) GEODEC_TRY(read_filters(made, what, s, err));
    if (s->bytes / (s->deflated ? DEFLATE_RATIO_MAX : 1) > file_bytes)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %lld bytes cannot be in a file of %lld", what, (long long)s->bytes,
                     (long long)file_bytes);
    if (s->chunked) GEODEC_TRY(read_chunks(set, made, space, what, chunk_limit, s, err));
    const hsize_t stored = H5Dget_storage_size(set);
    if (stored > (hsize_t)file_bytes) /* overlapping chunks */
        GEODEC_THROW(GEODEC_FORMAT, "%s: %llu stored bytes in a file of %lld", what, (unsigned long long)stored,
                     (long long)file_bytes);
    s->stored = (int64_t)stored;
    if (!s->chunked && s->stored != s->bytes) GEODEC_THROW(GEODEC_FORMAT, "%s is not stored whole", what);
    if (s->bytes / (s->deflated ? DEFLATE_RATIO_MAX : 1) > s->stored)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %lld bytes cannot be in %lld stored ones", what, (long long)s->bytes,
                     (long long)s->stored);
done:
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(made);
    return st;
}

/* Inflates n bytes and discards them: exactly `want` bytes must result. GEODEC_NOMEM, or GEODEC_FORMAT. */
static geodec_status inflates_to(const uint8_t *data, int64_t n, int64_t want, uint8_t *window)
{
    z_stream z = {0};
    int64_t got = 0;
    int end = Z_OK;
    if (inflateInit(&z) != Z_OK) return GEODEC_NOMEM;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    while (end == Z_OK && got <= want) {
        z.next_out = window;
        z.avail_out = WINDOW;
        end = inflate(&z, Z_NO_FLUSH);
        got += (int64_t)(WINDOW - z.avail_out);
        if (z.avail_in == 0 && z.avail_out == WINDOW) break;
    }
    (void)inflateEnd(&z);
    if (end == Z_MEM_ERROR) return GEODEC_NOMEM;
    return end == Z_STREAM_END && got == want ? GEODEC_OK : GEODEC_FORMAT;
}

/* The coordinates of the first element of chunk i. */
static void chunk_offset(const geodec__h5_storage *s, int64_t i, hsize_t offset[GEODEC__H5_RANK_MAX])
{
    for (int d = s->rank - 1; d >= 0; d--) {
        offset[d] = (hsize_t)(i % s->across[d] * s->chunk[d]);
        i /= s->across[d];
    }
}

static geodec_status check_chunk(hid_t set, const char *what, const geodec__h5_storage *s, const hsize_t *offset,
                                 uint8_t *buffer, uint8_t *window, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hsize_t stored = 0;
    uint32_t skipped = 0;
    const int64_t sum = s->summed ? SUM_BYTES : 0;
    GEODEC__H5(H5Dget_chunk_storage_size(set, offset, &stored), GEODEC_FORMAT, "%s", what);
    if (stored > (hsize_t)(DEFLATE_ROOM(s->chunk_bytes + sum)))
        GEODEC_THROW(GEODEC_FORMAT, "%s: a chunk of %lld bytes is stored in %llu", what, (long long)s->chunk_bytes,
                     (unsigned long long)stored);
    if (!s->deflated && stored == (hsize_t)(s->chunk_bytes + sum)) goto done;
    GEODEC__H5(H5Dread_chunk(set, H5P_DEFAULT, offset, &skipped, buffer), GEODEC_FORMAT, "%s", what);
    const int64_t present = (skipped & s->sum_bit) ? 0 : sum, n = (int64_t)stored;
    const bool inflate = s->deflated && !(skipped & s->deflate_bit);
    const int64_t inside = s->sum_inside ? present : 0, behind = present - inside;
    st = !inflate     ? n == s->chunk_bytes + present ? GEODEC_OK : GEODEC_FORMAT
         : n < behind ? GEODEC_FORMAT
                      : inflates_to(buffer, n - behind, s->chunk_bytes + inside, window);
    if (st == GEODEC_NOMEM) GEODEC_THROW(GEODEC_NOMEM, "%s: no memory to decompress a chunk", what);
    if (st != GEODEC_OK)
        GEODEC_THROW(GEODEC_FORMAT, "%s: a compressed chunk is damaged, or does not hold %lld bytes", what,
                     (long long)s->chunk_bytes);
done:
    return st;
}

geodec_status geodec__h5_chunks_check(hid_t set, const char *what, const geodec__h5_storage *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *buffer = NULL, *window = NULL;
    if (!s->chunked || (!s->deflated && !s->summed)) goto done; /* an unfiltered chunk has no size of its own */
    GEODEC_NEW(buffer, DEFLATE_ROOM(s->chunk_bytes + SUM_BYTES));
    GEODEC_NEW(window, WINDOW);
    for (int64_t i = 0; i < s->chunks; i++) {
        hsize_t offset[GEODEC__H5_RANK_MAX] = {0};
        chunk_offset(s, i, offset);
        GEODEC_TRY(check_chunk(set, what, s, offset, buffer, window, err));
    }
done:
    GEODEC_FREE(buffer, window);
    return st;
}

geodec_status geodec__h5_filters_check(hid_t set, const char *what, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__h5_storage s;
    uint8_t *buffer = NULL;
    GEODEC_TRY(geodec__h5_storage_check(set, what, INT64_MAX, INT64_MAX, &s, err));
    if (!s.deflated) goto done;
    GEODEC_NEW(buffer, DEFLATE_ROOM(s.chunk_bytes + SUM_BYTES));
    for (int64_t i = 0; i < s.chunks; i++) {
        hsize_t offset[GEODEC__H5_RANK_MAX] = {0}, stored = 0;
        uint32_t skipped = 0;
        chunk_offset(&s, i, offset);
        GEODEC__H5(H5Dget_chunk_storage_size(set, offset, &stored), GEODEC_IO, "%s", what);
        if (stored > (hsize_t)(DEFLATE_ROOM(s.chunk_bytes + SUM_BYTES)))
            GEODEC_THROW(GEODEC_INTERNAL, "%s: a chunk has %llu bytes", what, (unsigned long long)stored);
        GEODEC__H5(H5Dread_chunk(set, H5P_DEFAULT, offset, &skipped, buffer), GEODEC_IO, "%s", what);
        if (skipped) GEODEC_THROW(GEODEC_NOMEM, "%s: no memory to compress a chunk", what);
    }
done:
    geodec_mem_free(buffer);
    return st;
}

geodec_status geodec__h5_still_whole(hid_t file, int64_t bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    void *handle = NULL;
    struct stat now;
    GEODEC__H5(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), GEODEC_IO, "unreadable");
    if (fstat(*(int *)handle, &now) != 0 || (int64_t)now.st_size < bytes)
        GEODEC_THROW(GEODEC_IO, "the file was truncated while it was read");
done:
    return st;
}

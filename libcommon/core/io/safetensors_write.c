#include "io/safetensors.h"

#include "base/mem.h"
#include "io/atomic.h"
#include "io/json.h"
#include "io/safetensors_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct geodec_safetensors_writer {
    geodec_atomic *file;
    char *path;
    int fd; /* of file */
    int n;
    geodec__safetensor_place *tensor; /* [n] */
    int64_t data, bytes;              /* offset and size of the arrays */
    int64_t put;                      /* bytes put so far; changed atomically */
};

static geodec_status write_at(geodec_safetensors_writer *w, int64_t at, const void *data, int64_t n, geodec_err *err)
{
    const char *from = data;
    while (n > 0) {
        const ssize_t done = pwrite(w->fd, from, (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) GEODEC_FAIL(GEODEC_IO, "%s: cannot write: %s", w->path, strerror(done < 0 ? errno : EIO));
        from += done;
        at += done;
        n -= done;
    }
    return GEODEC_OK;
}

static geodec_status place_tensors(geodec_safetensors_writer *w, const geodec_safetensor *tensor, geodec_err *err)
{
    for (int i = 0; i < w->n; i++) {
        geodec__safetensor_place *p = &w->tensor[i];
        p->t = tensor[i];
        p->begin = w->bytes;
        GEODEC_PASS_MSG(geodec__safetensors_size(&p->t, &p->bytes, err), "%s", w->path);
        if (p->bytes > INT64_MAX / 2 - w->bytes) GEODEC_FAIL(GEODEC_LIMIT, "%s: too large", w->path);
        w->bytes += p->bytes;
    }
    return GEODEC_OK;
}

/* The header as text, with its length before and blanks after it. The caller frees it with free(). */
static geodec_status make_header(const geodec_safetensors_writer *w, const geodec_safetensors_meta *meta, int n_meta,
                                 char **text, size_t *length, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *j = NULL;
    FILE *memory = open_memstream(text, length);
    if (!memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for a header");
    (void)fwrite("\0\0\0\0\0\0\0", 1, 8, memory);
    GEODEC_TRY(geodec_json_on(memory, &j, err));
    if (n_meta) {
        geodec_json_begin_object(j, "__metadata__");
        for (int i = 0; i < n_meta; i++) geodec_json_put_str(j, meta[i].key, meta[i].value);
        geodec_json_end(j);
    }
    for (int i = 0; i < w->n; i++) {
        const geodec__safetensor_place *p = &w->tensor[i];
        geodec_json_begin_object(j, p->t.name);
        geodec_json_put_str(j, "dtype", geodec__safetensors_dtype(p->t.type));
        geodec_json_begin_array(j, "shape");
        for (int d = 0; d < p->t.rank; d++) geodec_json_put_i64(j, NULL, p->t.shape[d]);
        geodec_json_end(j);
        geodec_json_begin_array(j, "data_offsets");
        geodec_json_put_i64(j, NULL, p->begin);
        geodec_json_put_i64(j, NULL, p->begin + p->bytes);
        geodec_json_end(j);
        geodec_json_end(j);
    }
    geodec_json_writer *whole = j;
    j = NULL;
    GEODEC_TRY(geodec_json_commit(whole, err));
    if (fflush(memory) != 0) GEODEC_THROW(GEODEC_NOMEM, "no memory for a header");
    for (size_t n = *length; n % 8; n++) (void)fputc(' ', memory);
done:
    geodec_json_abandon(j);
    if (memory && fclose(memory) != 0 && st == GEODEC_OK)
        st = geodec_err_set(err, GEODEC_NOMEM, __func__, __LINE__, "no memory for a header");
    if (st == GEODEC_OK)
        for (int i = 0; i < 8; i++) (*text)[i] = (char)((uint64_t)(*length - 8) >> (8 * i) & 0xffu);
    return st;
}

geodec_status geodec_safetensors_create(const char *path, const geodec_safetensor *tensor, int n,
                                        const geodec_safetensors_meta *meta, int n_meta,
                                        geodec_safetensors_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors_writer *w = NULL;
    char *header = NULL;
    size_t length = 0;
    GEODEC_NEW(w, 1);
    w->n = n;
    w->path = geodec_mem_strdup(path);
    if (!w->path) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    GEODEC_NEW(w->tensor, n);
    GEODEC_TRY(place_tensors(w, tensor, err));
    GEODEC_TRY(make_header(w, meta, n_meta, &header, &length, err));
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    w->fd = geodec_atomic_fd(w->file);
    w->data = (int64_t)length;
    GEODEC_TRY(write_at(w, 0, header, (int64_t)length, err));
    *out = w;
    w = NULL;
done:
    free(header);
    geodec_safetensors_abandon(w);
    return st;
}

geodec_status geodec_safetensors_put(geodec_safetensors_writer *w, int i, int64_t first, int64_t count,
                                     const void *data, geodec_err *err)
{
    if (i < 0 || i >= w->n) GEODEC_FAIL(GEODEC_INVAL, "%s: no tensor %d", w->path, i);
    const geodec__safetensor_place *p = &w->tensor[i];
    const int64_t size = (int64_t)geodec_type_size(p->t.type);
    if (first < 0 || count < 0 || count > p->bytes / size - first)
        GEODEC_FAIL(GEODEC_INVAL, "%s: tensor %d has no %lld elements from %lld on", w->path, i, (long long)count,
                    (long long)first);
    GEODEC_PASS(write_at(w, w->data + p->begin + first * size, data, count * size, err));
    (void)__atomic_add_fetch(&w->put, count * size, __ATOMIC_RELAXED);
    return GEODEC_OK;
}

geodec_status geodec_safetensors_commit(geodec_safetensors_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (w->put != w->bytes)
        GEODEC_THROW(GEODEC_INVAL, "%s: %lld of %lld bytes were written", w->path, (long long)w->put,
                     (long long)w->bytes);
    geodec_atomic *file = w->file;
    w->file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_safetensors_abandon(w);
    return st;
}

void geodec_safetensors_abandon(geodec_safetensors_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    GEODEC_FREE(w->path, w->tensor, w);
}

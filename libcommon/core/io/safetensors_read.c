#include "io/safetensors.h"

#include "base/mem.h"
#include "io/inputs.h"
#include "io/json.h"
#include "io/safetensors_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MAX = 100 << 20 /* limit of the format's reference reader */, TENSORS_MAX = 1 << 20 };

/* ---- shared with the writer ------------------------------------------------------------------------------------- */

static const struct dtype {
    const char *name;
    geodec_type type;
} dtypes[] = {{"F64", GEODEC_F64}, {"F32", GEODEC_F32},   {"F16", GEODEC_F16}, {"I64", GEODEC_I64}, {"I32", GEODEC_I32},
              {"I16", GEODEC_I16}, {"I8", GEODEC_I8},     {"U64", GEODEC_U64}, {"U32", GEODEC_U32}, {"U16", GEODEC_U16},
              {"U8", GEODEC_U8},   {"BF16", GEODEC_BF16}, {"BOOL", GEODEC_U8}};

const char *geodec__safetensors_dtype(geodec_type t)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].type == t) return dtypes[i].name;
    return NULL;
}

static geodec_status size_of(const geodec_safetensor *t, int64_t *bytes, geodec_err *err)
{
    int64_t n = (int64_t)geodec_type_size(t->type);
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d] < 0) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: a negative extent", t->name);
        if (geodec_mem_mul(n, t->shape[d], &n) != 0) GEODEC_FAIL(GEODEC_LIMIT, "tensor %s: too large", t->name);
    }
    *bytes = n;
    return GEODEC_OK;
}

geodec_status geodec__safetensors_size(const geodec_safetensor *t, int64_t *bytes, geodec_err *err)
{
    if (!geodec__safetensors_dtype(t->type)) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: bad type", t->name);
    if (t->rank < 1 || t->rank > GEODEC_SAFETENSORS_RANK_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: %d dimensions are outside 1 to %d", t->name, t->rank,
                    GEODEC_SAFETENSORS_RANK_MAX);
    return size_of(t, bytes, err);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct geodec_safetensors {
    char *path;
    int fd;
    geodec_json *header;
    int n;
    geodec__safetensor_place *tensor; /* [n], in file order */
    int64_t data;
};

static geodec_status read_at(int fd, const char *path, int64_t at, void *data, int64_t n, geodec_err *err)
{
    char *to = data;
    while (n > 0) {
        const ssize_t done = pread(fd, to, (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) GEODEC_FAIL(GEODEC_IO, "%s: cannot read: %s", path, strerror(errno));
        if (done == 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: truncated", path);
        to += done;
        at += done;
        n -= done;
    }
    return GEODEC_OK;
}

static void refuse(geodec_safetensor *t, const char *fmt, ...) GEODEC_PRINTF(2, 3);
static void refuse(geodec_safetensor *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(t->refused, sizeof t->refused, fmt, ap);
    va_end(ap);
}

static geodec_status parse_tensor(const char *name, const geodec_json *v, geodec__safetensor_place *p, geodec_err *err)
{
    const char *dtype;
    int64_t end;
    const geodec_json *shape = geodec_json_member(v, "shape"), *place = geodec_json_member(v, "data_offsets");
    (void)snprintf(p->t.name, sizeof p->t.name, "%s", name);
    if (strlen(name) >= sizeof p->t.name) refuse(&p->t, "a name of %zu bytes", strlen(name));
    GEODEC_PASS_MSG(geodec_json_get_str(v, "dtype", &dtype, err), "tensor %s", p->t.name);
    size_t k = 0;
    while (k < sizeof dtypes / sizeof *dtypes && strcmp(dtypes[k].name, dtype) != 0) k++;
    if (k < sizeof dtypes / sizeof *dtypes)
        p->t.type = dtypes[k].type;
    else
        refuse(&p->t, "type %.16s", dtype);
    const int64_t rank = shape ? geodec_json_length(shape) : -1;
    if (rank < 0) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: no shape", p->t.name);
    if (rank > GEODEC_SAFETENSORS_RANK_MAX) refuse(&p->t, "%lld axes", (long long)rank);
    p->t.rank = rank > GEODEC_SAFETENSORS_RANK_MAX ? 0 : (int)rank;
    for (int d = 0; d < p->t.rank; d++)
        GEODEC_PASS_MSG(geodec_json_get_i64(geodec_json_at(shape, d), NULL, &p->t.shape[d], err), "tensor %s",
                        p->t.name);
    if (geodec_json_length(place) != 2) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: no data_offsets", p->t.name);
    GEODEC_PASS_MSG(geodec_json_get_i64(geodec_json_at(place, 0), NULL, &p->begin, err), "tensor %s", p->t.name);
    GEODEC_PASS_MSG(geodec_json_get_i64(geodec_json_at(place, 1), NULL, &end, err), "tensor %s", p->t.name);
    p->bytes = end - p->begin;
    if (!p->t.refused[0]) GEODEC_PASS(size_of(&p->t, &p->bytes, err));
    if (p->begin < 0 || end < p->begin || end - p->begin != p->bytes)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: bytes %lld to %lld do not hold its shape", p->t.name,
                    (long long)p->begin, (long long)end);
    return GEODEC_OK;
}

static int by_place(const void *a, const void *b)
{
    const geodec__safetensor_place *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty arrays first */
}

static geodec_status parse_header(geodec_safetensors *s, int64_t file_bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *key;
    json_t *v, *root = s->header;
    int64_t next = 0;
    if (!json_is_object(root)) GEODEC_THROW(GEODEC_FORMAT, "the header is not an object");
    if (json_object_size(root) > TENSORS_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d tensors", TENSORS_MAX);
    GEODEC_NEW(s->tensor, (int64_t)json_object_size(root));
    json_object_foreach(root, key, v)
    {
        const char *word;
        json_t *text;
        if (strcmp(key, "__metadata__") != 0) {
            GEODEC_TRY(parse_tensor(key, v, &s->tensor[s->n++], err));
            continue;
        }
        if (!json_is_object(v)) GEODEC_THROW(GEODEC_FORMAT, "__metadata__ is not an object");
        json_object_foreach(v, word, text)
        {
            if (!json_is_string(text)) GEODEC_THROW(GEODEC_FORMAT, "__metadata__: %s is not text", word);
        }
    }
    qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_place);
    for (int i = 0; i < s->n; i++) {
        if (s->tensor[i].begin != next)
            GEODEC_THROW(GEODEC_FORMAT, "tensor %s begins at %lld, not %lld", s->tensor[i].t.name,
                         (long long)s->tensor[i].begin, (long long)next);
        if (s->tensor[i].bytes > file_bytes - s->data - next)
            GEODEC_THROW(GEODEC_FORMAT, "tensor %s ends beyond the end of the file", s->tensor[i].t.name);
        next += s->tensor[i].bytes;
    }
    if (next != file_bytes - s->data)
        GEODEC_THROW(GEODEC_FORMAT, "%lld bytes of data, the header describes %lld", (long long)(file_bytes - s->data),
                     (long long)next);
done:
    return st;
}

geodec_status geodec_safetensors_open(const char *path, geodec_safetensors **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *s = NULL;
    char *text = NULL;
    unsigned char size[8];
    struct stat sb;
    uint64_t length = 0;
    GEODEC_NEW(s, 1);
    s->fd = -1;
    s->path = geodec_mem_strdup(path);
    if (!s->path) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (fstat(s->fd, &sb) != 0 || !S_ISREG(sb.st_mode)) GEODEC_THROW(GEODEC_IO, "%s: not a regular file", path);
    GEODEC_TRY(geodec_inputs_note(path, s->fd, err));
    GEODEC_TRY(read_at(s->fd, path, 0, size, 8, err));
    for (int i = 7; i >= 0; i--) length = length << 8 | size[i];
    if (length > HEADER_MAX) GEODEC_THROW(GEODEC_LIMIT, "%s: a header of %llu bytes", path, (unsigned long long)length);
    if ((int64_t)length > (int64_t)sb.st_size - 8)
        GEODEC_THROW(GEODEC_FORMAT, "%s: the file ends within its header", path);
    s->data = 8 + (int64_t)length;
    GEODEC_NEW(text, (int64_t)length + 1);
    GEODEC_TRY(read_at(s->fd, path, 8, text, (int64_t)length, err));
    GEODEC_TRY(geodec_json_parse(text, (size_t)length, path, &s->header, err));
    GEODEC_TRY_MSG(parse_header(s, (int64_t)sb.st_size, err), "%s", path);
    *out = s;
    s = NULL;
done:
    geodec_mem_free(text);
    geodec_safetensors_close(s);
    return st;
}

void geodec_safetensors_close(geodec_safetensors *s)
{
    if (!s) return;
    if (s->fd >= 0) (void)close(s->fd);
    geodec_json_free(s->header);
    GEODEC_FREE(s->path, s->tensor, s);
}

int geodec_safetensors_count(const geodec_safetensors *s) { return s->n; }
const geodec_safetensor *geodec_safetensors_at(const geodec_safetensors *s, int i) { return &s->tensor[i].t; }

int geodec_safetensors_find(const geodec_safetensors *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->tensor[i].t.name, name) == 0) return i;
    return -1;
}

const char *geodec_safetensors_text(const geodec_safetensors *s, const char *key)
{
    return json_string_value(json_object_get(json_object_get(s->header, "__metadata__"), key));
}

geodec_status geodec_safetensors_read(const geodec_safetensors *s, int i, int64_t first, int64_t count, void *data,
                                      geodec_err *err)
{
    if (i < 0 || i >= s->n) GEODEC_FAIL(GEODEC_INVAL, "%s: no tensor %d", s->path, i);
    const geodec__safetensor_place *p = &s->tensor[i];
    const int64_t size = (int64_t)geodec_type_size(p->t.type);
    if (p->t.refused[0]) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: tensor %s: %s", s->path, p->t.name, p->t.refused);
    if (first < 0 || count < 0 || count > p->bytes / size - first)
        GEODEC_FAIL(GEODEC_RANGE, "%s: tensor %s has no %lld elements from %lld on", s->path, p->t.name,
                    (long long)count, (long long)first);
    GEODEC_PASS(read_at(s->fd, s->path, s->data + p->begin + first * size, data, count * size, err));
    return GEODEC_OK;
}

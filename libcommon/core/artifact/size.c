#include "artifact/size.h"

#include "artifact/artifact_internal.h"

#include <string.h>

/* Whether one of the paths in text, separated by blanks, is this one. */
static bool has(const char *text, const char *path)
{
    const size_t n = strlen(path);
    for (const char *p = text; p && *p; p += strspn(p, " ")) {
        const size_t length = strcspn(p, " ");
        if (length == n && memcmp(p, path, n) == 0) return true;
        p += length;
    }
    return false;
}

static geodec_status extent_of(const char *name, int n, const geodec_size_dim *dims, int64_t *out, geodec_err *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(dims[i].name, name) == 0) {
            *out = dims[i].extent;
            return GEODEC_OK;
        }
    GEODEC_FAIL(GEODEC_INVAL, "dimension %s is not given", name);
}

geodec_status geodec_size_of(const geodec_kind *kind, int n, const geodec_size_dim *dims, const char *optional,
                             geodec_size *out, geodec_err *err)
{
    *out = (geodec_size){0};
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        geodec__axis axis[GEODEC_RANK_MAX];
        int64_t shape[GEODEC_RANK_MAX], bytes;
        int rank;
        if ((f->flags & GEODEC_FIELD_OPTIONAL) && !has(optional, f->path)) continue;
        GEODEC_PASS(geodec__kind_field_axes(f, axis, &rank, err));
        for (int d = 0; d < rank; d++) {
            shape[d] = axis[d].fixed;
            if (axis[d].name[0])
                GEODEC_PASS_MSG(extent_of(axis[d].name, n, dims, &shape[d], err), "field %s of kind %s", f->path,
                                kind->name);
        }
        GEODEC_PASS(geodec__kind_shape_bytes(f, shape, rank, &bytes, err));
        out->fields += bytes;
        const int64_t room = (f->flags & GEODEC_FIELD_STREAM) ? GEODEC__CHUNK_BYTES : GEODEC__CHUNK_CACHE;
        out->buffers += bytes < room ? bytes : room;
    }
    return GEODEC_OK;
}

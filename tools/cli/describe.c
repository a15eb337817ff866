#include "cli/describe.h"

#include "io/format.h"

#include <inttypes.h>

/* The shape as "[1000, 32]", or "" for a scalar. *bytes: size in memory. */
static geodec_status shape_text(const geodec_artifact *a, const geodec_field *f, char *text, size_t room,
                                int64_t *bytes, geodec_err *err)
{
    int64_t shape[GEODEC_RANK_MAX];
    int rank, at = 0;
    *bytes = (int64_t)geodec_type_size(f->type);
    text[0] = '\0';
    GEODEC_PASS(geodec_artifact_shape(a, f->path, shape, &rank, err));
    for (int d = 0; d < rank; d++) {
        at += snprintf(text + at, room - (size_t)at, "%s%" PRId64, d ? ", " : "[", shape[d]);
        *bytes *= shape[d];
    }
    if (rank) (void)snprintf(text + at, room - (size_t)at, "]");
    return GEODEC_OK;
}

/* Prints one line, with newlines and tabs of the text as \n and \t. */
static void print_line(FILE *out, const char *label, const char *text)
{
    (void)fprintf(out, "  %-12s ", label);
    for (; *text; text++) {
        if (*text == '\n')
            (void)fprintf(out, "\\n");
        else if (*text == '\t')
            (void)fprintf(out, "\\t");
        else
            (void)fputc(*text, out);
    }
    (void)fprintf(out, "\n");
}

static void print_head(FILE *out, const geodec_artifact *a, const char *path)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    const geodec_provenance *p = geodec_artifact_provenance(a);
    int major, minor;
    char text[256];
    geodec_artifact_version(a, &major, &minor);
    (void)fprintf(out, "%s: %s %d.%d, %s\n", path, kind->name, major, minor, kind->purpose);
    print_line(out, "command", p->command_line);
    (void)snprintf(text, sizeof text, "%" PRIu64, p->seed);
    print_line(out, "seed", text);
    if (p->blas_core[0]) print_line(out, "BLAS core", p->blas_core);
    if (p->model_fingerprint[0]) print_line(out, "model", p->model_fingerprint);
    if (p->tokenizer_fingerprint[0]) print_line(out, "tokenizer", p->tokenizer_fingerprint);
    for (int i = 0; i < p->n_inputs; i++) {
        (void)snprintf(text, sizeof text, "%s  %s", p->input[i].sha256, p->input[i].name);
        print_line(out, "input", text);
    }
    print_line(out, "sha256", geodec_artifact_sha256(a));
}

static geodec_status attr_text(const geodec_artifact *a, const geodec_attr *at, char *buf, size_t room,
                               const char **text, geodec_err *err)
{
    int64_t i;
    double d;
    char number[GEODEC_FORMAT_ROOM];
    *text = buf;
    switch (at->type) {
    case GEODEC_ATTR_I64:
        GEODEC_PASS(geodec_artifact_get_i64(a, at->name, &i, err));
        (void)snprintf(buf, room, "%" PRId64, i);
        break;
    case GEODEC_ATTR_F64:
        GEODEC_PASS(geodec_artifact_get_f64(a, at->name, &d, err));
        (void)snprintf(buf, room, "%s", geodec_format_f64(d, number));
        break;
    case GEODEC_ATTR_STR:
        GEODEC_PASS(geodec_artifact_get_str(a, at->name, text, err));
        break;
    }
    return GEODEC_OK;
}

geodec_status describe_text(FILE *out, const geodec_artifact *a, const char *path, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    char shape[160], buf[64];
    const char *text;
    int64_t extent, bytes;
    print_head(out, a, path);
    if (kind->n_attrs) (void)fprintf(out, "  attributes\n");
    for (int i = 0; i < kind->n_attrs; i++) {
        if (!geodec_artifact_has_attr(a, kind->attrs[i].name)) continue;
        GEODEC_PASS(attr_text(a, &kind->attrs[i], buf, sizeof buf, &text, err));
        (void)fprintf(out, "    %-20s = %s   (%s)\n", kind->attrs[i].name, text, kind->attrs[i].long_name);
    }
    (void)fprintf(out, "  dimensions\n");
    for (int i = 0; (text = geodec_artifact_dim_at(a, i, &extent)); i++)
        (void)fprintf(out, "    %-20s = %" PRId64 "\n", text, extent);
    (void)fprintf(out, "  fields\n");
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        if (!geodec_artifact_has(a, f->path)) continue;
        GEODEC_PASS(shape_text(a, f, shape, sizeof shape, &bytes, err));
        (void)fprintf(out, "    %-20s %s %s%s%s%s  %" PRId64 " bytes, unit %s: %s\n", f->path,
                      geodec_type_name(f->type), f->dims[0] ? "(" : "", f->dims, f->dims[0] ? ") = " : "", shape, bytes,
                      f->unit, f->long_name);
    }
    return GEODEC_OK;
}

static geodec_status json_fields(geodec_json_writer *w, const geodec_artifact *a, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    int64_t shape[GEODEC_RANK_MAX], bytes;
    int rank;
    char text[160];
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        if (!geodec_artifact_has(a, f->path)) continue;
        GEODEC_PASS(shape_text(a, f, text, sizeof text, &bytes, err));
        GEODEC_PASS(geodec_artifact_shape(a, f->path, shape, &rank, err));
        geodec_json_begin_object(w, f->path);
        geodec_json_put_str(w, "type", geodec_type_name(f->type));
        geodec_json_put_str(w, "dimensions", f->dims);
        geodec_json_begin_array(w, "shape");
        for (int d = 0; d < rank; d++) geodec_json_put_i64(w, NULL, shape[d]);
        geodec_json_end(w);
        geodec_json_put_i64(w, "bytes", bytes);
        geodec_json_put_str(w, "unit", f->unit);
        geodec_json_put_str(w, "long_name", f->long_name);
        geodec_json_end(w);
    }
    return GEODEC_OK;
}

static geodec_status json_attrs(geodec_json_writer *w, const geodec_artifact *a, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    int64_t i64;
    double f64;
    const char *str;
    for (int i = 0; i < kind->n_attrs; i++) {
        const char *name = kind->attrs[i].name;
        if (!geodec_artifact_has_attr(a, name)) continue;
        if (kind->attrs[i].type == GEODEC_ATTR_I64) {
            GEODEC_PASS(geodec_artifact_get_i64(a, name, &i64, err));
            geodec_json_put_i64(w, name, i64);
        } else if (kind->attrs[i].type == GEODEC_ATTR_F64) {
            GEODEC_PASS(geodec_artifact_get_f64(a, name, &f64, err));
            geodec_json_put_f64(w, name, f64);
        } else {
            GEODEC_PASS(geodec_artifact_get_str(a, name, &str, err));
            geodec_json_put_str(w, name, str);
        }
    }
    return GEODEC_OK;
}

static void json_provenance(geodec_json_writer *w, const geodec_provenance *p)
{
    geodec_json_put_str(w, "tool", p->tool);
    geodec_json_put_str(w, "command_line", p->command_line);
    geodec_json_put_u64(w, "seed", p->seed);
    geodec_json_put_str(w, "blas_core", p->blas_core);
    geodec_json_put_str(w, "model_fingerprint", p->model_fingerprint);
    geodec_json_put_str(w, "tokenizer_fingerprint", p->tokenizer_fingerprint);
    geodec_json_begin_array(w, "inputs");
    for (int i = 0; i < p->n_inputs; i++) {
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "name", p->input[i].name);
        geodec_json_put_str(w, "sha256", p->input[i].sha256);
        geodec_json_end(w);
    }
    geodec_json_end(w);
}

geodec_status describe_json(geodec_json_writer *w, const geodec_artifact *a, const char *path, geodec_err *err)
{
    int major, minor;
    char version[32];
    const char *name;
    int64_t extent;
    geodec_artifact_version(a, &major, &minor);
    (void)snprintf(version, sizeof version, "%d.%d", major, minor);
    geodec_json_begin_object(w, NULL);
    geodec_json_put_str(w, "file", path);
    geodec_json_put_str(w, "kind", geodec_artifact_kind(a)->name);
    geodec_json_put_str(w, "schema_version", version);
    geodec_json_put_str(w, "sha256", geodec_artifact_sha256(a));
    geodec_json_begin_object(w, "provenance");
    json_provenance(w, geodec_artifact_provenance(a));
    geodec_json_end(w);
    geodec_json_begin_object(w, "attributes");
    GEODEC_PASS(json_attrs(w, a, err));
    geodec_json_end(w);
    geodec_json_begin_object(w, "dimensions");
    for (int i = 0; (name = geodec_artifact_dim_at(a, i, &extent)); i++) geodec_json_put_i64(w, name, extent);
    geodec_json_end(w);
    geodec_json_begin_object(w, "fields");
    GEODEC_PASS(json_fields(w, a, err));
    geodec_json_end(w);
    geodec_json_end(w);
    return GEODEC_OK;
}

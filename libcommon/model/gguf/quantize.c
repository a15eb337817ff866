#include "gguf/quantize.h"

#include "base/mem.h"
#include "gguf/quantize_internal.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 1 << 14, /* values per task: whole blocks of every type */
    SLAB = 128,      /* tasks per dispatch; their bytes are written together */
    MAX_VALUE = 4    /* bytes per value of any type that can be written */
};

/* Sums over values, added in the order of the chunks. */
enum { XX, YY, XY, ERROR, NEAREST, Q8_0, N_SUMS };
typedef struct sums {
    double of[N_SUMS];
    float largest;
    int64_t bad; /* index of the first value that cannot be stored, -1 none */
    float bad_value;
} sums;

typedef struct scratch {
    float *x, *y;    /* [CHUNK] */
    uint8_t *packed; /* [CHUNK * MAX_VALUE] */
} scratch;

/* A slab being converted. */
typedef struct slab {
    const geodec_ggml_traits *from, *to;
    const uint8_t *src;
    uint8_t *dst;
    int64_t values;
    bool plain, rows_of_32;
    scratch *worker; /* [threads] */
    sums sum[SLAB];
} slab;

static double squared_error(const float *x, const float *y, int64_t n)
{
    double e = 0;
    for (int64_t i = 0; i < n; i++) e += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
    return e;
}

static double error_of(const geodec_ggml_traits *t, scratch *w, int64_t n)
{
    t->nearest(w->x, w->packed, n);
    t->decode(w->packed, w->y, n);
    return squared_error(w->x, w->y, n);
}

static void convert_chunk(void *ctx, int64_t task, int worker)
{
    slab *s = ctx;
    scratch *w = &s->worker[worker];
    sums *sum = &s->sum[task];
    const int64_t first = task * CHUNK, n = s->values - first < CHUNK ? s->values - first : CHUNK;
    uint8_t *dst = s->dst + geodec_ggml_bytes(s->to, first);
    const geodec_ggml_traits *q8 = geodec_ggml_traits_of(GEODEC_GGML_Q8_0);
    *sum = (sums){.bad = -1};
    s->from->decode(s->src + geodec_ggml_bytes(s->from, first), w->x, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(w->x[i]) < s->to->limit)) {
            sum->bad = first + i;
            sum->bad_value = w->x[i];
            return;
        }
    (s->plain ? s->to->nearest : s->to->encode)(w->x, dst, n);
    s->to->decode(dst, w->y, n);
    for (int64_t i = 0; i < n; i++) {
        sum->of[XX] += (double)w->x[i] * (double)w->x[i];
        sum->of[YY] += (double)w->y[i] * (double)w->y[i];
        sum->of[XY] += (double)w->x[i] * (double)w->y[i];
        if (fabsf(w->y[i] - w->x[i]) > sum->largest) sum->largest = fabsf(w->y[i] - w->x[i]);
    }
    sum->of[ERROR] = squared_error(w->x, w->y, n);
    sum->of[NEAREST] = s->to->nearest == s->to->encode ? sum->of[ERROR] : error_of(s->to, w, n);
    if (s->to == q8)
        sum->of[Q8_0] = sum->of[ERROR];
    else if (s->rows_of_32)
        sum->of[Q8_0] = error_of(q8, w, n);
}

static void add(sums *total, const sums *s)
{
    for (int k = 0; k < N_SUMS; k++) total->of[k] += s->of[k];
    if (s->largest > total->largest) total->largest = s->largest;
}

static void fill_row(geodec_quantize_row *row, const sums *s, bool rows_of_32)
{
    const double n = (double)row->values;
    row->size = sqrt(s->of[XX] / n);
    row->rms = sqrt(s->of[ERROR] / n);
    row->largest = (double)s->largest;
    row->cosine = s->of[XX] > 0 && s->of[YY] > 0 ? s->of[XY] / (sqrt(s->of[XX]) * sqrt(s->of[YY]))
                  : s->of[XX] == s->of[YY]       ? 1.0
                                                 : 0.0;
    row->nearest = sqrt(s->of[NEAREST] / n);
    row->q8_0 = rows_of_32 ? sqrt(s->of[Q8_0] / n) : NAN;
}

static geodec_status convert(slab *s, const geodec_gguf_tensor *t, geodec_gguf_writer *w, geodec_pool *pool,
                             geodec_quantize_row *row, geodec_err *err)
{
    sums total = {0};
    s->rows_of_32 = t->dim[0] % 32 == 0;
    for (int64_t at = 0; at < row->values; at += s->values) {
        const int64_t left = row->values - at;
        s->values = left < (int64_t)SLAB * CHUNK ? left : (int64_t)SLAB * CHUNK;
        s->src = (const uint8_t *)t->data + geodec_ggml_bytes(s->from, at);
        const int64_t tasks = (s->values + CHUNK - 1) / CHUNK;
        geodec_pool_run_dynamic(pool, tasks, convert_chunk, s);
        for (int64_t k = 0; k < tasks; k++) {
            if (s->sum[k].bad >= 0) {
                const bool number = isfinite(s->sum[k].bad_value);
                GEODEC_FAIL(number ? GEODEC_NUMERIC : GEODEC_FORMAT, "tensor '%s': value %lld is %s", t->name,
                            (long long)(at + s->sum[k].bad), number ? "too large for the new type" : "not finite");
            }
            add(&total, &s->sum[k]);
        }
        GEODEC_PASS(geodec_gguf_stream(w, s->dst, geodec_ggml_bytes(s->to, s->values), err));
    }
    if (row->values > 0) fill_row(row, &total, s->rows_of_32);
    return GEODEC_OK;
}

/* general.file_type of a file with these types: that of the type with the most values; -1: it has none. */
static int file_type_of(const geodec_gguf *in, const int *type)
{
    const geodec_ggml_traits *t;
    int best = -1;
    int64_t most = 0;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++) {
        int64_t values = 0;
        for (int64_t i = 0; i < geodec_gguf_n_tensors(in); i++) {
            if (type[i] == t->type) values += geodec_gguf_elements(geodec_gguf_tensor_at(in, i));
        }
        if (values > most) {
            most = values;
            best = t->file_type;
        }
    }
    return best;
}

static geodec_status put_keys(const geodec_gguf *in, int file_type, geodec_gguf_writer *w, geodec_err *err)
{
    static const char type_key[] = "general.file_type", version_key[] = "general.quantization_version";
    for (int64_t i = 0; i < geodec_gguf_n_keys(in); i++) {
        const char *key = geodec_gguf_key_at(in, i);
        if ((strcmp(key, type_key) == 0 && file_type >= 0) || strcmp(key, version_key) == 0 ||
            strcmp(key, "general.alignment") == 0)
            continue;
        GEODEC_PASS(geodec_gguf_put_copy(w, in, key, err));
    }
    if (file_type >= 0) GEODEC_PASS(geodec_gguf_put_u32(w, type_key, (uint32_t)file_type, err));
    GEODEC_PASS(geodec_gguf_put_u32(w, version_key, 2, err)); /* of ggml's block layouts */
    return GEODEC_OK;
}

static geodec_status write_tensors(const geodec_gguf *in, const int *type, bool plain, slab *s, geodec_gguf_writer *w,
                                   geodec_pool *pool, const geodec_hooks *hooks, geodec_quantize_row *rows,
                                   geodec_err *err)
{
    const int64_t n = geodec_gguf_n_tensors(in);
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(in, i);
        const int64_t values = geodec_gguf_elements(t);
        geodec_quantize_row row = {.name = t->name, .from = t->type, .to = type[i], .values = values, .cosine = 1};
        s->from = geodec_ggml_traits_of(t->type);
        s->to = geodec_ggml_traits_of(type[i]);
        s->plain = plain;
        row.bytes = geodec_ggml_bytes(s->to, values);
        GEODEC_PASS(geodec_hooks_progress(hooks, "tensors", i, n, err));
        if (s->from == s->to)
            GEODEC_PASS(geodec_gguf_stream(w, t->data, t->bytes, err));
        else
            GEODEC_PASS(convert(s, t, w, pool, &row, err));
        if (rows) rows[i] = row;
    }
    return GEODEC_OK;
}

geodec_status geodec_quantize(const geodec_gguf *in, const char *path, const geodec_quantize_options *o,
                              geodec_pool *pool, const geodec_hooks *hooks, geodec_quantize_row *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = geodec_gguf_n_tensors(in), threads = geodec_pool_threads(pool);
    const geodec__recipe *r = o->recipe ? geodec__quantize_recipe_named(o->recipe) : NULL;
    geodec_gguf_writer *w = NULL;
    slab *s = NULL;
    int *type = NULL;
    if (o->recipe && !r) GEODEC_THROW(GEODEC_INVAL, "no recipe '%.40s' (%s)", o->recipe, geodec_quantize_recipes());
    GEODEC_TRY(geodec_gguf_check_types(in, err));
    if (n < 1) GEODEC_THROW(GEODEC_INVAL, "%s: no tensors", geodec_gguf_path(in));
    GEODEC_NEW(type, n);
    GEODEC_TRY_MSG(geodec__quantize_recipe_types(in, r, o, type, err), "%s", geodec_gguf_path(in));
    GEODEC_NEW(s, 1);
    GEODEC_NEW(s->dst, (int64_t)SLAB * CHUNK * MAX_VALUE);
    GEODEC_NEW(s->worker, threads);
    for (int64_t i = 0; i < threads; i++) {
        GEODEC_NEW_EACH(CHUNK, s->worker[i].x, s->worker[i].y);
        GEODEC_NEW(s->worker[i].packed, CHUNK * MAX_VALUE);
    }
    GEODEC_TRY(geodec_gguf_writer_create(path, &w, err));
    GEODEC_TRY(put_keys(in, r ? (int)r->file_type : file_type_of(in, type), w, err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(in, i);
        GEODEC_TRY(geodec_gguf_plan_tensor(w, t->name, type[i], t->n_dims, t->dim, err));
    }
    GEODEC_TRY_MSG(write_tensors(in, type, o->nearest, s, w, pool, hooks, rows, err), "%s", geodec_gguf_path(in));
    geodec_gguf_writer *finished = w;
    w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(finished, err));
done:
    geodec_gguf_writer_abandon(w);
    for (int64_t i = 0; s && s->worker && i < threads; i++)
        GEODEC_FREE(s->worker[i].x, s->worker[i].y, s->worker[i].packed);
    if (s) {
        GEODEC_FREE(s->worker, s->dst);
    }
    GEODEC_FREE(s, type);
    return st;
}

#include "cli/ternary_files.h"

#include "base/mem.h"
#include "gguf/gguf.h"
#include "ternary/retype.h"
#include "ternary/similarity.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static double megabytes(int64_t n) { return (double)n / 1e6; }

/* A folder that is not there is made; of one that is there, the table is replaced. */
static geodec_status may_write(const cli *c, const char *folder, geodec_err *err)
{
    struct stat s;
    char *table = NULL;
    if (stat(folder, &s) != 0 || !S_ISDIR(s.st_mode)) return cli_may_write(c, folder, err);
    GEODEC_PASS(geodec_mem_print(&table, err, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME));
    const geodec_status st = cli_may_write(c, table, err);
    geodec_mem_free(table);
    return st;
}

static int64_t expert_bytes(const geodec_trit_table *t) { return geodec_trit_stride(&t->shape) * t->shape.layers; }

geodec_status ternary_build(const cli *c, const char *model, const char *out, const geodec_ternary_build *o,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_trit_table t = {0};
    char *made = NULL;
    const size_t n = strlen(model), ext = sizeof ".gguf" - 1;
    const int stem = n > ext && strcmp(model + n - ext, ".gguf") == 0 ? (int)(n - ext) : (int)n;
    if (!out[0]) GEODEC_TRY(geodec_mem_print(&made, err, "%.*s.trits", stem, model));
    const char *folder = made ? made : out;
    GEODEC_TRY(may_write(c, folder, err));
    GEODEC_TRY(geodec_model_open(model, &m, err));
    GEODEC_TRY(geodec_ternary_store_build(m, o, folder, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_trit_table_read(folder, &t, err));
    cli_say(c, "%d layers of %d experts, %.1f MB each, %d differences, %.1f MB resident -> %s", t.shape.layers,
            t.n_expert, megabytes(expert_bytes(&t)), t.n_edges, megabytes(t.resident_bytes), folder);
done:
    geodec_trit_table_clear(&t);
    geodec_model_close(m);
    geodec_mem_free(made);
    return st;
}

geodec_status ternary_verify(const cli *c, const char *folder, geodec_err *err)
{
    GEODEC_PASS(geodec_ternary_store_verify(folder, &c->hooks, err));
    cli_say(c, "%s: every byte is right", folder);
    return GEODEC_OK;
}

geodec_status ternary_info(const cli *c, const char *folder, geodec_err *err)
{
    geodec_trit_table t = {0};
    (void)c;
    GEODEC_PASS(geodec_trit_table_read(folder, &t, err));
    (void)printf("encoding\t%s\nscales\t%s\n", geodec_ternary_name(t.shape.encoding),
                 t.shape.by_row ? "row" : "matrix");
    (void)printf("weights\t%s\n", geodec_ggml_type_name(t.type));
    (void)printf("layers\t%d\nlayers_with_experts\t%d\nexperts\t%d\n", t.n_layer, t.shape.layers, t.n_expert);
    (void)printf("width\t%d\nexpert_width\t%d\n", t.shape.d, t.shape.f);
    (void)printf("expert_bytes\t%lld\nblob_bytes\t%lld\nslot_bytes\t%lld\n", (long long)expert_bytes(&t),
                 (long long)geodec_trit_payload_bytes(&t.shape), (long long)geodec_trit_stride(&t.shape));
    (void)printf("resident_bytes\t%lld\ndifferences\t%d\ngolden_tokens\t%d\n", (long long)t.resident_bytes, t.n_edges,
                 t.n_golden);
    (void)printf("fingerprint\t%s\n", t.fingerprint);
    geodec_trit_table_clear(&t);
    return GEODEC_OK;
}

/* ---- differences ------------------------------------------------------------------------------------------------ */

/* layer -1: all. */
static void print_edge(const geodec_trit_table *t, const geodec_trit_edge *e, int32_t layer, int32_t layers,
                       int64_t bytes, const geodec_trit_similarity *s)
{
    const double n = (double)s->weights, p = (double)s->changed / n,
                 full = (double)geodec_trit_payload_bytes(&t->shape);
    const double floor = p > 0 && p < 1 ? geodec_change_floor(p) : p > 0 ? 1 : 0;
    (void)printf("%d\t%d\t", e->a, e->b);
    (void)(layer < 0 ? printf("all") : printf("%d", layer));
    (void)printf("\t%.5f\t%lld\t%.4f\t%.4f\t%.4f\t%.4f\t%.5f\t%.5f\n", p, (long long)bytes,
                 (double)bytes / (full * layers), floor * n / 8 / (full * layers), (double)s->code[0][1] / n,
                 (double)s->code[1][1] / n, (double)s->shifted / n, geodec_trit_similarity_independent(s));
}

typedef struct pair {
    geodec_trit a, b;
    geodec_trd d;
    uint8_t *blob_a, *blob_b;
} pair;

static void clear_pair(pair *p)
{
    geodec_trit_close(&p->a);
    geodec_trit_close(&p->b);
    geodec_trd_close(&p->d);
    GEODEC_FREE(p->blob_a, p->blob_b);
}

static void add(geodec_trit_similarity *to, const geodec_trit_similarity *from)
{
    to->weights += from->weights;
    to->changed += from->changed;
    to->shifted += from->shifted;
    for (int e = 0; e < 2; e++)
        for (int k = 0; k < 3; k++) to->code[e][k] += from->code[e][k];
}

static geodec_status measure_edge(const geodec_trit_table *t, const char *folder, int32_t i, bool each,
                                  geodec_trit_similarity *total, int64_t *total_bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_trit_edge *e = &t->edge[i];
    pair p = {.a = {.fd = -1}, .b = {.fd = -1}, .d = {.fd = -1}};
    geodec_trit_similarity all = {0};
    int64_t bytes = 0;
    GEODEC_TRY(geodec_trit_table_expert(t, folder, e->a, &p.a, err));
    GEODEC_TRY(geodec_trit_table_expert(t, folder, e->b, &p.b, err));
    GEODEC_TRY(geodec_trit_table_edge(t, folder, i, &p.a, &p.b, &p.d, err));
    GEODEC_NEW_EACH(p.a.stride, p.blob_a, p.blob_b);
    for (int32_t k = 0; k < t->shape.layers; k++) {
        geodec_trit_similarity s = {0};
        GEODEC_TRY(geodec_trit_read(&p.a, t->layer[k], p.blob_a, err));
        GEODEC_TRY(geodec_trit_read(&p.b, t->layer[k], p.blob_b, err));
        GEODEC_TRY(geodec_trit_similarity_add(&t->shape, p.blob_a, p.blob_b, &s, err));
        if (each) print_edge(t, e, t->layer[k], 1, p.d.entry[k].bytes, &s);
        add(&all, &s);
        bytes += p.d.entry[k].bytes;
    }
    print_edge(t, e, -1, t->shape.layers, bytes, &all);
    add(total, &all);
    *total_bytes += bytes;
done:
    clear_pair(&p);
    return st;
}

geodec_status ternary_edges(const cli *c, const char *folder, bool each, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit_table t = {0};
    geodec_trit_similarity all = {0};
    int64_t bytes = 0;
    GEODEC_TRY(geodec_trit_table_read(folder, &t, err));
    if (t.n_edges == 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: has no differences; build it with --differences", folder);
    (void)printf("a\tb\tlayer\tp\tbytes\tshare\tfloor\tzeros_a\tzeros_b\tp_shifted\tp_independent\n");
    for (int32_t i = 0; i < t.n_edges; i++) {
        GEODEC_TRY(geodec_hooks_progress(&c->hooks, "edges", i, t.n_edges, err));
        GEODEC_TRY(measure_edge(&t, folder, i, each, &all, &bytes, err));
    }
    const double n = (double)all.weights;
    const double full = (double)geodec_trit_payload_bytes(&t.shape) * t.shape.layers * t.n_edges;
    cli_say(c,
            "%d edges: p %.3f %%, differences %.1f %% of whole experts; controls: shifted %.1f %%, independent %.1f %%",
            t.n_edges, 100 * (double)all.changed / n, 100 * (double)bytes / full, 100 * (double)all.shifted / n,
            100 * geodec_trit_similarity_independent(&all));
done:
    geodec_trit_table_clear(&t);
    return st;
}

/* ---- types of GGUF ---------------------------------------------------------------------------------------------- */

geodec_status ternary_convert(const cli *c, const char *model, const char *out, int type, bool lossy, geodec_err *err)
{
    geodec_gguf *in = NULL;
    geodec_ternary_retyped r = {0};
    GEODEC_PASS(cli_may_write(c, out, err));
    GEODEC_PASS(geodec_gguf_open(model, &in, err));
    const geodec_status st = geodec_ternary_retype(in, out, type, lossy, c->pool, &c->hooks, &r, err);
    geodec_gguf_close(in);
    GEODEC_PASS_MSG(st, "%s", r.refused ? "without --lossy" : "");
    (void)printf("type\t%s\ntensors\t%lld\nweights\t%lld\nzeros\t%.6f\n", geodec_ggml_type_name(type),
                 (long long)r.tensors, (long long)r.weights, (double)r.zeros / (double)r.weights);
    (void)printf("bytes_before\t%lld\nbytes_after\t%lld\nlargest_relative_error\t%.6g\n", (long long)r.before,
                 (long long)r.after, r.error);
    cli_say(c, "%lld tensors of experts in %s, %.1f MB before, %.1f MB now, %s -> %s", (long long)r.tensors,
            geodec_ggml_type_name(type), megabytes(r.before), megabytes(r.after),
            r.error > 0 ? "scales rounded" : "exact", out);
    return GEODEC_OK;
}

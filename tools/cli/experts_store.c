#include "cli/experts_store.h"

#include "base/mem.h"
#include "gguf/gguf.h"
#include "session/arithmetic.h"
#include "session/store_build.h"
#include "session/store_golden.h"
#include "streaming/store.h"

#include <stdio.h>
#include <string.h>

static geodec_status default_name(const char *model, char **out, geodec_err *err)
{
    const size_t n = strlen(model), ext = sizeof ".gguf" - 1;
    const int stem = n > ext && strcmp(model + n - ext, ".gguf") == 0 ? (int)(n - ext) : (int)n;
    GEODEC_PASS(geodec_mem_print(out, err, "%.*s.experts", stem, model));
    return GEODEC_OK;
}

static double megabytes(int64_t n) { return (double)n / 1e6; }

geodec_status experts_build(const cli *c, const char *model, const char *out, const char *arithmetic, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_store s = {0};
    char *made = NULL;
    if (!out[0]) GEODEC_TRY(default_name(model, &made, err));
    const char *path = made ? made : out;
    GEODEC_TRY(cli_may_write(c, path, err));
    GEODEC_TRY(geodec_model_open(model, &m, err));
    const geodec_arithmetic a = strcmp(arithmetic, "exact") == 0  ? GEODEC_EXACT
                                : strcmp(arithmetic, "fast") == 0 ? GEODEC_FAST
                                                                  : geodec_model_arithmetic(m);
    GEODEC_TRY(geodec_store_build(m, a, path, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_store_read(path, &s, err));
    cli_say(c, "%d layers of %d experts for %s arithmetic, %.1f MB, %.1f MB of them resident -> %s", s.blobs.n_layer,
            s.blobs.n_expert, geodec_arithmetic_name(a), megabytes(s.blobs.file_bytes), megabytes(s.resident_bytes),
            path);
done:
    geodec_store_clear(&s);
    geodec_model_close(m);
    geodec_mem_free(made);
    return st;
}

geodec_status experts_check(const cli *c, const char *store, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store s = {0};
    bool golden = false;
    const geodec_streaming how = {.disk.io = GEODEC_DISK_DIRECT, .limits = ""};
    GEODEC_TRY(geodec_store_verify(store, &c->hooks, err));
    GEODEC_TRY(geodec_store_read(store, &s, err));
    for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
        st = geodec_store_golden_check(store, (geodec_arithmetic)a, &how, c->pool, &golden, err);
        if (st == GEODEC_UNSUPPORTED && a != s.layout) { /* some panels serve one arithmetic only */
            geodec_err_clear(err);
            st = GEODEC_OK;
        }
        GEODEC_TRY(st);
    }
    cli_say(c, "%s: every checksum matches, %s", store,
            golden ? "and the logits of the golden prompt do"
                   : "and the logits of a prompt are finite (the store has no golden prompt)");
done:
    geodec_store_clear(&s);
    return st;
}

/* Types of the matrices and their packing: "q4_k panels", one name for every combination that occurs. */
static void print_matrices(const geodec_store *s)
{
    static const char *const name[] = {"gate", "up", "down"};
    const int64_t n = (int64_t)s->blobs.n_layer * GEODEC_STORE_MATRICES;
    for (int64_t i = 0; i < n; i++) {
        const geodec_store_matrix *m = &s->matrix[i];
        int64_t layers = 0;
        bool seen = m->rows == 0;
        for (int64_t k = i % GEODEC_STORE_MATRICES; k < n && !seen; k += GEODEC_STORE_MATRICES) {
            const geodec_store_matrix *o = &s->matrix[k];
            const bool same = o->type == m->type && o->packing == m->packing && o->rows == m->rows;
            seen = same && k < i;
            layers += same;
        }
        if (seen) continue;
        (void)printf("%s\t%s %s, %lld x %lld, %lld bytes, in %lld layers\n", name[i % GEODEC_STORE_MATRICES],
                     geodec_ggml_type_name(m->type), m->packing ? "panels" : "rows", (long long)m->rows,
                     (long long)m->cols, (long long)m->bytes, (long long)layers);
    }
}

geodec_status experts_info(const cli *c, const char *store, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store s = {0};
    geodec_gguf *g = NULL;
    (void)c;
    GEODEC_TRY(geodec_store_read(store, &s, err));
    GEODEC_TRY(geodec_gguf_open_part(store, s.resident_offset, s.resident_bytes, &g, err));
    const geodec_blobs *b = &s.blobs;
    int32_t routed = 0;
    int64_t bytes = 0, least = INT64_MAX, most = 0;
    for (int32_t i = 0; i < b->n_layer; i++) {
        const int64_t one = geodec_blobs_at(b, i, 0)->bytes;
        if (!one) continue;
        routed++;
        bytes += one * b->n_expert;
        least = one < least ? one : least;
        most = one > most ? one : most;
    }
    (void)printf("layout\t%s\n", geodec_arithmetic_name((geodec_arithmetic)s.layout));
    (void)printf("layers\t%d\nlayers_with_experts\t%d\nexperts\t%d\n", b->n_layer, routed, b->n_expert);
    (void)printf("file_bytes\t%lld\nresident_bytes\t%lld\nexpert_bytes\t%lld\n", (long long)b->file_bytes,
                 (long long)s.resident_bytes, (long long)bytes);
    (void)printf("bytes_of_an_expert\t%lld", (long long)(routed ? least : 0));
    (void)(most > least ? printf(" to %lld\n", (long long)most) : printf("\n"));
    (void)printf("slot_bytes\t%lld\nresident_tensors\t%lld\n", (long long)b->slot_bytes,
                 (long long)geodec_gguf_n_tensors(g));
    print_matrices(&s);
    (void)printf("fingerprint\t%s\ngolden_tokens\t%d\n", s.fingerprint, s.golden.n);
done:
    geodec_gguf_close(g);
    geodec_store_clear(&s);
    return st;
}

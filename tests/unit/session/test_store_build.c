/* Stores of small models: the same weights in every form of file bind alike, blobs are the panels that the kernels use,
 * and what the source of experts describes is what a read brings into a slot. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "io/file.h"
#include "session/arch_internal.h"
#include "session/arithmetic.h"
#include "session/expert_source_internal.h"
#include "session/families.h"
#include "session/store_build.h"
#include "session/store_golden.h"
#include "streaming/store_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

typedef enum form { STACKED, SINGLE, FUSED, FORMS } form;
static const char *const form_name[] = {"stacked", "single", "fused"};

static geodec_model *opened(const char *path)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

/* Copies a file with stacked experts into another form; tensors of gate come before those of up. */
typedef struct rewriter {
    const geodec_gguf *g;
    geodec_gguf_writer *w;
    bool stream; /* the second walk: bytes, not plans */
} rewriter;

static void put(const rewriter *r, const geodec_gguf_tensor *t, const char *name, int n_dims, const int64_t *dim,
                size_t from, size_t n)
{
    geodec_err err = {0};
    if (r->stream)
        test_ok(geodec_gguf_stream(r->w, (const uint8_t *)t->data + from, n, &err), &err);
    else
        test_ok(geodec_gguf_plan_tensor(r->w, name, t->type, n_dims, dim, &err), &err);
}

static void walk(const rewriter *r, form to)
{
    for (int64_t i = 0; i < geodec_gguf_n_tensors(r->g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(r->g, i);
        const char *at = strstr(t->name, "_exps.weight");
        char name[128], other[128];
        if (!at || to == STACKED) {
            put(r, t, t->name, t->n_dims, t->dim, 0, t->bytes);
            continue;
        }
        const size_t one = t->bytes / (size_t)t->dim[2];
        const bool gate = strstr(t->name, "ffn_gate_exps"), up = strstr(t->name, "ffn_up_exps");
        const int stem = (int)(at - t->name);
        if (to == SINGLE) {
            for (int e = 0; e < t->dim[2]; e++) {
                (void)snprintf(name, sizeof name, "%.*s.%d.weight", stem, t->name, e);
                put(r, t, name, 2, t->dim, (size_t)e * one, one);
            }
        } else if (gate) {
            const int64_t both[3] = {t->dim[0], 2 * t->dim[1], t->dim[2]};
            const int block = (int)(strstr(t->name, "ffn_gate") - t->name);
            (void)snprintf(other, sizeof other, "%.*sffn_up_exps.weight", block, t->name);
            (void)snprintf(name, sizeof name, "%.*sffn_gate_up_exps.weight", block, t->name);
            if (!r->stream) put(r, t, name, 3, both, 0, 0);
            for (int e = 0; r->stream && e < t->dim[2]; e++) {
                put(r, t, NULL, 0, NULL, (size_t)e * one, one);
                put(r, geodec_gguf_find(r->g, other), NULL, 0, NULL, (size_t)e * one, one);
            }
        } else if (!up) {
            put(r, t, t->name, t->n_dims, t->dim, 0, t->bytes);
        }
    }
}

static void rewrite(const char *from, const char *path, form to)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    rewriter r = {0};
    test_ok(geodec_gguf_open(from, &g, &err), &err);
    r.g = g;
    test_ok(geodec_gguf_writer_create(path, &r.w, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++)
        test_ok(geodec_gguf_put_copy(r.w, g, geodec_gguf_key_at(g, i), &err), &err);
    walk(&r, to);
    r.stream = true;
    walk(&r, to);
    test_ok(geodec_gguf_writer_commit(r.w, &err), &err);
    geodec_gguf_close(g);
}

static const synthetic small = {.n_layer = 2,
                                .d_model = 64,
                                .n_head = 4,
                                .n_kv_head = 2,
                                .d_ff = 96,
                                .n_vocab = 300,
                                .n_ctx = 64,
                                .type = GEODEC_GGML_F16,
                                .n_expert = 6,
                                .n_expert_used = 2,
                                .seed = 31};

/* A model of that type in that form; rows of 256 for the types that need them. */
static char *written(int type, form f)
{
    geodec_err err = {0};
    synthetic s = small;
    char name[64];
    s.type = type;
    if (geodec_ggml_traits_of(type)->block == 256) s.d_model = s.d_ff = 256;
    const char *base = test_tmp("base.gguf");
    test_ok(synthetic_write(base, &s, &err), &err);
    (void)snprintf(name, sizeof name, "%s-%d.gguf", form_name[f], type);
    char *path = geodec_mem_strdup(test_tmp(name));
    rewrite(base, path, f);
    return path;
}

static char *store_of(const char *path, geodec_arithmetic a, geodec_pool *pool)
{
    geodec_err err = {0};
    char *out = NULL;
    geodec_model *m = opened(path);
    test_ok(geodec_mem_print(&out, &err, "%s.%s.experts", path, geodec_arithmetic_name(a)), &err);
    test_ok(geodec_store_build(m, a, out, pool, NULL, &err), &err);
    geodec_model_close(m);
    return out;
}

static float *logits_of(const geodec_model *m, geodec_arithmetic a)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    enum { N = 7 };
    int32_t token[N];
    const int32_t vocab = geodec_model_configuration(m)->n_vocab;
    const geodec_session_options o = {.arithmetic = a, .n_ctx = 32};
    float *x = geodec_mem_new((int64_t)N * vocab, sizeof *x);
    for (int i = 0; i < N; i++) token[i] = 3 + 29 * i % (vocab - 3);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    const geodec_batch b = {.n = N, .token = token};
    test_ok(geodec_forward(s, &b, x, NULL, &err), &err);
    geodec_session_destroy(s);
    return x;
}

Test(model_store_build, every_form_of_a_file_gives_the_same_logits)
{
    static const int types[] = {GEODEC_GGML_F16, GEODEC_GGML_Q8_0, GEODEC_GGML_Q4_0, GEODEC_GGML_Q4_K};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
            float *first = NULL;
            for (form f = STACKED; f < FORMS; f++) {
                char *path = written(types[k], f);
                geodec_model *m = opened(path);
                cr_assert_eq(m->layer[1].gate.rows, m->layer[1].up.rows);
                float *x = logits_of(m, (geodec_arithmetic)a);
                if (!first)
                    first = x;
                else
                    cr_assert_eq(memcmp(x, first, 7 * 300 * sizeof *x), 0, "type %d, %s", types[k], form_name[f]);
                if (x != first) geodec_mem_free(x);
                geodec_model_close(m);
                geodec_mem_free(path);
            }
            geodec_mem_free(first);
        }
}

Test(model_store_build, fused_tensors_are_checked)
{
    geodec_err err = {0};
    char *path = written(GEODEC_GGML_F16, FUSED);
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    cr_assert_null(geodec_gguf_find(g, "blk.0.ffn_gate_exps.weight"));
    /* the same file without the tensor's last expert, and with gate beside it, is refused by name */
    for (int kind = 0; kind < 2; kind++) {
        rewriter r = {.g = g};
        test_ok(geodec_gguf_writer_create(test_tmp("odd.gguf"), &r.w, &err), &err);
        for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++)
            test_ok(geodec_gguf_put_copy(r.w, g, geodec_gguf_key_at(g, i), &err), &err);
        for (int pass = 0; pass < 2; pass++) {
            r.stream = pass;
            for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
                const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
                int64_t dim[3] = {t->dim[0], t->dim[1], t->dim[2]};
                size_t n = t->bytes;
                if (strcmp(t->name, "blk.1.ffn_gate_up_exps.weight") == 0 && kind == 0)
                    n = n / (size_t)dim[2] * (size_t)(dim[2] - 1), dim[2]--;
                put(&r, t, t->name, t->n_dims, dim, 0, n);
            }
            const geodec_gguf_tensor *down = geodec_gguf_find(g, "blk.0.ffn_down_exps.weight");
            if (kind == 1) put(&r, down, "blk.0.ffn_gate_exps.weight", 3, down->dim, 0, down->bytes);
        }
        test_ok(geodec_gguf_writer_commit(r.w, &err), &err);
        char line[400];
        geodec_err why = {0};
        cr_assert_eq(geodec_model_open(test_tmp("odd.gguf"), &m, &why), kind ? GEODEC_UNSUPPORTED : GEODEC_FORMAT);
        cr_assert(strstr(geodec_err_line(&why, line, sizeof line),
                         kind ? "blk.0.ffn_gate_exps.weight" : "blk.1.ffn_gate_up_exps.weight"),
                  "%s", line);
    }
    geodec_gguf_close(g);
    geodec_mem_free(path);
}

/* The matrix as the kernels take it: panels of the arithmetic, or rows. Caller frees. */
static uint8_t *as_multiplied(const geodec__matrix *w, geodec_arithmetic a, int64_t *n)
{
    const geodec__panel_format *f = geodec__panel_format_in(a, w->type);
    *n = f ? geodec__expert_panels_bytes(f, w->rows, w->cols) : w->rows * w->row_bytes;
    uint8_t *out = geodec_mem_new(*n, 1);
    const int64_t panels = geodec__panels_count(w->rows);
    if (!f) memcpy(out, w->data, (size_t)*n);
    for (int64_t i = 0; f && i < panels; i++) geodec__panel_pack(f, w, i, out + i * (*n / panels));
    return out;
}

static const geodec__matrix *of_layer(const geodec__layer *l, int k)
{
    return k == 0 ? &l->gate : k == 1 ? &l->up : &l->down;
}

static void read_slot(int fd, const geodec_blob_piece *piece, int64_t file_bytes, uint8_t *slot)
{
    for (int i = 0; i < GEODEC_BLOB_PIECES; i++) {
        const int64_t from = piece[i].offset / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE, room = geodec_blobs_room(&piece[i]);
        const int64_t n = room < file_bytes - from ? room : file_bytes - from;
        if (room) cr_assert_eq(pread(fd, slot, (size_t)n, from), n);
        slot += room;
    }
}

/* Reads every expert as a stream does, and compares what is found in the slot with the original's matrices. */
static void check_source(const geodec_model *original, const geodec_model *m, geodec_arithmetic a, int pieces)
{
    geodec_err err = {0};
    geodec__expert_source s = {0};
    test_ok(geodec__expert_source_open(m, a, &s, &err), &err);
    uint8_t *slot = geodec_mem_new(s.blobs.slot_bytes, 1), *spare = geodec_mem_new(s.blobs.slot_bytes, 1);
    const int fd = open(s.blobs.path, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(s.blobs.file_bytes, lseek(fd, 0, SEEK_END));
    cr_assert_eq(s.blobs.slot_bytes % GEODEC_BLOB_PAGE, 0);
    cr_assert_eq(s.blobs.crc != NULL, m->store != NULL);
    for (int32_t l = 0; l < s.n_layer; l++)
        for (int32_t e = 0; e < s.n_expert; e++) {
            const geodec_blob_piece *piece = geodec_blobs_at(&s.blobs, l, e);
            int n_pieces = 0;
            while (n_pieces < GEODEC_BLOB_PIECES && piece[n_pieces].bytes) n_pieces++;
            cr_assert_eq(n_pieces, pieces);
            memset(slot, 0xa5, (size_t)s.blobs.slot_bytes);
            read_slot(fd, piece, s.blobs.file_bytes, slot);
            if (m->store) cr_assert_eq(geodec_crc32c(0, slot, piece->bytes), s.blobs.crc[l * s.n_expert + e]);
            memset(spare, 0x5a, (size_t)s.blobs.slot_bytes);
            if (s.pack[l]) geodec__expert_source_pack(&s, l, e, slot, spare, NULL);
            const uint8_t *data = s.pack[l] ? spare : slot;
            for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
                int64_t n;
                geodec__panels panels;
                const geodec__matrix from = geodec__expert(of_layer(&original->layer[l], k), e),
                                     got = geodec__expert_source_find(&s, l, e, k, data, &panels);
                uint8_t *want = as_multiplied(&from, a, &n);
                cr_assert(got.data >= data && got.data + n <= data + s.blobs.slot_bytes);
                cr_assert_eq(memcmp(got.data, want, (size_t)n), 0, "layer %d, expert %d, matrix %d", l, e, k);
                cr_assert(got.type == from.type && got.rows == from.rows && got.cols == from.cols &&
                          got.row_bytes == from.row_bytes);
                cr_assert_eq(panels.format, geodec__panel_format_in(a, from.type));
                if (panels.format)
                    cr_assert(panels.data == got.data &&
                              geodec__panel_bytes(&panels) * geodec__panels_count(panels.rows) == n);
                geodec_mem_free(want);
            }
        }
    (void)close(fd);
    GEODEC_FREE(slot, spare);
    geodec__expert_source_clear(&s);
}

Test(model_store_build, a_read_brings_what_is_multiplied)
{
    static const int types[] = {GEODEC_GGML_F32,  GEODEC_GGML_F16,  GEODEC_GGML_BF16, GEODEC_GGML_Q8_0,
                                GEODEC_GGML_Q4_0, GEODEC_GGML_Q5_1, GEODEC_GGML_Q4_K, GEODEC_GGML_Q6_K};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (form f = STACKED; f < FORMS; f++) {
            if (f != STACKED && k > 4) continue;
            char *path = written(types[k], f);
            geodec_model *m = opened(path);
            for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
                check_source(m, m, (geodec_arithmetic)a, f == FUSED ? 2 : 3);
                char *store = store_of(path, (geodec_arithmetic)a, NULL);
                geodec_model *stored = opened(store);
                geodec_err err = {0};
                test_ok(geodec_store_verify(store, NULL, &err), &err);
                check_source(m, stored, (geodec_arithmetic)a, 1);
                /* a store for exact arithmetic serves fast too; the other way only without panels of its own */
                if (a == GEODEC_EXACT)
                    check_source(m, stored, GEODEC_FAST, 1);
                else if (types[k] == GEODEC_GGML_Q8_0)
                    cr_assert_eq(geodec__expert_source_open(stored, GEODEC_EXACT, &(geodec__expert_source){0}, NULL),
                                 GEODEC_UNSUPPORTED);
                else
                    check_source(m, stored, GEODEC_EXACT, 1);
                geodec_model_close(stored);
                geodec_mem_free(store);
            }
            geodec_model_close(m);
            geodec_mem_free(path);
        }
}

Test(model_store_build, a_store_is_the_model_it_was_built_from)
{
    char *path = written(GEODEC_GGML_Q4_0, STACKED), *store = store_of(path, GEODEC_FAST, NULL);
    geodec_model *m = opened(path), *s = opened(store);
    const geodec_gguf *g = geodec_model_gguf(m), *r = geodec_model_gguf(s);
    geodec_model_config a = m->config, b = s->config;
    cr_assert_eq(a.arch, b.arch);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_str_eq(geodec_model_fingerprint(m), geodec_model_fingerprint(s));
    char digest[GEODEC_SHA256_HEX];
    geodec_gguf_tensor_digest(g, digest);
    cr_assert_str_eq(geodec_model_fingerprint(s), digest);
    cr_assert_str_eq(geodec_tokenizer_fingerprint(m->tokenizer), geodec_tokenizer_fingerprint(s->tokenizer));
    cr_assert_eq(geodec_model_block_share(m), geodec_model_block_share(s));
    cr_assert_eq(geodec_gguf_n_keys(g), geodec_gguf_n_keys(r));
    cr_assert_eq(geodec_gguf_n_tensors(r), geodec_gguf_n_tensors(g) - 3 * small.n_layer);
    int64_t experts = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i), *u = geodec_gguf_find(r, t->name);
        if (strstr(t->name, "_exps")) {
            cr_assert_null(u);
            experts += (int64_t)t->bytes;
            continue;
        }
        cr_assert(u && u->type == t->type && u->bytes == t->bytes && memcmp(u->dim, t->dim, sizeof t->dim) == 0);
        cr_assert_eq(memcmp(u->data, t->data, t->bytes), 0);
        cr_assert_eq(geodec_gguf_offset(r, u->data) % 32, 0);
    }
    cr_assert_eq(geodec_model_store_bytes(s), experts);
    cr_assert_eq(geodec_model_store_bytes(m), 0);
    geodec_gguf_release_all(r, NULL, 0); /* pages of a part of a file come back */
    const geodec_gguf_tensor *t = geodec_gguf_find(r, "token_embd.weight");
    cr_assert_eq(memcmp(t->data, geodec_gguf_find(g, t->name)->data, t->bytes), 0);
    geodec_model_close(m);
    geodec_model_close(s);
    GEODEC_FREE(path, store);
}

Test(model_store_build, what_needs_the_experts_refuses_a_store)
{
    geodec_err err = {0};
    char line[400];
    char *path = written(GEODEC_GGML_F16, STACKED), *store = store_of(path, GEODEC_EXACT, NULL);
    geodec_model *s = opened(store);
    geodec_session *session = NULL;
    geodec_gguf *g = NULL;
    cr_assert_eq(geodec_session_create(s, NULL, &session, &err), GEODEC_UNSUPPORTED);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "is a store of experts"), "%s", line);
    cr_assert_eq(geodec_store_build(s, GEODEC_EXACT, test_tmp("again.experts"), NULL, NULL, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_gguf_open(store, &g, &err), GEODEC_UNSUPPORTED);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "is a store of experts"), "%s", line);
    cr_assert_not_null(geodec__model_peculiarity(s));
    geodec_model_close(s);
    /* and dense models have no store */
    synthetic dense = small;
    dense.n_expert = dense.n_expert_used = 0;
    test_ok(synthetic_write(test_tmp("dense.gguf"), &dense, &err), &err);
    s = opened(test_tmp("dense.gguf"));
    cr_assert_eq(geodec_store_build(s, GEODEC_EXACT, test_tmp("again.experts"), NULL, NULL, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec__expert_source_open(s, GEODEC_EXACT, &(geodec__expert_source){0}, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(access(test_tmp("again.experts"), F_OK), -1);
    geodec_model_close(s);
    GEODEC_FREE(path, store);
}

static uint8_t *slurp(const char *path, int64_t *n)
{
    char *text = NULL;
    size_t size = 0;
    geodec_err err = {0};
    test_ok(geodec_file_read(path, 1 << 26, &text, &size, &err), &err);
    *n = (int64_t)size;
    return (uint8_t *)text;
}

Test(model_store_build, the_same_bytes_with_any_number_of_threads)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    int64_t n, k;
    char *path = written(GEODEC_GGML_Q4_K, STACKED), *store = store_of(path, GEODEC_FAST, NULL);
    uint8_t *one = slurp(store, &n);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    geodec_mem_free(store);
    store = store_of(path, GEODEC_FAST, pool);
    uint8_t *three = slurp(store, &k);
    cr_assert(n == k && memcmp(one, three, (size_t)n) == 0);
    geodec_pool_destroy(pool);
    GEODEC_FREE(path, store, one, three);
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)total;
    return strcmp(what, ctx) == 0 && done >= 3;
}

Test(model_store_build, an_interrupted_or_failed_build_leaves_nothing)
{
    char *path = written(GEODEC_GGML_F16, STACKED);
    geodec_model *m = opened(path);
    const char *out = test_tmp("left.experts");
    const int others = test_other_files(out);
    static char resident[] = "resident tensors", experts[] = "experts";
    for (int k = 0; k < 2; k++) {
        const geodec_hooks hooks = {.ctx = k ? experts : resident, .progress = stop};
        cr_assert_eq(geodec_store_build(m, GEODEC_EXACT, out, NULL, &hooks, NULL), GEODEC_INTERRUPTED);
        cr_assert(access(out, F_OK) != 0 && test_other_files(out) == others);
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit was;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    for (rlim_t most = 1000; most < 600000; most += 83001) {
        const struct rlimit limit = {most, was.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const geodec_status st = geodec_store_build(m, GEODEC_EXACT, out, NULL, NULL, NULL);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
        cr_assert_eq(st, GEODEC_IO, "%llu", (unsigned long long)most);
        cr_assert(access(out, F_OK) != 0 && test_other_files(out) == others);
    }
    geodec_status st = GEODEC_NOMEM;
    for (int64_t k = 1; st != GEODEC_OK && k < 2000; k++) {
        geodec_mem_fail_after(k);
        st = geodec_store_build(m, GEODEC_EXACT, out, NULL, NULL, NULL);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || (st == GEODEC_NOMEM && access(out, F_OK) != 0 && test_other_files(out) == others));
    }
    cr_assert_eq(st, GEODEC_OK);
    geodec_model_close(m);
    geodec_mem_free(path);
}

/* Checksums that match do not make a matrix of the wrong type or shape acceptable. */
Test(model_store_build, an_index_that_does_not_fit_the_keys_is_refused)
{
    geodec_model *m = NULL;
    int64_t n;
    char *path = written(GEODEC_GGML_Q8_0, STACKED), *store = store_of(path, GEODEC_FAST, NULL);
    uint8_t *p = slurp(store, &n);
    static const struct {
        int64_t at;
        int64_t v;
        size_t width;
    } change[] = {{GEODEC__STORE_HEADER, GEODEC_GGML_F16, 4}, /* type */
                  {GEODEC__STORE_HEADER, 9999, 4},
                  {GEODEC__STORE_HEADER + 8, 97, 8},
                  {GEODEC__STORE_HEADER + 16, 65, 8},
                  {GEODEC__STORE_HEADER + 16, 64 + 32, 8},
                  {GEODEC__STORE_AT_LAYOUT, GEODEC_EXACT, 4}};
    for (size_t k = 0; k < sizeof change / sizeof *change; k++) {
        int64_t was;
        memcpy(&was, p + change[k].at, sizeof was);
        memcpy(p + change[k].at, &change[k].v, change[k].width);
        const int64_t index = geodec__store_i64(p + GEODEC__STORE_AT_INDEX_BYTES);
        uint32_t crc = geodec_crc32c(0, p + GEODEC__STORE_HEADER, index);
        geodec__store_put(p + GEODEC__STORE_AT_INDEX_CRC, &crc, 4);
        crc = geodec_crc32c(0, p, GEODEC__STORE_AT_CRC);
        geodec__store_put(p + GEODEC__STORE_AT_CRC, &crc, 4);
        FILE *f = fopen(store, "wb");
        cr_assert(f && fwrite(p, 1, (size_t)n, f) == (size_t)n && fclose(f) == 0);
        cr_assert_eq(geodec_model_open(store, &m, NULL), GEODEC_FORMAT, "change %zu", k);
        memcpy(p + change[k].at, &was, sizeof was);
    }
    GEODEC_FREE(p, path, store);
}

/* A trained mixture, and one whose down matrices are of another type. */
Test(model_store_build, shared_mixtures)
{
    static const char *const names[] = {"models/stories-moe8x2-q4_0.gguf", "models/stories-moe8x2-rot256-q4_k_m.gguf",
                                        "models/stories-moe8x2-f16.gguf"};
    const char *found[3];
    for (int i = 0; i < 3; i++) found[i] = test_shared(names[i]);
    for (int i = 0; i < 3; i++) {
        geodec_err err = {0};
        geodec_model *m = opened(found[i]);
        const geodec_arithmetic a = geodec_model_arithmetic(m);
        const char *store = test_tmp("shared.experts");
        test_ok(geodec_store_build(m, a, store, NULL, NULL, &err), &err);
        test_ok(geodec_store_verify(store, NULL, &err), &err);
        geodec_model *s = opened(store);
        cr_assert_eq(geodec_model_arithmetic(s), a);
        cr_assert_str_eq(geodec_model_fingerprint(s), geodec_model_fingerprint(m));
        check_source(m, s, a, 1);
        check_source(m, m, a, 3);
        geodec_model_close(s);
        geodec_model_close(m);
    }
}

/* ---- the golden prompt ------------------------------------------------------------------------------------------- */

/* n bytes of the header at `at` are replaced; its CRC is right again. */
static void patch(const char *path, int64_t at, const void *with, size_t n)
{
    uint8_t h[GEODEC__STORE_HEADER];
    FILE *f = fopen(path, "r+b");
    cr_assert(f && fread(h, 1, sizeof h, f) == sizeof h);
    memcpy(h + at, with, n);
    const uint32_t crc = geodec_crc32c(0, h, GEODEC__STORE_AT_CRC);
    geodec__store_put(h + GEODEC__STORE_AT_CRC, &crc, 4);
    cr_assert(fseek(f, 0, SEEK_SET) == 0 && fwrite(h, 1, sizeof h, f) == sizeof h && fclose(f) == 0);
}

static geodec_status golden_of(const char *path, geodec_arithmetic a, geodec_pool *pool, bool *golden, char *line,
                               size_t n)
{
    geodec_err err = {0};
    const geodec_streaming how = {0};
    const geodec_status st = geodec_store_golden_check(path, a, &how, pool, golden, &err);
    (void)geodec_err_line(&err, line, n);
    return st;
}

Test(model_store_build, the_golden_prompt_is_that_of_the_model)
{
    static const int types[] = {GEODEC_GGML_F16, GEODEC_GGML_Q8_0, GEODEC_GGML_Q4_0, GEODEC_GGML_Q4_K};
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    char line[600];
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int layout = 0; layout < GEODEC_ARITHMETICS; layout++) {
            char *path = written(types[k], STACKED), *store = store_of(path, (geodec_arithmetic)layout, pool);
            int served = 0;
            for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
                bool golden = false;
                geodec_status st =
                    golden_of(store, (geodec_arithmetic)a, k % 2 ? pool : NULL, &golden, line, sizeof line);
                if (st == GEODEC_UNSUPPORTED) continue; /* panels for fast arithmetic */
                cr_assert(st == GEODEC_OK && golden, "%s", line);
                st = golden_of(path, (geodec_arithmetic)a, NULL, &golden, line, sizeof line);
                cr_assert(st == GEODEC_OK && !golden, "%s", line);
                served++;
            }
            cr_assert_eq(served, layout == GEODEC_FAST && types[k] == GEODEC_GGML_Q8_0 ? 1 : 2);
            GEODEC_FREE(path, store);
        }
    geodec_pool_destroy(pool);
}

Test(model_store_build, another_golden_prompt_is_found_and_an_old_store_has_none)
{
    geodec_store s = {0};
    geodec_err err = {0};
    char line[600];
    bool golden = true;
    char *path = written(GEODEC_GGML_Q4_0, STACKED), *store = store_of(path, GEODEC_EXACT, NULL);
    test_ok(geodec_store_read(store, &s, &err), &err);
    const geodec_store_golden was = s.golden;
    cr_assert_eq(was.n, GEODEC_STORE_GOLDEN);
    cr_assert_neq(was.crc[GEODEC_EXACT], was.crc[GEODEC_FAST]);
    geodec_store_clear(&s);
    for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
        const uint32_t other = was.crc[a] ^ 1;
        patch(store, GEODEC__STORE_AT_GOLDEN + 4 + 4 * a, &other, 4);
        cr_assert_eq(golden_of(store, (geodec_arithmetic)a, NULL, &golden, line, sizeof line), GEODEC_CHECKSUM);
        cr_assert(strstr(line, store) && strstr(line, "golden prompt") && strstr(line, a ? "in fast" : "in exact"),
                  "%s", line);
        patch(store, GEODEC__STORE_AT_GOLDEN + 4 + 4 * a, &was.crc[a], 4);
        cr_assert_eq(golden_of(store, (geodec_arithmetic)a, NULL, &golden, line, sizeof line), GEODEC_OK);
    }
    /* a token outside of the vocabulary, too many tokens */
    const int32_t outside = 1 << 20, many = GEODEC_STORE_GOLDEN + 1, none = 0, later = 7;
    patch(store, GEODEC__STORE_AT_GOLDEN + 12, &outside, 4);
    cr_assert_eq(golden_of(store, GEODEC_EXACT, NULL, &golden, line, sizeof line), GEODEC_RANGE);
    patch(store, GEODEC__STORE_AT_GOLDEN + 12, was.token, 4);
    patch(store, GEODEC__STORE_AT_GOLDEN, &many, 4);
    cr_assert_eq(geodec_store_read(store, &s, &err), GEODEC_FORMAT);
    /* a later minor version is read, an earlier one has no golden prompt */
    patch(store, GEODEC__STORE_AT_GOLDEN, &was.n, 4);
    patch(store, GEODEC__STORE_AT_MINOR, &later, 4);
    cr_assert(golden_of(store, GEODEC_EXACT, NULL, &golden, line, sizeof line) == GEODEC_OK && golden);
    patch(store, GEODEC__STORE_AT_MINOR, &none, 4);
    cr_assert(golden_of(store, GEODEC_EXACT, NULL, &golden, line, sizeof line) == GEODEC_OK && !golden, "%s", line);
    GEODEC_FREE(path, store);
}

/* The resident part is not read by expert, so only this check finds its damage; an expert's is found by its own sum. */
Test(model_store_build, a_check_finds_damage_of_the_resident_part)
{
    geodec_store s = {0};
    geodec_err err = {0};
    char line[600];
    bool golden;
    char *path = written(GEODEC_GGML_F16, STACKED), *store = store_of(path, GEODEC_EXACT, NULL);
    test_ok(geodec_store_read(store, &s, &err), &err);
    FILE *f = fopen(store, "r+b");
    const long at = (long)(s.resident_offset + s.resident_bytes - 5);
    cr_assert(f && fseek(f, at, SEEK_SET) == 0);
    const int byte = fgetc(f);
    cr_assert(fseek(f, at, SEEK_SET) == 0 && fputc(byte ^ 4, f) != EOF && fclose(f) == 0);
    cr_assert_eq(golden_of(store, GEODEC_EXACT, NULL, &golden, line, sizeof line), GEODEC_CHECKSUM);
    cr_assert(strstr(line, store) && strstr(line, "the resident part"), "%s", line);
    geodec_store_clear(&s);
    GEODEC_FREE(path, store);
}

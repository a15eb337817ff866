/* Shards: read back by a reader of the test's own, compared with the artifact, resumed after a kill, refused when they
 * belong to something else. */
#include "base/f16.h"
#include "base/mem.h"
#include "chain/activations.h"
#include "decode/tiny.h"
#include "export/export.h"
#include "io/file.h"
#include "io/json.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    "1 5 9 13 17 21 25 29 3 7 11\n\n1 4\n1 6 8 10 12 14 16\n1 9 9 8\n1 2 3 4 5 6 7 8 9 10 11 12 13\n";
static const int32_t layers[] = {0, 2};

static geodec_model *open_tiny(void)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("shards.gguf", 5), &m, &err), &err);
    return m;
}

static geodec_export_options options(void)
{
    return (geodec_export_options){.n_layers = 2, .layer = layers, .window = 6, .top_m = 2};
}

static const geodec_provenance provenance = {.tool = "test", .command_line = "test"};

static geodec_status shards(const geodec_model *m, const geodec_export_options *o, const char *folder, int64_t tokens,
                            bool replace, bool unfinished, int threads, const geodec_hooks *hooks,
                            geodec_export_summary *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pool *pool = NULL;
    geodec_export_source source = {0};
    const geodec_export_sharding g = {folder, tokens, &provenance, replace, unfinished};
    if (threads > 1) GEODEC_TRY(geodec_pool_create(threads, &pool, err));
    GEODEC_TRY(geodec_export_source_tokens("tokens", text, strlen(text), geodec_model_configuration(m)->n_vocab,
                                           &source, err));
    GEODEC_TRY(geodec_export_shards(m, o, &source, &g, sum, pool, hooks, err));
done:
    geodec_export_source_close(&source);
    geodec_pool_destroy(pool);
    return st;
}

static void artifact(const geodec_model *m, const geodec_export_options *o, const char *path)
{
    geodec_err err = {0};
    geodec_export_source source = {0};
    geodec_artifact *a = NULL;
    test_ok(geodec_export_source_tokens("tokens", text, strlen(text), geodec_model_configuration(m)->n_vocab, &source,
                                        &err),
            &err);
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_export_run(m, o, &source, a, NULL, NULL, NULL, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_export_source_close(&source);
}

/* ---- a reader without code of the library ------------------------------------------------------------ */

/* Bytes of a tensor in a safetensors file: the header is searched as text. Caller frees. */
static char *tensor_bytes(const char *path, const char *name, const char *dtype, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s", path);
    unsigned char size[8];
    cr_assert_eq(fread(size, 1, 8, f), 8);
    size_t length = 0;
    for (int i = 0; i < 8; i++) length |= (size_t)size[i] << (8 * i);
    cr_assert_eq((8 + length) % 8, 0, "data begin at a multiple of eight");
    char *header = calloc(length + 1, 1), quoted[160];
    cr_assert_eq(fread(header, 1, length, f), length);
    cr_assert_eq(header[0], '{');
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", name);
    const char *at = strstr(header, quoted);
    cr_assert(at, "%s in %s", name, path);
    const char *type = strstr(at, "\"dtype\""), *offsets = strstr(at, "\"data_offsets\"");
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", dtype);
    const char *word = strchr(type + 7, '"');
    cr_assert_eq(strncmp(word, quoted, strlen(quoted)), 0, "%s is %s", name, dtype);
    char *end;
    const long begin = strtol(strchr(offsets, '[') + 1, &end, 10), stop = strtol(strchr(end, ',') + 1, NULL, 10);
    *n = (size_t)(stop - begin);
    char *data = malloc(*n + 1);
    cr_assert_eq(fseek(f, (long)(8 + length) + begin, SEEK_SET), 0);
    cr_assert_eq(fread(data, 1, *n, f), *n);
    (void)fclose(f);
    free(header);
    return data;
}

/* A column over all shards of the index. */
static char *column_bytes(const char *folder, const char *name, const char *dtype, int64_t n_shards, size_t *n)
{
    geodec_err err = {0};
    geodec_json *index = NULL;
    char path[1024], tensor[128], *all = NULL;
    (void)snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    test_ok(geodec_json_read(path, 1 << 20, &index, &err), &err);
    *n = 0;
    for (int64_t k = 1; k <= n_shards; k++) {
        const char *file;
        size_t more;
        (void)snprintf(tensor, sizeof tensor, "%s.shard.%05d", name, (int)k);
        test_ok(geodec_json_get_str(geodec_json_member(index, "weight_map"), tensor, &file, &err), &err);
        (void)snprintf(path, sizeof path, "%s/%s", folder, file);
        char *data = tensor_bytes(path, tensor, dtype, &more);
        all = realloc(all, *n + more + 1);
        memcpy(all + *n, data, more);
        *n += more;
        free(data);
    }
    geodec_json_free(index);
    return all;
}

static void same_column(const geodec_artifact *a, const char *path, const char *folder, const char *name,
                        const char *dtype, int64_t n_shards, size_t element)
{
    geodec_err err = {0};
    int64_t shape[6], count = 1;
    int rank;
    size_t n;
    void *field;
    test_ok(geodec_artifact_shape(a, path, shape, &rank, &err), &err);
    test_ok(geodec_artifact_read(a, path, &field, &err), &err);
    for (int d = 0; d < rank; d++) count *= shape[d];
    char *all = column_bytes(folder, name, dtype, n_shards, &n);
    cr_assert_eq(n, (size_t)count * element, "%s: %zu bytes", name, n);
    cr_assert_eq(memcmp(all, field, n), 0, "%s", name);
    free(all);
    geodec_mem_free(field);
}

/* The names of the layers in the index. */
static void check_hooks(const char *folder, const geodec_export_options *o)
{
    geodec_err err = {0};
    geodec_json *index = NULL;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    test_ok(geodec_json_read(path, 1 << 20, &index, &err), &err);
    const geodec_json *hooks = geodec_json_member(geodec_json_member(index, "metadata"), "hooks");
    for (int32_t l = 0; l < o->n_layers; l++) {
        static const char *const want[] = {"blocks.0.hook_resid_pre", "blocks.0.hook_resid_post",
                                           "blocks.1.hook_resid_post"};
        char name[32];
        const char *hook = NULL;
        (void)snprintf(name, sizeof name, "layer.%d", o->layer[l]);
        test_ok(geodec_json_get_str(hooks, name, &hook, &err), &err);
        cr_assert_str_eq(hook, want[o->layer[l]]);
    }
    geodec_json_free(index);
}

/* Shards in `folder` have the contents of the artifact. */
static void same_as_artifact(const geodec_artifact *a, const geodec_export_options *o, const char *folder, int64_t n)
{
    geodec_err err = {0};
    same_column(a, "/token", folder, "token", "I32", n, 4);
    same_column(a, "/position", folder, "position", "I32", n, 4);
    same_column(a, "/sequence", folder, "sequence", "I32", n, 4);
    same_column(a, "/document", folder, "document", "I32", n, 4);
    same_column(a, "/next_token", folder, "next_token", "I32", n, 4);
    same_column(a, "/argmax", folder, "argmax", "I32", n, 4);
    same_column(a, "/top_index", folder, "top_index", "I32", n, 4);
    same_column(a, "/top_logit", folder, "top_logit", "F32", n, 4);
    const size_t size = o->half ? 2 : 4;
    check_hooks(folder, o);
    int64_t shape[6];
    int rank;
    char *state;
    const char *path = o->half ? "/state_f16" : "/state";
    test_ok(geodec_artifact_shape(a, path, shape, &rank, &err), &err);
    test_ok(geodec_artifact_read(a, path, &state, &err), &err);
    for (int32_t l = 0; l < o->n_layers; l++) {
        char name[32];
        size_t bytes;
        const size_t d = (size_t)shape[2] * size;
        (void)snprintf(name, sizeof name, "layer.%d", o->layer[l]);
        char *all = column_bytes(folder, name, o->half ? "F16" : "F32", n, &bytes);
        cr_assert_eq(bytes, (size_t)shape[0] * d);
        for (int64_t r = 0; r < shape[0]; r++)
            cr_assert_eq(memcmp(all + (size_t)r * d, state + (size_t)(r * shape[1] + l) * d, d), 0, "%s row %d", name,
                         (int)r);
        free(all);
    }
    geodec_mem_free(state);
}

Test(shards, hold_what_the_artifact_holds)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const geodec_export_positions which[] = {GEODEC_EXPORT_ALL, GEODEC_EXPORT_LAST, GEODEC_EXPORT_EVERY,
                                             GEODEC_EXPORT_RANGE};
    for (int i = 0; i < 8; i++) {
        char name[32];
        geodec_export_options o = options();
        geodec_export_summary sum;
        geodec_artifact *a = NULL;
        o.half = i & 1;
        o.positions = which[i / 2];
        o.every = 3;
        o.from = 2;
        o.to = 8;
        (void)snprintf(name, sizeof name, "a%d.h5", i);
        artifact(m, &o, test_tmp(name));
        test_ok(geodec_artifact_open(&geodec_activations_kind, test_tmp(name), &a, &err), &err);
        (void)snprintf(name, sizeof name, "shards%d", i);
        test_ok(shards(m, &o, test_tmp(name), 10, false, false, 3, NULL, &sum, &err), &err);
        cr_assert_gt(sum.shards, 3);
        cr_assert_eq(sum.documents, 5);
        same_as_artifact(a, &o, test_tmp(name), sum.shards);
        geodec_artifact_close(a);
    }
    geodec_model_close(m);
}

Test(shards, positions_count_the_documents_tokens)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    geodec_export_options o = options();
    geodec_export_summary sum;
    size_t n;
    o.positions = GEODEC_EXPORT_LAST;
    test_ok(shards(m, &o, test_tmp("last"), 10, false, false, 1, NULL, &sum, &err), &err);
    int32_t *token = (int32_t *)(void *)column_bytes(test_tmp("last"), "token", "I32", sum.shards, &n);
    const int32_t last[] = {11, 4, 16, 8, 13};
    cr_assert_eq(n, sizeof last);
    cr_assert_eq(memcmp(token, last, n), 0);
    free(token);
    o.positions = GEODEC_EXPORT_EVERY; /* 0, 5, 10 of each document; the BOS repeated in later windows is none */
    o.every = 5;
    test_ok(shards(m, &o, test_tmp("every"), 10, false, false, 1, NULL, &sum, &err), &err);
    token = (int32_t *)(void *)column_bytes(test_tmp("every"), "token", "I32", sum.shards, &n);
    const int32_t every[] = {1, 21, 11, 1, 1, 14, 1, 1, 6, 11};
    cr_assert_eq(n, sizeof every);
    cr_assert_eq(memcmp(token, every, n), 0);
    free(token);
    geodec_model_close(m);
}

/* ---- going on --------------------------------------------------------------------------------------------------- */

/* Kills the process, as kill -9 would, at the n-th look at the hooks. */
static int kill_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    int *left = ctx;
    (void)what;
    (void)done;
    (void)total;
    if (--*left == 0) (void)raise(SIGKILL);
    return 0;
}

static void same_folder(const char *a, const char *b, int64_t n)
{
    geodec_err err = {0};
    char name[64], path[2][1024], hex[2][GEODEC_SHA256_HEX];
    for (int64_t k = 0; k <= n; k++) {
        if (k)
            (void)snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", (int)k, (int)n);
        else
            (void)snprintf(name, sizeof name, "model.safetensors.index.json");
        (void)snprintf(path[0], sizeof path[0], "%s/%s", a, name);
        (void)snprintf(path[1], sizeof path[1], "%s/%s", b, name);
        for (int i = 0; i < 2; i++) test_ok(geodec_file_sha256(path[i], hex[i], &err), &err);
        cr_assert_str_eq(hex[0], hex[1], "%s", name);
    }
}

Test(shards, killed_and_started_again)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const geodec_export_options o = options();
    geodec_export_summary sum, whole;
    const char *folder = test_tmp("killed"); /* named here: a child would name another */
    test_ok(shards(m, &o, test_tmp("whole"), 10, false, false, 1, NULL, &whole, &err), &err);
    for (int at = 1; at <= (int)whole.shards; at++) {
        const pid_t child = fork();
        if (child == 0) {
            int left = at;
            const geodec_hooks hooks = {.ctx = &left, .progress = kill_at};
            _exit((int)shards(m, &o, folder, 10, false, false, 1, &hooks, &sum, &err));
        }
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status), "the child was killed");
        test_ok(shards(m, &o, folder, 10, false, false, 3, NULL, &sum, &err), &err);
        cr_assert_eq(sum.resumed, at - 1, "killed at %d, %d were there", at, (int)sum.resumed);
        cr_assert_eq(sum.shards, whole.shards);
        same_folder(test_tmp("whole"), folder, whole.shards);
        test_ok(geodec_export_shards_remove(folder, &err), &err);
        struct stat sb;
        cr_assert_neq(stat(folder, &sb), 0, "the folder is gone");
    }
    geodec_model_close(m);
}

Test(shards, assembled_into_the_artifact_of_one_go)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    for (int half = 0; half < 2; half++) {
        geodec_export_options o = options();
        geodec_export_summary sum;
        geodec_artifact *a = NULL;
        char hex[2][GEODEC_SHA256_HEX];
        o.half = half;
        o.logits = !half;
        artifact(m, &o, test_tmp("one.h5"));
        test_ok(shards(m, &o, test_tmp("parts"), 10, true, true, 1, NULL, &sum, &err), &err);
        test_ok(geodec_artifact_create(&geodec_activations_kind, test_tmp("parts.h5"), &provenance, &a, &err), &err);
        test_ok(geodec_export_assemble(m, &o, test_tmp("parts"), sum.shards, a, NULL, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        test_ok(geodec_file_sha256(test_tmp("one.h5"), hex[0], &err), &err);
        test_ok(geodec_file_sha256(test_tmp("parts.h5"), hex[1], &err), &err);
        cr_assert_str_eq(hex[0], hex[1]);
    }
    geodec_model_close(m);
}

Test(shards, those_of_something_else_are_refused)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    geodec_export_options o = options();
    geodec_export_summary sum, again;
    const char *folder = test_tmp("other");
    char line[600], path[1024];
    test_ok(shards(m, &o, folder, 10, false, true, 1, NULL, &sum, &err), &err);
    o.top_m = 3;
    cr_assert_eq(shards(m, &o, folder, 10, false, true, 1, NULL, &again, &err), GEODEC_CHECKSUM);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "model-00001-of-unfinished"), "%s", line);
    o = options();
    cr_assert_eq(shards(m, &o, folder, 20, false, true, 1, NULL, &again, &err), GEODEC_CHECKSUM, "another cut");
    o.max_tokens = 10;
    cr_assert_eq(shards(m, &o, folder, 10, false, true, 1, NULL, &again, &err), GEODEC_CHECKSUM, "another length");
    o = options();
    (void)snprintf(path, sizeof path, "%s/model-00002-of-unfinished.safetensors", folder);
    cr_assert_eq(truncate(path, 900), 0);
    cr_assert_eq(shards(m, &o, folder, 10, false, true, 1, NULL, &again, &err), GEODEC_FORMAT, "a damaged shard");
    test_ok(shards(m, &o, folder, 10, true, true, 1, NULL, &again, &err), &err);
    cr_assert_eq(again.resumed, sum.shards - 1);
    o.top_m = 1;
    test_ok(shards(m, &o, folder, 10, true, false, 1, NULL, &again, &err), &err);
    cr_assert_eq(again.resumed, 0);
    cr_assert_eq(shards(m, &o, test_tmp("small"), 5, false, false, 1, NULL, &again, &err), GEODEC_RANGE);
    geodec_model_close(m);
}

Test(shards, options_out_of_range)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    geodec_export_summary sum;
    geodec_export_options o = options();
    o.positions = GEODEC_EXPORT_RANGE;
    o.from = 40;
    o.to = 50;
    cr_assert_eq(shards(m, &o, test_tmp("none"), 10, false, false, 1, NULL, &sum, &err), GEODEC_FORMAT);
    o.to = 40;
    cr_assert_eq(shards(m, &o, test_tmp("none"), 10, false, false, 1, NULL, &sum, &err), GEODEC_RANGE);
    o = options();
    o.positions = GEODEC_EXPORT_EVERY;
    cr_assert_eq(shards(m, &o, test_tmp("none"), 10, false, false, 1, NULL, &sum, &err), GEODEC_RANGE);
    o = options();
    o.top_m = -1;
    cr_assert_eq(shards(m, &o, test_tmp("none"), 10, false, false, 1, NULL, &sum, &err), GEODEC_RANGE);
    geodec_model_close(m);
}

/* Hidden states in safetensors files of other programs: names, types, order of shards, and refusals. */
#include "base/f16.h"
#include "base/mem.h"
#include "chain/activations.h"
#include "chain/import_states.h"
#include "io/safetensors.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { S = 2, T = 3, D = 4, ROWS = S * T };

static float value(int layer, int row, int c) { return (float)(100 * layer + 10 * row + c) / 8; }

/* A folder of its own. */
static const char *fresh(void)
{
    static int n;
    char name[16];
    (void)snprintf(name, sizeof name, "shards%d", n++);
    const char *path = test_tmp(name);
    cr_assert_eq(mkdir(path, 0777), 0);
    return path;
}

/* Element of a tensor's type. */
static void put(geodec_type type, void *data, int i, float v)
{
    if (type == GEODEC_F64) ((double *)data)[i] = (double)v;
    if (type == GEODEC_F32) ((float *)data)[i] = v;
    if (type == GEODEC_F16) ((uint16_t *)data)[i] = geodec_f32_to_f16(v);
    if (type == GEODEC_BF16) ((uint16_t *)data)[i] = geodec_f32_to_bf16(v);
}

/* A file with n tensors of states, tensor i with the values of layer i and `first` as its first row, and token ids. */
static void make(const char *path, int n, const geodec_safetensor *t, int first, bool tokens)
{
    geodec_err err = {0};
    geodec_safetensors_writer *w = NULL;
    geodec_safetensor all[8];
    double data[ROWS * D];
    int64_t id[ROWS];
    memcpy(all + 1, t, (size_t)n * sizeof *t);
    all[0] = (geodec_safetensor){"tokens", GEODEC_I64, t[0].rank - 1, {t[0].shape[0], t[0].shape[1]}};
    if (t[0].rank == 2) all[0].shape[1] = 0;
    const int skip = tokens ? 0 : 1;
    test_ok(geodec_safetensors_create(path, all + skip, n + 1 - skip, NULL, 0, &w, &err), &err);
    for (int r = 0; r < ROWS; r++) id[r] = 7 * (first + r);
    if (tokens) test_ok(geodec_safetensors_put(w, 0, 0, ROWS, id, &err), &err);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < ROWS * D; k++) put(t[i].type, data, k, value(i, first + k / D, k % D));
        test_ok(geodec_safetensors_put(w, i + 1 - skip, 0, ROWS * D, data, &err), &err);
    }
    test_ok(geodec_safetensors_commit(w, &err), &err);
}

/* Opens, writes an artifact and reads it back. */
static geodec_artifact *import(const char *from, const char *names, bool consecutive, const char *to)
{
    geodec_err err = {0};
    geodec_import_states *s = NULL;
    geodec_artifact *a = NULL;
    geodec_provenance p = {.tool = "test", .command_line = "test", .blas_core = "none"};
    test_ok(geodec_import_states_open(from, names, NULL, &s, &err), &err);
    test_ok(geodec_artifact_create(&geodec_activations_kind, to, &p, &a, &err), &err);
    test_ok(geodec_import_states_write(s, consecutive, false, a, NULL, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_activations_kind, to, &a, &err), &err);
    geodec_import_states_close(s);
    return a;
}

static int32_t *column(const geodec_artifact *a, const char *path)
{
    geodec_err err = {0};
    int32_t *v = NULL;
    test_ok(geodec_artifact_read(a, path, &v, &err), &err);
    return v;
}

Test(shards, names_of_transformerlens_and_every_float_type)
{
    const geodec_safetensor t[] = {{"blocks.0.hook_resid_pre", GEODEC_F64, 3, {S, T, D}},
                                   {"blocks.0.hook_resid_post", GEODEC_F32, 3, {S, T, D}},
                                   {"blocks.1.hook_resid_pre", GEODEC_F32, 3, {S, T, D}}, /* the same layer again */
                                   {"blocks.1.hook_resid_post", GEODEC_F16, 3, {S, T, D}},
                                   {"blocks.10.hook_resid_post", GEODEC_BF16, 3, {S, T, D}},
                                   {"blocks.0.hook_mlp_out", GEODEC_F32, 3, {S, T, D}}};
    const char *dir = fresh();
    char file[512], out[512];
    float *state = NULL;
    const char *names = NULL;
    geodec_err err = {0};
    (void)snprintf(file, sizeof file, "%s/cache.safetensors", dir);
    (void)snprintf(out, sizeof out, "%s/a.h5", dir);
    make(file, 6, t, 0, true);
    geodec_artifact *a = import(file, "", false, out);
    int32_t *layer = column(a, "/layer"), *token = column(a, "/token"), *position = column(a, "/position"),
            *sequence = column(a, "/sequence"), *next = column(a, "/next_token");
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    test_ok(geodec_artifact_get_str(a, "tensors", &names, &err), &err);
    cr_assert_str_eq(names, "blocks.0.hook_resid_pre,blocks.0.hook_resid_post,blocks.1.hook_resid_post,"
                            "blocks.10.hook_resid_post");
    const int32_t layers[] = {0, 1, 2, 11};
    const int from[] = {0, 1, 3, 4};
    for (int l = 0; l < 4; l++) {
        cr_assert_eq(layer[l], layers[l]);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < D; c++) {
                const float want = value(from[l], r, c);
                const float got = state[(r * 4 + l) * D + c];
                cr_assert_eq(got, from[l] == 4 ? geodec_bf16_to_f32(geodec_f32_to_bf16(want)) : want);
            }
    }
    for (int r = 0; r < ROWS; r++) {
        cr_assert_eq(token[r], 7 * r);
        cr_assert_eq(position[r], r % T);
        cr_assert_eq(sequence[r], r / T);
        cr_assert_eq(next[r], -1);
    }
    geodec_artifact_close(a);
    GEODEC_FREE(layer, token, position, sequence, next, state);
}

Test(shards, a_folder_in_the_order_of_numbers_with_names_given)
{
    const geodec_safetensor one[] = {{"activations", GEODEC_F32, 3, {ROWS, 1, D}}};
    const geodec_safetensor two[] = {{"mlp", GEODEC_F32, 2, {ROWS, D}}, {"attn", GEODEC_F32, 2, {ROWS, D}}};
    const int order[] = {0, 2, 10};
    const char *dir = fresh();
    char file[512], out[512];
    float *state = NULL;
    geodec_err err = {0};
    (void)snprintf(out, sizeof out, "%s/a.h5", dir);
    for (int k = 0; k < 3; k++) {
        (void)snprintf(file, sizeof file, "%s/%d.safetensors", dir, order[k]);
        make(file, 1, one, 100 * k, false);
    }
    geodec_artifact *a = import(dir, "", false, out);
    int32_t *sequence = column(a, "/sequence"), *token = column(a, "/token");
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    for (int r = 0; r < 3 * ROWS; r++) {
        cr_assert_eq(state[r * D], value(0, 100 * (r / ROWS) + r % ROWS, 0));
        cr_assert_eq(sequence[r], r);
        cr_assert_eq(token[r], -1);
    }
    geodec_artifact_close(a);
    GEODEC_FREE(sequence, token, state);
    (void)snprintf(file, sizeof file, "%s/0.safetensors", dir);
    make(file, 2, two, 0, false);
    a = import(file, "attn,mlp", true, out);
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    int32_t *position = column(a, "/position");
    for (int r = 0; r < ROWS; r++) {
        cr_assert_eq(state[r * 2 * D], value(1, r, 0));
        cr_assert_eq(state[r * 2 * D + D], value(0, r, 0));
        cr_assert_eq(position[r], r);
    }
    geodec_artifact_close(a);
    GEODEC_FREE(position, state);
}

static void refused(const char *path, const char *names, geodec_status want, const char *words)
{
    geodec_err err = {0};
    geodec_import_states *s = NULL;
    const geodec_status st = geodec_import_states_open(path, names, NULL, &s, &err);
    char line[512];
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert_eq(st, want, "%s: status %d, %s", words, st, line);
    cr_assert(strstr(line, words), "'%s' without '%s'", line, words);
    geodec_err_clear(&err);
}

Test(shards, refusals)
{
    const geodec_safetensor good[] = {{"layer.3", GEODEC_F32, 2, {ROWS, D}}},
                            wide[] = {{"layer.3", GEODEC_F32, 3, {ROWS, 1, D}}},
                            other[] = {{"a", GEODEC_F32, 2, {ROWS, D}}, {"b", GEODEC_F32, 2, {ROWS, D}}},
                            flat[] = {{"layer.3", GEODEC_F32, 1, {ROWS * D}}},
                            rows[] = {{"layer.3", GEODEC_F32, 2, {ROWS, D}}, {"layer.4", GEODEC_F32, 2, {D, ROWS}}};
    const char *dir = fresh();
    char file[512], second[512];
    (void)snprintf(file, sizeof file, "%s/1.safetensors", dir);
    (void)snprintf(second, sizeof second, "%s/2.safetensors", dir);
    refused(dir, "", GEODEC_NOTFOUND, "without .safetensors files");
    refused(file, "", GEODEC_NOTFOUND, "No such file");
    make(file, 2, other, 0, false);
    refused(file, "", GEODEC_NOTFOUND, "none of 2 float tensors");
    refused(file, "a,c", GEODEC_NOTFOUND, "no tensor c");
    refused(file, "a,,b", GEODEC_INVAL, "names joined by commas");
    make(file, 1, flat, 0, false);
    refused(file, "", GEODEC_FORMAT, "has 1 axes");
    make(file, 2, rows, 0, false);
    refused(file, "", GEODEC_FORMAT, "of width 6, others of 4");
    make(file, 1, good, 0, true);
    make(second, 1, wide, 0, false);
    refused(dir, "", GEODEC_FORMAT, "tensor tokens is missing");
    make(second, 1, wide, 0, true);
    refused(dir, "", GEODEC_FORMAT, "another number of axes");
}

/* The layers of the same rows in several files, in two blocks of rows. */
Test(shards, layers_spread_over_files)
{
    const geodec_safetensor all[] = {{"layer.0", GEODEC_F32, 2, {ROWS, D}}, {"layer.4", GEODEC_F32, 2, {ROWS, D}}};
    const char *dir = fresh();
    char file[512], out[512];
    float *state = NULL;
    geodec_err err = {0};
    for (int k = 0; k < 4; k++) { /* values of `make` are those of its first tensor: layer 0 */
        (void)snprintf(file, sizeof file, "%s/m-%05d-of-00004.safetensors", dir, k + 1);
        make(file, 1, all + k / 2, 100 * k, k < 2);
    }
    (void)snprintf(out, sizeof out, "%s/a.h5", dir);
    geodec_artifact *a = import(dir, "", false, out);
    int32_t *token = column(a, "/token");
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    for (int r = 0; r < 2 * ROWS; r++)
        for (int l = 0; l < 2; l++)
            cr_assert_eq(state[(r * 2 + l) * D], value(0, 100 * (2 * l + r / ROWS) + r % ROWS, 0));
    cr_assert_eq(token[ROWS], 700);
    geodec_artifact_close(a);
    GEODEC_FREE(state, token);
    cr_assert_eq(remove(file), 0);
    refused(dir, "", GEODEC_FORMAT, "m-00004-of-00004.safetensors is missing");
    make(file, 1, all + 1, 0, false);
    (void)snprintf(file, sizeof file, "%s/m-00001-of-00004 (1).safetensors", dir);
    make(file, 1, all, 0, true);
    refused(dir, "", GEODEC_FORMAT, "is not one of the 4 files");
    cr_assert_eq(remove(file), 0);
    (void)snprintf(file, sizeof file, "%s/m.safetensors.index.json", dir);
    FILE *f = fopen(file, "w");
    (void)fputs("{\"weight_map\": {\"layer.0\": \"m-00001-of-00004.safetensors\"}}", f);
    (void)fclose(f);
    refused(dir, "", GEODEC_FORMAT, "does not name m-00002-of-00004.safetensors");
}

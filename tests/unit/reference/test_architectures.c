/* One small model of every architecture, made and run by the peer (golden/arch of the shared folder): logits of the
 * reference against the peer's, of the session in exact arithmetic against the reference, and derivatives. */
#include "base/mem.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "linalg/lapack.h"
#include "reference/check.h"
#include "reference/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 256, PATH_BYTES = 4096, LEAST_FILES = 103 /* that had their reference when this was written */ };

/* NAME.gguf becomes NAME and the ending. */
static const char *beside(const char *path, const char *ending)
{
    static char other[PATH_BYTES];
    const char *dot = strrchr(path, '.');
    (void)snprintf(other, sizeof other, "%.*s%s", (int)(dot - path), path, ending);
    return other;
}

static int32_t read_tokens(const char *path, int32_t *token)
{
    FILE *f = fopen(beside(path, ".ids"), "r");
    int32_t n = 0;
    cr_assert(f, "%s", path);
    while (n < MOST_TOKENS && fscanf(f, "%d", &token[n]) == 1) n++;
    (void)fclose(f);
    cr_assert_gt(n, 0, "%s", path);
    return n;
}

static double *read_logits(const char *path, int64_t size)
{
    int64_t shape[8];
    int dims;
    double *x = test_npy(beside(path, ".logits.npy"), shape, &dims);
    cr_assert(x && dims == 2 && shape[0] * shape[1] == size, "%s", path);
    return x;
}

/* Of the session in exact arithmetic, with keys and values in float32: logits [n][n_vocab], then the residual streams
 * [n_layer + 1][n][d_model]. */
static double *session_rows(const geodec_model *m, const int32_t *token, int32_t n, int64_t logits, int64_t states)
{
    enum { MOST_LAYERS = 64 };
    int32_t layer[MOST_LAYERS + 1];
    geodec_err err = {0};
    geodec_session *s = NULL;
    const int32_t layers = geodec_model_configuration(m)->n_layer;
    float *out = geodec_mem_new(logits + states, sizeof *out);
    double *wide = geodec_mem_new(logits + states, sizeof *wide);
    cr_assert_leq(layers, MOST_LAYERS);
    for (int32_t i = 0; i <= layers; i++) layer[i] = i;
    const geodec_capture capture = {layers + 1, layer, out + logits};
    test_ok(
        geodec_session_create(m, &(geodec_session_options){.kv = GEODEC_KV_F32, .n_ctx = n, .max_batch = n}, &s, &err),
        &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token}, out, &capture, &err), &err);
    for (int64_t i = 0; i < logits + states; i++) wide[i] = (double)out[i];
    geodec_session_destroy(s);
    geodec_mem_free(out);
    return wide;
}

/* Largest difference of a stream of the session from that of the reference, both [n_layer + 1][n][d_model], over the
 * largest number of the reference's at the same boundary. */
static double state_difference(const double *session, const double *want, int32_t boundaries, int64_t size)
{
    double worst = 0;
    for (int64_t b = 0; b < boundaries; b++)
        worst = fmax(worst, test_max_abs_diff(session + b * size, want + b * size, size) /
                                test_max_abs(want + b * size, size));
    return worst;
}

/* Largest differences: of the session's logits and of the reference's from the peer's; of the session's from the
 * reference's over the largest logit; of the residual streams between the layers. Without a reference those of the
 * session from the peer alone. */
typedef struct differences {
    double peer, golden, session, state;
    double peer_bar, session_bar; /* what rounding allows */
} differences;

/* 1e-4 is where the peer's rounding to float32 ends and another formula begins; the session rounds to float32 too, and
 * its bar is relative to the largest logit of the text, as in test_forward.c. Where one rounding of the embedding moves
 * logits further than that, the many of a pass do: up to 5 times as far where gates are cut (gemma3n), which move them
 * by 1e-3, and by 1e-5 at most in all other models. */
static const double peer_bar = 1e-4, session_bar = 1e-5, roundings = 8;

/* Every number of the embedding changes by 1e-7 of itself at most: about a rounding to float32. */
static double moved_by_rounding(const geodec_reference *r, const int32_t *token, int32_t n, int64_t size,
                                const double *logits)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_reference_model(r));
    geodec_err err = {0};
    double *x = geodec_mem_new((int64_t)n * c->d_model, sizeof *x), *y = geodec_mem_new(size, sizeof *y);
    double *u = check_random((int64_t)n * c->d_model, 5);
    test_ok(geodec_reference_embed(r, token, n, x, &err), &err);
    for (int64_t i = 0; i < (int64_t)n * c->d_model; i++) x[i] *= 1 + 1e-7 * tanh(u[i]);
    test_ok(geodec_reference_run(r, 0, c->n_layer + 1, n, x, NULL, y, &err), &err);
    const double moved = test_max_abs_diff(y, logits, size);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_mem_free(u);
    return moved;
}

static differences compare(const char *path, const geodec_model *m, const geodec_reference *r)
{
    int32_t token[MOST_TOKENS];
    const int32_t n = read_tokens(path, token);
    const int64_t size = (int64_t)n * geodec_model_configuration(m)->n_vocab;
    geodec_err err = {0};
    const int32_t boundaries = geodec_model_configuration(m)->n_layer + 1,
                  width = geodec_model_configuration(m)->d_model;
    const int64_t states = (int64_t)n * boundaries * width;
    double *want = read_logits(path, size), *logits = geodec_mem_new(size, sizeof *logits),
           *state = geodec_mem_new(states, sizeof *state), *session = session_rows(m, token, n, size, states);
    differences d = {.peer = test_max_abs_diff(session, want, size), .peer_bar = peer_bar};
    if (r) {
        test_ok(geodec_reference_forward(r, token, n, &(geodec_reference_trace){.state = state}, logits, &err), &err);
        const double moved = moved_by_rounding(r, token, n, size, logits), most = test_max_abs(logits, size);
        d.peer_bar = fmax(peer_bar, roundings * moved);
        d.session_bar = fmax(session_bar, roundings * moved / most);
        d.golden = test_max_abs_diff(logits, want, size);
        d.session = test_max_abs_diff(session, logits, size) / most;
        d.state = state_difference(session + size, state, boundaries, (int64_t)n * width);
    }
    GEODEC_FREE(want, logits, state, session);
    return d;
}

/* A control of the first: the session's logits of the same file with another epsilon of the norms. */
static double other_epsilon(const char *path)
{
    static const char key[] = "_epsilon";
    static const float other = 0.03F;
    enum { TYPE_F32 = 6 };
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    char *read = NULL;
    size_t n = 0, changed = 0;
    test_ok(geodec_file_read(path, 1 << 25, &read, &n, &err), &err);
    char *bytes = aligned_alloc(64, (n + 63) / 64 * 64);
    cr_assert(bytes);
    memcpy(bytes, read, n);
    geodec_mem_free(read);
    for (char *at = bytes; (at = memmem(at, n - (size_t)(at - bytes), key, sizeof key - 1)); changed++) {
        at += sizeof key - 1;
        cr_assert(*at == TYPE_F32, "%s", path);
        memcpy(at + 4, &other, sizeof other);
    }
    cr_assert_gt(changed, 0, "%s", path);
    test_ok(geodec_gguf_open_memory(bytes, n, path, &g, &err), &err);
    test_ok(geodec_model_from_gguf(g, &m, &err), &err);
    const double d = compare(path, m, NULL).peer;
    geodec_model_close(m);
    free(bytes);
    return d;
}

/* What is done with a model, and what it found. */
typedef struct visit {
    void (*fn)(struct visit *v, const char *path, const char *name, const geodec_model *m, const geodec_reference *r);
    bool all; /* models without a reference too */
    int models;
    double peer, golden, session, state, derivative; /* largest differences */
} visit;

static void visit_file(visit *v, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_reference *r = NULL;
    FILE *ids = fopen(beside(path, ".ids"), "r");
    if (!ids) {
        (void)fprintf(stderr, "%s has no text and logits\n", name);
        return;
    }
    (void)fclose(ids);
    if (geodec_model_open(path, &m, &err) != GEODEC_OK) {
        (void)fprintf(stderr, "%s does not open: %.100s\n", name, err.frame[0].text);
        return;
    }
    const geodec_status st = geodec_reference_create(m, NULL, &r, &err);
    if (st == GEODEC_UNSUPPORTED) {
        (void)fprintf(stderr, "%s has no reference: %s\n", name, err.frame[0].text);
    } else {
        int32_t token[MOST_TOKENS];
        geodec_reference *of_text = NULL;
        test_ok(st, &err);
        test_ok(geodec_reference_of_text(r, token, read_tokens(path, token), &of_text, &err), &err);
        geodec_reference_destroy(r);
        r = of_text;
    }
    if (r || v->all) v->fn(v, path, name, m, r);
    v->models += r != NULL;
    geodec_reference_destroy(r);
    geodec_model_close(m);
}

/* All files of the folder, in the order of their names. */
static void visit_all(visit *v)
{
    const char *folder = test_shared("golden/arch");
    char pattern[PATH_BYTES];
    glob_t found = {0};
    geodec_linalg_init();
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", folder);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models in %s", folder);
    for (size_t i = 0; i < found.gl_pathc; i++) visit_file(v, found.gl_pathv[i]);
    globfree(&found);
    cr_assert_geq(v->models, LEAST_FILES);
}

static void check_logits(visit *v, const char *path, const char *name, const geodec_model *m, const geodec_reference *r)
{
    const differences d = compare(path, m, r);
    const double control = other_epsilon(path);
    (void)fprintf(stderr, "row\tlogits\t%s\t%.1e\t%.1e\n", name, d.peer, control);
    if (r) (void)fprintf(stderr, "row\treference\t%s\t%.1e\t%.1e\t%.1e\n", name, d.golden, d.session, d.state);
    cr_expect(!r || d.session < d.session_bar, "%s: session and reference differ by %g", name, d.session);
    cr_expect(!r || d.state < d.session_bar, "%s: states of session and reference differ by %g", name, d.state);
    v->session = fmax(v->session, d.session);
    v->state = fmax(v->state, d.state);
    cr_expect(control > 1e-3 && control > 1000 * d.peer, "%s: another epsilon changes the logits by %g", name, control);
    cr_expect(d.peer < d.peer_bar, "%s: session and peer differ by %g", name, d.peer);
    cr_expect(d.golden < d.peer_bar, "%s: reference and peer differ by %g", name, d.golden);
    v->peer = fmax(v->peer, d.peer);
    v->golden = fmax(v->golden, d.golden);
}

Test(reference_architectures, logits_of_the_peer, .timeout = 120)
{
    visit v = {.fn = check_logits, .all = true};
    visit_all(&v);
    (void)fprintf(
        stderr,
        "%d references: from peer at most %.1e, session from reference at most %.1e, states %.1e; session from "
        "peer at most %.1e\n",
        v.models, v.golden, v.session, v.state, v.peer);
}

/* ---- derivatives ------------------------------------------------------------------------------------------------ */

/* From the embedding to the logits of one row, behind the first window. */
enum { ROWS = 20 };
static const int32_t last = ROWS - 1;
static const geodec_reference_rows wanted = {1, &last};

static int32_t head_of(const geodec_reference *r)
{
    return geodec_model_configuration(geodec_reference_model(r))->n_layer + 1;
}

static void run(const void *ctx, const double *x, double *y)
{
    geodec_err err = {0};
    test_ok(geodec_reference_run(ctx, 0, head_of(ctx), ROWS, x, &wanted, y, &err), &err);
}

static geodec_reference_point *linearise(const geodec_reference *r, const double *x)
{
    geodec_err err = {0};
    geodec_reference_point *p = NULL;
    test_ok(geodec_reference_linearise(r, 0, head_of(r), ROWS, x, 0, &wanted, &p, &err), &err);
    return p;
}

static void jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    geodec_err err = {0};
    geodec_reference_point *p = linearise(ctx, x);
    test_ok(geodec_reference_jvp(p, k, dx, dy, &err), &err);
    geodec_reference_point_destroy(p);
}

static void vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    geodec_err err = {0};
    geodec_reference_point *p = linearise(ctx, x);
    test_ok(geodec_reference_vjp(p, k, gy, gx, &err), &err);
    geodec_reference_point_destroy(p);
}

static void check_model(visit *v, const char *path, const char *name, const geodec_model *m, const geodec_reference *r)
{
    int32_t token[MOST_TOKENS];
    const int64_t size = (int64_t)ROWS * geodec_reference_width(r, 0);
    geodec_err err = {0};
    cr_assert_geq(read_tokens(path, token), ROWS);
    double *x = geodec_mem_new(size, sizeof *x);
    test_ok(geodec_reference_embed(r, token, ROWS, x, &err), &err);
    const check_map map = {.name = name,
                           .n_in = size,
                           .n_out = geodec_model_configuration(m)->n_vocab,
                           .run = run,
                           .jvp = jvp,
                           .vjp = vjp,
                           .ctx = r};
    const double e = check_derivatives(&map, x, 1e-7, 1e-6);
    (void)fprintf(stderr, "row\tderivative\t%s\t%.1e\n", name, e);
    v->derivative = fmax(v->derivative, e);
    geodec_mem_free(x);
}

Test(reference_architectures, derivatives, .timeout = 120)
{
    visit v = {.fn = check_model};
    visit_all(&v);
    (void)fprintf(stderr, "%d models: largest relative error of a directional derivative %.1e\n", v.models,
                  v.derivative);
}

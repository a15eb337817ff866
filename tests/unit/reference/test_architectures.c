/* One small model of every architecture, made and run by the peer (golden/arch of the shared folder): logits of the
 * reference against the peer's, of the session in exact arithmetic against the reference, and derivatives. */
#include "base/mem.h"
#include "linalg/lapack.h"
#include "reference/check.h"
#include "reference/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TOKENS = 256, PATH_BYTES = 4096, LEAST_FILES = 85 /* that had their reference when this was written */ };

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

/* Logits of the session in exact arithmetic, with keys and values in float32. */
static double *session_logits(const geodec_model *m, const int32_t *token, int32_t n, int64_t size)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    float *logits = geodec_mem_new(size, sizeof *logits);
    double *wide = geodec_mem_new(size, sizeof *wide);
    test_ok(geodec_session_create(m, &(geodec_session_options){.kv = GEODEC_KV_F32, .n_ctx = n}, &s, &err), &err);
    for (int32_t at = 0, rows; at < n; at += rows) { /* a batch has at most 64 */
        rows = n - at < 64 ? n - at : 64;
        test_ok(
            geodec_forward(s, &(geodec_batch){.n = rows, .token = token + at}, logits + at * (size / n), NULL, &err),
            &err);
    }
    for (int64_t i = 0; i < size; i++) wide[i] = (double)logits[i];
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return wide;
}

/* Largest differences: of the reference's logits from the peer's, of the session's from the reference's over the
 * largest logit. */
typedef struct differences {
    double golden, session;
} differences;

static differences compare(const char *path, const geodec_model *m, const geodec_reference *r)
{
    int32_t token[MOST_TOKENS];
    const int32_t n = read_tokens(path, token);
    const int64_t size = (int64_t)n * geodec_model_configuration(m)->n_vocab;
    geodec_err err = {0};
    double *want = read_logits(path, size), *logits = geodec_mem_new(size, sizeof *logits);
    test_ok(geodec_reference_forward(r, token, n, NULL, logits, &err), &err);
    double *session = session_logits(m, token, n, size);
    const differences d = {test_max_abs_diff(logits, want, size),
                           test_max_abs_diff(session, logits, size) / test_max_abs(logits, size)};
    geodec_mem_free(want);
    geodec_mem_free(logits);
    geodec_mem_free(session);
    return d;
}

/* Its file has no tensors of the shared expert, which published models have, and the peer's graph then adds SiLU of the
 * normed stream: no formula of a model. */
static bool is_of_no_model(const char *name) { return strcmp(name, "step35-moe.gguf") == 0; }

/* What is done with a model, and what it found. */
typedef struct visit {
    void (*fn)(struct visit *v, const char *path, const char *name, const geodec_model *m, const geodec_reference *r);
    int models;
    double golden, session, derivative; /* largest differences */
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
    if (st == GEODEC_UNSUPPORTED) { /* recurrent layers */
        (void)fprintf(stderr, "%s is skipped: %s\n", name, err.frame[0].text);
    } else {
        test_ok(st, &err);
        v->fn(v, path, name, m, r);
        v->models++;
    }
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

/* 1e-4 is where the peer's rounding to float32 ends and another formula begins; the session rounds to float32 too, and
 * its bar is relative to the largest logit of the text, as in test_forward.c. */
static void check_logits(visit *v, const char *path, const char *name, const geodec_model *m, const geodec_reference *r)
{
    const differences d = compare(path, m, r);
    (void)fprintf(stderr, "%s: reference from peer %.1e, session from reference %.1e\n", name, d.golden, d.session);
    cr_expect(d.session < 1e-5, "%s: session and reference differ by %g", name, d.session);
    v->session = fmax(v->session, d.session);
    if (is_of_no_model(name)) return;
    cr_expect(d.golden < 1e-4, "%s: reference and peer differ by %g", name, d.golden);
    v->golden = fmax(v->golden, d.golden);
}

Test(reference_architectures, logits_of_the_peer, .timeout = 120)
{
    visit v = {.fn = check_logits};
    visit_all(&v);
    (void)fprintf(stderr, "%d models: reference from peer at most %.1e, session from reference at most %.1e\n",
                  v.models, v.golden, v.session);
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
    (void)fprintf(stderr, "%s: largest relative error of a directional derivative %.1e\n", name, e);
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

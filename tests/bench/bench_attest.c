/* Cost of checking a record of a run, as TSV on stdout.
 *
 *     bench-attest MODEL.gguf [--tokens N] [--rounds N] [--threads N] [--rows N]
 *
 * Each round generates N tokens (256) and checks all of them in passes of --rows (64), each from a model that is opened
 * and hashed anew. loading: whether the time from opening the file to an empty session is part of the numbers.
 * generate_s, verify_s: medians of the rounds. ratio: the median of the rounds' verify / generate, with its least and
 * largest. The cpu columns are the same in processor time, where waiting threads count; with --threads 1 there are
 * none, and other programs disturb it little. */
#include "attest/attest.h"
#include "base/clock.h"
#include "base/mem.h"
#include "session/integer_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 201, ROWS = 64 };

static int64_t tokens = 256, rounds = 9, threads = 2, rows = ROWS;

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-attest: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct instant {
    double wall, cpu;
} instant;

static instant now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (instant){geodec_clock_seconds(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

/* [0]: with loading, [1]: without. */
typedef struct side {
    instant t[2];
} side;

static side since(instant open, instant ready)
{
    const instant t = now();
    return (side){{{t.wall - open.wall, t.cpu - open.cpu}, {t.wall - ready.wall, t.cpu - ready.cpu}}};
}

/* Generates into *a, or checks it. */
static side run(const char *path, geodec_pool *pool, geodec_attest *a, bool verify)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    char digest[GEODEC_SHA256_HEX];
    const instant open = now();
    const geodec_model_open_options how = {.pool = pool, .digest = digest};
    if (geodec_model_open_with(path, &how, &m, &err) != GEODEC_OK) die(&err);
    const int32_t n_vocab = geodec_model_configuration(m)->n_vocab;
    const geodec_session_options o = {
        .n_ctx = a->n_prompt + (int32_t)tokens + 1, .max_batch = ROWS, .pool = pool, .arithmetic = GEODEC_INTEGER};
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) die(&err);
    geodec_engine *e = geodec_integer_session_engine(s);
    const instant ready = now();
    if (verify) {
        geodec_attest_result r = {0};
        const geodec_attest_check c = {.model = digest, .rows = (int32_t)rows, .pool = pool};
        if (geodec_attest_verify(e, n_vocab, a, &c, &r, NULL, &err) != GEODEC_OK) die(&err);
        if (r.verdict != GEODEC_ATTEST_HOLDS || r.checked != tokens) {
            (void)fprintf(stderr, "bench-attest: %s\n", geodec_attest_verdict_text(r.verdict));
            exit(1);
        }
    } else {
        memcpy(a->model, digest, sizeof a->model);
        if (geodec_attest_run(e, n_vocab, (int32_t)tokens, -1, NULL, a, NULL, &err) != GEODEC_OK) die(&err);
    }
    const side out = since(open, ready);
    geodec_session_destroy(s);
    geodec_model_close(m);
    return out;
}

static void print(const char *loading, const side *generate, const side *verify, int k)
{
    double v[3][MOST_ROUNDS], cpu[3][MOST_ROUNDS];
    for (int64_t i = 0; i < rounds; i++) {
        const instant g = generate[i].t[k], c = verify[i].t[k];
        const double walls[3] = {g.wall, c.wall, c.wall / g.wall}, cpus[3] = {g.cpu, c.cpu, c.cpu / g.cpu};
        for (int x = 0; x < 3; x++) v[x][i] = walls[x], cpu[x][i] = cpus[x];
    }
    for (int x = 0; x < 3; x++) {
        qsort(v[x], (size_t)rounds, sizeof(double), by_value);
        qsort(cpu[x], (size_t)rounds, sizeof(double), by_value);
    }
    const int64_t mid = rounds / 2, last = rounds - 1;
    (void)printf("%s\t%.4f\t%.4f\t%.3f\t%.3f\t%.3f\t%.4f\t%.4f\t%.3f\n", loading, v[0][mid], v[1][mid], v[2][mid],
                 v[2][0], v[2][last], cpu[0][mid], cpu[1][mid], cpu[2][mid]);
}

static bool arguments(int argc, char **argv)
{
    const struct {
        const char *name;
        int64_t *to, most;
    } option[] = {{"--tokens", &tokens, 4096},
                  {"--rounds", &rounds, MOST_ROUNDS},
                  {"--threads", &threads, 1024},
                  {"--rows", &rows, ROWS}};
    bool ok = argc > 1 && argc % 2 == 0;
    for (int i = 2; ok && i + 1 < argc; i += 2) {
        ok = false;
        for (size_t k = 0; k < sizeof option / sizeof *option; k++)
            if (strcmp(argv[i], option[k].name) == 0) {
                *option[k].to = atoll(argv[i + 1]);
                ok = *option[k].to >= 1 && *option[k].to <= option[k].most;
            }
    }
    return ok;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    static side generate[MOST_ROUNDS], verify[MOST_ROUNDS];
    if (!arguments(argc, argv)) {
        (void)fprintf(stderr, "usage: bench-attest MODEL.gguf [--tokens N] [--rounds N] [--threads N] [--rows N]\n");
        return 2;
    }
    if (geodec_pool_create((int)threads, &pool, &err) != GEODEC_OK) die(&err);
    for (int64_t i = 0; i < rounds; i++) {
        int32_t prompt[] = {1, 7, 42, 9, 30, 11, 25, 3};
        geodec_attest a = {.prompt = prompt, .n_prompt = sizeof prompt / sizeof *prompt, .top_p = 1};
        generate[i] = run(argv[1], pool, &a, false);
        verify[i] = run(argv[1], pool, &a, true);
        GEODEC_FREE(a.token, a.link);
    }
    (void)printf("loading\tgenerate_s\tverify_s\tratio\tleast\tlargest\tgenerate_cpu_s\tverify_cpu_s\tcpu_ratio\n");
    print("yes", generate, verify, 0);
    print("no", generate, verify, 1);
    geodec_pool_destroy(pool);
    return 0;
}

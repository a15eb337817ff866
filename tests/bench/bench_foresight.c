/* Time of the questions about the experts of a token, beside the time of the token, as TSV on stdout.
 *
 *     bench-foresight MODEL.gguf FLOWMAP.h5 FORESIGHT.h5 TEXT [--tokens N] [--rounds N] [--threads N] [--warm]
 *
 * FORESIGHT.h5 is one of geodec-foresight with --fit, the text not part of the map. For each of N tokens (2000) in N
 * rounds (7), as a decoder with --experts ahead=mix does: a pass of the row before, with all weights in memory; then
 * the row is observed, the map asked about the token, each layer mixed with the router one block ahead. The pass evicts
 * the map from the nearest caches, as it does in a decoder. --warm: without passes (for a profiler). Columns: what;
 * least_us, mean over the tokens of the least of the rounds; median_us, the same of the medians; percent, share of the
 * token (with the threads given; the questions use one). Times of the least of rounds hardly depend on other load of
 * the machine. asked_by_token: the table alone, not part of the sum. */
#include "base/clock.h"
#include "base/mem.h"
#include "documents/documents.h"
#include "export/export.h"
#include "foresight/foreseer.h"
#include "foresight/foresight.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 128, MOST_TEXT = 16 << 20, MOST_ROUNDS = 99 };
enum { PASS, OBSERVE, ASK, MIX, SUM, TABLE, STEPS };
static const char *const names[STEPS] = {"token", "observed", "asked", "mixed", "all", "asked_by_token"};

typedef struct bench {
    const char *path[4];
    int64_t tokens;
    int rounds, threads;
    bool warm;
    geodec_model *model;
    geodec_pool *pool;
    geodec_session *session;
    geodec_foreseer_map map;
    geodec_foresight *foresight;
    int64_t n, cells; /* rows; layers x experts */
    int32_t *token;   /* [tokens] */
    bool *first;      /* [tokens] of a window */
    float *state;     /* [tokens][d] */
    float *logit;     /* [tokens][cells] */
    float *early, *mixed, *logits;
    float *time; /* [STEPS][tokens][rounds], us */
} bench;

static geodec_status record(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(b->model);
    const geodec_tokenizer *t = geodec_model_tokenizer(b->model);
    geodec_routes_recorder *r = NULL;
    geodec_export_source source = {0};
    geodec_documents documents = {0};
    char *text = NULL;
    size_t bytes;
    const geodec_routes *w;
    GEODEC_TRY(geodec_file_read(b->path[3], MOST_TEXT, &text, &bytes, err));
    const geodec_documents_options o = {.separator = GEODEC_SEPARATOR_AUTO, .tokenizer = t};
    GEODEC_TRY(geodec_documents_read(b->path[3], text, bytes, &o, &documents, err));
    GEODEC_TRY(geodec_export_source_text(&documents, t, &source, err));
    GEODEC_TRY(geodec_routes_open(b->model, &source, WINDOW, GEODEC_EXACT, GEODEC_KV_F32, b->pool, &r, err));
    while (b->n < b->tokens) {
        GEODEC_TRY(geodec_routes_next(r, &w, err));
        if (!w) break;
        for (int32_t i = 0; i < w->n && b->n < b->tokens; i++, b->n++) {
            b->token[b->n] = w->token[i];
            b->first[b->n] = i == 0;
            memcpy(b->state + b->n * c->d_model, w->state + (int64_t)i * c->d_model,
                   (size_t)c->d_model * sizeof *b->state);
            memcpy(b->logit + b->n * b->cells, w->logit[GEODEC_ROUTES_BLOCK] + i * b->cells,
                   (size_t)b->cells * sizeof *b->logit);
        }
    }
    if (b->n < 2) GEODEC_THROW(GEODEC_SCARCE, "%s has fewer than two tokens", b->path[3]);
done:
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_documents_free(&documents);
    geodec_mem_free(text);
    return st;
}

static void took(bench *b, int step, int64_t at, int round, double *since)
{
    const double now = geodec_clock_seconds();
    b->time[(step * b->tokens + at) * b->rounds + round] = (float)(1e6 * (now - *since));
    *since = geodec_clock_seconds();
}

static geodec_status follow(bench *b, int round, geodec_err *err)
{
    const geodec_model_config *c = geodec_model_configuration(b->model);
    for (int64_t i = 0; i + 1 < b->n; i++) {
        const geodec_batch batch = {.n = 1, .token = b->token + i};
        if (b->first[i]) {
            geodec_session_truncate(b->session, 0);
            geodec_foresight_begin(b->foresight);
        }
        double since = geodec_clock_seconds();
        if (!b->warm) GEODEC_PASS(geodec_forward(b->session, &batch, b->logits, NULL, err));
        took(b, PASS, i, round, &since);
        geodec_foresight_observe(b->foresight, b->token[i], b->state + i * c->d_model);
        took(b, OBSERVE, i, round, &since);
        geodec_foresight_ask(b->foresight, b->token[i + 1], true, b->early);
        took(b, ASK, i, round, &since);
        for (int32_t l = 0; l < c->n_layer; l++) {
            const int64_t at = (int64_t)l * c->n_expert;
            geodec_foresight_mix(b->foresight, GEODEC_ROUTES_BLOCK, l, b->early + at,
                                 b->logit + (i + 1) * b->cells + at, b->mixed);
        }
        took(b, MIX, i, round, &since);
        geodec_foresight_ask(b->foresight, b->token[i + 1], false, b->early);
        took(b, TABLE, i, round, &since);
        float *sum = b->time + (SUM * b->tokens + i) * b->rounds + round;
        *sum = 0;
        for (int s = OBSERVE; s <= MIX; s++) *sum += b->time[(s * b->tokens + i) * b->rounds + round];
    }
    return GEODEC_OK;
}

static int by_value(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

static void print(bench *b)
{
    double least[STEPS] = {0}, median[STEPS] = {0};
    for (int s = 0; s < STEPS; s++)
        for (int64_t i = 0; i + 1 < b->n; i++) {
            float *t = b->time + (s * b->tokens + i) * b->rounds;
            qsort(t, (size_t)b->rounds, sizeof *t, by_value);
            least[s] += (double)t[0] / (double)(b->n - 1);
            median[s] += (double)t[b->rounds / 2] / (double)(b->n - 1);
        }
    (void)printf("what\tleast_us\tmedian_us\tpercent\n");
    for (int s = 0; s < STEPS; s++)
        (void)printf("%s\t%.2f\t%.2f\t%.2f\n", names[s], least[s], median[s],
                     b->warm ? 0 : 100 * least[s] / least[PASS]);
}

static geodec_status run(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_model_open(b->path[0], &b->model, err));
    const geodec_model_config *c = geodec_model_configuration(b->model);
    b->cells = (int64_t)c->n_layer * c->n_expert;
    GEODEC_TRY(geodec_foreseer_map_open(b->path[1], b->path[2], b->model, &b->map, err));
    GEODEC_TRY(geodec_foresight_create(&b->map.map, &b->map.mixture, &b->foresight, err));
    GEODEC_TRY(geodec_pool_create(b->threads, &b->pool, err));
    const geodec_session_options so = {.n_ctx = WINDOW, .max_batch = 1, .pool = b->pool};
    GEODEC_TRY(geodec_session_create(b->model, &so, &b->session, err));
    GEODEC_NEW_EACH(b->tokens, b->token, b->first);
    GEODEC_NEW(b->state, b->tokens * c->d_model);
    GEODEC_NEW(b->logit, b->tokens * b->cells);
    GEODEC_NEW_EACH(b->cells, b->early, b->mixed);
    GEODEC_NEW(b->logits, c->n_vocab);
    GEODEC_NEW(b->time, STEPS * b->tokens * b->rounds);
    GEODEC_TRY(record(b, err));
    for (int r = 0; r < b->rounds; r++) GEODEC_TRY(follow(b, r, err));
    print(b);
done:
    geodec_foresight_destroy(b->foresight);
    geodec_foreseer_map_close(&b->map);
    geodec_session_destroy(b->session);
    geodec_pool_destroy(b->pool);
    geodec_model_close(b->model);
    GEODEC_FREE(b->token, b->first, b->state, b->logit, b->early, b->mixed, b->logits, b->time);
    return st;
}

int main(int argc, char **argv)
{
    bench b = {.tokens = 2000, .rounds = 7, .threads = 1};
    geodec_err err = {0};
    char line[512];
    int n = 0;
    bool ok = true;
    for (int i = 1; i < argc && ok; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--warm") == 0)
            b.warm = true;
        else if (strcmp(argv[i], "--tokens") == 0 && more)
            b.tokens = atoll(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && more)
            b.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && more)
            b.threads = atoi(argv[++i]);
        else if (n < 4 && argv[i][0] != '-')
            b.path[n++] = argv[i];
        else
            ok = false;
    }
    if (!ok || n < 4 || b.tokens < 2 || b.rounds < 1 || b.rounds > MOST_ROUNDS) {
        (void)fprintf(stderr, "usage: bench-foresight MODEL.gguf FLOWMAP.h5 FORESIGHT.h5 TEXT [--tokens N] "
                              "[--rounds N] [--threads N] [--warm]\n");
        return 2;
    }
    if (run(&b, &err) == GEODEC_OK) return 0;
    (void)fprintf(stderr, "bench-foresight: %s\n", geodec_err_line(&err, line, sizeof line));
    return 1;
}

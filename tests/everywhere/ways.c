#include "ways.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "integer/engine/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 12, TREE = 11, MOST_TOKENS = 4096, TOKENS = 256, HEX = GEODEC_SHA256_HEX };
/* Row by row the parent; the path that is kept; the token behind it. */
static const int32_t parent[TREE] = {-1, 0, 0, 1, 1, 2, 5, 3, -1, 8, 6};
static const int32_t path[] = {0, 2, 5, 6, 10};
enum { PATH = sizeof path / sizeof *path };

typedef struct way {
    const char *name;
    int threads;
    int32_t batch; /* rows of a pass */
    bool wide;     /* passes over known tokens, in a tree; otherwise token by token and path by path */
} way;
static const way ways[] = {
    {"token by token", 1, 1, false},
    {"token by token, 3 threads", 3, PROMPT, false},
    {"passes of 64", 1, 64, true},
    {"passes of 11, 2 threads", 2, TREE, true},
    {"passes of 37, 3 threads", 3, 37, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct run {
    const ways_system *s;
    int32_t n_tokens; /* that follow the prompt */
    const way *way;
    uint32_t *word; /* [n_vocab] */
    int32_t *q16;   /* [n_vocab] */
    uint8_t *bytes; /* [4 n_vocab] */
    int32_t *known; /* [2][PROMPT + n_tokens]: tokens of the first way */
    geodec_sha256 hash, text;
} run;

static int32_t token_of(const run *r, int64_t i) { return (int32_t)((i * 7919 + 17) % r->s->n_vocab); }

static void hash_words(run *r, geodec_sha256 *h, const uint32_t *v, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int b = 0; b < 4; b++) r->bytes[4 * i + b] = (uint8_t)(v[i] >> (8 * b));
    geodec_sha256_update(h, r->bytes, (size_t)n * 4);
}

/* The logits of a row, which stay in r->q16. */
static void hash_row(run *r, int32_t row)
{
    r->s->logits(r->s->ctx, row, r->word, r->q16);
    hash_words(r, &r->hash, r->word, r->s->n_vocab);
}

static geodec_status pass(run *r, const int32_t *token, const int32_t *parents, int32_t n, geodec_err *err)
{
    return r->s->pass(r->s->ctx, token, parents, n, err);
}

/* The prompt and the tokens that follow, by argmax or sampled. */
static geodec_status hash_text(run *r, bool sampled, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n_vocab = r->s->n_vocab, all = PROMPT + r->n_tokens, most = r->way->batch;
    const geodec_choose_settings s = geodec_choose_settings_of(sampled ? 0.8 : 0, sampled ? 40 : 0, 0.95, 7);
    int32_t *token = r->known + (sampled ? all : 0);
    geodec_choose *choose = NULL;
    GEODEC_TRY(geodec_choose_create(&s, n_vocab, &choose, err));
    GEODEC_TRY(r->s->truncate(r->s->ctx, 0, err));
    for (int32_t i = 0; i < PROMPT; i++) token[i] = token_of(r, i);
    for (int32_t at = 0; at < all - 1;) {
        const int32_t end = r->way->wide  ? all - 1
                            : at < PROMPT ? PROMPT
                                          : at + 1,
                      n = end - at < most ? end - at : most;
        GEODEC_TRY(pass(r, token + at, NULL, n, err));
        for (int32_t i = 0; i < n; i++) {
            hash_row(r, i);
            if (at + i + 1 < PROMPT) continue;
            const int32_t next = geodec_choose_next(choose, at + i + 1 - PROMPT, r->q16);
            hash_words(r, &r->hash, &(uint32_t){(uint32_t)next}, 1);
            hash_words(r, &r->text, &(uint32_t){(uint32_t)next}, 1);
            if (r->way != ways) continue;
            token[at + i + 1] = next; /* other ways are given the tokens of the first, so that one changed token does
                                       * not hide how the others compare */
        }
        at += n;
    }
done:
    geodec_choose_destroy(choose);
    return st;
}

/* The tree behind the prompt, in one pass or each row as the end of its path; then the path that is kept. */
static geodec_status hash_tree(run *r, geodec_err *err)
{
    const ways_system *s = r->s;
    int32_t token[TREE], line[TREE], kept[PATH];
    for (int32_t i = 0; i < TREE; i++) token[i] = token_of(r, 1000 + i);
    for (int32_t i = 0; i < PATH; i++) kept[i] = token[path[i]];
    GEODEC_PASS(s->truncate(s->ctx, PROMPT, err));
    if (r->way->wide) {
        GEODEC_PASS(pass(r, token, parent, TREE, err));
        for (int32_t i = 0; i < TREE; i++) hash_row(r, i);
        s->compact(s->ctx, PROMPT, path, PATH);
    } else {
        for (int32_t i = 0; i < TREE; i++) {
            int32_t n = 0;
            for (int32_t at = i; at >= 0; at = parent[at]) line[n++] = token[at];
            while (n > 0) GEODEC_PASS(pass(r, &line[--n], NULL, 1, err));
            hash_row(r, 0);
            GEODEC_PASS(s->truncate(s->ctx, PROMPT, err));
        }
        for (int32_t i = 0; i < PATH; i++) GEODEC_PASS(pass(r, &kept[i], NULL, 1, err));
    }
    const int32_t next = token_of(r, 2000);
    GEODEC_PASS(pass(r, &next, NULL, 1, err));
    hash_row(r, 0);
    return GEODEC_OK;
}

static geodec_status run_way(run *r, int set, char hex[HEX], char text[HEX], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const ways_system *s = r->s;
    const int32_t rows = r->way->batch > TREE || !r->way->wide ? r->way->batch : TREE;
    GEODEC_TRY(s->begin(s->ctx, set, r->way->threads, rows, PROMPT + r->n_tokens + TREE, err));
    geodec_sha256_init(&r->hash);
    geodec_sha256_init(&r->text);
    GEODEC_TRY(hash_text(r, false, err));
    GEODEC_TRY(hash_text(r, true, err));
    if (s->trees) GEODEC_TRY(hash_tree(r, err));
    geodec_sha256_hex(&r->hash, hex);
    geodec_sha256_hex(&r->text, text);
done:
    s->end(s->ctx);
    return st;
}

/* Every way in a set; first: the hash of the first way of the first set. */
static geodec_status run_set(run *r, int set, char first[HEX], bool *differ, geodec_err *err)
{
    char hex[WAYS][HEX], text[WAYS][HEX];
    int n = 0, gave[WAYS] = {0};
    for (int w = 0; w < WAYS; w++) {
        int k = 0;
        r->way = &ways[w];
        GEODEC_PASS(run_way(r, set, hex[n], text[n], err));
        while (strcmp(hex[k], hex[n]) != 0) k++;
        if (k == n) n++;
        gave[k]++;
        if (!*first) memcpy(first, hex[k], HEX);
        if (strcmp(hex[k], first) == 0) continue;
        *differ = true;
        (void)fprintf(stderr, "%s: %s, %s: %.16s instead of %.16s\n", r->s->program, r->s->sets[set], ways[w].name,
                      hex[k], first);
    }
    for (int k = 0; k < n; k++) printf("%s\t%s\t%d\t%d\t%s\n", r->s->sets[set], hex[k], gave[k], (int)WAYS, text[k]);
    (void)fflush(stdout);
    return GEODEC_OK;
}

void ways_of_floats(const float *x, int32_t n, uint32_t *word, int32_t *q16)
{
    memcpy(word, x, (size_t)n * sizeof *word);
    for (int32_t i = 0; i < n; i++) q16[i] = (int32_t)lrint(fmin(fmax((double)x[i], -32767), 32767) * 65536);
}

bool ways_tokens(const char *arg, int32_t *n_tokens)
{
    char *end = NULL;
    const long n = arg ? strtol(arg, &end, 10) : TOKENS;
    *n_tokens = (int32_t)n;
    return !(end && *end) && n >= 1 && n <= MOST_TOKENS;
}

geodec_status ways_run(const ways_system *s, int32_t n_tokens, bool *differ, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char first[HEX] = "";
    run r = {.s = s, .n_tokens = n_tokens};
    GEODEC_NEW_EACH(s->n_vocab, r.word, r.q16);
    GEODEC_NEW(r.bytes, (int64_t)4 * s->n_vocab);
    GEODEC_NEW(r.known, 2 * ((int64_t)PROMPT + n_tokens));
    for (int i = 0; i < s->n_sets; i++) {
        if (s->available(i))
            GEODEC_TRY(run_set(&r, i, first, differ, err));
        else
            printf("%s\tskipped: not on this processor\n", s->sets[i]);
    }
done:
    GEODEC_FREE(r.word, r.q16, r.bytes, r.known);
    return st;
}

int ways_end(const char *program, geodec_status st, bool differ, const geodec_err *err)
{
    char line[1024];
    if (st == GEODEC_OK) return differ ? 1 : 0;
    (void)fprintf(stderr, "%s: %s\n", program, geodec_err_line(err, line, sizeof line));
    return 3;
}

#include "attest/attest.h"

#include "attest/freivalds.h"
#include "base/mem.h"
#include "base/rng.h"
#include "integer/fixed/fixed.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

/* ---- links ------------------------------------------------------------------------------------------------------- */

static void put64(geodec_sha256 *h, uint64_t v)
{
    uint8_t b[8];
    for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> (8 * i));
    geodec_sha256_update(h, b, sizeof b);
}

static void head_of(const geodec_attest *a, uint8_t out[GEODEC_ATTEST_HASH])
{
    char text[256];
    geodec_sha256 h;
    geodec_sha256_init(&h);
    const int n = snprintf(text, sizeof text, "geodec-attest 1\n%s\n%s\n%a %a %d %llu\n%d\n", a->model, a->tables,
                           a->temperature, a->top_p, a->top_k, (unsigned long long)a->seed, a->n_prompt);
    geodec_sha256_update(&h, text, (size_t)n);
    for (int32_t i = 0; i < a->n_prompt; i++) put64(&h, (uint64_t)a->prompt[i]);
    geodec_sha256_bytes(&h, out);
}

static void link_of(const uint8_t before[GEODEC_ATTEST_HASH], int64_t index, int32_t token, const int32_t *logits,
                    int32_t n, uint8_t out[GEODEC_ATTEST_HASH])
{
    uint8_t piece[4096];
    size_t at = 0;
    geodec_sha256 h;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, before, GEODEC_ATTEST_HASH);
    put64(&h, (uint64_t)index);
    put64(&h, (uint64_t)token);
    for (int32_t i = 0; i < n; i++) {
        for (int b = 0; b < 4; b++) piece[at++] = (uint8_t)((uint32_t)logits[i] >> (8 * b));
        if (at == sizeof piece) {
            geodec_sha256_update(&h, piece, at);
            at = 0;
        }
    }
    geodec_sha256_update(&h, piece, at);
    geodec_sha256_bytes(&h, out);
}

static geodec_status chooser(const geodec_attest *a, int32_t n_vocab, geodec_choose **out, geodec_err *err)
{
    const geodec_choose_settings s = geodec_choose_settings_of(a->temperature, a->top_k, a->top_p, a->seed);
    return geodec_choose_create(&s, n_vocab, out, err);
}

void geodec_attest_clear(geodec_attest *a)
{
    GEODEC_FREE(a->prompt, a->token, a->link);
    memset(a, 0, sizeof *a);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Rows of a pass; with a transcript, whose sums of a pass are kept in memory. */
enum { CHUNK = 64, CHUNK_WRITTEN = 8 };

/* Rows [from, to) of tokens; logits of the last one, or NULL. w: takes the sums, or NULL. */
static geodec_status prefill(geodec_engine *e, const int32_t *token, int32_t n, geodec_transcript_writer *w,
                             int32_t *last, geodec_err *err)
{
    const int32_t rows = w ? CHUNK_WRITTEN : CHUNK;
    for (int32_t at = 0; at < n; at += rows) {
        bool want[CHUNK] = {false};
        const int32_t count = n - at < rows ? n - at : rows;
        if (at + count == n) want[count - 1] = true;
        const geodec_engine_pass p = {
            .n = count, .token = token + at, .want = want, .logits = at + count == n ? last : NULL, .packed = true};
        GEODEC_PASS(geodec_engine_forward(e, &p, err));
        if (w) GEODEC_PASS(geodec_transcript_flush(w, count, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_attest_run(geodec_engine *e, int32_t n_vocab, int32_t n, int32_t eos, const char *transcript,
                                geodec_attest *a, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_choose *c = NULL;
    geodec_transcript_writer *w = NULL;
    geodec_freivalds *f = NULL;
    int32_t *logits = NULL;
    if (a->n_prompt < 1) GEODEC_THROW(GEODEC_INVAL, "a prompt of no tokens");
    if (n < 0 || n > GEODEC_ATTEST_TOKENS)
        GEODEC_THROW(GEODEC_INVAL, "%d tokens are outside 0 to %d", n, GEODEC_ATTEST_TOKENS);
    GEODEC_TRY(chooser(a, n_vocab, &c, err));
    GEODEC_NEW(logits, n_vocab);
    GEODEC_NEW(a->token, n);
    GEODEC_NEW(a->link, (int64_t)n + 1);
    geodec_fixed_digest(a->tables);
    head_of(a, a->link[0]);
    if (transcript) {
        GEODEC_TRY(geodec_transcript_create(transcript, a->link[0], CHUNK_WRITTEN, &w, err));
        GEODEC_TRY(geodec_freivalds_prover(e, w, &f, err));
        geodec_engine_replace_products(e, geodec_freivalds_prove, f);
    }
    GEODEC_TRY(prefill(e, a->prompt, a->n_prompt, w, logits, err));
    for (a->n = 0; a->n < n;) {
        const int32_t token = geodec_choose_next(c, a->n, logits);
        a->token[a->n] = token;
        link_of(a->link[a->n], a->n, token, logits, n_vocab, a->link[a->n + 1]);
        a->n++;
        if (token == eos || a->n == n) break;
        GEODEC_TRY(geodec_hooks_progress(hooks, "tokens", a->n, n, err));
        GEODEC_TRY(prefill(e, &token, 1, w, logits, err));
    }
    if (w) GEODEC_TRY(geodec_transcript_commit(w, &a->transcript_size, a->transcript, err));
done:
    geodec_engine_replace_products(e, NULL, NULL);
    geodec_freivalds_free(f);
    geodec_transcript_abandon(w);
    geodec_choose_destroy(c);
    geodec_mem_free(logits);
    return st;
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

const char *geodec_attest_verdict_text(geodec_attest_verdict v)
{
    switch (v) {
    case GEODEC_ATTEST_HOLDS:
        return "holds";
    case GEODEC_ATTEST_OTHER_MODEL:
        return "made with another model";
    case GEODEC_ATTEST_OTHER_TABLES:
        return "made with other tables of the engine";
    case GEODEC_ATTEST_HEADER:
        return "prompt or settings are not those of the chain";
    case GEODEC_ATTEST_TOKEN:
        return "a token is not the one that the settings choose";
    case GEODEC_ATTEST_LOGITS:
        return "the logits are not those of the model";
    case GEODEC_ATTEST_TRANSCRIPT:
        return "the transcript is not that of the record";
    case GEODEC_ATTEST_SUMS:
        return "a product in the transcript is not that of the model";
    default:
        return "not checked";
    }
}

/* Draws the outputs that are checked, drawn [n], and returns their number. */
static int32_t draw(const geodec_attest *a, const geodec_attest_check *how, bool *drawn)
{
    int32_t count = 0;
    const int32_t wanted = how->sample > 0 && how->sample < a->n ? how->sample : a->n;
    geodec_rng r = geodec_rng_stream(how->seed, geodec_rng_id("attest-sample", 0));
    for (int32_t i = 0; i < a->n; i++) { /* every set of this size is as likely */
        drawn[i] = (int32_t)geodec_rng_below(&r, (uint64_t)(a->n - i)) < wanted - count;
        count += drawn[i];
    }
    return count;
}

typedef struct checking {
    geodec_engine *e;
    geodec_pool *pool;
    geodec_choose **c; /* of each thread */
    const geodec_attest *a;
    const bool *drawn;
    int32_t *logits; /* [rows][n_vocab] */
    int32_t n_vocab;
    geodec_attest_result *r;
    int32_t output[CHUNK]; /* of each row of logits */
    geodec_attest_verdict found[CHUNK];
    geodec_transcript *t; /* NULL: without */
    geodec_freivalds *f;
} checking;

/* An output against its logits. */
static void check_output(void *ctx, int64_t row, int worker)
{
    checking *k = ctx;
    uint8_t link[GEODEC_ATTEST_HASH];
    const int32_t i = k->output[row], *logits = k->logits + row * k->n_vocab;
    link_of(k->a->link[i], i, k->a->token[i], logits, k->n_vocab, link);
    if (geodec_choose_next(k->c[worker], i, logits) != k->a->token[i])
        k->found[row] = GEODEC_ATTEST_TOKEN;
    else if (memcmp(link, k->a->link[i + 1], sizeof link) != 0)
        k->found[row] = GEODEC_ATTEST_LOGITS;
    else
        k->found[row] = GEODEC_ATTEST_HOLDS;
}

/* The outputs of n rows of logits; false: the first one that differs is the result. */
static bool check_rows(checking *k, int32_t n)
{
    geodec_pool_run_dynamic(k->pool, n, check_output, k);
    for (int32_t row = 0; row < n; row++) {
        k->r->checked++;
        if (k->found[row] == GEODEC_ATTEST_HOLDS) continue;
        k->r->verdict = k->found[row];
        k->r->at = k->output[row];
        return false;
    }
    return true;
}

/* The first row of a pass of n with a wrong product, n: none. GEODEC_FORMAT: the transcript does not have the products
 * of each row; it may have more only where no logits are wanted. */
static geodec_status check_pass(const checking *k, int32_t n, const bool *want, int32_t *wrong, geodec_err *err)
{
    *wrong = n;
    if (!k->t) return GEODEC_OK;
    const geodec_freivalds_report r = geodec_freivalds_pass_report(k->f);
    k->r->matrices = r.matrices;
    k->r->products = r.checked;
    k->r->recomputed = r.recomputed;
    if (r.wrong >= 0) *wrong = r.wrong;
    for (int32_t i = 0; i < *wrong; i++)
        if (i == r.missing || geodec_transcript_left(k->t, i) > !want[i])
            GEODEC_FAIL(GEODEC_FORMAT, "the transcript does not have the products of the model");
    return GEODEC_OK;
}

/* The prompt and all outputs but the last one, whose logits nobody needs, in passes of `rows`. */
static geodec_status check_outputs(checking *k, int32_t rows, int32_t end, const geodec_hooks *hooks, geodec_err *err)
{
    const geodec_attest *a = k->a;
    const int32_t all = a->n_prompt + end - 1;
    for (int32_t at = 0; at < all; at += rows) {
        int32_t token[CHUNK], wanted = 0;
        bool want[CHUNK];
        const int32_t n = all - at < rows ? all - at : rows;
        for (int32_t j = 0; j < n; j++) {
            const int32_t row = at + j, output = row - a->n_prompt + 1; /* whose logits are those of the row */
            token[j] = row < a->n_prompt ? a->prompt[row] : a->token[row - a->n_prompt];
            want[j] = output >= 0 && k->drawn[output];
            if (want[j]) k->output[wanted++] = output;
        }
        const geodec_engine_pass p = {
            .n = n, .token = token, .want = want, .logits = wanted ? k->logits : NULL, .packed = true};
        int32_t wrong, sound = 0; /* the first row with a wrong product; wanted rows before it */
        if (k->t) GEODEC_PASS(geodec_transcript_pass(k->t, n, err));
        GEODEC_PASS(geodec_engine_forward(k->e, &p, err));
        GEODEC_PASS(geodec_hooks_progress(hooks, "tokens checked", at + n, all, err));
        GEODEC_PASS(check_pass(k, n, want, &wrong, err));
        for (int32_t j = 0; j < wrong; j++) sound += want[j];
        if (!check_rows(k, sound)) return GEODEC_OK;
        if (wrong == n) continue;
        k->r->verdict = GEODEC_ATTEST_SUMS;
        k->r->at = at + wrong < a->n_prompt ? 0 : at + wrong - a->n_prompt + 1;
        return GEODEC_OK;
    }
    if (k->t && end == a->n && !geodec_transcript_ended(k->t))
        GEODEC_FAIL(GEODEC_FORMAT, "the transcript has more tokens than the record");
    k->r->verdict = GEODEC_ATTEST_HOLDS;
    return GEODEC_OK;
}

/* Opens the transcript; a verdict if it is not that of the record. */
static geodec_status begin_transcript(checking *k, const geodec_attest_check *how, int32_t rows, geodec_err *err)
{
    char digest[GEODEC_SHA256_HEX] = "";
    if (!how->transcript) return GEODEC_OK;
    GEODEC_PASS(geodec_transcript_open(how->transcript, rows, &k->t, err));
    if (how->hash) GEODEC_PASS(geodec_file_sha256(how->transcript, digest, err));
    if (memcmp(geodec_transcript_binding(k->t), k->a->link[0], GEODEC_ATTEST_HASH) != 0 ||
        geodec_transcript_size(k->t) != k->a->transcript_size || (how->hash && strcmp(digest, k->a->transcript) != 0)) {
        k->r->verdict = GEODEC_ATTEST_TRANSCRIPT;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec_freivalds_verifier(k->e, k->t, rows, how->secret, &k->f, err));
    geodec_engine_replace_products(k->e, geodec_freivalds_check, k->f);
    return GEODEC_OK;
}

geodec_status geodec_attest_verify(geodec_engine *e, int32_t n_vocab, const geodec_attest *a,
                                   const geodec_attest_check *how, geodec_attest_result *out, const geodec_hooks *hooks,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_attest_result r = {.at = -1};
    checking k = {.e = e, .pool = how->pool, .a = a, .n_vocab = n_vocab, .r = &r};
    const int threads = geodec_pool_threads(how->pool);
    bool *drawn = NULL;
    uint8_t head[GEODEC_ATTEST_HASH];
    char tables[GEODEC_SHA256_HEX];
    const int32_t rows = how->rows < 1 ? 1 : how->rows > CHUNK ? CHUNK : how->rows;
    geodec_fixed_digest(tables);
    head_of(a, head);
    if (strcmp(a->model, how->model) != 0)
        r.verdict = GEODEC_ATTEST_OTHER_MODEL;
    else if (strcmp(a->tables, tables) != 0)
        r.verdict = GEODEC_ATTEST_OTHER_TABLES;
    else if (memcmp(head, a->link[0], sizeof head) != 0)
        r.verdict = GEODEC_ATTEST_HEADER;
    if (r.verdict != GEODEC_ATTEST_NOT_CHECKED || a->n == 0) goto done; /* of no output nothing is checked */
    for (int32_t i = 0; i < a->n_prompt + a->n; i++) {
        const int32_t token = i < a->n_prompt ? a->prompt[i] : a->token[i - a->n_prompt];
        if (token >= 0 && token < n_vocab) continue;
        r.verdict = i < a->n_prompt ? GEODEC_ATTEST_HEADER : GEODEC_ATTEST_TOKEN;
        r.at = i - a->n_prompt;
        goto done;
    }
    GEODEC_TRY(begin_transcript(&k, how, rows, err));
    if (r.verdict != GEODEC_ATTEST_NOT_CHECKED) goto done;
    GEODEC_NEW(k.c, threads);
    for (int i = 0; i < threads; i++) GEODEC_TRY(chooser(a, n_vocab, &k.c[i], err));
    GEODEC_NEW(drawn, a->n);
    k.logits = geodec_mem_map((int64_t)rows * n_vocab * (int64_t)sizeof *k.logits);
    if (!k.logits) GEODEC_THROW(GEODEC_NOMEM, "no memory for the logits of %d rows", rows);
    (void)draw(a, how, drawn);
    k.drawn = drawn;
    int32_t end = a->n; /* after the last output that is checked */
    while (end > 1 && !drawn[end - 1]) end--;
    GEODEC_TRY(check_outputs(&k, rows, end, hooks, err));
done:
    if (st == GEODEC_OK) *out = r;
    geodec_engine_replace_products(e, NULL, NULL);
    geodec_freivalds_free(k.f);
    geodec_transcript_close(k.t);
    for (int i = 0; k.c && i < threads; i++) geodec_choose_destroy(k.c[i]);
    geodec_mem_unmap(k.logits, (int64_t)rows * n_vocab * (int64_t)sizeof *k.logits);
    GEODEC_FREE(k.c, drawn);
    return st;
}

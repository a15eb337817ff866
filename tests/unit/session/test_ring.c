/* Sessions that drop what no window sees, against sessions that keep everything: the same bits, in any order of passes,
 * trees, returns and files. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/recurrence_states_internal.h"
#include "session/session_state.h"
#include "session/tail.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static geodec_model *open_family(const char *name, int32_t window)
{
    synthetic shape = *family_named(name);
    shape.window = window;
    if (shape.recur_rank > 0) shape.log_decay_min = -0.001f; /* a state remembers its oldest token: bits show faults */
    return opened_model(&shape);
}

/* ---- at random --------------------------------------------------------------------------------------------------- */

enum { MOST = 1700, BATCH = 90, PROMPT = 120 };

/* Two sessions that get the same calls. */
typedef struct pair {
    geodec_session *ring, *whole;
    geodec_rng rng;
    int64_t v, d;
    float *logits[2], *stream; /* [BATCH][v]; [BATCH][d] */
    int32_t end;               /* greatest end of a pass since the text began */
    int64_t returns, far;
} pair;

static int32_t below(pair *p, int64_t n) { return (int32_t)geodec_rng_below(&p->rng, (uint64_t)n); }

/* A pass of n rows; returns the rows that stay. */
static void forward(pair *p, int32_t n, bool tree)
{
    geodec_err err = {0};
    int32_t token[BATCH], parent[BATCH], row[BATCH], path[BATCH], depth = 0;
    const int32_t base = geodec_session_length(p->ring), zero = 0, floor = p->ring->recur->floor;
    const geodec_capture capture = {1, &zero, p->stream};
    const int64_t passes = geodec_session_counters(p->ring).passes;
    for (int32_t i = 0; i < n; i++) {
        token[i] = below(p, p->v);
        parent[i] = below(p, i + 1) - 1;
    }
    const geodec_batch b = {.n = n, .token = token, .parent = tree ? parent : NULL};
    test_ok(geodec_forward(p->whole, &b, p->logits[0], &capture, &err), &err);
    test_ok(geodec_forward(p->ring, &b, p->logits[1], &capture, &err), &err);
    cr_assert_eq(memcmp(p->logits[0], p->logits[1], (size_t)(n * p->v) * sizeof **p->logits), 0, "%d rows after %d", n,
                 base);
    const int64_t more = geodec_session_counters(p->ring).passes - passes;
    cr_assert_eq(more == 1, base >= floor || base == 0, "%lld passes for a return to %d, %d", (long long)more, base,
                 floor);
    if (more > 1) p->end = 0;
    if (base + n > p->end) p->end = base + n;
    cr_assert_leq(p->ring->recur->floor, p->end > p->ring->back ? p->end - p->ring->back : 0);
    if (!tree) return;
    for (int32_t at = below(p, n); at >= 0; at = parent[at]) path[depth++] = at;
    for (int32_t i = 0; i < depth; i++) row[i] = path[depth - 1 - i];
    geodec_session_compact(p->ring, base, row, depth);
    geodec_session_compact(p->whole, base, row, depth);
}

/* A prompt in chunks of the session's size. */
static void prefill(pair *p, int32_t n)
{
    geodec_err err = {0};
    int32_t token[PROMPT];
    const int32_t base = geodec_session_length(p->ring);
    if (base < p->ring->recur->floor) p->end = 0;
    for (int32_t i = 0; i < n; i++) token[i] = below(p, p->v);
    test_ok(geodec_forward_prefill(p->whole, token, n, p->logits[0], &err), &err);
    test_ok(geodec_forward_prefill(p->ring, token, n, p->logits[1], &err), &err);
    cr_assert_eq(memcmp(p->logits[0], p->logits[1], (size_t)p->v * sizeof **p->logits), 0, "%d after %d", n, base);
    if (base + n > p->end) p->end = base + n;
    cr_assert_leq(p->ring->recur->floor, p->end > p->ring->back ? p->end - p->ring->back : 0);
}

/* The last layers again for the token of the last pass, which was alone. */
static void tail(pair *p)
{
    geodec_err err = {0};
    const geodec_tail_route route[4] = {GEODEC_TAIL_ROUTE_OWN, GEODEC_TAIL_ROUTE_OWN, GEODEC_TAIL_ROUTE_OWN,
                                        GEODEC_TAIL_ROUTE_OWN};
    const int32_t n = p->ring->max_batch < 4 ? p->ring->max_batch : 4, end = geodec_session_length(p->ring) - 1 + n;
    if (end > p->ring->n_ctx) return;
    for (int32_t i = 1; i < n; i++)
        for (int64_t k = 0; k < p->d; k++) p->stream[i * p->d + k] = p->stream[k] + (float)i / 8;
    const geodec_tail t = {.first = 0, .n = n, .stream = p->stream, .route = route};
    test_ok(geodec_session_tail(p->whole, &t, p->logits[0], &err), &err);
    test_ok(geodec_session_tail(p->ring, &t, p->logits[1], &err), &err);
    cr_assert_eq(memcmp(p->logits[0], p->logits[1], (size_t)(n * p->v) * sizeof **p->logits), 0);
    if (end > p->end) p->end = end;
}

static void go_back(pair *p)
{
    const int32_t length = geodec_session_length(p->ring), floor = p->ring->recur->floor;
    const int how = length == p->ring->n_ctx ? 2 : below(p, 20);
    /* to the shortest length that needs no reading, one less, anywhere, the beginning; mostly near */
    const int32_t to = how == 0   ? floor
                       : how == 1 ? floor - 1
                       : how == 2 ? below(p, length + 1)
                       : how == 3 ? 0
                                  : length - below(p, 40);
    if (to < 0 || to > length) return;
    p->returns++;
    p->far += to < floor && to > 0;
    geodec_session_truncate(p->ring, to);
    geodec_session_truncate(p->whole, to);
    if (to == 0) p->end = 0;
}

typedef struct setting {
    const char *family;
    int32_t window, back, batch;
    geodec_kv_type kv;
    int threads;
} setting;

static void wander(const setting *k, uint64_t seed)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    if (k->threads > 1) test_ok(geodec_pool_create(k->threads, &pool, &err), &err);
    geodec_model *m = open_family(k->family, k->window);
    pair p = {.v = geodec_model_configuration(m)->n_vocab,
              .d = geodec_model_configuration(m)->d_model,
              .rng = geodec_rng_stream(seed, 1)};
    geodec_session_options o = {.n_ctx = MOST, .max_batch = k->batch, .kv = k->kv, .back = MOST};
    p.whole = opened_session(m, o);
    o.back = k->back;
    o.pool = pool;
    p.ring = opened_session(m, o);
    cr_assert(geodec__session_forgets(p.ring) && !geodec__session_forgets(p.whole));
    for (int i = 0; i < 2; i++) p.logits[i] = geodec_mem_new(BATCH * p.v, sizeof(float));
    p.stream = geodec_mem_new(BATCH * p.d, sizeof *p.stream);
    int32_t longest = 0;
    const int64_t turns =
        geodec__max(3 * p.ring->cache.blocks * GEODEC__KEYS, 2 * p.ring->recur->rows); /* of each ring */
    for (int step = 0; step < 400 && (step < 100 || longest <= turns || p.far == 0); step++) {
        const int what = below(&p, 8);
        const int32_t left = MOST - geodec_session_length(p.ring);
        if (what < 2 || left == 0) {
            go_back(&p);
            continue;
        }
        int32_t n = what == 2 ? 1 : 1 + below(&p, what == 4 ? PROMPT : k->batch);
        if (n > left) n = left;
        if (what == 4)
            prefill(&p, n);
        else
            forward(&p, n, what == 3);
        if (what == 2) tail(&p);
        if (p.end > longest) longest = p.end;
    }
    cr_assert_gt(longest, turns);
    cr_assert(p.far > 0 && p.returns > 2 * p.far, "%lld returns, %lld far", (long long)p.returns, (long long)p.far);
    geodec_session_destroy(p.ring);
    geodec_session_destroy(p.whole);
    GEODEC_FREE(p.logits[0], p.logits[1], p.stream);
    geodec_model_close(m);
    geodec_pool_destroy(pool);
}

/* Sums of `back` and window that fill whole blocks, exceed them by one, and lack one. */
Test(model_ring, any_order_of_calls_gives_the_bits_of_the_whole_cache, .timeout = 600)
{
    static const setting list[] = {
        {"perspective", 64, 65, 65, GEODEC_KV_F32, 1},        {"perspective", 64, 64, 64, GEODEC_KV_F32, 2},
        {"perspective", 65, 64, 17, GEODEC_KV_F16, 1},        {"perspective", 63, 65, 9, GEODEC_KV_Q8_0, 2},
        {"perspective", 1, 1, 1, GEODEC_KV_F32, 1},           {"perspective", 130, 63, 40, GEODEC_KV_Q4_0, 1},
        {"perspective-softmax", 9, 0, 90, GEODEC_KV_F16, 2},  {"perspective-softmax", 120, 70, 64, GEODEC_KV_F32, 1},
        {"perspective-dense", 64, 129, 90, GEODEC_KV_F32, 2}, {"perspective-dense", 2, 8, 8, GEODEC_KV_Q8_0, 1},
        {"perspective-angle", 300, 90, 90, GEODEC_KV_F16, 1},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) wander(&list[i], 100 + i);
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

enum { TEXT = 1100 };

static void same_next(geodec_session *ring, geodec_session *whole, int32_t token, float *a, float *b)
{
    geodec_err err = {0};
    const size_t bytes = (size_t)geodec_model_configuration(ring->model)->n_vocab * sizeof *a;
    const int32_t at = geodec_session_length(ring);
    cr_assert_eq(at, geodec_session_length(whole));
    test_ok(geodec_forward(ring, &(geodec_batch){.n = 1, .token = &token}, a, NULL, &err), &err);
    test_ok(geodec_forward(whole, &(geodec_batch){.n = 1, .token = &token}, b, NULL, &err), &err);
    cr_assert_eq(memcmp(a, b, bytes), 0, "the token after %d", at);
}

static void same_files(geodec_session *ring, geodec_session *whole, int32_t *text)
{
    geodec_err err = {0};
    const int32_t length = geodec_session_length(ring);
    const geodec_session_text t = {text, length + 1, 0};
    char *bytes[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        const char *file = test_tmp(i ? "whole.state" : "ring.state");
        test_ok(geodec_session_save(i ? whole : ring, file, &t, &err), &err);
        test_ok(geodec_file_read(file, 1 << 24, &bytes[i], &n[i], &err), &err);
    }
    cr_assert(n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0, "the files of %d tokens", length);
    geodec_mem_free_all((void *const[]){bytes[0], bytes[1]}, 2);
}

/* Token by token around the window's edge and around every turn of the ring; after each the shortest length that
 * needs no reading, which reads none, and the one before it, which does. */
Test(model_ring, edges, .timeout = 600)
{
    static const int32_t windows[] = {1, 2, 63, 64, 65, 128};
    geodec_err err = {0};
    int32_t text[TEXT];
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        geodec_model *m = open_family("perspective", windows[w]);
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b);
        geodec_session *ring = opened_session(m, (geodec_session_options){.n_ctx = TEXT, .max_batch = 64, .back = 64}),
                       *whole =
                           opened_session(m, (geodec_session_options){.n_ctx = TEXT, .max_batch = 64, .back = TEXT});
        const int32_t turn = (int32_t)ring->cache.blocks * GEODEC__KEYS;
        drawn_text(m, 40 + w, text, TEXT);
        for (int32_t at = 0; at + 1 < TEXT;) {
            const int32_t edge = at < windows[w] + 2 ? windows[w] - 2 : (at + 2) / turn * turn + turn - 2;
            const int32_t n = edge > at && edge < TEXT ? edge - at : 1;
            if (n > 1) {
                test_ok(geodec_forward_prefill(ring, text + at, n, a, &err), &err);
                test_ok(geodec_forward_prefill(whole, text + at, n, b, &err), &err);
                cr_assert_eq(memcmp(a, b, (size_t)v * sizeof *a), 0);
                at += n;
            }
            for (int i = 0; i < 5 && at < TEXT; i++, at++) same_next(ring, whole, text[at], a, b);
            if (ring->recur->floor == 0) continue;
            const int32_t floor = ring->recur->floor;
            const int64_t passes = geodec_session_counters(ring).passes;
            geodec_session_truncate(ring, floor);
            geodec_session_truncate(whole, floor);
            same_files(ring, whole, text);
            same_next(ring, whole, text[floor], a, b);
            cr_assert_eq(geodec_session_counters(ring).passes, passes + 1);
            geodec_session_truncate(ring, floor - 1);
            geodec_session_truncate(whole, floor - 1);
            same_next(ring, whole, text[floor - 1], a, b);
            cr_assert_gt(geodec_session_counters(ring).passes, passes + 2, "the text is read again");
            test_ok(geodec_forward_prefill(ring, text + floor, at - floor, NULL, &err), &err);
            test_ok(geodec_forward_prefill(whole, text + floor, at - floor, NULL, &err), &err);
        }
        geodec_session_destroy(ring);
        geodec_session_destroy(whole);
        GEODEC_FREE(a, b);
        geodec_model_close(m);
    }
}

/* States before the oldest row of the log are of no use, those at it are: kept ones at 319 and 638, 384 rows. */
Test(model_ring, oldest_row_of_the_log)
{
    static const int32_t to[] = {255, 319, 383, 447, 511, 574, 638, 702, 703, 704};
    geodec_err err = {0};
    int32_t text[TEXT];
    geodec_model *m = open_family("perspective", 1);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b);
    drawn_text(m, 50, text, TEXT);
    for (int end = 703; end <= 704; end++) {
        geodec_session *ring = opened_session(m, (geodec_session_options){.n_ctx = TEXT, .max_batch = 64, .back = 64}),
                       *whole =
                           opened_session(m, (geodec_session_options){.n_ctx = TEXT, .max_batch = 64, .back = TEXT});
        int32_t at = 0;
        for (size_t i = 0; i < sizeof to / sizeof *to && to[i] <= end; at = to[i++]) {
            test_ok(geodec_forward_prefill(ring, text + at, to[i] - at, NULL, &err), &err);
            test_ok(geodec_forward_prefill(whole, text + at, to[i] - at, NULL, &err), &err);
        }
        cr_assert(ring->recur->rows == 384 && ring->recur->n_kept == (end == 703 ? 2 : 1));
        cr_assert_eq(ring->recur->floor, end == 703 ? 577 : 638);
        geodec_session_truncate(ring, ring->recur->floor);
        geodec_session_truncate(whole, ring->length);
        same_files(ring, whole, text);
        same_next(ring, whole, text[ring->length], a, b);
        geodec_session_destroy(ring);
        geodec_session_destroy(whole);
    }
    GEODEC_FREE(a, b);
    geodec_model_close(m);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A file does not show which session wrote it, and either reads it. */
Test(model_ring, files, .timeout = 300)
{
    geodec_err err = {0};
    int32_t text[TEXT];
    geodec_model *m = open_family("perspective", 64);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b);
    const geodec_session_options o = {.n_ctx = TEXT, .max_batch = 50, .back = 70, .kv = GEODEC_KV_Q8_0},
                                 all = {.n_ctx = TEXT, .back = TEXT, .kv = GEODEC_KV_Q8_0};
    geodec_session *ring = opened_session(m, o), *whole = opened_session(m, all), *next[2];
    geodec_rng rng = geodec_rng_stream(8, 1);
    drawn_text(m, 9, text, TEXT);
    for (int32_t at = 0, step = 0; step < 60; step++) {
        const int32_t to = step % 4 == 3 ? (int32_t)geodec_rng_below(&rng, (uint64_t)at + 1)
                                         : at + 1 + (int32_t)geodec_rng_below(&rng, 130);
        geodec_session *const both[] = {ring, whole};
        if (to >= TEXT) break;
        for (int i = 0; i < 2; i++) {
            geodec_session_truncate(both[i], to);
            if (to > at) test_ok(geodec_forward_prefill(both[i], text + at, to - at, NULL, &err), &err);
        }
        same_files(ring, whole, text);
        at = to;
        if (step % 5) continue;
        for (int i = 0; i < 2; i++) {
            geodec_session_text got;
            next[i] = opened_session(m, i ? all : o);
            test_ok(geodec_forward_prefill(next[i], text + 3, 400, NULL, &err), &err); /* forgotten */
            test_ok(geodec_session_load(next[i], test_tmp(i ? "ring.state" : "whole.state"), &got, &err), &err);
            geodec_mem_free(got.token);
        }
        for (int32_t t = to; t < to + 150 && t < TEXT; t++) same_next(next[0], next[1], text[t], a, b);
        for (int i = 0; i < 2; i++) geodec_session_truncate(next[i], to / 2);
        same_next(next[0], next[1], text[to / 2], a, b);
        for (int i = 0; i < 2; i++) geodec_session_destroy(next[i]);
    }
    geodec_session_destroy(ring);
    geodec_session_destroy(whole);
    GEODEC_FREE(a, b);
    geodec_model_close(m);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* A far return whose reading fails in any of its passes: the session is as it was, and the next call reads again. */
Test(model_ring, a_far_return_that_fails)
{
    enum { LENGTH = 700, TO = 200, BROKEN = -1 };
    geodec_err err = {0};
    int32_t text[LENGTH + 1];
    geodec_model *m = open_family("perspective", 64);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b);
    const geodec_session_options o = {.n_ctx = LENGTH + 1, .max_batch = 50, .back = 50};
    geodec_session *s = opened_session(m, o);
    const geodec_batch one = {.n = 1, .token = text + TO};
    drawn_text(m, 10, text, LENGTH + 1);
    test_ok(geodec_forward_prefill(s, text, TO + 1, a, &err), &err);
    for (int32_t at = 10; at < TO; at += 45) {
        const geodec_session_text whole = {text, TO, 0};
        geodec_session_truncate(s, 0);
        test_ok(geodec_forward_prefill(s, text, LENGTH, NULL, &err), &err);
        geodec_session_truncate(s, TO);
        cr_assert_lt(TO, s->recur->floor);
        s->recur->text[at] = BROKEN; /* a pass refuses it */
        for (int again = 0; again < 4; again++) {
            const geodec_status st = again % 2 ? geodec_session_save(s, test_tmp("none.state"), &whole, &err)
                                               : geodec_forward(s, &one, b, NULL, &err);
            cr_assert_eq(st, GEODEC_RANGE);
            cr_assert_eq(geodec_session_length(s), TO);
            geodec_err_clear(&err);
        }
        s->recur->text[at] = text[at];
        cr_assert_eq(memcmp(s->recur->text, text, TO * sizeof *text), 0);
        test_ok(geodec_forward(s, &one, b, NULL, &err), &err);
        cr_assert_eq(memcmp(a, b, (size_t)v * sizeof *a), 0);
    }
    geodec_session_destroy(s);
    GEODEC_FREE(a, b);
    geodec_model_close(m);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The memory of a session grows by its text alone; what is planned is what is allocated. */
Test(model_ring, bytes_do_not_grow_with_the_context)
{
    geodec_model *m = open_family("perspective", 64), *plain = open_family("perspective-attention", 64);
    const geodec_model_config *c = geodec_model_configuration(m);
    /* layer 3 of 5 attends */
    const int64_t token = 2 * 4 * (int64_t)c->n_kv_head * c->head_dim;
    int64_t cache[2], all[2];
    for (int i = 0; i < 2; i++) {
        const int32_t n = i ? 65536 : 4096;
        geodec_session *s = opened_session(m, (geodec_session_options){.n_ctx = n}),
                       *w = opened_session(m, (geodec_session_options){.n_ctx = n, .back = n});
        cache[i] = geodec_session_cache_bytes(s);
        all[i] = geodec__session_bytes(s);
        cr_assert_eq(geodec_session_kv_bytes(s), token);
        cr_assert_eq(cache[i], 6 * 64 * token + 64, "256 + 64 rows, and what a block exceeds them by");
        cr_assert_eq(geodec_session_cache_bytes(w), n * token + 64);
        const geodec_recurrence_bytes b = geodec_session_recurrence_bytes(s), k = geodec_session_recurrence_bytes(w);
        cr_assert_eq(b.most, (256 + 256 + 64) * b.row + (2 + 3) * b.state + 4 * n);
        cr_assert_eq(k.most, n * k.row + (2 + n / 256 + 1) * k.state + 4 * n);
        cr_assert_eq(geodec__session_bytes(w) - all[i], geodec_session_cache_bytes(w) - cache[i] + k.most - b.most +
                                                            4 * (int64_t)c->rope_dim * (n - 256 - 64));
        geodec_session_destroy(s);
        geodec_session_destroy(w);
    }
    cr_assert_eq(cache[1], cache[0]);
    cr_assert_eq(all[1] - all[0], 4 * (65536 - 4096));
    /* without a recurrence, a session is saved whole */
    geodec_session *s = opened_session(plain, (geodec_session_options){.n_ctx = 4096});
    cr_assert(!geodec__session_forgets(s) && s->cache.blocks == 64);
    geodec_session_destroy(s);
    geodec_err err = {0};
    cr_assert_eq(geodec_session_create(m, &(geodec_session_options){.back = -1}, &s, &err), GEODEC_RANGE);
    geodec_model_close(m);
    geodec_model_close(plain);
}

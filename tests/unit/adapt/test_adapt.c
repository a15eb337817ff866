/* A model with tangents: its loss against the session, its derivative against differences, and runs of both kinds. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/adapt/adaptation.h"
#include "session/synthetic.h"
#include "support/support.h"
#include "train/start.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { LENGTH = 24, RANK = 3, VOCAB = 290 };

/* clang-format off */
static const synthetic shapes[] = {
    {.arch = "perspective", .n_layer = 5, .d_model = 24, .n_head = 2, .n_kv_head = 1, .d_ff = 16, .n_vocab = VOCAB, .n_ctx = 64,
     .type = GEODEC_GGML_F32, .n_expert = 6, .n_expert_used = 1, .d_ff_dense = 20, .recur_rank = 5, .recur_period = 4,
     .log_decay_min = -0.5f, .route = "mod", .route_at = "pre", .window = 7, .embed_scale = 3, .tied = true, .seed = 3},
    {.arch = "perspective", .n_layer = 3, .d_model = 20, .n_head = 2, .n_kv_head = 2, .d_ff = 12, .n_vocab = VOCAB, .n_ctx = 64,
     .type = GEODEC_GGML_F32, .n_expert = 8, .n_expert_used = 1, .d_ff_dense = 16, .recur_rank = 9, .recur_period = 2,
     .route = "angle", .route_at = "post", .head_dim = 10, .seed = 4},
    {.arch = "perspective", .n_layer = 4, .d_model = 24, .n_head = 4, .n_kv_head = 1, .d_ff = 30, .n_vocab = VOCAB, .n_ctx = 64,
     .type = GEODEC_GGML_F32, .recur_rank = 4, .recur_period = 4, .window = 9, .seed = 5},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct world {
    geodec_start start;
    geodec_network *network;
    int32_t token[LENGTH], target[LENGTH];
    geodec_network_window window;
    int64_t size;
    double *x, *v;
} world;

static void make(world *w, int shape, int threads)
{
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(7, (uint64_t)shape);
    char name[32];
    (void)snprintf(name, sizeof name, "adapt-%d.gguf", shape);
    const char *path = test_tmp(name);
    test_ok(synthetic_write(path, &shapes[shape], &err), &err);
    test_ok(geodec_start_recurrent(path, &w->start, &err), &err);
    const geodec_network_options o = {.rank = RANK, .first = 0, .last = 1, .length = LENGTH, .threads = threads};
    test_ok(geodec_network_create(w->start.layout, w->start.params, &o, &w->network, &err), &err);
    for (int i = 0; i < LENGTH; i++) w->token[i] = (int32_t)geodec_rng_below(&r, VOCAB);
    for (int i = 0; i < LENGTH; i++) w->target[i] = i + 1 < LENGTH && i != 4 ? w->token[i + 1] : -1;
    w->window = (geodec_network_window){LENGTH, w->token, w->target};
    w->size = geodec_network_size(w->network);
    w->x = geodec_mem_new(w->size, sizeof(double));
    w->v = geodec_mem_new(w->size, sizeof(double));
    for (int64_t i = 0; i < w->size; i++) {
        w->x[i] = 0.3 * geodec_rng_normal(&r);
        w->v[i] = geodec_rng_normal(&r);
    }
}

static void end(world *w)
{
    GEODEC_FREE(w->x, w->v);
    geodec_network_destroy(w->network);
    geodec_start_clear(&w->start);
}

static double loss_of(world *w, const double *x, const double *place)
{
    geodec_err err = {0};
    double loss, derivative;
    int64_t counted;
    test_ok(geodec_network_loss(w->network, 0, &w->window, x, NULL, place, &loss, &derivative, &counted, &err), &err);
    cr_assert_eq(derivative, 0);
    cr_assert_eq(counted, LENGTH - 2);
    return loss;
}

/* Sum of -ln p by the session. */
static double session_loss(world *w, const geodec_model *m)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    static float logits[LENGTH * VOCAB];
    double sum = 0;
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = LENGTH, .token = w->token}, logits, NULL, &err), &err);
    for (int i = 0; i < LENGTH; i++) {
        double all = 0;
        if (w->target[i] < 0) continue;
        for (int j = 0; j < VOCAB; j++) all += exp((double)logits[i * VOCAB + j]);
        sum += log(all) - (double)logits[i * VOCAB + w->target[i]];
    }
    geodec_session_destroy(s);
    return sum;
}

Test(adapt, the_loss_is_that_of_the_session)
{
    for (int i = 0; i < SHAPES; i++) {
        world w;
        make(&w, i, 1);
        const double a = loss_of(&w, NULL, NULL), b = session_loss(&w, w.start.model);
        cr_assert_float_eq(a, b, 2e-4 * b, "shape %d: %.9g and %.9g", i, a, b);
        /* the start has B = 0 */
        geodec_network_start(w.network, 1, w.x);
        cr_assert_eq(loss_of(&w, w.x, NULL), a);
        end(&w);
    }
}

Test(adapt, the_derivative_is_that_of_differences)
{
    geodec_err err = {0};
    for (int i = 0; i < SHAPES; i++) {
        world w;
        make(&w, i, 1);
        double loss, derivative, *at = geodec_mem_new(w.size, sizeof(double)), side[2];
        int64_t counted;
        const double h = 1e-6;
        test_ok(geodec_network_loss(w.network, 0, &w.window, w.x, w.v, NULL, &loss, &derivative, &counted, &err), &err);
        for (int s = 0; s < 2; s++) {
            for (int64_t j = 0; j < w.size; j++) at[j] = w.x[j] + (s ? h : -h) * w.v[j];
            side[s] = loss_of(&w, at, NULL);
        }
        const double difference = (side[1] - side[0]) / (2 * h);
        cr_assert_float_eq(derivative, difference, 1e-6 * fabs(difference) + 1e-8, "shape %d: %.12g and %.12g", i,
                           derivative, difference);
        cr_assert_gt(fabs(derivative), 1e-3);
        geodec_mem_free(at);
        end(&w);
    }
}

Test(adapt, merged_weights_have_the_loss_of_the_adapters)
{
    geodec_err err = {0};
    for (int i = 0; i < SHAPES; i++) {
        world w;
        make(&w, i, 1);
        const int64_t places = geodec_network_places(w.network);
        double *place = NULL;
        geodec_network *merged = NULL;
        if (places) {
            place = geodec_mem_new(3 * places, sizeof(double));
            geodec_network_read_places(w.network, place);
            cr_assert_eq(loss_of(&w, w.x, place), loss_of(&w, w.x, NULL));
            for (int64_t j = 0; j < 3 * places; j++) place[j] = geodec_adapt_wrap(place[j] + 0.37 * (double)(j % 5), 1);
            for (int64_t j = 0; j < 3 * places; j++) place[j] = (double)(float)place[j];
            cr_assert_neq(loss_of(&w, w.x, place), loss_of(&w, w.x, NULL));
        }
        const double before = loss_of(&w, w.x, place);
        geodec_network_merge(w.network, w.x, place, w.start.params);
        const geodec_network_options o = {.rank = 1, .length = LENGTH, .threads = 1};
        test_ok(geodec_network_create(w.start.layout, w.start.params, &o, &merged, &err), &err);
        geodec_network_destroy(w.network);
        w.network = merged;
        cr_assert_float_eq(loss_of(&w, NULL, NULL), before, 1e-4 * before);
        geodec_mem_free(place);
        end(&w);
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct texts {
    geodec_text *text, *held_out;
} texts;

static texts read_texts(const world *w)
{
    geodec_err err = {0};
    texts t = {NULL, NULL};
    static const char one[] =
        "One day a bird saw a cat, and the cat saw the bird; then it rained all day and all night.\n";
    static const char two[] =
        "The man went to the sea. He saw a boat and a fish, and then he went home in the evening.\n";
    test_ok(geodec_text_encode("one", one, strlen(one), GEODEC_SEPARATOR_NONE, w->start.tokenizer, NULL, NULL, &t.text,
                               &err),
            &err);
    test_ok(geodec_text_encode("two", two, strlen(two), GEODEC_SEPARATOR_NONE, w->start.tokenizer, NULL, NULL,
                               &t.held_out, &err),
            &err);
    return t;
}

static geodec_adaptation run(world *w, const texts *t, geodec_adaptation_options o, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_adaptation a = {0};
    test_ok(geodec_adaptation_run(w->network, LENGTH, t->text, t->held_out, &o, pool, NULL, &a, &err), &err);
    return a;
}

Test(adapt, a_run_lowers_the_loss_and_is_the_same_with_threads)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    world w;
    make(&w, 0, 3);
    texts t = read_texts(&w);
    const geodec_adaptation_options o = {.windows = 1,
                                         .steps = 6,
                                         .directions = 40,
                                         .rate = 0.2,
                                         .lambda = 0.01,
                                         .rise = 1,
                                         .sigma = 0.1,
                                         .budget = 1,
                                         .exact = true};
    geodec_adaptation a = run(&w, &t, o, NULL), b;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    b = run(&w, &t, o, pool);
    cr_assert_eq(a.numbers, w.size);
    cr_assert_eq(memcmp(a.x, b.x, (size_t)a.numbers * sizeof *a.x), 0);
    cr_assert_lt(a.report.end, a.report.start - 1e-4);
    cr_assert_lt(a.report.end, a.random);
    cr_assert_lt(a.exact, a.report.start);
    geodec_adaptation_clear(&a);
    geodec_adaptation_clear(&b);
    geodec_pool_destroy(pool);
    geodec_text_destroy(t.text);
    geodec_text_destroy(t.held_out);
    end(&w);
}

Test(adapt, no_rate_and_a_held_out_loss_that_rises_leave_every_bit)
{
    world w;
    make(&w, 1, 1);
    texts t = read_texts(&w);
    geodec_adaptation_options o = {
        .windows = 1, .steps = 3, .directions = 4, .rate = 0, .lambda = 0.01, .rise = 0.01, .sigma = 0.1, .budget = 1};
    geodec_network_start(w.network, o.seed, w.x);
    geodec_adaptation a = run(&w, &t, o, NULL);
    cr_assert_eq(memcmp(a.x, w.x, (size_t)a.numbers * sizeof *a.x), 0);
    cr_assert_eq(a.report.end, a.report.start);
    cr_assert_eq(a.length, 0);
    geodec_adaptation_clear(&a);
    o.rate = 1e4; /* any step is too large */
    o.rise = 0;
    a = run(&w, &t, o, NULL);
    cr_assert(a.report.rolled_back && a.report.kept == 0);
    cr_assert_eq(memcmp(a.x, w.x, (size_t)a.numbers * sizeof *a.x), 0);
    geodec_adaptation_clear(&a);
    geodec_text_destroy(t.text);
    geodec_text_destroy(t.held_out);
    end(&w);
}

Test(adapt, places_move_on_the_torus)
{
    world w;
    make(&w, 0, 1);
    texts t = read_texts(&w);
    const geodec_adaptation_options o = {.places = true,
                                         .windows = 1,
                                         .steps = 4,
                                         .directions = 12,
                                         .rate = 0.02,
                                         .lambda = 0.1,
                                         .rise = 1,
                                         .sigma = 0.1,
                                         .budget = 1};
    geodec_adaptation a = run(&w, &t, o, NULL);
    cr_assert_eq(a.numbers, 3 * geodec_network_places(w.network));
    for (int64_t i = 0; i < a.numbers; i++) cr_assert(a.x[i] >= 0 && a.x[i] < 1);
    cr_assert_gt(a.length, 0);
    cr_assert_lt(a.report.end, a.report.start);
    geodec_adaptation_clear(&a);
    geodec_text_destroy(t.text);
    geodec_text_destroy(t.held_out);
    end(&w);
}

Test(adapt, refusals)
{
    geodec_err err = {0};
    world w;
    make(&w, 2, 1);
    texts t = read_texts(&w);
    geodec_adaptation a = {0};
    geodec_adaptation_options o = {.places = true, .windows = 1, .steps = 1, .directions = 1, .sigma = 1, .budget = 1};
    cr_assert_eq(geodec_adaptation_run(w.network, LENGTH, t.text, t.held_out, &o, NULL, NULL, &a, &err),
                 GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    o.places = false;
    o.windows = 1000;
    cr_assert_eq(geodec_adaptation_run(w.network, LENGTH, t.text, t.held_out, &o, NULL, NULL, &a, &err), GEODEC_SCARCE);
    geodec_err_clear(&err);
    w.token[3] = VOCAB;
    double loss, derivative;
    int64_t counted;
    cr_assert_eq(geodec_network_loss(w.network, 0, &w.window, NULL, NULL, NULL, &loss, &derivative, &counted, &err),
                 GEODEC_RANGE);
    geodec_err_clear(&err);
    geodec_network *n = NULL;
    const geodec_network_options wide = {.rank = 1, .last = 3, .length = LENGTH, .threads = 1};
    cr_assert_eq(geodec_network_create(w.start.layout, w.start.params, &wide, &n, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
    geodec_text_destroy(t.text);
    geodec_text_destroy(t.held_out);
    end(&w);
}

/* The trainer: schedule, same bytes with any number of threads and after a resume, overfitting, model files. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fixture.h"
#include "io/h5.h"
#include "linalg/lapack.h"
#include "session/families.h"
#include "session/model.h"
#include "support/support.h"
#include "train/net.h"
#include "train/params.h"
#include "train/start.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

typedef struct bench {
    geodec_tokenizer *tokenizer;
    geodec_layout *layout;
    geodec_text *train, *held_out;
    float *params;
} bench;

static const char train_text[] = "abcabcabd\n\nhgfedcba\n\naabbccdd\n\nabcdefgh\n\nbadcfehg\n\ncabbage\n\nbeadhead";
static const char held_out_text[] = "abcdabcd\n\nhgfeabcd\n\ndeadbeef";

static void make(bench *b, int experts)
{
    geodec_err err = {0};
    geodec_linalg_init();
    geodec_io_init();
    b->tokenizer = fixture_tokenizer();
    const geodec_model_config c = {.n_layer = 2,
                                   .d_model = 32,
                                   .n_head = 4,
                                   .n_kv_head = 2,
                                   .head_dim = 8,
                                   .rope_dim = 8,
                                   .d_ff = 64,
                                   .n_vocab = geodec_tokenizer_size(b->tokenizer),
                                   .n_ctx = 24,
                                   .n_expert = experts,
                                   .n_expert_used = experts ? 2 : 0,
                                   .rms_eps = 1e-5f,
                                   .rope_base = 10000,
                                   .tied = experts == 0};
    test_ok(geodec_layout_create(&c, &b->layout, &err), &err);
    test_ok(geodec_text_encode("text", train_text, sizeof train_text - 1, GEODEC_SEPARATOR_BLANK, b->tokenizer, NULL,
                               NULL, &b->train, &err),
            &err);
    test_ok(geodec_text_encode("text", held_out_text, sizeof held_out_text - 1, GEODEC_SEPARATOR_BLANK, b->tokenizer,
                               NULL, NULL, &b->held_out, &err),
            &err);
    b->params = geodec_mem_new(b->layout->total, sizeof(float));
    geodec_params_init(b->layout, 3, b->params);
}

static void drop(bench *b)
{
    geodec_text_destroy(b->train);
    geodec_text_destroy(b->held_out);
    geodec_layout_destroy(b->layout);
    geodec_tokenizer_destroy(b->tokenizer);
    geodec_mem_free(b->params);
}

static geodec_train_options options(void)
{
    return (geodec_train_options){.steps = 30,
                                  .batch = 11,
                                  .length = 24,
                                  .lr = 3e-3,
                                  .lr_final = 0.1,
                                  .warmup = 5,
                                  .clip = 1,
                                  .decay = 0.1,
                                  .beta1 = 0.9,
                                  .beta2 = 0.95,
                                  .balance = 0.01,
                                  .seed = 9,
                                  .eval_every = 7,
                                  .eval_tokens = 10};
}

static geodec_trainer *trainer_of(bench *b, const geodec_train_options *o, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_trainer *t = NULL;
    test_ok(geodec_trainer_create(b->layout, o, b->params, b->train, b->held_out, pool, &t, &err), &err);
    return t;
}

Test(trainer, schedule)
{
    geodec_train_options o = options();
    o.steps = 105;
    cr_assert_float_eq(geodec_train_rate(&o, 0), 3e-3 / 5, 1e-12);
    cr_assert_float_eq(geodec_train_rate(&o, 4), 3e-3, 1e-12);
    cr_assert_float_eq(geodec_train_rate(&o, 5), 3e-3, 1e-12);
    cr_assert_float_eq(geodec_train_rate(&o, 104), 3e-4, 1e-12);
    cr_assert_float_eq(geodec_train_rate(&o, 5 + 33), 3e-3 * (0.1 + 0.45 * (1 + cos(3.14159265358979 / 3))), 1e-12);
    o.schedule = GEODEC_SCHEDULE_LINEAR;
    cr_assert_float_eq(geodec_train_rate(&o, 5 + 33), 3e-3 * (1 - 0.9 / 3), 1e-12);
    o.schedule = GEODEC_SCHEDULE_CONSTANT;
    cr_assert_float_eq(geodec_train_rate(&o, 104), 3e-3, 1e-12);
}

static void same_state(const geodec_trainer *a, const geodec_trainer *b, const bench *x, const char *what)
{
    int64_t n, m;
    cr_assert_eq(memcmp(geodec_trainer_params(a), geodec_trainer_params(b), (size_t)x->layout->total * sizeof(float)),
                 0, "%s", what);
    const geodec_curve_row *r = geodec_trainer_curve(a, &n), *s = geodec_trainer_curve(b, &m);
    cr_assert_eq(n, m);
    cr_assert_eq(memcmp(r, s, (size_t)n * sizeof *r), 0, "%s: curve", what);
}

static void check_threads(int experts)
{
    bench b;
    geodec_err err = {0};
    make(&b, experts);
    const geodec_train_options o = options();
    geodec_trainer *one = trainer_of(&b, &o, NULL);
    test_ok(geodec_trainer_run(one, NULL, 0, NULL, NULL, &err), &err);
    for (int threads = 2; threads <= 3; threads++) {
        geodec_pool *pool = NULL;
        test_ok(geodec_pool_create(threads, &pool, &err), &err);
        geodec_trainer *many = trainer_of(&b, &o, pool);
        test_ok(geodec_trainer_run(many, NULL, 0, NULL, NULL, &err), &err);
        same_state(one, many, &b, "threads");
        geodec_trainer_destroy(many);
        geodec_pool_destroy(pool);
    }
    int64_t n;
    const geodec_curve_row *row = geodec_trainer_curve(one, &n);
    cr_assert_eq(n, 5); /* 7, 14, 21, 28, 30 */
    cr_assert_lt(row[4].train, row[0].train - 1);
    geodec_trainer_destroy(one);
    drop(&b);
}

Test(trainer, threads_give_the_same_bytes_dense) { check_threads(0); }
Test(trainer, threads_give_the_same_bytes_experts) { check_threads(4); }

/* Stops when a given number of steps are done. */
static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what;
    (void)total;
    return done >= *(int64_t *)ctx;
}

Test(trainer, a_resumed_run_equals_a_straight_one)
{
    bench b;
    geodec_err err = {0};
    make(&b, 0);
    const geodec_train_options o = options();
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp("run.ckpt.h5");
    geodec_trainer *straight = trainer_of(&b, &o, NULL);
    test_ok(geodec_trainer_run(straight, NULL, 0, NULL, NULL, &err), &err);
    int64_t stops[] = {0, 3, 16, 30};
    for (int i = 0; i < 4; i++) {
        geodec_trainer *t = trainer_of(&b, &o, NULL);
        const geodec_hooks hooks = {.ctx = &stops[i], .progress = stop_at};
        if (i) test_ok(geodec_trainer_load(t, path, &err), &err);
        cr_assert_eq(geodec_trainer_done(t), i ? stops[i - 1] : 0);
        const geodec_status st = geodec_trainer_run(t, path, 5, &p, &hooks, &err);
        cr_assert_eq(st, i < 3 ? GEODEC_INTERRUPTED : GEODEC_OK);
        if (i == 3) same_state(straight, t, &b, "resume");
        geodec_trainer_destroy(t);
    }
    /* another recipe is refused, and leaves the trainer as it was */
    geodec_train_options other = o;
    other.lr *= 2;
    geodec_trainer *t = trainer_of(&b, &other, NULL);
    cr_assert_eq(geodec_trainer_load(t, path, &err), GEODEC_CHECKSUM);
    cr_assert_eq(geodec_trainer_done(t), 0);
    cr_assert_eq(memcmp(geodec_trainer_params(t), b.params, (size_t)b.layout->total * sizeof(float)), 0);
    geodec_trainer_destroy(t);
    geodec_trainer_destroy(straight);
    drop(&b);
}

/* A penalty that pulls the streams after each block towards the mean of the probe's: what it knows comes from prepare.
 */
typedef struct pull {
    double mean;
    int64_t prepared, last;
} pull;

static geodec_status pull_prepare(void *ctx, int64_t step, int32_t boundaries, int64_t rows, int64_t d,
                                  const float *state, geodec_err *err)
{
    (void)err;
    pull *p = ctx;
    p->mean = 0;
    for (int64_t i = 0; i < boundaries * rows * d; i++) p->mean += (double)state[i];
    p->mean /= (double)(boundaries * rows * d);
    p->prepared++;
    p->last = step;
    return GEODEC_OK;
}

static geodec_status pull_apply(void *ctx, int32_t boundaries, int64_t n_seq, int64_t len, int64_t d,
                                const float *const *state, double scale, float *cotangent, double *value,
                                geodec_err *err)
{
    (void)err;
    const pull *p = ctx;
    const int64_t n = n_seq * len * d;
    *value = 0;
    for (int32_t l = 1; l < boundaries; l++)
        for (int64_t i = 0; i < n; i++) {
            const double x = (double)state[l][i] - p->mean;
            *value += x * x;
            cotangent[l * n + i] += (float)(scale * 2 * x);
        }
    return GEODEC_OK;
}

static geodec_trainer *pulled(bench *b, const geodec_train_options *o, geodec_pool *pool, double weight, pull *p)
{
    geodec_err err = {0};
    geodec_trainer *t = trainer_of(b, o, pool);
    *p = (pull){0};
    const geodec_train_penalty penalty = {.weight = weight,
                                          .refresh = 8,
                                          .probe = 2,
                                          .recipe = "pull",
                                          .ctx = p,
                                          .prepare = pull_prepare,
                                          .apply = pull_apply};
    test_ok(geodec_trainer_set_penalty(t, &penalty, &err), &err);
    return t;
}

Test(trainer, a_penalty_is_lowered_and_resumes_to_the_same_bytes)
{
    bench b;
    geodec_err err = {0};
    make(&b, 0);
    const geodec_train_options o = options();
    const geodec_provenance prov = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp("pull.ckpt.h5");
    pull p, q;
    int64_t n;
    geodec_trainer *weak = pulled(&b, &o, NULL, 1e-9, &q), *straight = pulled(&b, &o, NULL, 0.1, &p);
    test_ok(geodec_trainer_run(weak, NULL, 0, NULL, NULL, &err), &err);
    test_ok(geodec_trainer_run(straight, NULL, 0, NULL, NULL, &err), &err);
    cr_assert_eq(p.prepared, 4); /* 0, 8, 16, 24 */
    cr_assert_eq(p.last, 24);
    const double with = geodec_trainer_curve(straight, &n)[4].penalty,
                 without = geodec_trainer_curve(weak, &n)[4].penalty;
    cr_assert(with > 0 && with < 0.5 * without, "%g against %g", with, without);

    int64_t stops[] = {3, 13, 22, 30}; /* the first leaves no checkpoint, the next those of steps 8 and 16 */
    const int64_t from[] = {0, 0, 8, 16};
    for (int i = 0; i < 4; i++) {
        geodec_trainer *t = pulled(&b, &o, NULL, 0.1, &p);
        const geodec_hooks hooks = {.ctx = &stops[i], .progress = stop_at};
        if (i > 1) test_ok(geodec_trainer_load(t, path, &err), &err);
        cr_assert_eq(geodec_trainer_done(t), from[i]);
        const geodec_status st = geodec_trainer_run(t, path, 5, &prov, &hooks, &err);
        cr_assert_eq(st, i < 3 ? GEODEC_INTERRUPTED : GEODEC_OK);
        if (i == 3) same_state(straight, t, &b, "resume with a penalty");
        geodec_trainer_destroy(t);
    }
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    geodec_trainer *many = pulled(&b, &o, pool, 0.1, &p);
    test_ok(geodec_trainer_run(many, NULL, 0, NULL, NULL, &err), &err);
    same_state(straight, many, &b, "threads with a penalty");
    geodec_trainer *plain = trainer_of(&b, &o, NULL); /* another recipe */
    cr_assert_eq(geodec_trainer_load(plain, path, &err), GEODEC_CHECKSUM);
    const geodec_train_penalty bad = {.weight = -1, .refresh = 1, .probe = 1, .recipe = ""};
    cr_assert_eq(geodec_trainer_set_penalty(plain, &bad, &err), GEODEC_RANGE);
    geodec_trainer *const all[] = {weak, straight, many, plain};
    for (int i = 0; i < 4; i++) geodec_trainer_destroy(all[i]);
    geodec_pool_destroy(pool);
    drop(&b);
}

Test(trainer, overfits_a_tiny_text)
{
    for (int experts = 0; experts <= 4; experts += 4) {
        bench b;
        geodec_err err = {0};
        make(&b, experts);
        geodec_train_options o = options();
        o.steps = 250;
        o.lr = 1e-2;
        o.decay = 0;
        o.balance = 0;
        o.eval_tokens = 0;
        geodec_text_destroy(b.held_out);
        b.held_out = b.train; /* every token after the first few is then known */
        geodec_trainer *t = trainer_of(&b, &o, NULL);
        test_ok(geodec_trainer_run(t, NULL, 0, NULL, NULL, &err), &err);
        int64_t n;
        const geodec_curve_row *row = geodec_trainer_curve(t, &n);
        /* seven equally likely documents, distinct after few letters: log(7) nats a document of about ten targets */
        const double floor = log(7) * 7 / (double)(b.train->n_tokens - 7);
        cr_assert_lt(row[n - 1].held_out, 1.6 * floor, "%g, floor %g", row[n - 1].held_out, floor);
        cr_assert_gt(row[n - 1].held_out, 0.5 * floor);
        geodec_trainer_destroy(t);
        b.held_out = NULL;
        drop(&b);
    }
}

/* Mean loss from the network itself against the trainer's figure, and bits a byte from it. */
Test(trainer, evaluation_is_the_mean_loss)
{
    bench b;
    geodec_err err = {0};
    make(&b, 0);
    geodec_train_options o = options();
    o.length = 12; /* one document a window */
    geodec_trainer *t = trainer_of(&b, &o, NULL);
    double nats, bits, total = 0;
    test_ok(geodec_trainer_evaluate(t, 0, &nats, &bits, &err), &err);
    geodec_net_f32 *net = NULL;
    geodec_net_f32_work *work = NULL;
    test_ok(geodec_net_f32_create(b.layout, 0, GEODEC_ISA_AUTO, &net, &err), &err);
    test_ok(geodec_net_f32_work_create(net, 1, 24, &work, &err), &err);
    int64_t count = 0;
    for (int64_t d = 0; d < b.held_out->n_docs; d++) {
        const int64_t s = b.held_out->doc_start[d], n = b.held_out->doc_start[d + 1] - s - 1;
        float loss[24];
        test_ok(geodec_net_f32_forward(net, b.params, 1, n, b.held_out->token + s, work, &err), &err);
        geodec_net_f32_loss(net, b.params, work, b.held_out->token + s + 1, 1, NULL, loss, NULL);
        for (int64_t i = 0; i < n; i++, count++) total += (double)loss[i];
    }
    cr_assert_float_eq(nats, total / (double)count, 1e-6);
    cr_assert_float_eq(bits, nats * (double)count / log(2) / (double)b.held_out->n_bytes, 1e-9);
    geodec_net_f32_work_destroy(work);
    geodec_net_f32_destroy(net);
    geodec_trainer_destroy(t);
    drop(&b);
}

Test(trainer, model_files_come_back)
{
    const int types[] = {GEODEC_GGML_F32, GEODEC_GGML_F16, GEODEC_GGML_Q8_0};
    for (int experts = 0; experts <= 4; experts += 4) {
        bench b;
        geodec_err err = {0};
        make(&b, experts);
        for (int i = 0; i < 3; i++) {
            const char *path = test_tmp("model.gguf");
            geodec_gguf *g = NULL;
            int64_t v;
            float *back = geodec_mem_new(b.layout->total, sizeof *back);
            test_ok(geodec_params_write(b.layout, b.params, b.tokenizer, "test", types[i], false, path, &err), &err);
            test_ok(geodec_gguf_open(path, &g, &err), &err);
            test_ok(geodec_params_read(b.layout, g, back, &err), &err);
            test_ok(geodec_gguf_get_i64(g, "llama.feed_forward_length", &v, &err), &err);
            cr_assert_eq(v, 64);
            cr_assert_eq(geodec_gguf_n_tensors(g), b.layout->n_params);
            cr_assert_eq(geodec_gguf_find(g, "blk.0.attn_norm.weight")->type, GEODEC_GGML_F32);
            cr_assert_eq(geodec_gguf_find(g, "blk.1.attn_q.weight")->type, types[i]);
            for (int64_t j = 0; j < b.layout->total; j++) {
                const float expected =
                    types[i] == GEODEC_GGML_F16 ? geodec_f16_to_f32(geodec_f32_to_f16(b.params[j])) : b.params[j];
                if (types[i] ==
                    GEODEC_GGML_Q8_0) /* 0.02 deviation: half a step of a block is below 4 sigma / 127 / 2 */
                    cr_assert_lt(fabsf(back[j] - expected), 0.0005f);
                else if (types[i] == GEODEC_GGML_F32)
                    cr_assert_eq(back[j], expected);
                else
                    cr_assert(back[j] == expected || back[j] == b.params[j]);
            }
            geodec_gguf_close(g);
            geodec_mem_free(back);
        }
        drop(&b);
    }
}

Test(trainer, curve_artifact)
{
    bench b;
    geodec_err err = {0};
    make(&b, 0);
    const geodec_train_options o = options();
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp("curve.h5");
    geodec_trainer *t = trainer_of(&b, &o, NULL);
    test_ok(geodec_trainer_run(t, NULL, 0, NULL, NULL, &err), &err);
    test_ok(geodec_trainer_write_curve(t, path, &(geodec_train_summary){1, 2, 0.25}, &p, &err), &err);
    geodec_artifact *a = NULL;
    double floor, *loss = NULL;
    int64_t *step = NULL, n;
    const geodec_curve_row *row = geodec_trainer_curve(t, &n);
    test_ok(geodec_artifact_open(&geodec_checkpoint_losscurve_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_get_f64(a, "floor_bits_per_byte", &floor, &err), &err);
    test_ok(geodec_artifact_read(a, "/held_out_loss", &loss, &err), &err);
    test_ok(geodec_artifact_read(a, "/step", &step, &err), &err);
    cr_assert_eq(floor, 0.25);
    for (int64_t i = 0; i < n; i++) cr_assert(loss[i] == row[i].held_out && step[i] == row[i].step);
    geodec_artifact_close(a);
    geodec_mem_free(loss);
    geodec_mem_free(step);
    geodec_trainer_destroy(t);
    drop(&b);
}

Test(trainer, a_hopeless_learning_rate_is_reported)
{
    bench b;
    geodec_err err = {0};
    make(&b, 0);
    geodec_train_options o = options();
    o.lr = 100;
    o.clip = 0;
    o.warmup = 0;
    o.steps = 200;
    b.params[0] = NAN;
    geodec_trainer *t = trainer_of(&b, &o, NULL);
    cr_assert_eq(geodec_trainer_run(t, NULL, 0, NULL, NULL, &err), GEODEC_NUMERIC);
    geodec_trainer_destroy(t);
    drop(&b);
}

/* The runtime on the exported file against the training forward pass. */
Test(trainer, runtime_gives_the_training_logits)
{
    for (int experts = 0; experts <= 4; experts += 4) {
        enum { LEN = 24 };
        bench b;
        geodec_err err = {0};
        make(&b, experts);
        geodec_train_options o = options();
        geodec_trainer *t = trainer_of(&b, &o, NULL);
        test_ok(geodec_trainer_run(t, NULL, 0, NULL, NULL, &err), &err);
        const char *path = test_tmp("export.gguf");
        test_ok(geodec_params_write(b.layout, geodec_trainer_params(t), b.tokenizer, "test", GEODEC_GGML_F32, false,
                                    path, &err),
                &err);
        geodec_model *model = NULL;
        geodec_session *session = NULL;
        geodec_net_f32 *net = NULL;
        geodec_net_f32_work *work = NULL;
        const int32_t nv = b.layout->config.n_vocab;
        float *z = geodec_mem_new((int64_t)LEN * nv, sizeof *z), *y = geodec_mem_new((int64_t)LEN * nv, sizeof *y);
        test_ok(geodec_model_open(path, &model, &err), &err);
        cr_assert_str_eq(geodec_tokenizer_fingerprint(geodec_model_tokenizer(model)),
                         geodec_tokenizer_fingerprint(b.tokenizer));
        test_ok(geodec_session_create(model, &(geodec_session_options){0}, &session, &err), &err);
        test_ok(geodec_forward(session, &(geodec_batch){.n = LEN, .token = b.train->token}, z, NULL, &err), &err);
        test_ok(geodec_net_f32_create(b.layout, 0, GEODEC_ISA_AUTO, &net, &err), &err);
        test_ok(geodec_net_f32_work_create(net, 1, LEN, &work, &err), &err);
        test_ok(geodec_net_f32_forward(net, geodec_trainer_params(t), 1, LEN, b.train->token, work, &err), &err);
        geodec_net_f32_logits(net, geodec_trainer_params(t), work, 0, LEN, y);
        cr_assert_lt(test_max_abs_diff_f32(y, z, (int64_t)LEN * nv), 1e-4f);
        geodec_mem_free(z);
        geodec_mem_free(y);
        geodec_net_f32_work_destroy(work);
        geodec_net_f32_destroy(net);
        geodec_session_destroy(session);
        geodec_model_close(model);
        geodec_trainer_destroy(t);
        drop(&b);
    }
}

/* A trained model through both must give the same logits. */
static void agrees_with_the_runtime(const char *const *files, int count)
{
    for (int i = 0; i < count; i++) {
        enum { LEN = 50 };
        const char *path = test_shared(files[i]);
        geodec_err err = {0};
        geodec_linalg_init();
        geodec_model *model = NULL;
        geodec_session *session = NULL;
        geodec_layout *layout = NULL;
        geodec_net_f64 *net = NULL;
        geodec_net_f64_work *work = NULL;
        test_ok(geodec_model_open(path, &model, &err), &err);
        const geodec_model_config *c = geodec_model_configuration(model);
        int32_t token[LEN];
        geodec_rng r = geodec_rng_stream(8, 1);
        for (int t = 0; t < LEN; t++) token[t] = t ? (int32_t)geodec_rng_below(&r, (uint64_t)c->n_vocab) : 1;
        test_ok(geodec_layout_create(c, &layout, &err), &err);
        float *p = geodec_mem_new(layout->total, sizeof *p), *z = geodec_mem_new((int64_t)LEN * c->n_vocab, sizeof *z);
        double *p64 = geodec_mem_new(layout->total, sizeof *p64),
               *y = geodec_mem_new((int64_t)LEN * c->n_vocab, sizeof *y);
        test_ok(geodec_params_read(layout, geodec_model_gguf(model), p, &err), &err);
        for (int64_t j = 0; j < layout->total; j++) p64[j] = (double)p[j];
        test_ok(geodec_session_create(model, &(geodec_session_options){0}, &session, &err), &err);
        test_ok(geodec_forward(session, &(geodec_batch){.n = LEN, .token = token}, z, NULL, &err), &err);
        test_ok(geodec_net_f64_create(layout, 0, GEODEC_ISA_AUTO, &net, &err), &err);
        test_ok(geodec_net_f64_work_create(net, 1, LEN, &work, &err), &err);
        test_ok(geodec_net_f64_forward(net, p64, 1, LEN, token, work, &err), &err);
        geodec_net_f64_logits(net, p64, work, 0, LEN, y);
        double worst = 0;
        for (int64_t j = 0; j < (int64_t)LEN * c->n_vocab; j++) worst = fmax(worst, fabs(y[j] - (double)z[j]));
        cr_assert_lt(worst, 1e-4, "%s: %g", files[i], worst);
        geodec_mem_free(p);
        geodec_mem_free(p64);
        geodec_mem_free(y);
        geodec_mem_free(z);
        geodec_net_f64_work_destroy(work);
        geodec_net_f64_destroy(net);
        geodec_layout_destroy(layout);
        geodec_session_destroy(session);
        geodec_model_close(model);
    }
}

Test(trainer, models_agree_with_the_runtime)
{
    static const char *const files[] = {"models/geodec-stories-f16.gguf", "models/geodec-stories-q8_0.gguf",
                                        "models/tiny-llama-experts.gguf"};
    agrees_with_the_runtime(files, 3);
}

/* Published ones: the shared stories260K, dense and experts. */
Test(trainer, published_models_agree_with_the_runtime)
{
    static const char *const files[] = {"models/stories260K-f32.gguf", "models/stories260K-ff192-q8_0.gguf",
                                        "models/stories-moe8x2-f16.gguf"};
    agrees_with_the_runtime(files, 3);
}

/* Only plain llama can be trained; anything else is refused by name. */
Test(train_start, refuses_other_architectures)
{
    static const char *const says[] = {"scaled rotations", "qwen2"};
    static const char *const names[] = {"llama-3", "qwen2"};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < N_FAMILIES; i++) {
            if (strcmp(families[i].name, names[k]) != 0) continue;
            geodec_err err = {0};
            geodec_start s = {0};
            char line[400];
            const char *path = test_tmp("other.gguf");
            test_ok(synthetic_write(path, &families[i].s, &err), &err);
            cr_assert_eq(geodec_start_from(path, 0, &s, &err), GEODEC_UNSUPPORTED);
            cr_assert(strstr(geodec_err_line(&err, line, sizeof line), says[k]), "%s", line);
            cr_assert(strstr(line, "only plain llama models can be trained"), "%s", line);
        }
}

/* Streamed experts when something fails: reads, bytes of a store, the length of a file, memory. */
#include "base/mem.h"
#include "base/memory_limit.h"
#include "session/shape.h"
#include "session/store_build.h"
#include "session/streamed.h"
#include "streaming/simulate.h"
#include "streaming/store.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYERS = 3, EXPERTS = 16, USED = 4, VOCAB = 600, TOKENS = 40, LEAST = 2 * USED + 2 };

/* ---- a model ----------------------------------------------------------------------------------------------------- */

static const char *small_model(void)
{
    geodec_shape shape = *geodec_shape_named("olmoe-1b-7b");
    shape.n_layer = LAYERS;
    shape.values = "V=600 C=256 d=128 f=128 H=4 K=4 h=32 r=32 E=16 used=4 base=1e4 eps=1e-5"; /* the numbers above */
    geodec_err err = {0};
    const char *path = test_tmp("small-random.gguf");
    test_ok(geodec_shape_write(path, &shape, "q8_0", 7, NULL, NULL, &err), &err);
    return path;
}

static const char *small_store(const char *gguf)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *path = test_tmp("small.experts");
    test_ok(geodec_model_open(gguf, &m, &err), &err);
    test_ok(geodec_store_build(m, GEODEC_EXACT, path, NULL, NULL, &err), &err);
    geodec_model_close(m);
    return path;
}

typedef struct run {
    geodec_model *m;
    geodec_session *s;
    geodec_status status; /* of the session, or of the first pass that failed */
    int passes;           /* that succeeded */
    int64_t given;
    char line[600];
    float logits[TOKENS][VOCAB];
} run;

/* Single tokens until one fails; `each` is called before each. */
static run *decode(const char *path, const geodec_streaming *how, void (*each)(void *ctx, int pass), void *ctx)
{
    geodec_err err = {0};
    geodec_stream_counters k;
    run *r = geodec_mem_new(1, sizeof *r);
    const geodec_session_options so = {.n_ctx = 64, .max_batch = 4};
    test_ok(geodec_model_open(path, &r->m, &err), &err);
    if (how) test_ok(geodec_streamed_begin(r->m, how, &err), &err);
    r->status = geodec_session_create(r->m, &so, &r->s, &err);
    for (int i = 0; i < TOKENS && r->status == GEODEC_OK; i++) {
        const int32_t token = (i * 37 + 11) % VOCAB;
        if (each) each(ctx, i);
        r->status = geodec_forward(r->s, &(geodec_batch){.n = 1, .token = &token}, r->logits[i], NULL, &err);
        if (r->status == GEODEC_OK) r->passes++;
    }
    if (r->status != GEODEC_OK) geodec_err_line(&err, r->line, sizeof r->line);
    if (geodec_streamed_counted(r->m, &k)) r->given = k.given;
    if (how && how->trace && r->status == GEODEC_OK) test_ok(geodec_streamed_finish(r->m, &err), &err);
    return r;
}

static void end(run *r)
{
    geodec_session_destroy(r->s);
    geodec_model_close(r->m);
    geodec_mem_free(r);
}

/* What was computed before a failure is right. */
static void expect_beginning(const run *r, const run *resident)
{
    cr_assert_eq(memcmp(r->logits, resident->logits, sizeof *r->logits * (size_t)r->passes), 0, "other logits");
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

typedef struct fault {
    int64_t begin, end; /* of the file: parts that touch it */
    int countdown;      /* parts that are spared */
    bool once;          /* only one part is hit */
    int errnum;
    int64_t shortest; /* at least 0: no more bytes come */
    uint8_t flip;
} fault;

static int inject(void *ctx, int64_t offset, int64_t *bytes, uint8_t *to, bool after)
{
    fault *f = ctx;
    if (after != (f->flip != 0) || offset >= f->end || offset + *bytes <= f->begin || f->countdown-- > 0) return 0;
    if (f->once && f->countdown < -1) return 0;
    if (f->flip) to[(f->begin > offset ? f->begin - offset : 0)] ^= f->flip;
    if (f->shortest >= 0 && f->shortest < *bytes) *bytes = f->shortest;
    return f->errnum;
}

static geodec_streaming streaming(const geodec_disk_faults *faults, int which)
{
    return (geodec_streaming){.slots = LEAST + 6,
                              .eviction = which % 2 ? GEODEC_EVICTION_LRU : GEODEC_EVICTION_SCORE,
                              .lookahead = (geodec_lookahead)(which % 2),
                              .prefetch_least = 0.3F,
                              .prefetch_most = 3,
                              .disk = {.faults = faults,
                                       .io = which % 2 ? GEODEC_DISK_BUFFERED : GEODEC_DISK_DIRECT,
                                       .engine = which % 3 ? GEODEC_DISK_AUTO : GEODEC_DISK_THREADS}};
}

/* At the first read, and at later ones: the pass ends with the error, and those before it are right. */
Test(streamed_faults, a_failed_or_short_read_names_file_layer_and_expert, .timeout = 120)
{
    const char *gguf = small_model(), *path[] = {gguf, small_store(gguf)};
    run *resident = decode(gguf, NULL, NULL, NULL);
    int late = 0;
    for (int source = 0; source < 2; source++)
        for (int spared = 0; spared < 120; spared = spared * 2 + 1)
            for (int cut = 0; cut < 2; cut++) {
                int32_t layer = -1, expert = -1;
                fault f = {.end = INT64_MAX, .countdown = spared, .errnum = cut ? 0 : EIO, .shortest = cut ? 7 : -1};
                const geodec_disk_faults faults = {inject, &f};
                const geodec_streaming how = streaming(&faults, spared + cut);
                run *r = decode(path[source], &how, NULL, NULL);
                const char *at = strstr(r->line, ": layer ");
                cr_assert_eq(r->status, GEODEC_IO, "%s", r->line);
                cr_assert(strstr(r->line, path[source]) && at, "%s", r->line);
                cr_assert_eq(sscanf(at, ": layer %d, expert %d:", &layer, &expert), 2, "%s", r->line);
                cr_assert(layer >= 0 && layer < LAYERS && expert >= 0 && expert < EXPERTS, "%s", r->line);
                cr_assert(strstr(r->line, cut ? "ends too early" : strerror(EIO)), "%s", r->line);
                expect_beginning(r, resident);
                late += r->passes > 0;
                end(r);
            }
    cr_assert_gt(late, 5);
    end(resident);
}

/* What was only foretold is read again when it is needed. */
Test(streamed_faults, a_failed_prefetch_is_no_error, .timeout = 120)
{
    const char *gguf = small_model();
    run *resident = decode(gguf, NULL, NULL, NULL);
    int survived = 0;
    for (int spared = 20; spared < 420; spared += 13) {
        fault f = {.end = INT64_MAX, .countdown = spared, .errnum = EIO, .shortest = -1, .once = true};
        geodec_stream_counters k;
        const geodec_disk_faults faults = {inject, &f};
        const geodec_streaming how = streaming(&faults, 1);
        run *r = decode(gguf, &how, NULL, NULL);
        expect_beginning(r, resident);
        /* A read that was given up while its part failed counts as given up. */
        cr_assert(geodec_streamed_counted(r->m, &k) && k.slots.failed <= 1 && k.slots.failed + k.slots.cancelled > 0);
        cr_assert(k.slots.failed == 1 || r->passes == TOKENS);
        cr_assert(r->status == GEODEC_OK || r->status == GEODEC_IO, "%s", r->line);
        survived += r->passes == TOKENS;
        end(r);
    }
    cr_assert_gt(survived, 0);
    end(resident);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void flip(const char *path, int64_t at, uint8_t bits)
{
    uint8_t b;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, &b, 1, at) == 1);
    b ^= bits;
    cr_assert(pwrite(fd, &b, 1, at) == 1 && close(fd) == 0);
}

/* Any bit of a blob: the pass that needs it ends, the expert is named, and nothing is computed with it. */
Test(streamed_faults, a_flipped_bit_of_a_store_is_found, .timeout = 120)
{
    geodec_err err = {0};
    geodec_store s = {0};
    const char *gguf = small_model(), *path = small_store(gguf);
    run *resident = decode(gguf, NULL, NULL, NULL);
    test_ok(geodec_store_read(path, &s, &err), &err);
    int found = 0;
    for (int i = 0; i < 24; i++) {
        const int32_t layer = i % LAYERS, expert = i * 5 % EXPERTS;
        const geodec_blob_piece *p = geodec_blobs_at(&s.blobs, layer, expert);
        const int64_t at = p->offset + (i == 0 ? 0 : i == 1 ? p->bytes - 1 : (int64_t)i * 7919 % p->bytes);
        char name[64];
        flip(path, at, (uint8_t)(1U << i % 8));
        const geodec_streaming how = streaming(NULL, i);
        run *r = decode(path, &how, NULL, NULL);
        expect_beginning(r, resident);
        if (r->status != GEODEC_OK) { /* some expert may be used by no token */
            (void)snprintf(name, sizeof name, "%s: layer %d, expert %d: wrong CRC-32C", "small.experts", layer, expert);
            cr_assert(r->status == GEODEC_FORMAT && strstr(r->line, name), "%s: not %s", r->line, name);
            found++;
        }
        end(r);
        geodec_err_clear(&err);
        cr_assert_eq(geodec_store_verify(path, NULL, &err), GEODEC_CHECKSUM);
        flip(path, at, (uint8_t)(1U << i % 8));
    }
    cr_assert_gt(found, 12);
    test_ok(geodec_store_verify(path, NULL, &err), &err);
    geodec_store_clear(&s);
    end(resident);
}

typedef struct cut {
    const char *path;
    int64_t bytes;
    int pass;
} cut;

static void cut_off(void *ctx, int pass)
{
    const cut *c = ctx;
    if (pass == c->pass) cr_assert_eq(truncate(c->path, (off_t)c->bytes), 0);
}

/* The file gets shorter while the model runs. */
Test(streamed_faults, a_file_that_is_cut_off_in_mid_run, .timeout = 120)
{
    const char *gguf = small_model();
    run *resident = decode(gguf, NULL, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        struct stat st;
        const char *path = small_store(gguf); /* of a GGUF the other weights are mapped, so a cut ends the program */
        cr_assert_eq(stat(path, &st), 0);
        cut c = {path, st.st_size / 2, 3 * i};
        const geodec_streaming how = streaming(NULL, i);
        run *r = decode(path, &how, cut_off, &c);
        cr_assert(r->status == GEODEC_IO && r->passes >= c.pass, "%d %s", r->passes, r->line);
        cr_assert(strstr(r->line, path) && strstr(r->line, "layer ") && strstr(r->line, "ends too early"), "%s",
                  r->line);
        expect_beginning(r, resident);
        end(r);
        cr_assert_eq(unlink(path), 0);
    }
    end(resident);
}

/* A byte less at the end, which nothing reads any more: the end of the run says it. Another file of the same name does
 * not matter. */
Test(streamed_faults, a_file_that_got_shorter_is_told_at_the_end, .timeout = 120)
{
    enum { SAME, SHORTER, REPLACED };
    const char *gguf = small_model(), *other = test_tmp("other.experts");
    for (int what = SAME; what <= REPLACED; what++) {
        geodec_err err = {0};
        char line[600];
        struct stat st;
        const char *path = small_store(gguf);
        cr_assert_eq(stat(path, &st), 0);
        geodec_streaming how = streaming(NULL, 0);
        how.slots = LAYERS * EXPERTS;
        cut c = {path, st.st_size - 1, what == SHORTER ? 5 : -1};
        run *r = decode(path, &how, cut_off, &c);
        cr_assert(r->status == GEODEC_OK && r->passes == TOKENS, "%s", r->line);
        if (what == REPLACED) {
            FILE *f = fopen(other, "w");
            cr_assert(f && fputs("x", f) >= 0 && fclose(f) == 0 && rename(other, path) == 0);
        }
        cr_assert_eq(geodec_streamed_finish(r->m, &err), what == SHORTER ? GEODEC_IO : GEODEC_OK);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert(what != SHORTER || (strstr(line, path) && strstr(line, "was cut off to")), "%s", line);
        end(r);
        cr_assert_eq(unlink(path), 0);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct limits {
    char root[600];
    int64_t below; /* bytes under what the process has */
    int pass;
    const char *file;
} limits;

static void put(const char *root, const char *path, const char *text)
{
    char name[1024];
    (void)snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *p = name + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        (void)mkdir(name, 0777);
        *p = '/';
    }
    FILE *f = fopen(name, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", name);
}

static limits no_limit(const char *name, const char *file)
{
    limits l = {.below = 0, .pass = 5, .file = file};
    (void)snprintf(l.root, sizeof l.root, "%s", test_tmp(name));
    cr_assert_eq(mkdir(l.root, 0777), 0);
    put(l.root, "proc/self/cgroup", "4:memory:/group\n");
    put(l.root, "sys/fs/cgroup/memory/group/memory.limit_in_bytes", "9223372036854771712\n");
    return l;
}

static void lower(void *ctx, int pass)
{
    const limits *l = ctx;
    char path[128], text[32];
    if (pass != l->pass) return;
    (void)snprintf(path, sizeof path, "sys/fs/cgroup/memory/group/%s", l->file);
    (void)snprintf(text, sizeof text, "%lld\n", (long long)(geodec_memory_limit_resident() - l->below));
    put(l->root, path, text);
}

/* A limit that falls: slots are given back, the logits stay, and the trace replays. */
Test(streamed_faults, slots_are_given_back_when_a_limit_falls, .timeout = 120)
{
    geodec_err err = {0};
    const char *gguf = small_model(), *trace = test_tmp("limits.trace");
    run *resident = decode(gguf, NULL, NULL, NULL);
    const char *file[] = {"memory.limit_in_bytes", "memory.soft_limit_in_bytes"};
    for (int i = 0; i < 2; i++) {
        geodec_trace t = {0};
        limits l = no_limit(i ? "soft" : "hard", file[i]);
        geodec_streaming how = streaming(NULL, i);
        how.slots = LAYERS * EXPERTS - 8;
        how.limits = l.root;
        how.trace = trace;
        run *r = decode(gguf, &how, lower, &l);
        cr_assert_eq(r->passes, TOKENS, "%s", r->line);
        expect_beginning(r, resident);
        cr_assert_eq(r->given, how.slots - LEAST, "%lld", (long long)r->given);
        end(r);
        test_ok(geodec_trace_read(trace, &t, &err), &err);
        test_ok(geodec_simulate_check(&t, &err), &err);
        geodec_trace_clear(&t);
    }
    end(resident);
}

/* Where even the smallest number of slots does not fit, the run ends with a message. */
Test(streamed_faults, a_limit_below_the_smallest_budget_ends_the_run, .timeout = 120)
{
    const char *gguf = small_model();
    limits l = no_limit("small", "memory.limit_in_bytes");
    enum { MORE = 64 << 20 }; /* memory that cannot be given back */
    char *more = geodec_mem_map(MORE);
    cr_assert_not_null(more);
    for (int i = 0; i < MORE; i += 4096) more[i] = 1;
    l.below = MORE / 2;
    geodec_streaming how = streaming(NULL, 0);
    how.limits = l.root;
    run *r = decode(gguf, &how, lower, &l);
    cr_assert(r->status == GEODEC_LIMIT && r->passes == l.pass, "%d %s", r->passes, r->line);
    cr_assert(strstr(r->line, "the limit of memory fell to"), "%s", r->line);
    end(r);
    geodec_mem_unmap(more, MORE);
}

/* A budget above what the control group allows is reduced to that; if that is too small, it is refused. */
Test(streamed_faults, a_budget_above_the_limit_of_the_group, .timeout = 120)
{
    const char *gguf = small_model();
    limits l = no_limit("group", "memory.limit_in_bytes");
    put(l.root, "sys/fs/cgroup/memory/group/memory.limit_in_bytes", "36000000\n");
    geodec_streaming how = streaming(NULL, 0);
    how.slots = 0;
    how.ram = 900 << 20;
    how.limits = l.root;
    run *r = decode(gguf, &how, NULL, NULL);
    cr_assert_eq(r->status, GEODEC_OK, "%s", r->line);
    end(r);
    put(l.root, "sys/fs/cgroup/memory/group/memory.limit_in_bytes", "34000000\n");
    r = decode(gguf, &how, NULL, NULL);
    cr_assert(r->status == GEODEC_LIMIT && strstr(r->line, "what the control group's limit leaves"), "%s", r->line);
    end(r);
}

/* Sessions that were not announced take the memory of slots; when none can leave, the session is refused. */
Test(streamed_faults, further_sessions_take_the_memory_of_slots, .timeout = 120)
{
    enum { MOST = 64 };
    geodec_err err = {0};
    geodec_stream_counters k;
    geodec_session *more[MOST] = {0};
    long long needs = 0;
    char line[600];
    const char *gguf = small_model();
    geodec_streaming how = streaming(NULL, 0);
    how.slots = 0;
    how.ram = 6 << 20;
    run *resident = decode(gguf, NULL, NULL, NULL), *r = decode(gguf, &how, NULL, NULL);
    cr_assert_eq(r->status, GEODEC_OK, "%s", r->line);
    cr_assert_eq(r->given, 0);
    const geodec_session_options so = {.n_ctx = 256, .max_batch = 16};
    geodec_status st = GEODEC_OK;
    int n = 0;
    for (; n < MOST && st == GEODEC_OK; n++) st = geodec_session_create(r->m, &so, &more[n], &err);
    cr_assert(st == GEODEC_LIMIT && n > 1, "%d sessions", n);
    const char *number = strstr(geodec_err_line(&err, line, sizeof line), "needs ");
    cr_assert(number && sscanf(number, "needs %lld", &needs) == 1 && needs > how.ram, "%s", line);
    cr_assert(geodec_streamed_counted(r->m, &k) && k.given > 0);
    /* the sessions that are there compute what they did */
    float logits[VOCAB];
    const int32_t token = 11;
    geodec_err_clear(&err);
    test_ok(geodec_forward(more[0], &(geodec_batch){.n = 1, .token = &token}, logits, NULL, &err), &err);
    cr_assert_eq(memcmp(logits, resident->logits[0], sizeof logits), 0);
    /* the memory of one that ended is free for another */
    geodec_session_destroy(more[0]);
    more[0] = NULL;
    test_ok(geodec_session_create(r->m, &so, &more[0], &err), &err);
    for (int i = 0; i < MOST; i++) geodec_session_destroy(more[i]);
    end(r);
    end(resident);
}

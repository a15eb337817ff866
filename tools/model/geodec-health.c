/* geodec-health: checks of a model file and of the machine before a run. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/evaluation.h"
#include "session/arithmetic.h"
#include "session/store_golden.h"
#include "streaming/probe.h"
#include "ternary/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double budget, slowest, tolerance;
static const char *ternary = "exact";
static int64_t probe_bytes = 64 << 20;

static const cli_option options[] = {
    OPT_F64("budget", 0, &budget, 0, 1e9, "MB", "largest resident memory of the checks (0: not checked)"),
    OPT_F64("slowest", 0, &slowest, 0, 1e6, "MB/s", "least speed of the disk (0: measured, not checked)"),
    OPT_CHOICE("ternary", 0, &ternary, "exact|add|int8", "FORM",
               "form of the products of ternary experts whose logits are compared, too"),
    OPT_F64("tolerance", 0, &tolerance, 0, 1e6, "X",
            "largest difference of its logits from the exact ones, of their root mean square (0: the same bits)"),
    OPT_I64("probe", 0, &probe_bytes, 1 << 20, 1LL << 34, "BYTES", "bytes that the probe of the disk reads"),
};

static const cli_tool tool = {
    .name = "geodec-health",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "check a model file and the machine before a run: sums, logits, speed of the disk, memory",
    .usage = "[OPTIONS] MODEL",
    .description =
        "Standard output has a row for each check: name, ok, failed or not_measured, and what was found. The status is "
        "4\n"
        "if a check failed.\n"
        "  header     the header of the file, of a store with its sums\n"
        "  forward    a pass of one token has finite logits\n"
        "  golden     the logits of the prompt that a store keeps have the bits of the model it was built from, and "
        "the\n"
        "             sums of the resident part and of the experts that it uses are right (all: geodec-experts "
        "check).\n"
        "             With --ternary add or int8 the prompt runs again in that form: its logits must be within\n"
        "             --tolerance of the exact ones, which must still have the bits of the model\n"
        "  disk       random reads of 1 MiB past the page cache: GB/s, and the 99th percentile of the time of a read\n"
        "  memory     resident memory of this process, against --budget",
    .examples = "geodec-health model.gguf\n"
                "geodec-health --budget 900 --slowest 500 mixture.experts\n"
                "geodec-health --ternary int8 --tolerance 0.2 model.trits",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

typedef enum verdict { NOT_MEASURED, PASSED, FAILED } verdict;
typedef struct check {
    const char *name;
    verdict is;
    char text[240];
} check;
enum { HEADER, FORWARD, GOLDEN, DISK, MEMORY, CHECKS };

/* The outcome of a check that is a call. */
static void settle(check *k, geodec_status st, const geodec_err *why, const char *good)
{
    k->is = st == GEODEC_OK ? PASSED : FAILED;
    if (st == GEODEC_OK)
        (void)snprintf(k->text, sizeof k->text, "%s", good);
    else
        (void)geodec_err_line(why, k->text, sizeof k->text);
}

static geodec_status forward(geodec_model *m, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session *s = NULL;
    float *logits = NULL;
    const int32_t n_vocab = geodec_model_configuration(m)->n_vocab, token = n_vocab / 2;
    const geodec_session_options o = {
        .n_ctx = 8, .max_batch = 1, .arithmetic = geodec_model_arithmetic(m), .pool = pool};
    GEODEC_NEW(logits, n_vocab);
    GEODEC_TRY(geodec_session_create(m, &o, &s, err));
    GEODEC_TRY(geodec_forward(s, &(geodec_batch){.n = 1, .token = &token}, logits, NULL, err));
    for (int32_t i = 0; i < n_vocab; i++)
        if (!isfinite(logits[i])) GEODEC_THROW(GEODEC_NUMERIC, "logit %d is not finite", i);
done:
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return st;
}

/* Returns the status of the check. */
static geodec_status run_golden(const cli *c, const char *path, geodec_model *m, check *k)
{
    geodec_err why = {0};
    bool golden = false;
    double error = 0;
    const geodec_streaming how = {.limits = "", .ternary = geodec_streamed_ternary_named(ternary)};
    if (geodec_model_configuration(m)->n_expert == 0 || geodec_model_store_bytes(m) == 0) {
        (void)snprintf(k->text, sizeof k->text, "not a store of experts");
        return GEODEC_OK;
    }
    const geodec_status st = geodec_store_golden_check_within(path, geodec_model_arithmetic(m), &how, tolerance,
                                                              c->pool, &golden, &error, &why);
    settle(k, st, &why, "bit for bit");
    if (st != GEODEC_OK) return st;
    if (how.ternary != GEODEC_STREAMED_TERNARY_EXACT)
        (void)snprintf(k->text, sizeof k->text, "bit for bit; in the form %s within %.3g of the root mean square (%g)",
                       ternary, error, tolerance);
    if (!golden) {
        k->is = NOT_MEASURED;
        (void)snprintf(k->text, sizeof k->text, "the store has no golden prompt; sums right, logits finite");
    }
    return GEODEC_OK;
}

/* Probes a file; of a folder of ternary experts, the file of its first one. */
static geodec_status probe(const char *path, const geodec_probe_options *o, geodec_probe *p, geodec_err *err)
{
    char *expert = NULL;
    if (geodec_trit_table_is(path)) GEODEC_PASS(geodec_trit_table_path(path, 0, -1, &expert, err));
    const geodec_status st = geodec_probe_read(expert ? expert : path, o, p, err);
    geodec_mem_free(expert);
    return st;
}

static void run_disk(const char *path, check *k)
{
    geodec_err why = {0};
    geodec_probe p = {0};
    const geodec_probe_options o = {
        .blob_bytes = 1 << 20, .most_bytes = probe_bytes, .seconds = 20, .io = GEODEC_DISK_DIRECT};
    const geodec_status st = probe(path, &o, &p, &why);
    if (st == GEODEC_SCARCE) {
        (void)snprintf(k->text, sizeof k->text, "the file is smaller than a read of 1 MiB");
        return;
    }
    settle(k, st, &why, "");
    if (st != GEODEC_OK) return;
    (void)snprintf(k->text, sizeof k->text, "%.3f GB/s, p99 %.2f ms, %lld MB, %s", p.bytes_per_second * 1e-9,
                   p.latency_p99 * 1e3, (long long)p.bytes / 1000000,
                   p.io == GEODEC_DISK_DIRECT ? "direct" : "through the page cache");
    if (slowest > 0 && p.bytes_per_second < slowest * 1e6) k->is = FAILED;
}

static void run_memory(check *k)
{
    long long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    const bool known = f && fscanf(f, "%lld %lld", &size, &pages) == 2;
    if (f) (void)fclose(f);
    if (!known) {
        (void)snprintf(k->text, sizeof k->text, "/proc/self/statm cannot be read");
        return;
    }
    const double mb = (double)pages * (double)sysconf(_SC_PAGESIZE) * 1e-6;
    if (budget > 0) k->is = mb <= budget ? PASSED : FAILED;
    (void)snprintf(k->text, sizeof k->text, "%.1f MB%s", mb, budget > 0 ? "" : ", no budget");
}

static geodec_status run(const cli *c, geodec_err *err)
{
    static const char *const word[] = {"not_measured", "ok", "failed"};
    check k[CHECKS] = {
        {.name = "header"}, {.name = "forward"}, {.name = "golden"}, {.name = "disk"}, {.name = "memory"}};
    geodec_err why = {0};
    geodec_model *m = NULL;
    int failed = 0;
    const char *path = c->args[0];
    geodec_status st = geodec_model_open(path, &m, &why);
    settle(&k[HEADER], st, &why, m ? geodec_model_configuration(m)->arch : "");
    const bool store = m && geodec_model_store_bytes(m) > 0;
    if (m && !store) {
        geodec_err_clear(&why);
        st = forward(m, c->pool, &why);
        settle(&k[FORWARD], st, &why, "finite");
    }
    st = m ? run_golden(c, path, m, &k[GOLDEN]) : GEODEC_OK;
    if (store) { /* the golden check forwards a prompt; beyond the tolerance its logits are finite */
        k[FORWARD].is = st != GEODEC_OK && st != GEODEC_CHECK ? FAILED : PASSED;
        (void)snprintf(k[FORWARD].text, sizeof k[FORWARD].text, "with the golden prompt");
    }
    if (m) run_disk(path, &k[DISK]);
    run_memory(&k[MEMORY]);
    for (int i = 0; i < CHECKS; i++) {
        printf("%s\t%s\t%s\n", k[i].name, word[k[i].is], k[i].text);
        failed += k[i].is == FAILED;
    }
    geodec_model_close(m);
    if (failed > 0) GEODEC_FAIL(GEODEC_CHECK, "%s: %d of %d checks failed", path, failed, CHECKS);
    return GEODEC_OK;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

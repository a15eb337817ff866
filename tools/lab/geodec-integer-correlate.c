/* geodec-integer-correlate: exact correlation of a query with every shift of a sequence of integers. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "io/foreign.h"
#include "io/tsv.h"
#include "lab/integer/ntt/correlate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *by = "auto", *isa = "auto";
static int64_t top;
static bool crossover;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "standard output"),
    OPT_CHOICE("method", 0, &by, GEODEC_CORRELATE_CHOICES, "METHOD",
               "direct: sums; p60, pair: products of polynomials through transforms modulo one prime or two; auto: the "
               "faster of direct and p60"),
    OPT_I64("top", 'n', &top, 0, 1 << 30, "N",
            "print the N largest sums alone, largest first and at equal sums by shift (0: all, by shift)"),
    OPT_CHOICE("isa", 0, &isa, "auto|scalar|avx2|avx512", "SET", "instruction set"),
    OPT_FLAG("crossover", 0, &crossover,
             "without files: time the methods on random values of 16 and 32 bits for each length of the query"),
};

static const cli_tool tool = {
    .name = "geodec-integer-correlate",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "correlate a query with every shift of a sequence of integers, exactly",
    .usage = "[OPTIONS] QUERY SEQUENCE | --crossover",
    .description =
        "Sum t is q[0] s[t] + .. + q[d-1] s[t+d-1]. QUERY and SEQUENCE are text files of integers (separated by\n"
        "blanks, tabs, commas or lines) or, as FILE#DATASET, vectors of HDF5 files; the values of a text table are\n"
        "read row by row. Values have at most 32 bits. Sums are exact: a method whose range they may leave is an "
        "error,\n"
        "and auto then takes another. The output is a TSV table of shifts and sums. --crossover prints the time\n"
        "of each method and the one that auto takes; every method must give the same sums.",
    .examples = "  geodec-integer-correlate query.txt sequence.txt\n"
                "  geodec-integer-correlate --top 5 motif.h5#values signal.h5#values\n"
                "  geodec-integer-correlate --crossover",
    CLI_TAKES(options, 0, 2),
};

static geodec_status read_dataset(const char *arg, const char *hash, int64_t **out, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX];
    for (int i = 0; i < GEODEC_FOREIGN_RANK_MAX; i++) shape[i] = -1;
    GEODEC_TRY(geodec_mem_print(&path, err, "%.*s", (int)(hash - arg), arg));
    GEODEC_TRY(geodec_foreign_read_i64(path, hash + 1, 1, shape, INT32_MIN, INT32_MAX, out, err));
    *n = shape[0];
done:
    geodec_mem_free(path);
    return st;
}

static geodec_status read_numbers(const char *arg, int64_t **out, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    int64_t *v = NULL, rows, cols;
    const char *hash = strrchr(arg, '#');
    if (hash && hash > arg) return read_dataset(arg, hash, out, n, err);
    GEODEC_TRY(geodec_foreign_text(arg, &rows, &cols, &x, err));
    *n = rows * cols;
    GEODEC_NEW(v, *n);
    for (int64_t i = 0; i < *n; i++) {
        if (x[i] < INT32_MIN || x[i] > INT32_MAX || x[i] != floor(x[i]))
            GEODEC_THROW(GEODEC_RANGE, "%.200s: value %lld, %g, is not an integer of 32 bits", arg, (long long)i, x[i]);
        v[i] = (int64_t)x[i];
    }
    GEODEC_MOVE(*out, v);
done:
    GEODEC_FREE(x, v);
    return st;
}

typedef struct score {
    int64_t shift, sum;
} score;

static int larger_first(const void *a, const void *b)
{
    const score *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? 1 : -1;
    return (x->shift > y->shift) - (x->shift < y->shift);
}

static geodec_status print(geodec_tsv *t, const int64_t *sums, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    score *order = NULL;
    GEODEC_NEW(order, n);
    for (int64_t i = 0; i < n; i++) order[i] = (score){i, sums[i]};
    if (top) qsort(order, (size_t)n, sizeof *order, larger_first);
    GEODEC_TRY(geodec_tsv_names(t, "shift sum", err));
    for (int64_t i = 0; i < n && (!top || i < top); i++) {
        geodec_tsv_i64(t, order[i].shift);
        geodec_tsv_i64(t, order[i].sum);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
done:
    geodec_mem_free(order);
    return st;
}

static geodec_correlate_by method_of(const char *name)
{
    for (int i = 0; i < GEODEC_CORRELATE_METHODS; i++)
        if (strcmp(name, geodec_correlate_name((geodec_correlate_by)i)) == 0) return (geodec_correlate_by)i;
    return GEODEC_CORRELATE_AUTO;
}

static geodec_ntt_path path_of(const char *name)
{
    for (int i = GEODEC_ISA_AUTO; i <= GEODEC_ISA_AVX512; i++)
        if (strcmp(name, geodec_kernels_isa_name((geodec_isa)i)) == 0) return geodec_ntt_path_of((geodec_isa)i);
    return GEODEC_NTT_AUTO;
}

/* ---- crossover -------------------------------------------------------------------------------------------------- */

enum { CROSSOVER_N = 32768, CROSSOVER_ROUNDS = 5 };

static geodec_status time_row(geodec_tsv *t, int bits, int64_t d, const int64_t *q, const int64_t *s, int64_t *sums,
                              int64_t *first, geodec_err *err)
{
    const int64_t n = CROSSOVER_N;
    geodec_correlate_report r = {.by = GEODEC_CORRELATE_AUTO}, chosen;
    GEODEC_PASS(geodec_correlate_run(q, d, s, n, GEODEC_CORRELATE_AUTO, path_of(isa), first, &chosen, err));
    geodec_tsv_i64(t, bits);
    geodec_tsv_i64(t, d);
    for (int m = GEODEC_CORRELATE_DIRECT; m < GEODEC_CORRELATE_METHODS; m++) {
        double best = INFINITY;
        for (int i = 0; i < CROSSOVER_ROUNDS; i++) {
            const double began = geodec_clock_thread_seconds();
            GEODEC_PASS(geodec_correlate_run(q, d, s, n, (geodec_correlate_by)m, path_of(isa), sums, &r, err));
            best = fmin(best, geodec_clock_thread_seconds() - began);
        }
        if (memcmp(sums, first, (size_t)(n - d + 1) * sizeof *sums) != 0)
            GEODEC_FAIL(GEODEC_NUMERIC, "methods %s and %s differ", geodec_correlate_name(r.by),
                        geodec_correlate_name(chosen.by));
        geodec_tsv_f64(t, floor(best * 1e7 + 0.5) / 10);
    }
    geodec_tsv_i64(t, r.length);
    geodec_tsv_str(t, geodec_correlate_name(chosen.by));
    return geodec_tsv_end_row(t, err);
}

static geodec_status time_methods(geodec_tsv *t, uint64_t seed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *q = NULL, *s = NULL, *sums = NULL, *first = NULL;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("correlate", 0));
    GEODEC_NEW_EACH(CROSSOVER_N, q, s, sums, first);
    GEODEC_TRY(geodec_tsv_names(t, "bits query direct_us p60_us pair_us N auto", err));
    for (int bits = 16; bits <= 24; bits += 8) {
        for (int64_t i = 0; i < CROSSOVER_N; i++) {
            q[i] = (int64_t)geodec_rng_u64(&r) >> (64 - bits);
            s[i] = (int64_t)geodec_rng_u64(&r) >> (64 - bits);
            if (bits == 16 && s[i] == INT16_MIN) s[i]++; /* 16 bits are -32767 to 32767 */
            if (bits == 16 && q[i] == INT16_MIN) q[i]++;
        }
        for (int64_t d = 16; d <= 2048; d += d / 2) GEODEC_TRY(time_row(t, bits, d, q, s, sums, first, err));
    }
done:
    GEODEC_FREE(q, s, sums, first);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *q = NULL, *s = NULL, *sums = NULL, d, n;
    geodec_tsv *t = NULL;
    if (crossover ? c->n_args != 0 : c->n_args != 2)
        GEODEC_THROW(GEODEC_INVAL, "expected QUERY and SEQUENCE, or --crossover without files");
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    if (!crossover) {
        GEODEC_TRY(read_numbers(c->args[0], &q, &d, err));
        GEODEC_TRY(read_numbers(c->args[1], &s, &n, err));
        if (d < 1 || d > n)
            GEODEC_THROW(GEODEC_INVAL, "%.100s has %lld values, %.100s has %lld", c->args[0], (long long)d, c->args[1],
                         (long long)n);
        GEODEC_NEW(sums, n - d + 1);
        GEODEC_TRY(geodec_correlate_run(q, d, s, n, method_of(by), path_of(isa), sums, NULL, err));
    }
    if (output)
        GEODEC_TRY(geodec_tsv_create(output, &t, err));
    else
        GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    if (crossover)
        GEODEC_TRY(time_methods(t, c->seed, err));
    else
        GEODEC_TRY(print(t, sums, n - d + 1, err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    GEODEC_FREE(q, s, sums);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

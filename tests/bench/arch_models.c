/* arch_models write FOLDER: the seeded small models of tests/unit/session/families.h that another program can read, as
 * FOLDER/<name>.gguf, with random tokens in FOLDER/<name>.tokens (int32).
 * arch_models compare FOLDER: compares the library's logits of those tokens with FOLDER/<name>.logits (float32), one
 * line each. */
#include "session/families.h"
#include "session/model.h"

#include <stdlib.h>

enum { TOKENS = 200 };

static void die(const geodec_err *err, const char *what)
{
    char line[600] = "";
    if (err) (void)geodec_err_line(err, line, sizeof line);
    (void)fprintf(stderr, "arch_models: %s: %s\n", what, line);
    exit(1);
}

static const char *path_of(const char *folder, const char *name, const char *end)
{
    static char path[2][4096];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s.%s", folder, name, end);
    return path[turn];
}

static void draw(const family *f, int32_t token[TOKENS])
{
    geodec_rng r = geodec_rng_stream(f->s.seed, geodec_rng_id("peer tokens", 0));
    for (int i = 0; i < TOKENS; i++) token[i] = 3 + (int32_t)geodec_rng_below(&r, (uint64_t)f->s.n_vocab - 3);
}

static void write_family(const char *folder, const family *f)
{
    geodec_err err = {0};
    int32_t token[TOKENS];
    if (synthetic_write(path_of(folder, f->name, "gguf"), &f->s, &err) != GEODEC_OK) die(&err, f->name);
    draw(f, token);
    FILE *file = fopen(path_of(folder, f->name, "tokens"), "wb");
    if (!file || fwrite(token, sizeof *token, TOKENS, file) != TOKENS || fclose(file) != 0) die(NULL, f->name);
    printf("%s\n", f->name);
}

static double nll(const float *row, int64_t n, int32_t next)
{
    double sum = 0;
    const double top = (double)row[geodec_argmax(row, n)];
    for (int64_t i = 0; i < n; i++) sum += exp((double)row[i] - top);
    return log(sum) + top - (double)row[next];
}

static void compare_family(const char *folder, const family *f)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    int32_t token[TOKENS];
    draw(f, token);
    if (geodec_model_open(path_of(folder, f->name, "gguf"), &m, &err) != GEODEC_OK) die(&err, f->name);
    if (geodec_session_create(m, &(geodec_session_options){.max_batch = TOKENS}, &s, &err) != GEODEC_OK)
        die(&err, f->name);
    const int64_t v = geodec_model_configuration(m)->n_vocab, n = TOKENS * v;
    float *ours = geodec_mem_new(n, sizeof *ours), *theirs = geodec_mem_new(n, sizeof *theirs);
    FILE *file = fopen(path_of(folder, f->name, "logits"), "rb");
    if (!ours || !theirs || !file || fread(theirs, sizeof *theirs, (size_t)n, file) != (size_t)n) die(NULL, f->name);
    (void)fclose(file);
    if (geodec_forward(s, &(geodec_batch){.n = TOKENS, .token = token}, ours, NULL, &err) != GEODEC_OK)
        die(&err, f->name);
    double worst = 0, square = 0, worst_nll = 0, sum[2] = {0};
    int differ = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)ours[i] - (double)theirs[i]));
        square += (double)ours[i] * (double)ours[i];
    }
    for (int i = 0; i < TOKENS; i++) {
        const float *a = ours + i * v, *b = theirs + i * v;
        differ += geodec_argmax(a, v) != geodec_argmax(b, v);
        if (i == TOKENS - 1) continue;
        const double x = nll(a, v, token[i + 1]), y = nll(b, v, token[i + 1]);
        worst_nll = fmax(worst_nll, fabs(x - y));
        sum[0] += x;
        sum[1] += y;
    }
    printf("%-14s\t%.3g\t%.3g\t%d\t%.6f\t%.6f\t%.3g\n", f->name, worst, sqrt(square / (double)n), differ,
           sum[0] / (TOKENS - 1), sum[1] / (TOKENS - 1), worst_nll);
    geodec_mem_free(ours);
    geodec_mem_free(theirs);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

int main(int argc, char **argv)
{
    const bool compare = argc == 3 && strcmp(argv[1], "compare") == 0;
    if (!compare && (argc != 3 || strcmp(argv[1], "write") != 0)) {
        (void)fprintf(stderr, "usage: arch_models write|compare FOLDER\n");
        return 2;
    }
    if (compare) printf("model\tlogit_max_diff\tlogit_rms\targmax_differ\tnll\tnll_peer\tnll_max_diff\n");
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i].peer) (compare ? compare_family : write_family)(argv[2], &families[i]);
    return 0;
}

/* golden_gap FILE DATASET GOLDEN DATASET LIMIT: prints the largest difference of two datasets relative to the largest
 * value of the golden one. The status is 1 if it is above LIMIT. The shapes must be equal. */
#include "base/mem.h"
#include "io/foreign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *read_all(const char *path, const char *name, int64_t *shape, int *rank)
{
    geodec_err err = {0};
    char line[512];
    double *x = NULL;
    for (int d = 0; d < GEODEC_FOREIGN_RANK_MAX; d++) shape[d] = -1;
    if (geodec_foreign_read(path, name, -1, shape, rank, &x, &err) == GEODEC_OK) return x;
    (void)fprintf(stderr, "golden_gap: %s\n", geodec_err_line(&err, line, sizeof line));
    exit(2);
}

int main(int argc, char **argv)
{
    int64_t a[GEODEC_FOREIGN_RANK_MAX], b[GEODEC_FOREIGN_RANK_MAX], count = 1;
    int rank_a = 0, rank_b = 0;
    if (argc != 6) return 2;
    double *x = read_all(argv[1], argv[2], a, &rank_a), *y = read_all(argv[3], argv[4], b, &rank_b);
    if (rank_a != rank_b) return 2;
    for (int d = 0; d < rank_a; d++) {
        if (a[d] != b[d]) return 2;
        count *= a[d];
    }
    double worst = 0, top = 0;
    for (int64_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs(x[i] - y[i]));
        top = fmax(top, fabs(y[i]));
    }
    /* the field of one golden file is constant to rounding (tests/unit/support/goldens.c) */
    if (strncmp(argv[4], "gamma", 5) == 0 || strncmp(argv[4], "riemann", 7) == 0) top = fmax(top, 1);
    const char *slash = strrchr(argv[3], '/');
    const double gap = top > 0 ? worst / top : worst, limit = strtod(argv[5], NULL);
    printf("golden %s/%s: worst deviation %.2e of the largest value (limit %.0e)\n", slash ? slash + 1 : argv[3],
           argv[4], gap, limit);
    geodec_mem_free(x);
    geodec_mem_free(y);
    return gap <= limit ? 0 : 1;
}

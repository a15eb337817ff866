/* A Gaussian cloud of any size with the spectrum of another cloud, for measurements of stages at many points.
 *
 *     bench-points CLOUD.h5 POINTS DIM SEED OUT.h5
 *
 * Coordinate j of point i is normal with variance eigenvalue[j] (DIM of them; "1" in the place of CLOUD.h5: all 1). It
 * depends on (SEED, i, j) alone. */
#include "artifact/artifact.h"
#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096 };

static geodec_status spectrum(const char *path, int64_t k, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    if (strcmp(path, "1") == 0) {
        for (int64_t j = 0; j < k; j++) value[j] = 1;
        return GEODEC_OK;
    }
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, path, &a, err));
    GEODEC_TRY(geodec_artifact_read_rows(a, "/eigenvalues", 0, k, value, err));
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status make(const char *from, int64_t n, int64_t k, uint64_t seed, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_cloud c = {.points = n, .k = k, .d = k, .k_int = k, .values = k, .variance = 1};
    double *x = NULL;
    const geodec_provenance p = {.tool = "bench-points", .seed = seed};
    GEODEC_NEW(x, ROWS * k);
    GEODEC_NEW_EACH(k, c.eigenvalue, c.mean);
    GEODEC_NEW(c.basis, k * k);
    GEODEC_NEW_EACH(n, c.row, c.sequence, c.position, c.token);
    GEODEC_TRY(spectrum(from, k, c.eigenvalue, err));
    for (int64_t j = 0; j < k; j++) {
        c.basis[j * k + j] = 1;
        c.made.total_variance += c.eigenvalue[j];
    }
    for (int64_t i = 0; i < n; i++) {
        c.row[i] = c.token[i] = -1;
        c.sequence[i] = (int32_t)i;
    }
    GEODEC_TRY(geodec_artifact_create(&geodec_cloud_kind, path, &p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "N", n, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "K", k, err));
    for (int64_t r = 0; r < n; r += ROWS) {
        const int64_t m = n - r < ROWS ? n - r : ROWS;
        for (int64_t i = 0; i < m; i++) {
            geodec_rng s = geodec_rng_stream(seed, geodec_rng_id("bench-points", (uint64_t)(r + i)));
            for (int64_t j = 0; j < k; j++) x[i * k + j] = sqrt(c.eigenvalue[j]) * geodec_rng_normal(&s);
        }
        GEODEC_TRY(geodec_artifact_append(a, "/coordinates", m, x, err));
    }
    c.made = (geodec_cloud_summary){.rows = n,
                                    .points = n,
                                    .d = k,
                                    .k = k,
                                    .k_int = k,
                                    .total_variance = c.made.total_variance,
                                    .explained = 1,
                                    .participation = 1};
    GEODEC_TRY(geodec_artifact_save(a, &c, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    geodec_cloud_clear(&c);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    char line[1000];
    if (argc != 6) {
        (void)fprintf(stderr, "usage: bench-points CLOUD.h5|1 POINTS DIM SEED OUT.h5\n");
        return 2;
    }
    if (make(argv[1], atoll(argv[2]), atoll(argv[3]), (uint64_t)atoll(argv[4]), argv[5], &err) == GEODEC_OK) return 0;
    (void)fprintf(stderr, "bench-points: %s\n", geodec_err_line(&err, line, sizeof line));
    return 1;
}

#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud_internal.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = GEODEC__CLOUD_SLAB, DIGEST = GEODEC__CLOUD_DIGEST };

typedef geodec__cloud_digest digest;

int geodec__cloud_by_digest(const void *pa, const void *pb)
{
    const digest *a = pa, *b = pb;
    const int c = memcmp(a->hex, b->hex, DIGEST);
    return c ? c : (a->row > b->row) - (a->row < b->row);
}

void geodec__cloud_shuffle(int64_t n, int32_t *order, uint64_t seed, uint64_t stream)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1);
        const int32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* Pass 1: the digest and the squared norm of every row, and the mean of all rows. */
static geodec_status scan(geodec__cloud_run *b, digest *all, double *square, geodec_err *err)
{
    char hex[GEODEC_SHA256_HEX];
    for (int64_t r0 = 0; r0 < b->rows; r0 += SLAB) {
        const int64_t m = b->rows - r0 < SLAB ? b->rows - r0 : SLAB;
        GEODEC_PASS(geodec_hooks_progress(b->hooks, "reading states", r0, b->rows, err));
        GEODEC_PASS(geodec_activations_read(b->in, b->index, r0, m, b->slab, b->scratch, err));
        for (int64_t r = 0; r < m; r++) {
            float *x = b->slab + r * b->d;
            square[r0 + r] = 0;
            for (int64_t c = 0; c < b->d; c++) {
                if (!isfinite(x[c]))
                    GEODEC_FAIL(GEODEC_NUMERIC, "the state of row %lld is not finite", (long long)(r0 + r));
                x[c] += 0.0f; /* -0 and 0 are the same state */
                b->row_mean[c] += (double)x[c];
                square[r0 + r] += (double)x[c] * (double)x[c];
            }
            geodec_sha256_of(x, (size_t)b->d * sizeof *x, hex);
            memcpy(all[r0 + r].hex, hex, DIGEST);
            all[r0 + r].row = (int32_t)(r0 + r);
        }
    }
    for (int64_t c = 0; c < b->d; c++) b->row_mean[c] /= (double)b->rows;
    return GEODEC_OK;
}

static int by_value(const void *pa, const void *pb)
{
    const int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;
    return (a > b) - (a < b);
}

void geodec__cloud_sizes(geodec__cloud_run *b)
{
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) b->size[t] = b->points >> (GEODEC_CLOUD_SUBSETS - 1 - t);
}

/* Finds the rows of extreme norm (cloud.h) among the n different ones in b->row, and leaves them out if that was asked
 * for. Returns in *n how many are left. */
static geodec_status find_extreme(geodec__cloud_run *b, const double *square, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *norm = NULL, median, spread, all = 0, extreme = 0, most = 0;
    int64_t kept = 0;
    GEODEC_NEW(norm, *n);
    for (int64_t i = 0; i < *n; i++) norm[i] = sqrt(square[b->row[i]]);
    GEODEC_TRY(geodec_stats_median(*n, norm, &median, err));
    for (int64_t i = 0; i < *n; i++) norm[i] = fabs(norm[i] - median);
    GEODEC_TRY(geodec_stats_median(*n, norm, &spread, err));
    const double limit = median + GEODEC_CLOUD_EXTREME * GEODEC_CLOUD_MAD * spread;
    for (int64_t i = 0; i < *n; i++) {
        const double size = sqrt(square[b->row[i]]);
        const bool far = spread > 0 && size > limit;
        all += square[b->row[i]];
        most = fmax(most, size);
        if (far) extreme += square[b->row[i]];
        b->extreme += far;
        if (!far || !b->o->drop_outliers) b->row[kept++] = b->row[i];
    }
    b->extreme_share = all > 0 ? extreme / all : 0;
    b->extreme_norm = median > 0 ? most / median : 1;
    b->dropped = b->o->drop_outliers;
    *n = kept;
done:
    geodec_mem_free(norm);
    return st;
}

/* Sets row, rank, points, duplicates, the extreme rows and the subsets. */
static geodec_status choose_rows(geodec__cloud_run *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    digest *all = NULL;
    int32_t *order = NULL;
    double *square = NULL;
    GEODEC_NEW_EACH(b->rows, all, b->row, b->rank, order, square);
    GEODEC_TRY(scan(b, all, square, err));
    qsort(all, (size_t)b->rows, sizeof *all, geodec__cloud_by_digest);
    int64_t different = 0;
    for (int64_t i = 0; i < b->rows; i++)
        if (i == 0 || memcmp(all[i].hex, all[i - 1].hex, DIGEST) != 0) b->row[different++] = all[i].row;
    b->duplicates = b->rows - different;
    qsort(b->row, (size_t)different, sizeof *b->row, by_value);
    GEODEC_TRY(find_extreme(b, square, &different, err));
    b->points = different;
    if (b->o->max_points > 0 && different > b->o->max_points) {
        b->points = b->o->max_points;
        geodec__cloud_shuffle(different, order, b->o->seed, geodec_rng_id("cloud-points", 0));
        for (int64_t i = 0; i < b->points; i++) order[i] = b->row[order[i]];
        memcpy(b->row, order, (size_t)b->points * sizeof *order);
        qsort(b->row, (size_t)b->points, sizeof *b->row, by_value);
    }
    if (b->points < GEODEC_CLOUD_MIN_POINTS) {
        GEODEC_THROW(GEODEC_SCARCE, "%lld different states; a cloud needs at least %d", (long long)b->points,
                     GEODEC_CLOUD_MIN_POINTS);
    }
    geodec__cloud_shuffle(b->points, order, b->o->seed, geodec_rng_id("cloud-ladder", 0));
    for (int64_t i = 0; i < b->points; i++) b->rank[order[i]] = (int32_t)i;
    geodec__cloud_sizes(b);
done:
    GEODEC_FREE(all, order, square);
    return st;
}

/* Chooses the rows of the cloud: rank 0 reads all rows, and the other ranks of a job take its choice. */
geodec_status geodec__cloud_rows(geodec__cloud_run *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_comm *const comm = geodec_sweep_comm(b->o->sweep);
    const bool first = geodec_comm_rank(comm) == 0;
    GEODEC_TRY(geodec_comm_agree(comm, first ? choose_rows(b, err) : GEODEC_OK, err));
    if (!comm) goto done;
    GEODEC_TRY(geodec_comm_broadcast(comm, &b->points, sizeof b->points, err));
    GEODEC_TRY(geodec_comm_broadcast(comm, &b->duplicates, sizeof b->duplicates, err));
    if (!first) GEODEC_NEW_EACH(b->points, b->row, b->rank);
    GEODEC_TRY(geodec_comm_broadcast(comm, b->row_mean, b->d * (int64_t)sizeof *b->row_mean, err));
    GEODEC_TRY(geodec_comm_broadcast(comm, b->row, b->points * (int64_t)sizeof *b->row, err));
    GEODEC_TRY(geodec_comm_broadcast(comm, b->rank, b->points * (int64_t)sizeof *b->rank, err));
    geodec__cloud_sizes(b);
done:
    return st;
}

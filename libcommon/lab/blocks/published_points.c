#include "base/mem.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "io/foreign.h"
#include "lab/blocks/published.h"

#include <math.h>
#include <string.h>

enum { ANCHORS = 16, QUERIES = 24 };

/* Anchors and velocities from the file, or from the seed. */
geodec_status geodec_blocks_published_anchors(const char *path, uint64_t seed, int64_t count, int64_t n,
                                              int64_t *anchor, double *velocity, int64_t *found, uint8_t *taken,
                                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *table = NULL;
    if (path) {
        int64_t rows = 0, cols = 0;
        GEODEC_TRY(geodec_foreign_text(path, &rows, &cols, &table, err));
        if (cols != n + 1 || rows < 1 || rows > GEODEC_PUBLISHED_BLOCKS_LIST)
            GEODEC_THROW(GEODEC_FORMAT, "%s: %lld rows of %lld numbers; 1 + %lld a row are wanted", path,
                         (long long)rows, (long long)cols, (long long)n);
        for (int64_t i = 0; i < rows; i++) {
            const double p = table[i * cols];
            if (!(p >= 0 && p < (double)count && p == floor(p)) || taken[(int64_t)p])
                GEODEC_THROW(GEODEC_RANGE, "%s: row %lld: %g is no point, or there twice", path, (long long)i, p);
            anchor[i] = (int64_t)p;
            taken[anchor[i]] = 1;
            memcpy(velocity + i * n, table + i * cols + 1, (size_t)n * sizeof *velocity);
        }
        *found = rows;
        goto done;
    }
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("published-blocks", 0));
    for (*found = 0; *found < ANCHORS && *found < count / 2; ++*found) {
        int64_t p = (int64_t)geodec_rng_below(&r, (uint64_t)count);
        while (taken[p]) p = (p + 1) % count;
        taken[p] = 1;
        anchor[*found] = p;
        for (int64_t k = 0; k < n; k++) velocity[*found * n + k] = geodec_rng_normal(&r);
    }
done:
    geodec_mem_free(table);
    return st;
}

geodec_status geodec_blocks_published_queries(const char *list, uint64_t seed, int64_t count, int64_t *query,
                                              int64_t *found, uint8_t *taken, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *number = NULL;
    *found = 0;
    if (list) {
        GEODEC_NEW(number, GEODEC_PUBLISHED_BLOCKS_LIST);
        GEODEC_TRY(geodec_numbers_parse(list, "--points", 0, (double)(count - 1), GEODEC_PUBLISHED_BLOCKS_LIST, number,
                                        found, err));
        for (int64_t i = 0; i < *found; i++) {
            query[i] = (int64_t)number[i];
            if (number[i] != floor(number[i])) GEODEC_THROW(GEODEC_INVAL, "--points: %g is not whole", number[i]);
        }
        goto done;
    }
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("published-blocks", 1));
    int64_t left = 0;
    for (int64_t p = 0; p < count; p++) left += !taken[p];
    for (; *found < QUERIES && left > 0; left--) {
        int64_t p = (int64_t)geodec_rng_below(&r, (uint64_t)count);
        while (taken[p]) p = (p + 1) % count;
        taken[p] = 1;
        query[(*found)++] = p;
    }
done:
    geodec_mem_free(number);
    return st;
}

#include "linalg/counts.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void geodec_counts_clear(geodec_counts *c)
{
    GEODEC_FREE(c->start, c->token, c->count, c->total);
    *c = (geodec_counts){0};
}

typedef struct entry {
    int32_t token;
    uint32_t count;
} entry;

static int by_token(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

geodec_status geodec_counts_make(int64_t cells, int64_t n, const int32_t *cell, const int32_t *label,
                                 geodec_counts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_counts c = {.cells = cells};
    int64_t *begin = NULL;
    int32_t *sorted = NULL;
    entry *e = NULL;
    GEODEC_NEW(begin, 2 * cells + 1);
    int64_t *fill = begin + cells + 1;
    GEODEC_NEW_EACH(n, sorted, e);
    GEODEC_NEW(c.start, cells + 1);
    GEODEC_NEW(c.total, cells);
    for (int64_t i = 0; i < n; i++) {
        if (cell[i] >= cells) GEODEC_THROW(GEODEC_RANGE, "cell %d of %lld", cell[i], (long long)cells);
        if (cell[i] >= 0 && label[i] >= 0) begin[cell[i] + 1]++;
    }
    for (int64_t k = 0; k < cells; k++) {
        c.total[k] = (uint32_t)begin[k + 1];
        begin[k + 1] += begin[k];
        fill[k] = begin[k];
    }
    for (int64_t i = 0; i < n; i++)
        if (cell[i] >= 0 && label[i] >= 0) sorted[fill[cell[i]]++] = label[i];
    for (int64_t k = 0; k < cells; k++) {
        const int64_t first = c.entries;
        qsort(sorted + begin[k], (size_t)(begin[k + 1] - begin[k]), sizeof *sorted, by_token);
        for (int64_t i = begin[k]; i < begin[k + 1]; i++) {
            if (i == begin[k] || sorted[i] != sorted[i - 1]) e[c.entries++] = (entry){.token = sorted[i]};
            e[c.entries - 1].count++;
        }
        qsort(e + first, (size_t)(c.entries - first), sizeof *e, by_count);
        c.start[k + 1] = c.entries;
    }
    GEODEC_NEW_EACH(c.entries, c.token, c.count);
    for (int64_t i = 0; i < c.entries; i++) {
        c.token[i] = e[i].token;
        c.count[i] = e[i].count;
    }
    *out = c;
    c = (geodec_counts){0};
done:
    geodec_counts_clear(&c);
    GEODEC_FREE(begin, sorted, e);
    return st;
}

int64_t geodec_counts_rank(const geodec_counts *c, int64_t cell, int32_t token)
{
    for (int64_t i = c->start[cell]; i < c->start[cell + 1]; i++)
        if (c->token[i] == token) return i - c->start[cell];
    return -1;
}

geodec_status geodec_counts_check(const geodec_counts *c, int64_t vocab, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *met = NULL; /* last cell in which a token occurred, plus one */
    GEODEC_NEW(met, vocab);
    if (c->cells < 1 || c->start[0] != 0 || c->start[c->cells] != c->entries)
        GEODEC_THROW(GEODEC_FORMAT, "%s: inconsistent rows of counts", name);
    for (int64_t k = 0; k < c->cells; k++) {
        uint64_t sum = 0;
        if (c->start[k + 1] < c->start[k] || c->start[k + 1] > c->entries)
            GEODEC_THROW(GEODEC_FORMAT, "%s: cell %lld ends before it begins", name, (long long)k);
        for (int64_t i = c->start[k]; i < c->start[k + 1]; i++) {
            if (c->token[i] < 0 || c->token[i] >= vocab || c->count[i] == 0)
                GEODEC_THROW(GEODEC_FORMAT, "%s: entry %lld is not a token with a count", name, (long long)i);
            if (met[c->token[i]] == k + 1)
                GEODEC_THROW(GEODEC_FORMAT, "%s: cell %lld has a token twice", name, (long long)k);
            met[c->token[i]] = k + 1;
            sum += c->count[i];
        }
        if (sum != c->total[k])
            GEODEC_THROW(GEODEC_FORMAT, "%s: the counts of cell %lld do not sum up", name, (long long)k);
    }
done:
    geodec_mem_free(met);
    return st;
}

#include "cli/suggest.h"

#include <string.h>

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment distance; both words have at most SUGGEST_MAX bytes. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[3][SUGGEST_MAX + 1];
    for (size_t j = 0; j <= m; j++) row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3];
        const size_t *above = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t differ = a[i - 1] != b[j - 1];
            now[j] = least(least(above[j], now[j - 1]) + 1, above[j - 1] + differ);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = least(now[j], two[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

suggestion suggest_begin(const char *word, size_t length)
{
    return (suggestion){.word = word, .length = length, .distance = (length < 6 ? 1 : length / 3) + 1};
}

void suggest_compare(suggestion *s, const char *candidate, size_t length)
{
    if (s->length > SUGGEST_MAX || length > SUGGEST_MAX || !length) return;
    size_t d = distance(s->word, s->length, candidate, length);
    if (s->length >= 3 && s->length < length && strncmp(s->word, candidate, s->length) == 0) d = least(d, 1);
    if (d >= s->distance) return;
    s->distance = d;
    s->best = candidate;
    s->best_length = length;
}

#include "io/matrix.h"

#include "base/mem.h"
#include "io/matrix_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool geodec_matrix_is_missing(const char *word, int64_t length)
{
    static const char *const words[] = {"",     "nan",  "na",      "n/a", "#n/a", "null",
                                        "none", "+nan", "missing", ".",   "-",    "-nan"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == (int64_t)strlen(words[i]) && strncasecmp(word, words[i], (size_t)length) == 0) return true;
    return false;
}

static bool is_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(list, word); n && at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

bool geodec_matrix_is_mask(const char *name, bool *padding)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    *padding = is_word(GEODEC_PADDING_MASKS, base);
    return *padding || is_word(GEODEC_MASKS, base);
}

int64_t geodec__matrix_rounded(int64_t n, const double *x)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += fabs(x[i]) > 9007199254740992.0;
    return count;
}

/* Leaves out the rows that are no data, in place. */
static geodec_status keep_data(const char *path, const geodec_matrix_options *o, const uint8_t *left, geodec_matrix *m,
                               geodec_err *err)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < m->rows; r++) {
        const double *row = m->x + r * m->cols;
        const int why = left ? left[r] : 0;
        int64_t *const count[] = {NULL, &m->masked, &m->filled, &m->invalid};
        if (why) {
            (*count[why])++;
            continue;
        }
        int64_t c = 0;
        while (c < m->cols && isfinite(row[c])) c++;
        if (c < m->cols) {
            m->missing++;
            if (!o->drop_missing)
                GEODEC_FAIL(GEODEC_FORMAT,
                            "%s: row %lld, column %lld is missing or not finite; --drop-missing leaves such rows out",
                            path, (long long)r + 1, (long long)c + 1);
            continue;
        }
        if (kept != r) memmove(m->x + kept * m->cols, row, (size_t)m->cols * sizeof *row);
        kept++;
    }
    if (kept == 0)
        GEODEC_FAIL(GEODEC_SCARCE,
                    "%s: none of %lld rows is data (%lld masked, %lld filled, %lld out of range, %lld "
                    "missing)",
                    path, (long long)m->rows, (long long)m->masked, (long long)m->filled, (long long)m->invalid,
                    (long long)m->missing);
    m->rows = kept;
    return GEODEC_OK;
}

geodec_status geodec_matrix_read(const char *path, const char *format, const geodec_matrix_options *o,
                                 geodec_matrix *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_matrix m = {0};
    uint8_t *left = NULL;
    if (strcmp(format, "npy") == 0)
        GEODEC_TRY(geodec__matrix_npy(path, &m, err));
    else if (strcmp(format, "text") == 0)
        GEODEC_TRY(geodec__matrix_text(path, o->header, o->drop_missing, &m, err));
    else
        GEODEC_TRY(geodec__matrix_h5(path, o, &m, &left, err));
    m.given = m.rows;
    GEODEC_TRY(keep_data(path, o, left, &m, err));
    *out = m;
    m.x = NULL;
done:
    GEODEC_FREE(m.x, left);
    return st;
}

void geodec_matrix_clear(geodec_matrix *m)
{
    geodec_mem_free(m->x);
    *m = (geodec_matrix){0};
}

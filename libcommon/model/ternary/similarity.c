#include "ternary/similarity.h"

#include "base/mem.h"

static void add_row(const int8_t *a, const int8_t *b, const int8_t *other, int64_t cols, geodec_trit_similarity *sum)
{
    const int64_t half = cols / 2;
    for (int64_t c = 0; c < cols; c++) {
        sum->changed += a[c] != b[c];
        sum->shifted += a[c] != other[c + half < cols ? c + half : c + half - cols];
        sum->code[0][a[c] + 1]++;
        sum->code[1][b[c] + 1]++;
    }
    sum->weights += cols;
}

geodec_status geodec_trit_similarity_add(const geodec_trit_shape *s, const uint8_t *a, const uint8_t *b,
                                         geodec_trit_similarity *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ternary_matrix ma[GEODEC_TRIT_MATRICES], mb[GEODEC_TRIT_MATRICES];
    int8_t *t = NULL;
    const int64_t wide = s->d > s->f ? s->d : s->f;
    GEODEC_NEW(t, 3 * wide);
    geodec_trit_matrices(s, a, ma);
    geodec_trit_matrices(s, b, mb);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        const int64_t bytes = geodec_ternary_row_bytes(s->encoding, ma[k].cols), rows = ma[k].rows, half = rows / 2;
        for (int64_t o = 0; o < rows; o++) {
            const int64_t far = o + half < rows ? o + half : o + half - rows;
            geodec_ternary_unpack(s->encoding, ma[k].data + o * bytes, ma[k].cols, t);
            geodec_ternary_unpack(s->encoding, mb[k].data + o * bytes, ma[k].cols, t + wide);
            geodec_ternary_unpack(s->encoding, mb[k].data + far * bytes, ma[k].cols, t + 2 * wide);
            add_row(t, t + wide, t + 2 * wide, ma[k].cols, sum);
        }
    }
done:
    geodec_mem_free(t);
    return st;
}

double geodec_trit_similarity_independent(const geodec_trit_similarity *s)
{
    double same = 0;
    const double n = (double)s->weights;
    for (int c = 0; c < 3; c++) same += (double)s->code[0][c] / n * ((double)s->code[1][c] / n);
    return 1 - same;
}

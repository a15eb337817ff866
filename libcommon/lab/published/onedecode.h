/* OneDecode of the published program (geodesic speculative decoding, 2026, section "OneDecode"): a table computed
 * without any text.
 *
 *     p_t    principal coordinates of the input embedding of token t, at most 64
 *     v      radially outward: p_t / |p_t| times 0.08 mean eigenvalue
 *     p'_t   p_t + v - 1/2 Gamma(v, v)
 *     next   argmax over all tokens u of p'_t . p_u; the margin over the runner-up is the "confidence"
 *
 * Gamma is one tensor for the whole space: the metric samples are the covariances (plus 1e-8) of 128 consecutive groups
 * of embeddings, the metric is their mean g, its derivatives are the regression slopes of g_ij on each single
 * coordinate of the group centroids, and Gamma is computed from both as Christoffel symbols. Entries are tokens 0..8191
 * and further tokens at a uniform stride, 16384 at most. A lookup takes the entry whose endpoint p' has the largest
 * cosine with a query, so it always finds one. The query along a text is p_t + (p_t - p_(t-1)) / 2; the manuscript
 * defines no state there.
 *
 * The table uses neither the context nor the tokens that follow t in texts, so the accuracy of its tokens is measured
 * (rates). */
#ifndef GEODEC_LAB_PUBLISHED_ONEDECODE_H
#define GEODEC_LAB_PUBLISHED_ONEDECODE_H

#include "base/pool.h"
#include "drafters/step.h"

extern const geodec_kind geodec_onedecode_published_kind;

enum { GEODEC_ONEDECODE_PUBLISHED_DIMS = 64, GEODEC_ONEDECODE_PUBLISHED_ENTRIES = 16384 };

/* The order of the members is that of the file. */
typedef struct geodec_onedecode_rates {
    int64_t places;                   /* of texts */
    double self_loop;                 /* share of entries whose next token is the entry's own token */
    double hub;                       /* share of entries with the most frequent next token */
    double hub10;                     /* share with one of the ten most frequent next tokens */
    double entropy;                   /* entropy of the next tokens in bits; log2 n when all differ */
    double entry_top1, lookup_top1;   /* share of places in texts where the entry of the newest token, or the lookup of
                                         the last two, gives the model's argmax */
    double bigram_top1, unigram_top1; /* counted on the texts of the fit: the controls */
} geodec_onedecode_rates;

typedef struct geodec_onedecode_published {
    int64_t n, k, vocab;
    int32_t *id;                     /* [n] token of an entry, rising */
    float *source;                   /* [n][k] p */
    float *endpoint;                 /* [n][k] p' */
    int32_t *token;                  /* [n] next token */
    float *margin;                   /* [n] */
    int32_t *entry;                  /* [vocab] entry of a token, -1 = none; not in the file */
    float *length;                   /* [n] |p'|; not in the file */
    geodec_onedecode_rates rates[2]; /* rates in the file, as published and with Gamma = 0:
                                        geodec_onedecode_published_write */
} geodec_onedecode_published;

/* embedding [vocab][d]. flat: Gamma = 0, the control. GEODEC_NUMERIC, GEODEC_SCARCE (fewer than 256 tokens). */
geodec_status geodec_onedecode_published_bake(int64_t vocab, int64_t d, const float *embedding, bool flat,
                                              geodec_pool *pool, geodec_onedecode_published *out,
                                              geodec_err *err) GEODEC_MUST_USE;
void geodec_onedecode_published_clear(geodec_onedecode_published *t);
/* Next token of a lookup after the tokens `before`, `newest`; -1 when one of them has no entry. */
int32_t geodec_onedecode_published_after(const geodec_onedecode_published *t, int32_t before, int32_t newest);

/* Measures the rates on the test texts of this seed. rows: from geodec_step_fit. */
geodec_status geodec_onedecode_published_rates(const geodec_onedecode_published *t, const geodec_step_rows *rows,
                                               uint64_t seed, geodec_onedecode_rates *out,
                                               geodec_err *err) GEODEC_MUST_USE;

/* Fills a new artifact; the caller commits. flat: rates of the table with Gamma = 0. */
geodec_status geodec_onedecode_published_write(const geodec_onedecode_published *t, const geodec_onedecode_rates *r,
                                               const geodec_onedecode_rates *flat, geodec_artifact *out,
                                               geodec_err *err) GEODEC_MUST_USE;

#endif

/* Perplexity of a text under a model, and the distance between two models (or two arithmetic modes of one) on it.
 *
 * The text is tokenized once. Two protocols (geodec_perplexity_options):
 *   stride 0   windows without overlap: each is the token that starts a text (BOS) and the next window - 1 tokens;
 *              every token after BOS is scored. Without BOS a window is `window` tokens and its first is not scored.
 *   stride S   the whole sequence (BOS, then all tokens) is read in windows of `window` tokens that begin S apart;
 *              of each window only the tokens are scored that no earlier window scored: of the first window all after
 *              its first token, of each later one the last S. Every score has a context of at least window - S tokens
 *              (where the text has them).
 * nll = mean over scored tokens of -log p(token | those before it in its window), natural logarithm; perplexity =
 * exp(nll). Log-probabilities are formed in float64 from the logits.
 *
 * Standard errors take blocks of the text as independent: a window, or with a stride as many consecutive windows as
 * make up one. With S_b the sum over the T_b scored tokens of block b, n blocks and T tokens in all, SE^2 = n/(n-1)
 * sum_b (S_b - T_b mean)^2 / T^2 (the ratio estimator; NaN for one block). Neighbouring blocks of one text are not
 * quite independent, so the error is a lower bound where topics last longer than a block.
 *
 * Sums run in the order of the text: same bytes with any number of threads. */
#ifndef GEODEC_EVALUATE_PERPLEXITY_H
#define GEODEC_EVALUATE_PERPLEXITY_H

#include "base/hooks.h"
#include "base/pool.h"
#include "evaluate/scorer.h"
#include "io/json.h"
#include "io/tsv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct geodec_perplexity_options {
    int32_t window;      /* tokens of a window, BOS included; >= 2 */
    int32_t stride;      /* 0, or 1 .. window - 1 */
    int64_t max_windows; /* 0 = all */
    int32_t rows;        /* of a pass; 0 = GEODEC_SCORER_ROWS, the most. No result depends on it */
    bool parse_special;  /* control and unknown tokens that the text names are these tokens, and their names count as
                            bytes of the text; otherwise the names are text */
} geodec_perplexity_options;

/* A mean over scored tokens and its standard error by blocks. */
typedef struct geodec_block_mean {
    double mean, se;
} geodec_block_mean;

/* Sums of one window over its scored tokens. */
typedef struct geodec_perplexity_window {
    int64_t tokens;
    double nll, against_nll; /* nats */
    double kl;               /* nats, sum of KL(P_t || Q_t) */
    double agree;            /* tokens where P and Q have the same argmax */
    double max_delta;        /* largest |log p - log q| of a scored token */
} geodec_perplexity_window;

typedef struct geodec_perplexity_result {
    int64_t windows, blocks, windows_of_a_block;
    int64_t tokens;        /* scored tokens */
    int64_t bytes;         /* of text, in the scored tokens; those of unknown tokens too */
    int64_t unknown;       /* scored tokens that the vocabulary does not have */
    geodec_block_mean nll; /* nats a token */
    double perplexity, bits_per_byte;
    /* Controls on the same tokens: the uniform distribution, and the best model without context, which knows the
     * frequencies of these very tokens (their entropy, in sample: a hard control). */
    double uniform_perplexity, unigram_perplexity;
    /* P = the model, Q = the other one; NaN without one. */
    geodec_block_mean against_nll, difference; /* difference: nll of Q - nll of P, paired by window */
    geodec_block_mean kl;                      /* nats a token */
    geodec_block_mean agreement;               /* share of scored tokens */
    double against_perplexity, max_delta;
    double seconds, against_seconds;  /* processor time of the passes, on the threads that read windows; no result */
    geodec_perplexity_window *window; /* [windows], in order of the text */
} geodec_perplexity_result;
void geodec_perplexity_free(geodec_perplexity_result *r);

/* q NULL: no second model. GEODEC_CHECKSUM when the two tokenize differently, GEODEC_RANGE for options out of range,
 * GEODEC_FORMAT for a text that is empty or not UTF-8, GEODEC_SCARCE for one too short to score a token. result is
 * filled on success; the caller frees it. */
geodec_status geodec_perplexity_text(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                                     const geodec_perplexity_options *o, const char *text, size_t n,
                                     geodec_perplexity_result *result, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_err *err) GEODEC_MUST_USE;

/* The windows of n tokens, for tests: window i is (BOS if bos, and) tokens first .. first+count-1; positions from
 * `scored` on (BOS counts) are scored. */
typedef struct geodec_perplexity_span {
    bool bos;
    int64_t first, count, scored;
} geodec_perplexity_span;
/* Number of windows of n tokens; bos: the tokenizer begins texts with BOS. */
int64_t geodec_perplexity_count(const geodec_perplexity_options *o, bool bos, int64_t n);
geodec_perplexity_span geodec_perplexity_span_at(const geodec_perplexity_options *o, bool bos, int64_t n, int64_t i);

/* Perplexities of several texts as a table and as JSON. */
typedef struct geodec_perplexity_report {
    const geodec_scorer_evaluation *p, *q; /* q NULL: no comparison, and no columns of it */
    const geodec_perplexity_options *o;
    FILE *out; /* of the table, which begins with the first text */
    geodec_tsv *table;
    geodec_json_writer *json; /* NULL = none */
} geodec_perplexity_report;

/* The head of a JSON file, which appears under its name at the end. */
geodec_status geodec_perplexity_report_begin_json(geodec_perplexity_report *s, const char *path,
                                                  const char *command_line, geodec_err *err) GEODEC_MUST_USE;
/* A text: its name, fingerprint, the rule by which it was divided, and how many documents that gave. */
geodec_status geodec_perplexity_report_add(geodec_perplexity_report *s, const char *text, const char *sha256,
                                           const char *separator, int64_t documents, const geodec_perplexity_result *r,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_perplexity_report_end(geodec_perplexity_report *s, geodec_err *err) GEODEC_MUST_USE;
void geodec_perplexity_report_abandon(geodec_perplexity_report *s); /* all zero is allowed */

#endif

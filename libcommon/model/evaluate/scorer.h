/* Source of next-token logits: a session in one of its arithmetic modes, or the float64 evaluation. */
#ifndef GEODEC_EVALUATE_SCORER_H
#define GEODEC_EVALUATE_SCORER_H

#include "integer/engine/engine.h"
#include "session/model.h"
#include "session/rewrite.h"

#include <stdbool.h>
#include <stdint.h>

/* Mode of evaluation. isa, arithmetic, kv, scores and attnres are those of a session (geodec/session.h). With
 * float64 the model is evaluated by libcommon/model/reference instead, which refuses attnres and scores
 * (GEODEC_UNSUPPORTED).
 */
typedef struct geodec_scorer_evaluation {
    const geodec_model *model; /* must outlive its scorers */
    geodec_arithmetic arithmetic;
    geodec_kv_type kv;
    const geodec_engine_scores_source *scores;
    geodec_isa isa;
    bool float64;
    geodec_attnres attnres;
    const geodec_rewrite *rewrite; /* NULL: none; its function may run on several threads at once */
    geodec_pool *pool;             /* for passes of the session; NULL: the caller's thread alone */
} geodec_scorer_evaluation;

/* "exact", "fast" or "float64"; "f32", "f16", "q8_0", "q4_0" or "f64". Static storage. */
const char *geodec_scorer_evaluation_arithmetic(const geodec_scorer_evaluation *e);
const char *geodec_scorer_evaluation_kv(const geodec_scorer_evaluation *e);

enum { GEODEC_SCORER_ROWS = 64 /* largest number of rows of a step */ };

/* Tokens of a text without BOS, in new memory that the caller frees. parse_special: control and unknown tokens that the
 * text names are these tokens. GEODEC_FORMAT: not UTF-8. */
geodec_status geodec_scorer_tokens(const geodec_tokenizer *t, const char *text, size_t n, bool parse_special,
                                   int32_t **token, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* Reads windows of at most `window` tokens, one at a time, on the caller's thread. */
typedef struct geodec_scorer geodec_scorer;
geodec_status geodec_scorer_create(const geodec_scorer_evaluation *e, int32_t window, geodec_scorer **out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_scorer_destroy(geodec_scorer *s); /* NULL ok */
/* The windows that will begin, in order: window writes the tokens of the i-th and returns their number; 0: behind the
 * last. While experts stream, as many windows as memory allows are then read in one pass, whatever the steps; no value
 * depends on it. Without this call a step is a pass. */
typedef int32_t (*geodec_scorer_windows)(void *ctx, int64_t i, int32_t *token);
void geodec_scorer_expect(geodec_scorer *s, geodec_scorer_windows windows, void *ctx);
/* Begins a window of n tokens (kept by the caller while it is read). */
geodec_status geodec_scorer_begin(geodec_scorer *s, const int32_t *token, int32_t n, geodec_err *err) GEODEC_MUST_USE;
/* Reads its next n (1 to GEODEC_SCORER_ROWS) tokens; want [n]: rows whose logits will be read. */
geodec_status geodec_scorer_step(geodec_scorer *s, int32_t n, const bool *want, geodec_err *err) GEODEC_MUST_USE;
/* Logits of row i of the last step (selected there), as float64, into out [n_vocab]. */
void geodec_scorer_row(const geodec_scorer *s, int32_t i, double *out);

#endif

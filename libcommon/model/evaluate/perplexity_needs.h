/* What the perplexity of a text needs. */
#ifndef GEODEC_EVALUATE_PERPLEXITY_NEEDS_H
#define GEODEC_EVALUATE_PERPLEXITY_NEEDS_H

#include "base/needs.h"
#include "evaluate/perplexity.h"

/* Scores the first windows of the text, of at most 2^17 bytes, for about `budget` processor seconds; all windows are
 * taken to need as long as these, and all bytes to have as many tokens. Arguments and errors are those of
 * geodec_perplexity_text. Adds sizes and times. */
geodec_status geodec_perplexity_needs(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                                      const geodec_perplexity_options *o, const char *text, size_t n, double budget,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif

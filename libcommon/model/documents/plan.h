/* Sizes of a run, adapted to the model and the text by one rule.
 *
 * A requested size is kept if model and text allow it; else it is the largest that they allow, and never below 1:
 *
 *   tokens         at most the text's tokens, with BOS at the head of each document
 *   points         at most `tokens`
 *   store_length   at most the context (a stored text begins with BOS and is one sequence)
 *   store_texts    as requested: the model samples them itself, whatever the text
 *   new_tokens     at most half of the context, so that the other half is left for the prompt
 *   prompt_length  at most context - new_tokens; shorter, but not below GEODEC_PROMPT_LEAST tokens, where the text
 *                  would otherwise give fewer prompts than requested
 *   prompts        at most the text's pieces of prompt_length without overlap
 *   with a limit of work, a model of w weights reads w a token; the limit is for each of: the text, the store, and
 *   GEODEC_PLAN_DECODINGS decodings of all prompts. tokens, store_texts and prompts are at most what it allows, but at
 *   least GEODEC_PLAN_TOKENS_LEAST, GEODEC_PLAN_TEXTS_LEAST and GEODEC_PLAN_PROMPTS_LEAST
 *   reference      yes where it allows GEODEC_PLAN_REFERENCE tokens: float64 evaluations with derivatives are measured
 *   split          document where the first `tokens` tokens hold GEODEC_SPLIT_DOCUMENTS documents or more that are
 *                  not windows, else block (base/split.h)
 *
 * With a text and a model that are large enough every size is the requested one. */
#ifndef GEODEC_DOCUMENTS_PLAN_H
#define GEODEC_DOCUMENTS_PLAN_H

#include "documents/documents.h"

enum {
    GEODEC_PROMPT_LEAST = 8,
    GEODEC_PLAN_TOKENS_LEAST = 1024,
    GEODEC_PLAN_TEXTS_LEAST = 8,
    GEODEC_PLAN_PROMPTS_LEAST = 2,
    GEODEC_PLAN_DECODINGS = 16,
    GEODEC_PLAN_REFERENCE = 6400 /* a hundred texts of 64 tokens */
};

typedef struct geodec_plan_sizes {
    int64_t tokens, points, store_texts, store_length, prompts, prompt_length, new_tokens; /* all >= 1 */
    double work; /* weights times tokens; 0: no limit */
} geodec_plan_sizes;

typedef struct geodec_plan_model {
    int64_t context, layers, width, vocabulary, weights;
    bool bos; /* texts begin with BOS by the vocabulary's rule */
} geodec_plan_model;

enum { GEODEC_PLAN_REASON = 400 };
typedef struct geodec_plan_row {
    const char *name; /* static: "store_length" */
    char value[32];
    char reason[GEODEC_PLAN_REASON]; /* one line without tabs */
} geodec_plan_row;

/* In this order: separator, documents, bytes, text_tokens, context, layers, width, vocabulary, tokens, points,
 * store_texts, store_length, prompts, prompt_length, new_tokens, split, reference. */
enum { GEODEC_PLAN_ROWS = 17 };
typedef struct geodec_plan {
    geodec_plan_sizes sizes;
    bool by_document; /* split */
    geodec_plan_row row[GEODEC_PLAN_ROWS];
} geodec_plan;

/* length: tokens of each document, BOS included (geodec_documents_count). GEODEC_RANGE for sizes or a context below 1.
 */
geodec_status geodec_plan_make(const geodec_plan_model *m, const geodec_documents *d, const int64_t *length,
                               const geodec_plan_sizes *asked, geodec_plan *out, geodec_err *err) GEODEC_MUST_USE;

/* Number and size of the prompts that `have` tokens of text give: as requested if they fit; else shorter ones, down to
 * GEODEC_PROMPT_LEAST tokens, else fewer; *count 0 when there is no token. */
void geodec_plan_prompts(int64_t have, int64_t *count, int64_t *length);

#endif

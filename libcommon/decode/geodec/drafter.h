/* A drafter proposes the next tokens; the target checks them (decode/loop.h). The output never depends on a drafter:
 * drafts may be wrong, random or out of vocabulary, which costs time but not correctness.
 *
 * Life of a drafter during one request, with committed text x_0 .. x_n (prompt and output):
 *     begin                     the text is empty
 *     observe(rows 0 .. m-1)    rows of the prompt that the target has forwarded
 *     propose                   context x_0 .. x_n; every row before the newest token x_n has been observed; x_n has
 *                               not been forwarded, so its hidden state does not exist yet
 *     observe(rows ..)          after the round: rows of x_n and of the accepted drafts, in text order
 *     propose ...
 * When propose runs, the last observed state is therefore that of the row BEFORE the newest token; the pair (this
 * state, newest token) is the key of the flow map. For rejected drafts, only the tokens and candidates below are shown,
 * and only to drafters that request them.
 *
 * Implementing one: embed geodec_drafter as the first member, point `ops` at a constant table, and give a constructor
 *     geodec_status geodec_<name>_drafter_create(..., geodec_drafter **out, geodec_err *err);
 * Functions of the table with nothing to do are NULL; only name and sources must be set. Drafters are deterministic
 * functions of their input since `begin`: they use no clock and no random numbers other than those of the request.
 * Tables that requests share are immutable. One thread at a time. */
#ifndef GEODEC_DRAFTER_H
#define GEODEC_DRAFTER_H

#include "geodec/model.h"
#include "geodec/sampler.h"
#include "geodec/session.h"

#include <stdbool.h>
#include <stdint.h>

struct geodec_penalty;

typedef struct geodec_guard {
    int64_t min_tokens;  /* output tokens before a stop id is allowed; <= 0 switches the guard off */
    const int32_t *stop; /* [n_stop] ids that end the output, borrowed */
    int32_t n_stop;
    /* Penalties of the text so far (decode/penalty.h), or NULL; text [n_text] up to the newest token. */
    struct geodec_penalty *penalty;
    const int32_t *text;
    int64_t n_text;
} geodec_guard;

enum { GEODEC_DRAFT_MAX = 64, GEODEC_DRAFT_SOURCES_MAX = 32, GEODEC_DRAFT_TOP = 8 };

/* One proposed token. Drafts form a tree: a draft follows its parent. In a chain each draft follows the one before it.
 * Drafts of one parent have different tokens. */
typedef struct geodec_draft {
    int32_t token;
    int32_t source;    /* part of the drafter that proposed it: index into ops->source_name */
    int32_t parent;    /* an earlier draft, or -1: it follows the newest token. Chain drafters do not set it */
    double confidence; /* calibrated P(accepted | the drafts above it were accepted), in [0,1] */
} geodec_draft;

/* Forwarded and committed rows, in text order, directly after those observed before. */
typedef struct geodec_draft_rows {
    int64_t n;
    const int32_t *token; /* [n] */
    /* [n] most probable next token after each row, guard applied; -1 = not known (prompt rows). */
    const int32_t *argmax;
    /* [n][d_model] residual stream after all blocks (layer n_layer, input of the final norm); NULL unless
     * ops->wants_state. */
    const float *state;
    /* NULL and 0 unless ops->wants_top. */
    const int32_t *top; /* [n][GEODEC_DRAFT_TOP] most probable next tokens after each row, most probable first, guard
                           applied; -1 = not known (prompt rows, small vocabularies) */
    int64_t n_rejected; /* rows of drafts that were forwarded and rejected, in the order of the pass */
    const int32_t *rejected_token; /* [n_rejected] */
    const int32_t *rejected_top;   /* [n_rejected][GEODEC_DRAFT_TOP] most probable next tokens after the draft, given
                                      its path; without the guard */
} geodec_draft_rows;
struct geodec_adapt; /* decode/adapt.h */

typedef struct geodec_draft_request {
    const int32_t *context; /* [n_context] committed text, newest token last; n_context >= 1 */
    int64_t n_context;
    int32_t gamma;             /* longest draft, 1 .. GEODEC_DRAFT_MAX */
    int32_t budget;            /* > 0: a tree of up to `budget` drafts (decode/tree.h); 0: a chain of up to gamma */
    bool sampled;              /* tokens are sampled from the distribution; false: the argmax is taken */
    int64_t index;             /* output index of the first draft (0 = first token after the prompt) */
    const geodec_guard *guard; /* may be NULL. The loop drops a draft that the guard forbids at index + i and all drafts
                                  after it; a drafter may call geodec_guard_forbids and propose its next best token
                                  instead */
    const geodec_sampling *sampling; /* not NULL: a stochastic drafter samples its drafts (see `distribution`) */
    const double *least;             /* [budget or gamma] path probability below which draft i is not worth a row; the
                                        drafter may stop there. NULL = no limit. Not for sampled drafts */
    /* For a drafter that chooses by time, when the draft length is adaptive: the costs of passes and asking, and the
     * clock for timing drafts. NULL otherwise. Other drafters ignore both. */
    const struct geodec_adapt *adapt;
    double (*clock)(void);
    double *trial_seconds; /* receives the time of trial asks, which only serve learning; NULL when adapt is NULL */
} geodec_draft_request;
typedef struct geodec_drafter geodec_drafter;

typedef struct geodec_drafter_ops {
    const char *name; /* "ngram" */
    bool wants_state, wants_top;
    bool learns; /* learns from the text: it is shown every row, even when it is not asked. Others may miss rows while
                    they are not asked; they then start again with the last few rows (decode/replay.h) */
    int32_t n_sources; /* 1 .. GEODEC_DRAFT_SOURCES_MAX */
    const char *const *source_name;
    /* begin and observe: NULL in a drafter that keeps no state of the text. */
    geodec_status (*begin)(geodec_drafter *d, geodec_err *err);
    geodec_status (*observe)(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err);
    /* Writes up to gamma drafts to out, and their number to *n (0 = no proposal). NULL = geodec_tree_chain. */
    geodec_status (*propose)(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                             geodec_err *err);
    void (*destroy)(geodec_drafter *d); /* NULL = geodec_mem_free */
    /* For trees. children is NULL in a drafter that only makes chains; its chain then serves as the tree. children
     * writes up to `most` drafts that may follow a node, with distinct tokens, by falling confidence, without tokens
     * that the guard forbids (the caller sets the parent). root runs before a tree is started, when the members of
     * geodec_drafter still hold the last tree. adopt runs after the next node 1, 2, .. was added: a child of `parent`
     * with this token, which need not be among the children. */
    geodec_status (*root)(geodec_drafter *d, const geodec_draft_request *request, geodec_err *err);
    geodec_status (*children)(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err);
    geodec_status (*adopt)(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err);
    /* NULL unless the drafter is stochastic: it can sample its drafts from its own distribution and report that
     * distribution. The output then has the distribution of plain sampling, but not the same tokens for a seed
     * (decode/verify_stochastic.h). When the request has `sampling`, propose
     *   - samples the children of a node in turn, without replacement, with geodec_verify_draft_uniform(seed, index,
     *     number of the draft), and returns every sampled token in that order;
     *   - makes trees by itself when there is a budget, with parents set. Neither their shape nor a confidence may
     *   depend on a token sampled there or later.
     * distribution: the q [n_vocab], of sum 1, from which the first child of a node of the newest proposal was sampled;
     * node 0 = newest token, i + 1 = draft i. */
    geodec_status (*distribution)(geodec_drafter *d, int32_t node, double *q, geodec_err *err);
    bool plans; /* propose makes trees itself: with a budget it sets the parents */
} geodec_drafter_ops;

struct geodec_drafter {
    const geodec_drafter_ops *ops;
    /* The newest tree, set by geodec_drafter_root and _adopt: node 0 is the newest token of the context. The request's
     * pointers are valid only during propose. */
    geodec_draft_request request;
    int32_t nodes; /* 0 = none since begin */
    int32_t token[GEODEC_DRAFT_MAX + 1], parent[GEODEC_DRAFT_MAX + 1] /* of node 0: -1 */, depth[GEODEC_DRAFT_MAX + 1];
};
GEODEC_API void geodec_drafter_destroy(geodec_drafter *d);

/* "none" for NULL. */
GEODEC_API const char *geodec_drafter_name(const geodec_drafter *d);

/* ---- drafters by name, and the artifacts they need. One geodec_drafting holds the artifacts of a run
 * ----------------- */

typedef struct geodec_drafting geodec_drafting;

/* A row of the table of drafters (registry.c). */
enum {
    GEODEC_DRAFTER_ALONE = 1,      /* cannot be part of a mixture */
    GEODEC_DRAFTER_TEXTS = 2,      /* also drafts from the texts of flowmap.h5, if the file exists */
    GEODEC_DRAFTER_STOCHASTIC = 4, /* keeps the distribution of sampled text, but not the text for a seed */
    GEODEC_DRAFTER_CONTROL = 8,    /* a control for other drafters */
    GEODEC_DRAFTER_BLOCKS = 16     /* "name:N" uses the first N blocks of the model */
};

typedef struct geodec_drafter_info {
    const char *name;
    const char *source; /* source of its drafts */
    const char *needs;  /* name of an artifact in the folder, or a description; "": nothing */
    unsigned flags;
} geodec_drafter_info;

/* Row i of the table; NULL past the last. */
GEODEC_API const geodec_drafter_info *geodec_registry_at(int i);

/* Names are those of the table; a "+" between names makes a mixture (drafters/mixture_drafter.h): "ngram+flowmap". dir:
 * folder with flowmap.h5, onedecode.h5 .., or NULL. Without a folder, "ngram" and "bigram" draft only from the prompt
 * and the output, and drafters that need an artifact are refused. names [n]: the names that create will be called with.
 * GEODEC_INVAL: unknown name; GEODEC_CHECKSUM: an artifact was made for another model or tokenizer. The model is
 * borrowed. */
GEODEC_API geodec_status geodec_drafting_open(const geodec_model *m, const char *dir, const char *const *names, int n,
                                              geodec_drafting **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_drafting_close(geodec_drafting *d);

/* *out = NULL for "none". */
GEODEC_API geodec_status geodec_drafting_create(const geodec_drafting *d, const char *name, geodec_drafter **out,
                                                geodec_err *err) GEODEC_MUST_USE;

/* Tokens that end a text: EOS, BOS (start of a new text) and control tokens that end a turn. Returns their number. */
enum { GEODEC_STOP_TOKENS = 16 };
GEODEC_API int32_t geodec_drafting_stop_tokens(const geodec_tokenizer *t, int32_t stop[GEODEC_STOP_TOKENS]);

#endif

/* A model whose experts are read from disk while it runs. The logits are those of the resident model, bit for bit: only
 * the place of the weights and the order of independent products differ. */
#ifndef GEODEC_MODEL_STREAMED_H
#define GEODEC_MODEL_STREAMED_H

#include "session/model.h"
#include "session/price.h"
#include "streaming/stream.h"

/* What foretells the experts of later layers, so that they are read before they are needed. The last three need a
 * foreseer; without one they foretell as router1.  X(NAME, name, what it knows) */
#define GEODEC_LOOKAHEADS(X)                                                                                           \
    X(NONE, none, "nothing")                                                                                           \
    X(ROUTER1, router1, "the layer's router on the residual stream before its attention")                              \
    X(ROUTER2, router2, "as router1, and the same before the experts of the layer before")                             \
    X(TOKEN, token, "the token (a foreseer's table)")                                                                  \
    X(MAP, map, "the token and the last state before it (a foreseer's map)")                                           \
    X(MIX, mix, "as map before the pass, then with router1")
typedef enum geodec_lookahead {
#define X(NAME, name, help) GEODEC_LOOKAHEAD_##NAME,
    GEODEC_LOOKAHEADS(X)
#undef X
        GEODEC_LOOKAHEAD_KINDS
} geodec_lookahead;
GEODEC_API const char *geodec_streamed_lookahead_name(geodec_lookahead a);
/* GEODEC_LOOKAHEAD_KINDS for an unknown name. */
GEODEC_API geodec_lookahead geodec_streamed_lookahead_named(const char *name);

/* By what the rows of a draft are priced.  X(NAME, name, what) */
#define GEODEC_STREAMED_PRICES(X)                                                                                      \
    X(FORETOLD, foretold, "the experts foretold for its token, and those in memory (without a foreseer: chance)")      \
    X(CHANCE, chance, "the number of experts, and those in memory")                                                    \
    X(NONE, none, "its row alone")
typedef enum geodec_streamed_price_by {
#define X(NAME, name, help) GEODEC_STREAMED_PRICE_##NAME,
    GEODEC_STREAMED_PRICES(X)
#undef X
        GEODEC_STREAMED_PRICE_KINDS
} geodec_streamed_price_by;
GEODEC_API const char *geodec_streamed_price_name(geodec_streamed_price_by p);
/* GEODEC_STREAMED_PRICE_KINDS for an unknown name. */
GEODEC_API geodec_streamed_price_by geodec_streamed_price_named(const char *name);

/* Sizes, before any weight is read. */
typedef struct geodec_streamed_plan {
    int64_t resident, session; /* bytes: weights that stay in memory; cache and work space of one session */
    int64_t slot, experts;     /* bytes of a slot; number of blobs */
    int32_t slots, least;      /* slots that fit; the smallest possible number */
    int64_t smallest;          /* the smallest possible budget */
    int64_t allowed;           /* what the limit of the control group leaves for a budget; 0: no limit */
    int32_t per_layer, n_expert, n_expert_used, layers; /* layers with experts; slots of each */
    double token; /* expected bytes read for a token when routing is uniform: misses x blob */
} geodec_streamed_plan;

/* Foretells from outside of the model, before a pass begins. The text is followed row by row; questions change nothing.
 * One text at a time: each session has its own. */
typedef struct geodec_foreseer {
    void *ctx;
    void (*begin)(void *ctx); /* a new text, or one that was cut */
    /* one row more: its token and its last residual stream [d_model] */
    void (*observe)(void *ctx, int32_t token, const float *state);
    /* P(used) [n_layer][n_expert] of the token after the observed rows, or of one later in the text (!with_state) */
    void (*ask)(void *ctx, int32_t token, bool with_state, float *probability);
    /* of one layer [n_expert], from that and the logits of its router on the stream before its attention (blocks 0) or
     * before the experts of the layer before (1) */
    void (*mix)(void *ctx, int32_t blocks, int32_t layer, const float *early, const float *logit, float *out);
    /* For GEODEC_EVICTION_MAP; NULL: not known. The experts [n_layer][n_expert_used] of the row that is observed next.
     * Mean uses [n_layer][n_expert] of a token after this one, which follows the observed rows; the next tokens count
     * most. */
    void (*remember)(void *ctx, int32_t token, const int32_t *expert);
    void (*expect)(void *ctx, int32_t token, float *share);
    void (*destroy)(void *ctx);
} geodec_foreseer;

/* How ternary experts (ternary_store.h) are multiplied.  X(NAME, name, what) */
#define GEODEC_STREAMED_TERNARY(X)                                                                                     \
    X(EXACT, exact, "as the float32 weights that were packed: their bits")                                             \
    X(ADD, add, "sums of float32 without products, then the scale")                                                    \
    X(INT8, int8, "inputs rounded to 8 bits, sums of integers")
typedef enum geodec_streamed_ternary {
#define X(NAME, name, help) GEODEC_STREAMED_TERNARY_##NAME,
    GEODEC_STREAMED_TERNARY(X)
#undef X
        GEODEC_STREAMED_TERNARY_KINDS
} geodec_streamed_ternary;
GEODEC_API const char *geodec_streamed_ternary_name(geodec_streamed_ternary t);
/* GEODEC_STREAMED_TERNARY_KINDS for an unknown name. */
GEODEC_API geodec_streamed_ternary geodec_streamed_ternary_named(const char *name);

/* Whether ternary experts are read as differences to a neighbour in memory.  X(NAME, name, when) */
#define GEODEC_STREAMED_DIFFERENCES(X)                                                                                 \
    X(ADAPTIVE, adaptive, "where that costs less, by the measured speed of the disk (cost.h)")                         \
    X(OFF, off, "never")                                                                                               \
    X(ALWAYS, always, "where it fits a slot")
typedef enum geodec_streamed_differences {
#define X(NAME, name, help) GEODEC_STREAMED_DIFFERENCES_##NAME,
    GEODEC_STREAMED_DIFFERENCES(X)
#undef X
        GEODEC_STREAMED_DIFFERENCES_KINDS
} geodec_streamed_differences;
GEODEC_API const char *geodec_streamed_differences_name(geodec_streamed_differences d);
/* GEODEC_STREAMED_DIFFERENCES_KINDS for an unknown name. */
GEODEC_API geodec_streamed_differences geodec_streamed_differences_named(const char *name);

typedef struct geodec_streaming {
    int64_t ram; /* bytes for weights, cache, work space and slots of all sessions; the program itself is not counted */
    int32_t slots;                /* > 0: this number of slots, whatever ram says */
    geodec_arithmetic arithmetic; /* of the sessions: the layout of the weights in the slots */
    geodec_eviction eviction;
    bool shared; /* slots.h */
    geodec_lookahead lookahead;
    /* Makes the foreseer of a session; NULL: none */
    geodec_status (*foreseer)(void *ctx, geodec_foreseer *out, geodec_err *err);
    void *foreseer_ctx;
    geodec_streamed_price_by price;
    geodec_streamed_ternary ternary;
    geodec_streamed_differences differences;
    bool check_differences;   /* compare the CRC of every result, not of one in 16 */
    float prefetch_least;     /* < 0: adapts to the times of reading and computing */
    int32_t prefetch_most;    /* < 0: by the number of slots */
    geodec_disk_options disk; /* n_slots is set here */
    bool mapped;              /* no slots and no budget: experts are read through the map of the file, as a control */
    int32_t sessions;         /* that are open at the same time; 0: 1 */
    /* Called with the first session, before slots are reserved and weights are read; NULL: not. */
    void (*planned)(void *ctx, const geodec_streamed_plan *plan);
    void *planned_ctx;
    const char *usage;         /* stream.h; NULL: none */
    const geodec_hooks *hooks; /* NULL ok */
    const char *trace;         /* NULL: none */
    /* root of memory_limit.h ("": this machine). Slots are reserved only as far as the limit of the control group
     * allows, and given back when it falls; NULL: not watched */
    const char *limits;
    double look; /* seconds between looks at it */
} geodec_streaming;

/* Before the first session: the experts of all sessions of m come from the model's file. The slots are reserved with
 * the first session, whose sizes count in the budget; for further sessions than were announced, slots are given back.
 * GEODEC_LIMIT: the budget is too small; the message names the smallest. GEODEC_UNSUPPORTED: the model has no experts.
 */
GEODEC_API geodec_status geodec_streamed_begin(geodec_model *m, const geodec_streaming *o,
                                               geodec_err *err) GEODEC_MUST_USE;
/* After the first session of m: another model stays in memory while m streams, with a session of these options. Its
 * weights and that session take their part of the budget of m. GEODEC_LIMIT names the budget that both need. Nothing
 * happens when m does not stream, or has no budget. */
GEODEC_API geodec_status geodec_streamed_beside(const geodec_model *m, const geodec_model *other,
                                                const geodec_session_options *o, geodec_err *err) GEODEC_MUST_USE;
/* After the last pass: writes the trace and the table of uses, if there are any. GEODEC_IO: the model's file got
 * shorter since it was opened. */
GEODEC_API geodec_status geodec_streamed_finish(const geodec_model *m, geodec_err *err) GEODEC_MUST_USE;
/* Whether streaming has begun. Sessions of such a model take turns, a pass each: one session whose passes use all
 * threads is as fast as several, and takes less of the budget. */
GEODEC_API bool geodec_streamed_is(const geodec_model *m);
/* False: the model does not stream, or has no session yet. */
GEODEC_API bool geodec_streamed_counted(const geodec_model *m, geodec_stream_counters *out);

/* ---- drafts ------------------------------------------------------------------------------------------------------ */

/* Price of a pass over these tokens, the newest token of the text first (price.h). Changes no text. False: not known:
 * the experts of s do not stream, no pass was made yet, or the prices are off. */
GEODEC_API bool geodec_streamed_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out);

/* Counts over the passes so far: of the stream; useful and wasted of this session alone (price.h). */
typedef struct geodec_streamed_read {
    int64_t experts, visits; /* distinct experts of each pass and layer, summed; passes times layers */
    int64_t bytes;
    int64_t useful, wasted; /* of this session: for rows that stayed in the text, for other rows alone */
    int64_t read, plain;    /* of this session: read, and what plain decoding would have read (0: not followed) */
} geodec_streamed_read;
/* False: the experts of s do not stream. */
GEODEC_API bool geodec_streamed_reads(geodec_session *s, geodec_streamed_read *out);

#endif

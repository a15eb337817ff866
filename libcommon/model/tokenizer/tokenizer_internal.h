/* Internal: shared by the tokenizer's files. */
#ifndef GEODEC_TOKENIZER_TOKENIZER_INTERNAL_H
#define GEODEC_TOKENIZER_TOKENIZER_INTERNAL_H

#include "tokenizer/tokenizer.h"

enum { GEODEC__MAX_PIECE = 4096, GEODEC__MARK_BYTES = 3 };
/* The word-boundary mark U+2581 that stands for a space inside pieces. */
#define GEODEC__MARK "\xe2\x96\x81"

#define GEODEC__DEEPSEEK_END                                                                                           \
    "<\xef\xbd\x9c"                                                                                                    \
    "end\xe2\x96\x81"                                                                                                  \
    "of\xe2\x96\x81"                                                                                                   \
    "sentence\xef\xbd\x9c>"
/* Control tokens that end a turn or a text in some model. */
#define GEODEC__TURN_ENDS                                                                                              \
    "</s>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",  \
        "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<eos>", "<end_of_utterance>", "<|return|>", "<|call|>", "<|calls|>",     \
        "<|flush|>", "<turn|>", GEODEC__GEMMA_TOOL, "[e~[", GEODEC__DEEPSEEK_END
/* a vocabulary with this token has "</s>" as ordinary text */
#define GEODEC__GEMMA_TOOL "<|tool_response>"

static inline bool geodec__is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

typedef struct geodec__bpe geodec__bpe;           /* bpe.c: merges */
typedef struct geodec__pretoken geodec__pretoken; /* pretoken.c: compiled patterns that split text into words */
typedef struct geodec__unigram geodec__unigram;   /* unigram.c: the tokens of the largest sum of scores */
typedef struct geodec__special geodec__special;   /* special.c: tokens found in text before any other step */

struct geodec_tokenizer {
    int32_t n;
    char *bytes; /* all pieces, each followed by a zero */
    int64_t *at; /* [n] offset of each piece in bytes */
    int32_t *length, *type;
    float *score;
    int32_t *slot; /* open addressing over the pieces that text can match: id or -1 */
    int64_t slot_mask;
    int32_t byte_id[256]; /* of byte tokens <0xXX>; -1 = none */
    int32_t bos, eos, unk;
    int32_t other_end[2];  /* the end of a turn and of a message by the file's keys, -1 = none */
    uint8_t *ends;         /* [n] whether the token ends a text or a turn */
    int32_t n_twins;       /* tokens whose piece is that of a later one, or byte tokens of the same byte */
    size_t longest;        /* of all pieces */
    size_t longest_match;  /* of those that text can match */
    bool add_bos, add_eos; /* the vocabulary's rule for a text that begins or ends a sequence */
    bool add_space_prefix; /* a mark before non-empty text */
    bool words_apart;      /* no matching piece has a mark after another character: words never merge */
    bool strip_after;      /* blanks after a control token belong to it (phi-3) */
    bool byte_letters;     /* pieces are bytes in the byte alphabet */
    geodec__bpe *bpe;      /* NULL: SentencePiece scores */
    geodec__pretoken *pre; /* with bpe */
    geodec__unigram *unigram;
    geodec__special *special;
    char fingerprint[GEODEC_SHA256_HEX];
};

/* All parts of a vocabulary; pieces and merges as in the file. */
typedef struct geodec__vocabulary {
    int32_t n;
    const char *const *text;
    const size_t *len;
    const float *score;
    const int32_t *type;
    int32_t bos, eos, unk;
    const int32_t *other_end; /* [2] as in a tokenizer, or NULL */
    bool add_bos, add_eos, add_space_prefix, strip_after;
    const char *pre; /* pre-tokenizer's name; NULL: SentencePiece, or the largest sum of scores */
    bool unigram;
    const char *const *merge;
    const size_t *merge_len;
    int64_t n_merges;
} geodec__vocabulary;

geodec_status geodec__tokenizer_create(const geodec__vocabulary *v, geodec_tokenizer **out,
                                       geodec_err *err) GEODEC_MUST_USE;

/* Whether one of n_words words is the text. */
bool geodec__vocabulary_lists(const char *const *word, size_t n_words, const char *text, size_t n);
/* End of the word that starts at `at`: the next mark after another character, or n. */
size_t geodec__vocabulary_word_end(const char *text, size_t at, size_t n);
/* The text with spaces for marks. Returns the length, at most n. */
size_t geodec__vocabulary_unmark(const char *text, size_t n, char *out);
uint64_t geodec__vocabulary_hash(const char *text, size_t n);
/* Id of the piece text can match, or -1. Control, unknown, byte and unused tokens never match text. */
int32_t geodec__tokenizer_find(const geodec_tokenizer *t, const char *text, size_t n);
/* Bytes of the valid UTF-8 character at p (room >= 1 bytes there), 0 if there is none. */
int geodec__encode_utf8(const unsigned char *p, size_t room);

/* A pair of neighbours that may merge. The heap gives the lowest `order` first, then the leftmost: a strict order of
 * the pairs, so the result does not depend on the heap's shape. */
typedef struct geodec__pair {
    double order;
    int32_t left, right; /* symbols of the word */
    int32_t tag;         /* the caller's, to detect a stale pair */
} geodec__pair;
typedef struct geodec__pair_heap {
    geodec__pair *pair; /* room for all that are pushed: the caller's */
    int64_t n;
} geodec__pair_heap;
void geodec__encode_push(geodec__pair_heap *h, geodec__pair p);
/* n >= 1. */
geodec__pair geodec__encode_pop(geodec__pair_heap *h);

/* Encodes a piece of ordinary text and appends it to ids. `first`: at the start or after a special token. */
geodec_status geodec__spm_encode(const geodec_tokenizer *t, const char *text, size_t n, bool first, int32_t *ids,
                                 int64_t *count, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__bpe_encode(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids, int64_t *count,
                                 geodec_err *err) GEODEC_MUST_USE;

/* ---- bpe.c ------------------------------------------------------------------------------------------------------ */
/* With t->pre. */
geodec_status geodec__bpe_create(const geodec_tokenizer *t, const geodec__vocabulary *v, geodec__bpe **out,
                                 geodec_err *err) GEODEC_MUST_USE;
void geodec__bpe_destroy(geodec__bpe *b);
void geodec__bpe_digest(const geodec__bpe *b, geodec_sha256 *h);
int64_t geodec__bpe_merges(const geodec__bpe *b);
/* "left right" of a merge, at most 2 * GEODEC__MAX_PIECE + 1 bytes. Returns the length. */
size_t geodec__bpe_merge_text(const geodec_tokenizer *t, int64_t i, char *out);
/* Text of a piece: characters of the byte alphabet become bytes, others are unchanged. At most n bytes. */
size_t geodec__bpe_piece_text(const char *piece, size_t n, char *out);

/* ---- pretoken.c ------------------------------------------------------------------------------------------------- */
geodec_status geodec__pretoken_create(const char *name, geodec__pretoken **out, geodec_err *err) GEODEC_MUST_USE;
void geodec__pretoken_destroy(geodec__pretoken *p);
const char *geodec__pretoken_name(const geodec__pretoken *p); /* as in the file */
bool geodec__pretoken_whole_words(const geodec__pretoken *p); /* a word that is a piece is not merged from bytes */
bool geodec__pretoken_line_ends(const geodec__pretoken *p);   /* the same for line ends in a row only */
bool geodec__pretoken_marked(const geodec__pretoken *p);      /* pieces are text with marks, not the byte alphabet */
bool geodec__pretoken_begins(const char *name);               /* add_bos when the file does not say */
bool geodec__pretoken_always_begins(const char *name);        /* add_bos whatever the file says */
typedef struct geodec__word_sink {
    geodec_status (*word)(void *ctx, const char *text, size_t n, geodec_err *err);
    void *ctx;
} geodec__word_sink;
/* Gives the words of the text in order, without gaps. */
geodec_status geodec__pretoken_split(const geodec__pretoken *p, const char *text, size_t n, geodec__word_sink sink,
                                     geodec_err *err) GEODEC_MUST_USE;

/* ---- order.c ---------------------------------------------------------------------------------------------------- */
/* Ids in byte order of their pieces: those with a common prefix are adjacent. No piece is empty. */
typedef struct geodec__order {
    int32_t n;
    int32_t *id;        /* [n] */
    int32_t first[257]; /* range in id of each first byte */
} geodec__order;
geodec_status geodec__order_create(const geodec_tokenizer *t, const int32_t *id, int32_t n, geodec__order *out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec__order_free(geodec__order *o);
/* Index in id of the next piece that the text at p (room >= 1 bytes) begins with, the shortest first, or -1. *at is
 * zero before the first call. */
typedef struct geodec__prefix {
    int32_t lo, hi, d;
} geodec__prefix;
int32_t geodec__order_next(const geodec_tokenizer *t, const geodec__order *o, const unsigned char *p, size_t room,
                           geodec__prefix *at);

/* ---- unigram.c -------------------------------------------------------------------------------------------------- */
geodec_status geodec__unigram_create(const geodec_tokenizer *t, geodec__unigram **out, geodec_err *err) GEODEC_MUST_USE;
void geodec__unigram_destroy(geodec__unigram *u);
geodec_status geodec__unigram_encode(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids,
                                     int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* ---- special.c -------------------------------------------------------------------------------------------------- */
typedef struct geodec__part {
    int64_t at, n; /* bytes of the text */
    int32_t id;    /* a special token, or -1: ordinary text */
} geodec__part;
geodec_status geodec__special_create(const geodec_tokenizer *t, geodec__special **out, geodec_err *err) GEODEC_MUST_USE;
void geodec__special_destroy(geodec__special *s);
/* Splits the text into parts. User-defined tokens are always found; control and unknown tokens on request, outside the
 * plain spans. Caller frees *parts. */
geodec_status geodec__special_cut(const geodec_tokenizer *t, const char *text, size_t n,
                                  const geodec_encode_options *options, geodec__part **parts, int64_t *n_parts,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif

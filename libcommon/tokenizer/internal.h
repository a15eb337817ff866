/* Shared by the tokenizer's files. */
#ifndef GEODEC_TOKENIZER_INTERNAL_H
#define GEODEC_TOKENIZER_INTERNAL_H

#include "tokenizer/tokenizer.h"

enum { GEODEC__MAX_PIECE = 4096, GEODEC__MARK_BYTES = 3 };
/* The word-boundary mark U+2581 that stands for a space inside pieces. */
#define GEODEC__MARK "\xe2\x96\x81"

struct geodec_tokenizer {
    int32_t n;
    char *bytes; /* all pieces, each followed by a zero */
    int64_t *at; /* [n] offset of each piece in bytes */
    int32_t *length, *type;
    float *score;
    int32_t *slot; /* open addressing over the pieces that text can match: id or -1 */
    int64_t slot_mask;
    int32_t byte_id[256]; /* -1 = none */
    int32_t bos, eos, unk;
    size_t longest;        /* of all pieces */
    size_t longest_match;  /* of those that text can match */
    bool add_space_prefix; /* a mark before non-empty text */
    bool words_apart;      /* no matching piece has a mark right after something else: words never merge */
    char fingerprint[GEODEC_SHA256_HEX];
};

/* Id of the piece text can match, or -1. Control, unknown, byte and unused tokens never match text. */
int32_t geodec__tokenizer_find(const geodec_tokenizer *t, const char *text, size_t n);
/* geodec_tokenizer_create with the choice of the prefix. */
geodec_status geodec__tokenizer_create(int32_t n, const char *const *text, const size_t *len, const float *score,
                                       const int32_t *type, const int32_t special[3], bool add_space_prefix,
                                       geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;

#endif

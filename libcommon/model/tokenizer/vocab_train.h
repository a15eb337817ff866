/* Training of a SentencePiece-style BPE vocabulary (Sennrich, Haddow, Birch 2016; scores as in SentencePiece).
 *
 * Layout: 0 <unk>, 1 <s>, 2 </s>, 3..258 the bytes <0x00>..<0xFF>, then merged pieces in the order of their merges,
 * then the single characters of the text, most frequent first. Piece 259+k has score -k, so that the tokenizer, which
 * merges by highest score, merges in the order of learning.
 *
 * The text is split as by the tokenizer: U+2581 before each text, blanks become U+2581; a word is a mark and the text
 * up to the next one, so no piece crosses a word boundary except for its leading mark. Control characters (the line
 * feed) stay byte tokens and end a word. Each step adds the string that adjacent pieces form most often, the smaller in
 * byte order on ties, and merges the affected words again as the tokenizer does. No randomness: same text, same
 * vocabulary. */
#ifndef GEODEC_TOKENIZER_VOCAB_TRAIN_H
#define GEODEC_TOKENIZER_VOCAB_TRAIN_H

#include "base/err.h"
#include "base/hooks.h"
#include "tokenizer/tokenizer.h"

enum { GEODEC_VOCAB_FIRST_PIECE = 259, GEODEC_VOCAB_MAX = 1 << 18 };

/* part [parts]: the texts, as spans of text (documents/documents.h finds them). UTF-8; bytes that are not UTF-8 end a
 * word. size: 259 + pieces, at most GEODEC_VOCAB_MAX; fewer when no string of the text occurs twice any more. At most
 * half of the pieces go to single characters. GEODEC_FORMAT: no text. */
geodec_status geodec_vocab_train(const char *text, const geodec_span *part, int64_t parts, int32_t size,
                                 const geodec_hooks *hooks, geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;

/* A vocabulary of that layout from its n pieces (copied): piece i is token GEODEC_VOCAB_FIRST_PIECE + i, of length [i]
 * bytes and score [i]. */
geodec_status geodec_vocab_create(int64_t n, const char *const *piece, const size_t *length, const float *score,
                                  geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;

/* Tokens of all parts, without BOS and EOS, and their bytes. */
geodec_status geodec_vocab_measure(const geodec_tokenizer *t, const char *text, const geodec_span *part, int64_t parts,
                                   int64_t *tokens, int64_t *bytes, geodec_err *err) GEODEC_MUST_USE;

#endif

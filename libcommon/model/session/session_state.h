/* A session in a file: decoding goes on later with the same bits.
 *
 * What a file holds: the tokens of the text, the states of recurrent layers after it, in their type, and the cache. Of
 * a recurrent model whose attention has a window everywhere, only the part of the cache that is still seen. What each
 * token added to the states, and states at earlier positions, are not in it: a loaded session that returns to a length
 * before that of the file reads the text again, in the pass after the return, with the same bits. A return to a later
 * length costs what it always does. Whether a session dropped rows (geodec_session_truncate) does not show in its file.
 *
 * A file belongs to one model (fingerprint of the weights, digest of the configuration), one arithmetic and one type of
 * the cache. Instruction set, threads, batch and context length of the session do not matter (but see
 * rope_n_ctx_original of the configuration).
 *
 * File, little-endian, numbers at these offsets: 0 magic "GEXSTATE"; u32: 8 version, 12 bytes of the header (256), 16
 * arithmetic, 20 type of the cache, 24 bytes of a number of a state (0: no recurrent layer), 28 layers, 32 of them
 * recurrent, 36 tokens in the cache, 40 tokens of the text, 44 of them given, not generated, 48 first block of 64
 * tokens of the cache in the file, 52 which table of angles; u64: 56 bytes of a layer of such a block, 64 bytes of a
 * layer's state, 72 bytes after the header; 80 fingerprint of the weights, 144 digest of the configuration, 64 digits
 * each; zeros; 248 CRC-32C of all after the header, 252 that of the header before it. Then i32 tokens [text]; states
 * [recurrent layers] (recurrence.h); blocks of the cache [blocks][layers with attention] (cache.c), rows after the text
 * being zero. */
#ifndef GEODEC_MODEL_SESSION_STATE_H
#define GEODEC_MODEL_SESSION_STATE_H

#include "geodec/session.h"
#include "session/model.h"

/* Whether sessions like this one are saved. GEODEC_UNSUPPORTED, with the reason: integer arithmetic, weights or a cache
 * of low rank, rewritten tokens, attention over layers, fewer blocks than the model has. */
geodec_status geodec_session_saves(const geodec_session *s, geodec_err *err) GEODEC_MUST_USE;

#endif

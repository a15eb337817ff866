#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool geodec__vocabulary_lists(const char *const *word, size_t n_words, const char *text, size_t n)
{
    for (size_t i = 0; i < n_words; i++)
        if (strlen(word[i]) == n && memcmp(word[i], text, n) == 0) return true;
    return false;
}

/* ---- pieces by text --------------------------------------------------------------------------------------------- */

uint64_t geodec__vocabulary_hash(const char *text, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n;
    for (; n >= 8; n -= 8, text += 8) {
        uint64_t w;
        memcpy(&w, text, 8);
        h = (h ^ w) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    uint64_t w = 0;
    memcpy(&w, text, n);
    h = (h ^ w) * 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

int32_t geodec__tokenizer_find(const geodec_tokenizer *t, const char *text, size_t n)
{
    if (n == 0 || n > t->longest_match) return -1;
    for (uint64_t i = geodec__vocabulary_hash(text, n);; i++) {
        const int32_t id = t->slot[i & (uint64_t)t->slot_mask];
        if (id < 0) return -1;
        if ((size_t)t->length[id] == n && memcmp(t->bytes + t->at[id], text, n) == 0) return id;
    }
}

static bool matches_text(int32_t type) { return type == GEODEC_TOKEN_NORMAL || type == GEODEC_TOKEN_USER; }

size_t geodec__vocabulary_word_end(const char *text, size_t at, size_t n)
{
    for (bool other = false; at < n;) {
        const bool is_mark = n - at >= GEODEC__MARK_BYTES && memcmp(text + at, GEODEC__MARK, GEODEC__MARK_BYTES) == 0;
        if (is_mark && other) return at;
        other = other || !is_mark;
        at += is_mark ? GEODEC__MARK_BYTES : 1;
    }
    return n;
}

size_t geodec__vocabulary_unmark(const char *text, size_t n, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n;) {
        const bool is_mark = n - i >= GEODEC__MARK_BYTES && memcmp(text + i, GEODEC__MARK, GEODEC__MARK_BYTES) == 0;
        out[written++] = is_mark ? ' ' : text[i];
        i += is_mark ? GEODEC__MARK_BYTES : 1;
    }
    return written;
}

static geodec_status index_pieces(geodec_tokenizer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t room = 16;
    while (room < 2 * (int64_t)t->n) room *= 2;
    GEODEC_NEW(t->slot, room);
    memset(t->slot, 0xff, (size_t)room * sizeof *t->slot);
    t->slot_mask = room - 1;
    t->words_apart = true;
    for (int32_t id = 0; id < t->n; id++) {
        const char *text = t->bytes + t->at[id];
        const size_t n = (size_t)t->length[id];
        if (!matches_text(t->type[id]) || n == 0) continue;
        if (n > t->longest_match) t->longest_match = n;
        uint64_t i = geodec__vocabulary_hash(text, n);
        for (int32_t other; (other = t->slot[i & (uint64_t)t->slot_mask]) >= 0; i++)
            if ((size_t)t->length[other] == n && memcmp(t->bytes + t->at[other], text, n) == 0) break;
        t->n_twins += t->slot[i & (uint64_t)t->slot_mask] >= 0;
        t->slot[i & (uint64_t)t->slot_mask] = id; /* of equal pieces the last, as other readers do; all decode */
        if (geodec__vocabulary_word_end(text, 0, n) < n) t->words_apart = false; /* merges cross the start of a word */
    }
done:
    return st;
}

/* ---- byte tokens ------------------------------------------------------------------------------------------------ */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static geodec_status index_bytes(geodec_tokenizer *t, geodec_err *err)
{
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (int32_t id = 0; id < t->n; id++) {
        if (t->type[id] != GEODEC_TOKEN_BYTE) continue;
        const char *s = t->bytes + t->at[id];
        const bool shape = t->length[id] == 6 && memcmp(s, "<0x", 3) == 0 && s[5] == '>';
        const int high = shape ? hex_digit(s[3]) : -1, low = shape ? hex_digit(s[4]) : -1;
        if (high < 0 || low < 0) GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.tokens: byte token %d is not <0xXX>", id);
        int32_t *place = &t->byte_id[high * 16 + low];
        t->n_twins += *place >= 0;
        *place = id;
    }
    return GEODEC_OK;
}

/* ---- ends of texts and turns ------------------------------------------------------------------------------------- */

static bool is_control_of(const geodec_tokenizer *t, int32_t id, const char *const *word, size_t n_words)
{
    return t->type[id] == GEODEC_TOKEN_CONTROL &&
           geodec__vocabulary_lists(word, n_words, t->bytes + t->at[id], (size_t)t->length[id]);
}

/* Where calls of tools end a turn, "<|end|>" only ends a message of several in a turn; beside gemma's end of a call of
 * a tool, "</s>" is text. */
static geodec_status mark_ends(geodec_tokenizer *t, geodec_err *err)
{
    static const char *const ends[] = {GEODEC__TURN_ENDS, "<|EOT|>", "<|END_OF_TURN_TOKEN|>"};
    static const char *const last[] = {"<|return|>", "<|flush|>"}, *const call[] = {"<|call|>", "<|calls|>"};
    static const char *const message[] = {"<|end|>"}, *const tool[] = {GEODEC__GEMMA_TOOL}, *const text[] = {"</s>"};
    geodec_status st = GEODEC_OK;
    bool has_last = false, has_call = false, has_tool = false;
    GEODEC_NEW(t->ends, t->n);
    for (int32_t id = 0; id < t->n; id++) {
        t->ends[id] = is_control_of(t, id, ends, sizeof ends / sizeof *ends);
        has_last = has_last || is_control_of(t, id, last, 2);
        has_call = has_call || is_control_of(t, id, call, 2);
        has_tool = has_tool || is_control_of(t, id, tool, 1);
    }
    for (int32_t id = 0; id < t->n; id++)
        if ((has_last && has_call && is_control_of(t, id, message, 1)) || (has_tool && is_control_of(t, id, text, 1)))
            t->ends[id] = 0;
    if (t->eos >= 0) t->ends[t->eos] = 1;
    for (int k = 0; k < 2; k++)
        if (t->other_end[k] >= 0) t->ends[t->other_end[k]] = 1;
done:
    return st;
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

enum { N_SPECIAL = 5 };
static geodec_status check_arrays(int32_t n, const size_t *len, const float *score, const int32_t *type,
                                  const int32_t special[N_SPECIAL], geodec_err *err)
{
    static const char *const names[N_SPECIAL] = {"bos", "eos", "unknown", "eot", "eom"};
    if (n < 1) GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.tokens: the vocabulary is empty");
    for (int32_t i = 0; i < n; i++) {
        if (len[i] > GEODEC__MAX_PIECE)
            GEODEC_FAIL(GEODEC_LIMIT, "tokenizer.ggml.tokens: token %d has %zu bytes; the limit is %d", i, len[i],
                        GEODEC__MAX_PIECE);
        if (!isfinite(score[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.scores: the score of token %d is not finite", i);
        if (type[i] < GEODEC_TOKEN_NORMAL || type[i] > GEODEC_TOKEN_BYTE)
            GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.token_type: token %d has unknown type %d", i, type[i]);
    }
    for (int k = 0; k < N_SPECIAL; k++)
        if (special[k] < -1 || special[k] >= n)
            GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.%s_token_id: %d is outside the vocabulary of %d", names[k],
                        special[k], n);
    return GEODEC_OK;
}

/* The digest of SentencePiece vocabularies is that of the first version, which supported no others. */
static void digest(geodec_tokenizer *t)
{
    geodec_sha256 h;
    const int32_t head[5] = {t->n, t->bos, t->eos, t->unk, t->add_space_prefix ? 1 : 0};
    const size_t n = (size_t)t->n;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, head, sizeof head);
    geodec_sha256_update(&h, t->type, n * sizeof *t->type);
    geodec_sha256_update(&h, t->score, n * sizeof *t->score);
    geodec_sha256_update(&h, t->length, n * sizeof *t->length);
    for (size_t i = 0; i < n; i++) geodec_sha256_update(&h, t->bytes + t->at[i], (size_t)t->length[i]);
    if (t->bpe || t->unigram || !t->add_bos || t->add_eos || t->strip_after) {
        const char *pre = t->bpe ? geodec__pretoken_name(t->pre) : t->unigram ? "unigram" : "";
        const int32_t rules[3] = {t->add_bos, t->add_eos, t->strip_after};
        geodec_sha256_update(&h, rules, sizeof rules);
        geodec_sha256_update(&h, pre, strlen(pre) + 1);
        if (t->bpe) geodec__bpe_digest(t->bpe, &h);
    }
    geodec_sha256_hex(&h, t->fingerprint);
}

static geodec_status copy_pieces(geodec_tokenizer *t, const geodec__vocabulary *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t total = 0;
    GEODEC_NEW_EACH(v->n, t->at, t->length, t->type, t->score);
    for (int32_t i = 0; i < v->n; i++) total += (int64_t)v->len[i] + 1;
    GEODEC_NEW(t->bytes, total);
    total = 0;
    for (int32_t i = 0; i < v->n; i++) {
        t->at[i] = total;
        t->length[i] = (int32_t)v->len[i];
        t->type[i] = v->type[i];
        t->score[i] = v->score[i] + 0.0f; /* -0 would make the fingerprint of equal vocabularies differ */
        if (v->len[i]) memcpy(t->bytes + total, v->text[i], v->len[i]);
        if (v->len[i] > t->longest) t->longest = v->len[i];
        total += (int64_t)v->len[i] + 1;
    }
done:
    return st;
}

geodec_status geodec__tokenizer_create(const geodec__vocabulary *v, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tokenizer *t = NULL;
    const int32_t eot = v->other_end ? v->other_end[0] : -1, eom = v->other_end ? v->other_end[1] : -1;
    GEODEC_TRY(check_arrays(v->n, v->len, v->score, v->type, (const int32_t[]){v->bos, v->eos, v->unk, eot, eom}, err));
    GEODEC_NEW(t, 1);
    t->n = v->n;
    t->bos = v->bos;
    t->eos = v->eos;
    t->unk = v->unk;
    t->other_end[0] = eot;
    t->other_end[1] = eom;
    t->add_bos = v->add_bos;
    t->add_eos = v->add_eos;
    t->add_space_prefix = v->add_space_prefix;
    t->strip_after = v->strip_after;
    GEODEC_TRY(copy_pieces(t, v, err));
    GEODEC_TRY(index_pieces(t, err));
    GEODEC_TRY(index_bytes(t, err));
    if (v->pre) {
        GEODEC_TRY(geodec__pretoken_create(v->pre, &t->pre, err));
        t->byte_letters = !geodec__pretoken_marked(t->pre);
        GEODEC_TRY(geodec__bpe_create(t, v, &t->bpe, err));
    }
    if (v->unigram) GEODEC_TRY(geodec__unigram_create(t, &t->unigram, err));
    GEODEC_TRY(geodec__special_create(t, &t->special, err));
    GEODEC_TRY(mark_ends(t, err));
    digest(t);
    *out = t;
    t = NULL;
done:
    geodec_tokenizer_destroy(t);
    return st;
}

geodec_status geodec_tokenizer_create(int32_t n, const char *const *text, const size_t *len, const float *score,
                                      const int32_t *type, int32_t bos, int32_t eos, int32_t unk,
                                      geodec_tokenizer **out, geodec_err *err)
{
    const geodec__vocabulary v = {.n = n,
                                  .text = text,
                                  .len = len,
                                  .score = score,
                                  .type = type,
                                  .bos = bos,
                                  .eos = eos,
                                  .unk = unk,
                                  .add_bos = true,
                                  .add_space_prefix = true};
    return geodec__tokenizer_create(&v, out, err);
}

void geodec_tokenizer_destroy(geodec_tokenizer *t)
{
    if (!t) return;
    GEODEC_FREE(t->bytes, t->at, t->length, t->type, t->score, t->slot, t->ends);
    geodec__bpe_destroy(t->bpe);
    geodec__pretoken_destroy(t->pre);
    geodec__unigram_destroy(t->unigram);
    geodec__special_destroy(t->special);
    geodec_mem_free(t);
}

/* ---- accessors --------------------------------------------------------------------------------------------------- */

const char *geodec_tokenizer_fingerprint(const geodec_tokenizer *t) { return t->fingerprint; }
int32_t geodec_tokenizer_size(const geodec_tokenizer *t) { return t->n; }
int32_t geodec_tokenizer_bos(const geodec_tokenizer *t) { return t->bos; }
int32_t geodec_tokenizer_eos(const geodec_tokenizer *t) { return t->eos; }
int32_t geodec_tokenizer_unknown(const geodec_tokenizer *t) { return t->unk; }
int32_t geodec_tokenizer_start(const geodec_tokenizer *t) { return t->add_bos ? t->bos : -1; }

int32_t geodec_tokenizer_twins(const geodec_tokenizer *t) { return t->n_twins; }

const char *geodec_tokenizer_piece(const geodec_tokenizer *t, int32_t id, size_t *n)
{
    const bool known = id >= 0 && id < t->n;
    *n = known ? (size_t)t->length[id] : 0;
    return known ? t->bytes + t->at[id] : NULL;
}

bool geodec_tokenizer_is_control(const geodec_tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n && t->type[id] == GEODEC_TOKEN_CONTROL;
}

bool geodec_tokenizer_is_end(const geodec_tokenizer *t, int32_t id) { return id >= 0 && id < t->n && t->ends[id]; }

#include "base/mem.h"
#include "tokenizer/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- pieces by text --------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t n)
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
    for (uint64_t i = hash_of(text, n);; i++) {
        const int32_t id = t->slot[i & (uint64_t)t->slot_mask];
        if (id < 0) return -1;
        if ((size_t)t->length[id] == n && memcmp(t->bytes + t->at[id], text, n) == 0) return id;
    }
}

static bool matches_text(int32_t type) { return type == GEODEC_TOKEN_NORMAL || type == GEODEC_TOKEN_USER; }

/* Does a mark stand right after something else? Then merges may cross the start of a word. */
static bool has_inner_mark(const char *text, size_t n)
{
    bool other = false;
    for (size_t i = 0; i < n;) {
        if (n - i >= GEODEC__MARK_BYTES && memcmp(text + i, GEODEC__MARK, GEODEC__MARK_BYTES) == 0) {
            if (other) return true;
            i += GEODEC__MARK_BYTES;
        } else {
            other = true;
            i++;
        }
    }
    return false;
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
        const int32_t twin = geodec__tokenizer_find(t, text, n);
        if (twin >= 0)
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.tokens: tokens %d and %d are the same piece '%.40s'", twin, id,
                         text);
        uint64_t i = hash_of(text, n);
        while (t->slot[i & (uint64_t)t->slot_mask] >= 0) i++;
        t->slot[i & (uint64_t)t->slot_mask] = id;
        if (has_inner_mark(text, n)) t->words_apart = false;
    }
done:
    return st;
}

/* ---- byte tokens ------------------------------------------------------------------------------------------------ */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static geodec_status index_bytes(geodec_tokenizer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (int32_t id = 0; id < t->n; id++) {
        if (t->type[id] != GEODEC_TOKEN_BYTE) continue;
        const char *s = t->bytes + t->at[id];
        const bool shape = t->length[id] == 6 && memcmp(s, "<0x", 3) == 0 && s[5] == '>';
        const int high = shape ? hex_digit(s[3]) : -1, low = shape ? hex_digit(s[4]) : -1;
        if (high < 0 || low < 0) GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.tokens: byte token %d is no <0xXX>", id);
        int32_t *place = &t->byte_id[high * 16 + low];
        if (*place >= 0)
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.tokens: tokens %d and %d are the same byte", *place, id);
        *place = id;
    }
done:
    return st;
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

static geodec_status check_arrays(int32_t n, const size_t *len, const float *score, const int32_t *type,
                                  const int32_t special[3], geodec_err *err)
{
    static const char *const names[3] = {"bos", "eos", "unknown"};
    geodec_status st = GEODEC_OK;
    if (n < 1) GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.tokens: the vocabulary is empty");
    for (int32_t i = 0; i < n; i++) {
        if (len[i] > GEODEC__MAX_PIECE)
            GEODEC_THROW(GEODEC_LIMIT, "tokenizer.ggml.tokens: token %d has %zu bytes; the limit is %d", i, len[i],
                         GEODEC__MAX_PIECE);
        if (!isfinite(score[i]))
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.scores: the score of token %d is not finite", i);
        if (type[i] < GEODEC_TOKEN_NORMAL || type[i] > GEODEC_TOKEN_BYTE)
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.token_type: token %d has unknown type %d", i, type[i]);
    }
    for (int k = 0; k < 3; k++)
        if (special[k] < -1 || special[k] >= n)
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.%s_token_id: %d is outside the vocabulary of %d", names[k],
                         special[k], n);
done:
    return st;
}

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
    geodec_sha256_hex(&h, t->fingerprint);
}

geodec_status geodec__tokenizer_create(int32_t n, const char *const *text, const size_t *len, const float *score,
                                       const int32_t *type, const int32_t special[3], bool add_space_prefix,
                                       geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tokenizer *t = NULL;
    int64_t total = 0;
    GEODEC_TRY(check_arrays(n, len, score, type, special, err));
    GEODEC_NEW(t, 1);
    GEODEC_NEW(t->at, n);
    GEODEC_NEW(t->length, n);
    GEODEC_NEW(t->type, n);
    GEODEC_NEW(t->score, n);
    for (int32_t i = 0; i < n; i++) total += (int64_t)len[i] + 1;
    GEODEC_NEW(t->bytes, total);
    t->n = n;
    t->bos = special[0];
    t->eos = special[1];
    t->unk = special[2];
    t->add_space_prefix = add_space_prefix;
    total = 0;
    for (int32_t i = 0; i < n; i++) {
        t->at[i] = total;
        t->length[i] = (int32_t)len[i];
        t->type[i] = type[i];
        t->score[i] = score[i] + 0.0f; /* -0 would make the fingerprint of equal vocabularies differ */
        if (len[i]) memcpy(t->bytes + total, text[i], len[i]);
        if (len[i] > t->longest) t->longest = len[i];
        total += (int64_t)len[i] + 1;
    }
    GEODEC_TRY(index_pieces(t, err));
    GEODEC_TRY(index_bytes(t, err));
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
    return geodec__tokenizer_create(n, text, len, score, type, (const int32_t[3]){bos, eos, unk}, true, out, err);
}

void geodec_tokenizer_destroy(geodec_tokenizer *t)
{
    if (!t) return;
    geodec_mem_free(t->bytes);
    geodec_mem_free(t->at);
    geodec_mem_free(t->length);
    geodec_mem_free(t->type);
    geodec_mem_free(t->score);
    geodec_mem_free(t->slot);
    geodec_mem_free(t);
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

const char *geodec_tokenizer_fingerprint(const geodec_tokenizer *t) { return t->fingerprint; }
int32_t geodec_tokenizer_size(const geodec_tokenizer *t) { return t->n; }
int32_t geodec_tokenizer_bos(const geodec_tokenizer *t) { return t->bos; }
int32_t geodec_tokenizer_eos(const geodec_tokenizer *t) { return t->eos; }

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

#include "session/session_state.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "io/atomic.h"
#include "io/file.h"
#include "session/arithmetic.h"
#include "session/recurrence_states_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "GEXSTATE"
enum { VERSION = 1, HEAD = 256, DIGITS = GEODEC_SHA256_HEX - 1, PAYLOAD_CRC = 248, HEAD_CRC = 252 };

/* The numbers of a header, in the order of the file. */
typedef struct shape {
    uint32_t arithmetic, kv, state_number, layers, recurrent, length, n_text, n_given, first_block, table;
    uint64_t layer_bytes, state_bytes, payload;
} shape;

/* ---- numbers in little-endian order ------------------------------------------------------------------------------ */

static void put32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put64(uint8_t *p, uint64_t x)
{
    put32(p, (uint32_t)x);
    put32(p + 4, (uint32_t)(x >> 32));
}

static uint64_t get64(const uint8_t *p) { return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32; }

/* ---- what belongs to a session ----------------------------------------------------------------------------------- */

geodec_status geodec_session_saves(const geodec_session *s, geodec_err *err)
{
    const char *why = s->engine                                   ? "integer arithmetic"
                      : s->model->low                             ? "a cache of low rank"
                      : s->model->factor_rank                     ? "weights of low rank"
                      : s->rewrite                                ? "rewritten tokens"
                      : s->attnres                                ? "attention over layers"
                      : s->n_blocks < s->model->config.n_layer    ? "some of the model's blocks"
                      : __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ? "a big-endian processor"
                                                                  : NULL;
    if (why) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a session with %s cannot be saved", why);
    return GEODEC_OK;
}

/* The first block of the cache that a pass after `length` tokens sees. Attention without a recurrence is not cut: its
 * session returns to any length without reading the text again. */
static int64_t first_block(const geodec_session *s, int64_t length)
{
    const int64_t seen = s->cache.seen;
    if (!s->recur) return 0;
    if (seen == 0) return (length + GEODEC__KEYS - 1) / GEODEC__KEYS; /* no attention at all */
    return length > seen ? (length - seen) / GEODEC__KEYS : 0;
}

static uint64_t payload_of(const geodec_session *s, const shape *h)
{
    const uint64_t blocks = (h->length + GEODEC__KEYS - 1) / GEODEC__KEYS - h->first_block;
    return 4 * (uint64_t)h->n_text + h->recurrent * h->state_bytes +
           blocks * (uint64_t)s->cache.layers * h->layer_bytes;
}

static shape shape_of(const geodec_session *s, int64_t length, int64_t n_text, int64_t n_given)
{
    const geodec_model_config *c = &s->model->config;
    shape h = {.arithmetic = (uint32_t)s->arithmetic,
               .kv = (uint32_t)s->kv,
               .layers = (uint32_t)c->n_layer,
               .length = (uint32_t)length,
               .n_text = (uint32_t)n_text,
               .n_given = (uint32_t)n_given,
               .first_block = (uint32_t)first_block(s, length),
               .table = c->rope_n_ctx_original > 0 && s->n_ctx > c->rope_n_ctx_original,
               .layer_bytes = (uint64_t)(s->cache.layers > 0 ? s->cache.block / s->cache.layers : 0)};
    if (s->recur) {
        h.state_number = s->recur->half ? 2 : 4;
        h.recurrent = (uint32_t)s->recur->layers;
        h.state_bytes = (uint64_t)s->recur->state;
    }
    h.payload = payload_of(s, &h);
    return h;
}

/* Digest of the configuration: two files of the same weights may have other numbers in their keys. */
static geodec_status config_digest(const geodec_session *s, char hex[GEODEC_SHA256_HEX], geodec_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the configuration");
    geodec__model_print_shape(f, s->model);
    const bool failed = fclose(f) != 0;
    if (!failed) geodec_sha256_of(text, n, hex);
    free(text); /* of open_memstream */
    if (failed) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the configuration");
    return GEODEC_OK;
}

static geodec_status write_head(const geodec_session *s, const shape *h, uint8_t *p, geodec_err *err)
{
    char config[GEODEC_SHA256_HEX];
    const uint32_t numbers[] = {VERSION,      HEAD,      h->arithmetic, h->kv,      h->state_number, h->layers,
                                h->recurrent, h->length, h->n_text,     h->n_given, h->first_block,  h->table};
    GEODEC_PASS(config_digest(s, config, err));
    memset(p, 0, HEAD);
    memcpy(p, MAGIC, 8);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put32(p + 8 + 4 * i, numbers[i]);
    put64(p + 56, h->layer_bytes);
    put64(p + 64, h->state_bytes);
    put64(p + 72, h->payload);
    memcpy(p + 80, geodec_model_fingerprint(s->model), DIGITS);
    memcpy(p + 144, config, DIGITS);
    return GEODEC_OK;
}

/* ---- the payload, piece by piece --------------------------------------------------------------------------------- */

typedef geodec_status (*piece_fn)(void *ctx, void *data, int64_t bytes, geodec_err *err);

/* Calls fn for the pieces of a session after the tokens, in the order of the file. */
static geodec_status each_piece(const geodec_session *s, const shape *h, piece_fn fn, void *ctx, geodec_err *err)
{
    const int64_t blocks = ((int64_t)h->length + GEODEC__KEYS - 1) / GEODEC__KEYS;
    if (s->recur) GEODEC_PASS(fn(ctx, s->recur->now, s->recur->layers * s->recur->state, err));
    for (int64_t b = h->first_block; b < blocks; b++)
        for (int32_t layer = 0; layer < s->model->config.n_layer; layer++)
            if (s->cache.place[layer] >= 0)
                GEODEC_PASS(fn(ctx, geodec__cache_layer(s, layer, b), s->cache.shape[layer].bytes, err));
    return GEODEC_OK;
}

static geodec_status sum_piece(void *ctx, void *data, int64_t bytes, geodec_err *err)
{
    uint32_t *crc = ctx;
    (void)err;
    *crc = geodec_crc32c(*crc, data, bytes);
    return GEODEC_OK;
}

static geodec_status write_piece(void *ctx, void *data, int64_t bytes, geodec_err *err)
{
    return geodec_atomic_write(ctx, data, (size_t)bytes, err);
}

static geodec_status take_piece(void *ctx, void *data, int64_t bytes, geodec_err *err)
{
    const uint8_t **from = ctx;
    (void)err;
    memcpy(data, *from, (size_t)bytes);
    *from += bytes;
    return GEODEC_OK;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

geodec_status geodec_session_save(geodec_session *s, const char *path, const geodec_session_text *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *f = NULL;
    uint8_t head[HEAD];
    uint32_t crc = 0;
    GEODEC_TRY_MSG(geodec_session_saves(s, err), "%s", path);
    if (text->n < s->length || text->n < 1 || text->n > INT32_MAX || text->n_given < 0 || text->n_given > text->n)
        GEODEC_THROW(GEODEC_INVAL, "%s: a text of %lld tokens, %lld of them given, for a session of %d", path,
                     (long long)text->n, (long long)text->n_given, s->length);
    GEODEC_TRY_MSG(geodec__recurrence_read_again(s, s->length, err), "%s", path);
    if (s->recur) geodec__recurrence_begin(s, NULL, 0);
    geodec__cache_blank(s);
    const shape h = shape_of(s, s->length, text->n, text->n_given);
    GEODEC_TRY(write_head(s, &h, head, err));
    crc = geodec_crc32c(crc, text->token, 4 * text->n);
    GEODEC_TRY(each_piece(s, &h, sum_piece, &crc, err));
    put32(head + PAYLOAD_CRC, crc);
    put32(head + HEAD_CRC, geodec_crc32c(0, head, HEAD_CRC));
    GEODEC_TRY(geodec_atomic_open(path, &f, err));
    GEODEC_TRY(geodec_atomic_write(f, head, HEAD, err));
    GEODEC_TRY(geodec_atomic_write(f, text->token, 4 * (size_t)text->n, err));
    GEODEC_TRY(each_piece(s, &h, write_piece, f, err));
    geodec_atomic *const whole = f;
    f = NULL;
    GEODEC_TRY(geodec_atomic_commit(whole, err));
done:
    geodec_atomic_abandon(f);
    return st;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static shape read_shape(const uint8_t *p)
{
    return (shape){.arithmetic = get32(p + 16),
                   .kv = get32(p + 20),
                   .state_number = get32(p + 24),
                   .layers = get32(p + 28),
                   .recurrent = get32(p + 32),
                   .length = get32(p + 36),
                   .n_text = get32(p + 40),
                   .n_given = get32(p + 44),
                   .first_block = get32(p + 48),
                   .table = get32(p + 52),
                   .layer_bytes = get64(p + 56),
                   .state_bytes = get64(p + 64),
                   .payload = get64(p + 72)};
}

/* Is this the header of a state of this session? Nothing is allocated before. */
static geodec_status check_head(const geodec_session *s, const uint8_t *p, size_t n, shape *out, geodec_err *err)
{
    char config[GEODEC_SHA256_HEX];
    if (n < 8 || memcmp(p, MAGIC, 8) != 0) GEODEC_FAIL(GEODEC_FORMAT, "not a saved session of geodec");
    if (n < HEAD) GEODEC_FAIL(GEODEC_FORMAT, "the saved session is cut off");
    if (get32(p + 8) != VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "a saved session of version %u; this program reads %d", get32(p + 8), VERSION);
    if (geodec_crc32c(0, p, HEAD_CRC) != get32(p + HEAD_CRC) || get32(p + 12) != HEAD)
        GEODEC_FAIL(GEODEC_CHECKSUM, "the header of the saved session is damaged");
    const shape h = read_shape(p);
    GEODEC_PASS(config_digest(s, config, err));
    if (memcmp(p + 80, geodec_model_fingerprint(s->model), DIGITS) != 0 || memcmp(p + 144, config, DIGITS) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "a saved session of another model");
    if (h.arithmetic != (uint32_t)s->arithmetic)
        GEODEC_FAIL(GEODEC_CHECKSUM, "a saved session in another arithmetic than %s",
                    geodec_arithmetic_name(s->arithmetic));
    if (h.kv != (uint32_t)s->kv)
        GEODEC_FAIL(GEODEC_CHECKSUM, "a saved session with another type of the cache than %s",
                    geodec_cache_kv_name(s->kv));
    if (h.n_text < 1 || h.length > h.n_text || h.n_given > h.n_text)
        GEODEC_FAIL(GEODEC_FORMAT, "the lengths of the saved session are damaged");
    if ((int64_t)h.length > s->n_ctx || (int64_t)h.n_text > (int64_t)s->n_ctx + 1)
        GEODEC_FAIL(GEODEC_LIMIT, "the text of %u tokens does not fit in a context of %d", h.n_text, s->n_ctx);
    const shape want = shape_of(s, h.length, h.n_text, h.n_given);
    if (h.table != want.table)
        GEODEC_FAIL(GEODEC_CHECKSUM, "a saved session of a context that has other angles than %d tokens", s->n_ctx);
    if (h.state_number != want.state_number || h.layers != want.layers || h.recurrent != want.recurrent ||
        h.first_block != want.first_block || h.layer_bytes != want.layer_bytes || h.state_bytes != want.state_bytes ||
        h.payload != want.payload)
        GEODEC_FAIL(GEODEC_FORMAT, "the shape of the saved session is not that of this session");
    *out = h;
    return GEODEC_OK;
}

static geodec_status check_payload(const geodec_session *s, const shape *h, const uint8_t *p, geodec_err *err)
{
    if (geodec_crc32c(0, p + HEAD, (int64_t)h->payload) != get32(p + PAYLOAD_CRC))
        GEODEC_FAIL(GEODEC_CHECKSUM, "the saved session is damaged");
    for (uint32_t i = 0; i < h->n_text; i++)
        if (get32(p + HEAD + 4 * (size_t)i) >= (uint32_t)s->model->config.n_vocab)
            GEODEC_FAIL(GEODEC_FORMAT, "token %u of the saved session is not in the vocabulary", i);
    return GEODEC_OK;
}

/* Nothing fails from here on. */
static void take(geodec_session *s, const shape *h, const uint8_t *payload)
{
    geodec__recur *a = s->recur;
    const uint8_t *from = payload + 4 * (size_t)h->n_text;
    s->length = (int32_t)h->length;
    (void)each_piece(s, h, take_piece, &from, NULL);
    if (!a) return;
    memcpy(a->text, payload, 4 * (size_t)h->length);
    a->floor = a->position = s->length;
    a->after_position = -1;
    a->oldest = 0;
    a->n_kept = s->length > 0;
    a->kept_at[0] = s->length;
    memcpy(a->kept, a->now, (size_t)(a->layers * a->state));
}

/* The header first: a file that does not fit is refused before memory for it is allocated. */
static geodec_status read_file(const geodec_session *s, const char *path, shape *h, char **bytes, geodec_err *err)
{
    uint8_t head[HEAD];
    size_t n = geodec_file_head(path, head, HEAD);
    if (n == 0) GEODEC_PASS(geodec_file_read(path, HEAD, bytes, &n, err)); /* the reason, if it cannot be read */
    GEODEC_PASS_MSG(check_head(s, head, n, h, err), "%s", path);
    GEODEC_PASS(geodec_file_read(path, HEAD + (size_t)h->payload, bytes, &n, err));
    if (n != HEAD + (size_t)h->payload) GEODEC_FAIL(GEODEC_FORMAT, "%s: the saved session is cut off", path);
    if (memcmp(*bytes, head, HEAD) != 0) GEODEC_FAIL(GEODEC_IO, "%s: changed while it was read", path);
    GEODEC_PASS_MSG(check_payload(s, h, (const uint8_t *)*bytes, err), "%s", path);
    return GEODEC_OK;
}

geodec_status geodec_session_load(geodec_session *s, const char *path, geodec_session_text *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *bytes = NULL;
    geodec_session_text t = {0};
    shape h;
    GEODEC_TRY_MSG(geodec_session_saves(s, err), "%s", path);
    GEODEC_TRY(read_file(s, path, &h, &bytes, err));
    const uint8_t *payload = (const uint8_t *)bytes + HEAD;
    t = (geodec_session_text){.n = h.n_text, .n_given = h.n_given};
    GEODEC_NEW_COPY(t.token, payload, t.n);
    take(s, &h, payload);
    GEODEC_MOVE(*out, t);
done:
    GEODEC_FREE(bytes, t.token);
    return st;
}

#include "attest/attest.h"

#include "base/mem.h"
#include "io/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 28, HEX = 2 * GEODEC_ATTEST_HASH };
static const char FORMAT[] = "geodec-attest 1";

static void hex_of(const uint8_t *link, char hex[HEX + 1])
{
    for (int i = 0; i < GEODEC_ATTEST_HASH; i++) (void)snprintf(hex + 2 * i, 3, "%02x", link[i]);
}

geodec_status geodec_attest_write(const char *path, const geodec_attest *a, const char *command, geodec_err *err)
{
    char hex[HEX + 1], seed[24];
    geodec_json_writer *w;
    GEODEC_PASS(geodec_json_create(path, &w, err));
    geodec_json_put_str(w, "format", FORMAT);
    geodec_json_put_str(w, "command", command);
    geodec_json_put_str(w, "model", a->model);
    geodec_json_put_str(w, "tables", a->tables);
    geodec_json_put_f64(w, "temperature", a->temperature);
    geodec_json_put_i64(w, "top_k", a->top_k);
    geodec_json_put_f64(w, "top_p", a->top_p);
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)a->seed);
    geodec_json_put_str(w, "seed", seed);
    geodec_json_begin_array(w, "prompt");
    for (int32_t i = 0; i < a->n_prompt; i++) geodec_json_put_i64(w, NULL, a->prompt[i]);
    geodec_json_end(w);
    geodec_json_begin_array(w, "tokens");
    for (int32_t i = 0; i < a->n; i++) geodec_json_put_i64(w, NULL, a->token[i]);
    geodec_json_end(w);
    geodec_json_begin_array(w, "chain");
    for (int32_t i = 0; i <= a->n; i++) {
        hex_of(a->link[i], hex);
        geodec_json_put_str(w, NULL, hex);
    }
    geodec_json_end(w);
    hex_of(a->link[a->n], hex);
    geodec_json_put_str(w, "digest", hex);
    if (*a->transcript) {
        geodec_json_put_str(w, "transcript", a->transcript);
        geodec_json_put_i64(w, "transcript_bytes", a->transcript_size);
    }
    return geodec_json_commit(w, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* `bytes` bytes of lower-case hex digits. */
static geodec_status bytes_of(const char *text, const char *what, int bytes, uint8_t *out, geodec_err *err)
{
    if (strlen(text) != 2 * (size_t)bytes) GEODEC_FAIL(GEODEC_FORMAT, "%s has %zu digits", what, strlen(text));
    for (int i = 0; i < bytes; i++) {
        const int a = digit(text[2 * i]), b = digit(text[2 * i + 1]);
        if (a < 0 || b < 0) GEODEC_FAIL(GEODEC_FORMAT, "%s has a character that is no lower-case hex digit", what);
        out[i] = (uint8_t)(a << 4 | b);
    }
    return GEODEC_OK;
}

static geodec_status hash_of(const geodec_json *v, const char *key, char out[GEODEC_SHA256_HEX], geodec_err *err)
{
    const char *text;
    uint8_t bytes[GEODEC_ATTEST_HASH];
    GEODEC_PASS(geodec_json_get_str(v, key, &text, err));
    GEODEC_PASS(bytes_of(text, key, GEODEC_ATTEST_HASH, bytes, err));
    memcpy(out, text, GEODEC_SHA256_HEX);
    return GEODEC_OK;
}

static geodec_status tokens_of(const geodec_json *v, const char *key, int32_t least, int32_t **out, int32_t *n,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *token = NULL;
    const geodec_json *a = geodec_json_member(v, key);
    const int64_t count = a ? geodec_json_length(a) : -1;
    if (count < least || count > GEODEC_ATTEST_TOKENS)
        GEODEC_THROW(GEODEC_FORMAT, "'%s' is not an array of %d to %d numbers", key, least, GEODEC_ATTEST_TOKENS);
    GEODEC_NEW(token, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t t;
        GEODEC_TRY_MSG(geodec_json_get_i64(geodec_json_at(a, i), NULL, &t, err), "'%s'", key);
        if (t < INT32_MIN || t > INT32_MAX) GEODEC_THROW(GEODEC_FORMAT, "'%s' has the number %lld", key, (long long)t);
        token[i] = (int32_t)t;
    }
    *n = (int32_t)count;
    GEODEC_MOVE(*out, token);
done:
    geodec_mem_free(token);
    return st;
}

static geodec_status chain_of(const geodec_json *v, geodec_attest *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t last[GEODEC_ATTEST_HASH];
    const char *text;
    const geodec_json *chain = geodec_json_member(v, "chain");
    if (!chain || geodec_json_length(chain) != (int64_t)a->n + 1)
        GEODEC_THROW(GEODEC_FORMAT, "'chain' does not have one link more than there are tokens");
    GEODEC_NEW(a->link, (int64_t)a->n + 1);
    for (int32_t i = 0; i <= a->n; i++) {
        GEODEC_TRY_MSG(geodec_json_get_str(geodec_json_at(chain, i), NULL, &text, err), "'chain'");
        GEODEC_TRY(bytes_of(text, "a link of the chain", GEODEC_ATTEST_HASH, a->link[i], err));
    }
    GEODEC_TRY(geodec_json_get_str(v, "digest", &text, err));
    GEODEC_TRY(bytes_of(text, "'digest'", GEODEC_ATTEST_HASH, last, err));
    if (memcmp(last, a->link[a->n], sizeof last) != 0) GEODEC_THROW(GEODEC_FORMAT, "'digest' is not the last link");
done:
    return st;
}

static geodec_status parse(const geodec_json *v, geodec_attest *a, geodec_err *err)
{
    const char *text;
    char *end;
    int64_t top_k;
    GEODEC_PASS(geodec_json_get_str(v, "format", &text, err));
    if (strcmp(text, FORMAT) != 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "format '%.40s' instead of '%s'", text, FORMAT);
    GEODEC_PASS(hash_of(v, "model", a->model, err));
    GEODEC_PASS(hash_of(v, "tables", a->tables, err));
    GEODEC_PASS(geodec_json_get_f64(v, "temperature", &a->temperature, err));
    GEODEC_PASS(geodec_json_get_f64(v, "top_p", &a->top_p, err));
    GEODEC_PASS(geodec_json_get_i64(v, "top_k", &top_k, err));
    if (!(a->temperature >= 0 && a->temperature < 1e6) || !(a->top_p > 0 && a->top_p <= 1) || top_k < 0 ||
        top_k > INT32_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "temperature %g, top_p %g or top_k %lld is out of range", a->temperature, a->top_p,
                    (long long)top_k);
    a->top_k = (int32_t)top_k;
    GEODEC_PASS(geodec_json_get_str(v, "seed", &text, err));
    a->seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || strlen(text) > 20) GEODEC_FAIL(GEODEC_FORMAT, "'seed' is no number");
    GEODEC_PASS(tokens_of(v, "prompt", 1, &a->prompt, &a->n_prompt, err));
    GEODEC_PASS(tokens_of(v, "tokens", 0, &a->token, &a->n, err));
    GEODEC_PASS(chain_of(v, a, err));
    if (!geodec_json_member(v, "transcript")) return GEODEC_OK;
    GEODEC_PASS(hash_of(v, "transcript", a->transcript, err));
    return geodec_json_get_i64(v, "transcript_bytes", &a->transcript_size, err);
}

geodec_status geodec_attest_read(const char *path, geodec_attest *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_attest a = {0};
    geodec_json *root = NULL;
    GEODEC_TRY(geodec_json_read(path, FILE_LIMIT, &root, err));
    GEODEC_TRY_MSG(parse(root, &a, err), "%s", path);
    GEODEC_MOVE(*out, a);
done:
    geodec_json_free(root);
    geodec_attest_clear(&a);
    return st;
}

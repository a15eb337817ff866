/* Tokenizers of all kinds made from the input's first bytes, with which the rest is encoded and decoded.
 *
 * Input: kind and switches, pre-tokenizer, number of pieces, then for each a byte (low five bits: length, high three:
 * type) and its bytes; with merges by rank a number of them, each two numbers of pieces. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16, MAX_PIECES = 1024, MAX_MERGES = 1024, BYTES = 256 };
enum { BPE = 1, ALL_BYTES = 2, ADD_BOS = 4, ADD_EOS = 8, PREFIX = 16, STRIP = 32, SUM = 64 };

typedef struct reader {
    const uint8_t *p, *end;
} reader;

static int next(reader *r) { return r->p < r->end ? *r->p++ : 0; }

typedef struct maker {
    const char *text[MAX_PIECES];
    size_t len[MAX_PIECES];
    float score[MAX_PIECES];
    int32_t type[MAX_PIECES];
    char byte[BYTES][8];
    const char *merge[MAX_MERGES];
    size_t merge_len[MAX_MERGES];
    char merges[MAX_MERGES][70];
    int32_t n, n_merges;
    bool users, users_beyond_ascii;
} maker;

static void add(maker *m, const char *text, size_t n, int32_t type)
{
    m->text[m->n] = text;
    m->len[m->n] = n;
    m->score[m->n] = -(float)(m->n % 37);
    m->type[m->n++] = type;
}

/* The 256 bytes: letters of the byte alphabet, or <0xXX>. */
static void add_bytes(maker *m, bool bpe)
{
    for (int b = 0, other = 0; b < BYTES; b++) {
        const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        const int c = shown ? b : 0x100 + other;
        other += !shown;
        size_t n = 1;
        if (!bpe)
            n = (size_t)snprintf(m->byte[b], sizeof m->byte[b], "<0x%02X>", (unsigned)b);
        else if (c < 0x80)
            m->byte[b][0] = (char)c;
        else {
            m->byte[b][0] = (char)(0xc0 | c >> 6);
            m->byte[b][1] = (char)(0x80 | (c & 63));
            n = 2;
        }
        add(m, m->byte[b], n, bpe ? GEODEC_TOKEN_NORMAL : GEODEC_TOKEN_BYTE);
    }
}

static void read_pieces(maker *m, reader *r)
{
    static const int32_t types[8] = {GEODEC_TOKEN_NORMAL, GEODEC_TOKEN_NORMAL,  GEODEC_TOKEN_USER, GEODEC_TOKEN_CONTROL,
                                     GEODEC_TOKEN_UNUSED, GEODEC_TOKEN_UNKNOWN, GEODEC_TOKEN_BYTE, GEODEC_TOKEN_NORMAL};
    for (int n = next(r); n > 0 && m->n < MAX_PIECES; n--) {
        const int head = next(r);
        size_t len = (size_t)(head & 31);
        if (len > (size_t)(r->end - r->p)) len = (size_t)(r->end - r->p);
        add(m, (const char *)r->p, len, types[head >> 5]);
        if (types[head >> 5] == GEODEC_TOKEN_USER) {
            m->users = true;
            for (size_t i = 0; i < len; i++) m->users_beyond_ascii = m->users_beyond_ascii || r->p[i] >= 0x80;
        }
        r->p += len;
    }
}

static void read_merges(maker *m, reader *r)
{
    for (int n = next(r); n > 0 && m->n_merges < MAX_MERGES && m->n > 0; n--) {
        const int a = next(r), b = next(r);
        char *out = m->merges[m->n_merges];
        size_t len = 0;
        const int side[2] = {a, b};
        for (int k = 0; k < 2; k++) {
            const int32_t i = side[k] % m->n;
            if (k) out[len++] = ' ';
            memcpy(out + len, m->text[i], m->len[i]);
            len += m->len[i];
        }
        m->merge[m->n_merges] = out;
        m->merge_len[m->n_merges++] = len;
    }
}

static void check_stream(const geodec_tokenizer *t, const int32_t *ids, int64_t n, const char *text, size_t length)
{
    char *piece = malloc(geodec_decode_room(t));
    size_t at = 0;
    geodec_detok d;
    geodec_decode_init(&d, t);
    for (int64_t i = 0; piece && i <= n; i++) {
        const size_t k = i < n ? geodec_decode_feed(&d, ids[i], piece) : geodec_decode_flush(&d, piece);
        fuzz_must(at + k <= length && memcmp(text + at, piece, k) == 0, "the stream is not the text");
        at += k;
    }
    fuzz_must(!piece || at == length, "the stream is shorter than the text");
    geodec_decode_init(&d, t);
    d.show_control = true;
    for (int64_t i = 0; piece && i < n; i++) fuzz_use(piece, geodec_decode_feed(&d, ids[i], piece));
    free(piece);
}

static void check_ids(const geodec_tokenizer *t, const int32_t *ids, int64_t n, size_t room)
{
    fuzz_must(n >= 0 && n <= (int64_t)room, "too many ids");
    for (int64_t i = 0; i < n; i++) fuzz_must(ids[i] >= 0 && ids[i] < geodec_tokenizer_size(t), "no such id");
}

/* No part of a text that is all plain becomes a control token. */
static void check_plain(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids)
{
    geodec_err err = {0};
    int64_t count;
    const geodec_span all = {0, (int64_t)n};
    geodec_encode_options o = {.parse_special = true, .eos = true, .bos = true};
    if (geodec_tokenizer_encode_with(t, text, n, &o, ids, &count, &err) == GEODEC_OK) check_ids(t, ids, count, n + 3);
    o = (geodec_encode_options){
        .parse_special = true, .plain = &all, .n_plain = 1, .reserved = text, .n_reserved = n / 2};
    if (geodec_tokenizer_encode_with(t, text, n, &o, ids, &count, &err) != GEODEC_OK) return;
    check_ids(t, ids, count, n + 1);
    for (int64_t i = 0; i < count; i++)
        fuzz_must(!geodec_tokenizer_is_control(t, ids[i]), "a control token out of plain text");
}

/* What decoding does not give back: a mark is a space, and a byte order mark at the start no text. */
static const char *lossy(const geodec_tokenizer *t) { return t->unigram ? "\xef\xbb\xbf" : GEODEC__MARK; }

static void use(const geodec_tokenizer *t, const maker *m, int switches, const char *text, size_t n)
{
    geodec_err err = {0};
    int32_t *ids = malloc((n + 3) * sizeof *ids); /* exactly as long as it may be */
    int64_t count = 0;
    char *back = NULL;
    size_t length = 0;
    if (!ids) return;
    check_plain(t, text, n, ids);
    if (geodec_tokenizer_encode(t, text, n, (switches & ADD_BOS) != 0, ids, &count, &err) == GEODEC_OK) {
        check_ids(t, ids, count, n + 2);
        if (geodec_tokenizer_decode(t, ids, count, &back, &length, &err) == GEODEC_OK) {
            check_stream(t, ids, count, back, length);
            /* a token found in the text may take the blanks after it (phi-3's rule) */
            const bool found = switches & STRIP ? m->users : m->users_beyond_ascii;
            const bool exact = t->byte_letters ? !found : !m->users && !memmem(text, n, lossy(t), 3);
            if ((switches & ALL_BYTES) && !(switches & ADD_BOS) && exact)
                fuzz_must(length == n && memcmp(back, text, n) == 0, "decoding does not give the text back");
            geodec_mem_free(back);
        }
    }
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static maker m;
    if (size > MAX_INPUT) return 0;
    memset(&m, 0, sizeof m);
    reader r = {data, data + size};
    const int switches = next(&r), pre = next(&r);
    int names = 0;
    while (geodec_pretoken_name(names)) names++;
    const char *name = switches & BPE ? geodec_pretoken_name(pre % names) : NULL;
    geodec__pretoken *rules = NULL;
    if (name && geodec__pretoken_create(name, &rules, NULL) != GEODEC_OK) return 0;
    if (switches & ALL_BYTES) add_bytes(&m, rules && !geodec__pretoken_marked(rules));
    geodec__pretoken_destroy(rules);
    read_pieces(&m, &r);
    if (switches & BPE) read_merges(&m, &r);
    const geodec__vocabulary v = {.n = m.n,
                                  .text = m.text,
                                  .len = m.len,
                                  .score = m.score,
                                  .type = m.type,
                                  .bos = m.n > 260 ? 260 : -1,
                                  .eos = m.n > 261 ? 261 : -1,
                                  .unk = m.n > 259 ? 259 : -1,
                                  .add_bos = switches & ADD_BOS,
                                  .add_eos = switches & ADD_EOS,
                                  .add_space_prefix = !(switches & (BPE | SUM)) && (switches & PREFIX),
                                  .strip_after = switches & STRIP,
                                  .pre = name,
                                  .unigram = !name && (switches & SUM),
                                  .merge = m.merge,
                                  .merge_len = m.merge_len,
                                  .n_merges = m.n_merges};
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    if (geodec__tokenizer_create(&v, &t, &err) != GEODEC_OK) return 0;
    const size_t n = (size_t)(r.end - r.p);
    char *text = malloc(n + 1); /* its end at the end of an allocation */
    if (text) {
        memcpy(text, r.p, n);
        fuzz_guard((uint8_t *)text + n, (uint8_t *)text + n + 1);
        use(t, &m, switches, text, n);
        fuzz_unguard((uint8_t *)text + n, (uint8_t *)text + n + 1);
        free(text);
    }
    geodec_tokenizer_destroy(t);
    return 0;
}

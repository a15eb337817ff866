#include "documents/tokenize.h"

#include "base/mem.h"
#include "documents/documents.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the valid UTF-8 character at s, or 0. */
static size_t character(const char *s, size_t n)
{
    for (size_t k = 1; k <= 4 && k <= n; k++)
        if (geodec_file_utf8_check(s, k) < 0) return k;
    return 0;
}

static void print_piece(const geodec_tokenize_options *o, const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        const unsigned char c = (unsigned char)s[i];
        k = character(s + i, n - i);
        if (k == 0 || c < 0x20 || c == 0x7f) {
            (void)fprintf(o->out, "\\x%02x", c);
            k = 1;
        } else if (c == '\\') {
            (void)fprintf(o->out, "\\\\");
        } else {
            (void)fwrite(s + i, 1, k, o->out);
        }
    }
}

static void print_sequence(const geodec_tokenize_options *o, const geodec_tokenizer *t, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (o->only_ids) {
            (void)fprintf(o->out, i ? " %d" : "%d", ids[i]);
            continue;
        }
        size_t length;
        const char *piece = geodec_tokenizer_piece(t, ids[i], &length);
        (void)fprintf(o->out, "%d\t", ids[i]);
        print_piece(o, piece, length);
        (void)fputc('\n', o->out);
    }
    if (o->only_ids) (void)fputc('\n', o->out);
}

static void print_counts(const geodec_tokenize_options *o, int64_t sequences, int64_t tokens, size_t bytes)
{
    (void)fprintf(o->out, "sequences\t%lld\ntokens\t%lld\nbytes\t%zu\n", (long long)sequences, (long long)tokens,
                  bytes);
}

/* A sequence a span of the text. All are encoded before anything is printed, so that a refusal leaves o->out empty. */
static geodec_status encode(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                            const char *text, const geodec_document *span, int64_t n, size_t bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_encode_options how = {.bos = o->bos, .parse_special = o->parse_special};
    int32_t *ids = NULL;
    int64_t *end = NULL, written = 0, count;
    GEODEC_NEW(ids, (int64_t)bytes + 3 * n); /* three above the length of each sequence */
    GEODEC_NEW(end, n);
    for (int64_t i = 0; i < n; i++) {
        GEODEC_TRY_MSG(geodec_tokenizer_encode_with(t, text + span[i].begin, (size_t)(span[i].end - span[i].begin),
                                                    &how, ids + written, &count, err),
                       "%s", path);
        written += count;
        end[i] = written;
    }
    if (o->only_counts) print_counts(o, n, written, bytes);
    for (int64_t i = 0, at = 0; i < n && !o->only_counts; at = end[i++]) print_sequence(o, t, ids + at, end[i] - at);
done:
    GEODEC_FREE(ids, end);
    return st;
}

geodec_status geodec_tokenize_documents(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                        const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents d = {0};
    geodec_documents_options cut = {.tokenizer = t};
    GEODEC_TRY(geodec_documents_separator_of(o->separator, &cut.separator, err));
    GEODEC_TRY(geodec_documents_read(path, text, n, &cut, &d, err));
    GEODEC_TRY(encode(o, t, path, d.text, d.item, d.n, (size_t)d.bytes, err));
done:
    geodec_documents_free(&d);
    return st;
}

/* Nothing is left out: decoding gives the text back. */
geodec_status geodec_tokenize_text(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                   const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_document *line = NULL;
    int64_t lines = 1, used = 0;
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "%s: byte %lld is not valid UTF-8", path, (long long)bad);
    for (size_t i = 0; o->lines && i < n; i++) lines += text[i] == '\n';
    GEODEC_NEW(line, lines);
    for (int64_t at = 0; used < lines && (!o->lines || at < (int64_t)n); used++) {
        const char *stop = o->lines ? memchr(text + at, '\n', n - (size_t)at) : NULL;
        line[used] = (geodec_document){.begin = at, .end = stop ? stop - text : (int64_t)n};
        at = line[used].end + 1;
    }
    GEODEC_TRY(encode(o, t, path, text, line, used, n, err));
done:
    geodec_mem_free(line);
    return st;
}

geodec_status geodec_tokenize_conversation(const geodec_tokenize_options *o, const geodec_gguf *g,
                                           const geodec_tokenizer *t, const char *path, const char *json, size_t n,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_chat_template *k = NULL;
    geodec_conversation c = {0};
    geodec_chat_text text = {0};
    int32_t *ids = NULL;
    int64_t count = 0;
    if (strcmp(o->template_name, "auto") == 0)
        GEODEC_TRY(geodec_chat_template_of(g, &k, err));
    else
        GEODEC_TRY(geodec_chat_template_find(o->template_name, &k, err));
    GEODEC_TRY(geodec_chat_conversation_parse(json, n, path, &c, err));
    GEODEC_TRY_MSG(geodec_chat_render(k, c.message, c.n, !o->closed, &text, err), "%s", path);
    GEODEC_TRY_MSG(geodec_chat_encode(k, t, c.message, c.n, !o->closed, &ids, &count, err), "%s", path);
    if (o->only_text)
        (void)fwrite(text.text, 1, text.n, o->out);
    else if (o->only_counts)
        print_counts(o, 1, count, text.n);
    else
        print_sequence(o, t, ids, count);
done:
    geodec_chat_template_free(k);
    geodec_chat_text_free(&text);
    geodec_chat_conversation_free(&c);
    geodec_mem_free(ids);
    return st;
}

/* Ids of the line that starts at *p, appended; *p is left at its line feed or at the end. */
static geodec_status parse_line(const geodec_tokenizer *t, const char *path, const char **p, const char *end,
                                int64_t line, int32_t *ids, int64_t *n, geodec_err *err)
{
    for (;;) {
        while (*p < end && (**p == ' ' || **p == '\t' || **p == '\r')) (*p)++;
        if (*p == end || **p == '\n') break;
        char *stop;
        errno = 0;
        const long v = strtol(*p, &stop, 10);
        if (stop == *p || errno || (stop < end && !strchr(" \t\r\n", *stop)))
            GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: '%.20s' is no token id", path, (long long)line, *p);
        if (v < 0 || v >= geodec_tokenizer_size(t))
            GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: token %ld is outside the vocabulary of %d", path, (long long)line, v,
                        geodec_tokenizer_size(t));
        ids[(*n)++] = (int32_t)v;
        *p = stop;
    }
    return GEODEC_OK;
}

/* Text of a sequence; caller frees. */
static geodec_status sequence_text(const geodec_tokenize_options *o, const geodec_tokenizer *t, const int32_t *ids,
                                   int64_t n, char **text, size_t *length, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *out = NULL;
    size_t at = 0, room = geodec_decode_room(t);
    geodec_detok d;
    if (!o->show_control) return geodec_tokenizer_decode(t, ids, n, text, length, err);
    for (int64_t i = 0; i < n; i++) {
        size_t piece;
        (void)geodec_tokenizer_piece(t, ids[i], &piece);
        room += piece;
    }
    GEODEC_NEW(out, room);
    geodec_decode_init(&d, t);
    d.show_control = true;
    for (int64_t i = 0; i < n; i++) at += geodec_decode_feed(&d, ids[i], out + at);
    at += geodec_decode_flush(&d, out + at);
    *text = out;
    *length = at;
done:
    return st;
}

static geodec_status decode_ids(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    char *back = NULL;
    size_t length;
    int64_t count = 0, line = 1;
    const char *const end = text + n;
    GEODEC_NEW(ids, (int64_t)n / 2 + 1);
    for (const char *p = text; p < end; p++, line++) {
        GEODEC_TRY(parse_line(t, path, &p, end, line, ids, &count, err));
        if (!o->lines) continue;
        GEODEC_TRY_MSG(sequence_text(o, t, ids, count, &back, &length, err), "%s:%lld", path, (long long)line);
        (void)fwrite(back, 1, length, o->out);
        (void)fputc('\n', o->out);
        geodec_mem_free(back);
        back = NULL;
        count = 0;
    }
    if (!o->lines) {
        GEODEC_TRY_MSG(sequence_text(o, t, ids, count, &back, &length, err), "%s", path);
        (void)fwrite(back, 1, length, o->out);
    }
done:
    GEODEC_FREE(back, ids);
    return st;
}

geodec_status geodec_tokenize_decode(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                     const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tokenize_options to = *o;
    char *result = NULL;
    size_t length = 0;
    to.out = open_memstream(&result, &length);
    if (!to.out) GEODEC_THROW(GEODEC_NOMEM, "no memory for the text");
    GEODEC_TRY(decode_ids(&to, t, path, text, n, err));
    const bool failed = fclose(to.out) != 0;
    to.out = NULL;
    if (failed) GEODEC_THROW(GEODEC_NOMEM, "no memory for the text");
    (void)fwrite(result, 1, length, o->out);
done:
    if (to.out) (void)fclose(to.out);
    free(result);
    return st;
}

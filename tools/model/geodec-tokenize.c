/* geodec-tokenize: text to token ids and back. */
#include "base/mem.h"
#include "cli/cli.h"
#include "documents/documents.h"
#include "io/file.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_LIMIT = 1 << 28 };

static const char *model_path, *template_name = "auto", *separator;
static bool only_ids, only_counts, decode, lines, bos, parse_special, show_control, chat, only_text, closed;
static const cli_option options[] = {
    OPT_FILE("model", 'm', &model_path, "FILE", "GGUF file with the vocabulary (the weights are not read)",
             .flags = CLI_REQUIRED),
    OPT_FLAG("ids", 0, &only_ids, "print a line of ids, as geodec-export --tokens reads it, in place of a table"),
    OPT_FLAG("count", 0, &only_counts, "print numbers alone: sequences, tokens, bytes of text"),
    OPT_FLAG("decode", 'd', &decode, "FILE holds ids; print their text"),
    OPT_FLAG("show-control", 0, &show_control, "with --decode: control tokens are shown as they are written"),
    OPT_FLAG("lines", 0, &lines, "every line is a sequence of its own (else the whole file is one)"),
    OPT_CHOICE("separator", 0, &separator, GEODEC_SEPARATOR_CHOICES, "RULE",
               "every document is a sequence of its own, as the tools that read text divide it: blank space around a "
               "document is left out (default: the text as it stands)"),
    OPT_FLAG("bos", 0, &bos,
             "begin every sequence with the begin-of-sequence token where the model's own rule asks for it"),
    OPT_FLAG("parse-special", 0, &parse_special, "control tokens written in the text become those tokens"),
    OPT_FLAG("chat", 0, &chat, "FILE is a conversation, JSON: [{\"role\": \"user\", \"content\": \"...\"}, ...]"),
    OPT_STR("template", 0, &template_name, "NAME",
            "with --chat: the format by name, or 'auto': from the model's own template"),
    OPT_FLAG("closed", 0, &closed, "with --chat: do not open the assistant's next turn"),
    OPT_FLAG("text", 0, &only_text, "with --chat: print the conversation as text, begin-of-sequence left out"),
};

static const cli_tool tool = {
    .name = "geodec-tokenize",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "turns text into the token ids of a model, or ids into text",
    .usage = "--model FILE [OPTIONS] FILE|-",
    .description =
        "Without --ids it prints one token a line: its id, a tab, and its piece with control characters,\n"
        "backslashes and bytes that are not UTF-8 escaped. Decoding what --ids printed gives the text back,\n"
        "byte for byte, as long as a SentencePiece text has no U+2581 of its own.\n"
        "With --chat the model's control tokens come from the template alone: what messages say stays text.",
    .examples = "  echo 'Once upon a time' | geodec-tokenize --model model.gguf -\n"
                "  geodec-tokenize --model model.gguf --ids --bos --lines stories.txt > stories.ids\n"
                "  geodec-tokenize --model model.gguf --decode --lines stories.ids\n"
                "  geodec-tokenize --model model.gguf --chat --template chatml --text talk.json",
    CLI_TAKES(options, 1, 1),
};

/* ---- text to ids ------------------------------------------------------------------------------------------------ */

/* Bytes of the valid UTF-8 character at s, or 0. */
static size_t character(const char *s, size_t n)
{
    for (size_t k = 1; k <= 4 && k <= n; k++)
        if (geodec_file_utf8_check(s, k) < 0) return k;
    return 0;
}

static void print_piece(const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        const unsigned char c = (unsigned char)s[i];
        k = character(s + i, n - i);
        if (k == 0 || c < 0x20 || c == 0x7f) {
            printf("\\x%02x", c);
            k = 1;
        } else if (c == '\\') {
            printf("\\\\");
        } else {
            (void)fwrite(s + i, 1, k, stdout);
        }
    }
}

static void print_sequence(const geodec_tokenizer *t, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (only_ids) {
            printf(i ? " %d" : "%d", ids[i]);
            continue;
        }
        size_t length;
        const char *piece = geodec_tokenizer_piece(t, ids[i], &length);
        printf("%d\t", ids[i]);
        print_piece(piece, length);
        putchar('\n');
    }
    if (only_ids) putchar('\n');
}

static void print_counts(int64_t sequences, int64_t tokens, size_t bytes)
{
    printf("sequences\t%lld\ntokens\t%lld\nbytes\t%zu\n", (long long)sequences, (long long)tokens, bytes);
}

static void print_sequences(const geodec_tokenizer *t, const int32_t *ids, const int64_t *end, int64_t n, size_t bytes)
{
    if (only_counts) print_counts(n, n > 0 ? end[n - 1] : 0, bytes);
    for (int64_t i = 0, at = 0; i < n && !only_counts; at = end[i++]) print_sequence(t, ids + at, end[i] - at);
}

/* A sequence a document. All is encoded before anything is printed, so that a refusal leaves stdout empty. */
static geodec_status encode_documents(const geodec_tokenizer *t, const char *path, const char *text, size_t n,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents d = {0};
    geodec_documents_options o = {.tokenizer = t};
    const geodec_encode_options how = {.bos = bos, .parse_special = parse_special};
    int32_t *ids = NULL;
    int64_t *end = NULL, written = 0, count;
    GEODEC_TRY(geodec_documents_separator_of(separator, &o.separator, err));
    GEODEC_TRY(geodec_documents_read(path, text, n, &o, &d, err));
    GEODEC_NEW(ids, d.bytes + 3 * d.n); /* three above the length of each sequence */
    GEODEC_NEW(end, d.n);
    for (int64_t i = 0; i < d.n; i++) {
        const geodec_document *k = &d.item[i];
        GEODEC_TRY_MSG(geodec_tokenizer_encode_with(t, d.text + k->begin, (size_t)(k->end - k->begin), &how,
                                                    ids + written, &count, err),
                       "%s", path);
        written += count;
        end[i] = written;
    }
    print_sequences(t, ids, end, d.n, (size_t)d.bytes);
done:
    geodec_documents_free(&d);
    geodec_mem_free(ids);
    geodec_mem_free(end);
    return st;
}

/* Nothing is left out: decoding gives the text back. */
static geodec_status encode(const geodec_tokenizer *t, const char *path, const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t *end = NULL, n_sequences = 0, written = 0;
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "%s: byte %lld is not valid UTF-8", path, (long long)bad);
    for (size_t i = 0; i < n; i++) n_sequences += text[i] == '\n';
    n_sequences = lines ? n_sequences + 1 : 1;
    const geodec_encode_options how = {.bos = bos, .parse_special = parse_special};
    GEODEC_NEW(ids, (int64_t)n + 3 * n_sequences); /* three above the length of each sequence */
    GEODEC_NEW(end, n_sequences);
    int64_t used = 0;
    for (const char *p = text; used < n_sequences && (!lines || p < text + n); used++) {
        const char *stop = lines ? memchr(p, '\n', (size_t)(text + n - p)) : NULL;
        if (!stop) stop = text + n;
        int64_t count;
        GEODEC_TRY_MSG(geodec_tokenizer_encode_with(t, p, (size_t)(stop - p), &how, ids + written, &count, err), "%s",
                       path);
        written += count;
        end[used] = written;
        p = stop + 1;
    }
    print_sequences(t, ids, end, used, n);
done:
    geodec_mem_free(ids);
    geodec_mem_free(end);
    return st;
}

/* ---- a conversation --------------------------------------------------------------------------------------------- */

static geodec_status converse(const geodec_gguf *g, const geodec_tokenizer *t, const char *path, const char *json,
                              size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_chat_template *k;
    geodec_conversation c = {0};
    geodec_chat_text text = {0};
    int32_t *ids = NULL;
    int64_t count = 0;
    if (strcmp(template_name, "auto") == 0)
        GEODEC_TRY(geodec_chat_template_of(g, &k, err));
    else
        GEODEC_TRY(geodec_chat_template_find(template_name, &k, err));
    GEODEC_TRY(geodec_chat_conversation_parse(json, n, path, &c, err));
    GEODEC_TRY_MSG(geodec_chat_render(k, c.message, c.n, !closed, &text, err), "%s", path);
    GEODEC_TRY_MSG(geodec_chat_encode(k, t, c.message, c.n, !closed, &ids, &count, err), "%s", path);
    if (only_text)
        (void)fwrite(text.text, 1, text.n, stdout);
    else if (only_counts)
        print_counts(1, count, text.n);
    else
        print_sequence(t, ids, count);
done:
    geodec_chat_text_free(&text);
    geodec_chat_conversation_free(&c);
    geodec_mem_free(ids);
    return st;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------ */

/* Ids of the line that starts at *p, appended; *p is left at its line feed or at the end. */
static geodec_status parse_line(const geodec_tokenizer *t, const char *path, const char **p, const char *end,
                                int64_t line, int32_t *ids, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (;;) {
        while (*p < end && (**p == ' ' || **p == '\t' || **p == '\r')) (*p)++;
        if (*p == end || **p == '\n') break;
        char *stop;
        errno = 0;
        const long v = strtol(*p, &stop, 10);
        if (stop == *p || errno || (stop < end && !strchr(" \t\r\n", *stop)))
            GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: '%.20s' is no token id", path, (long long)line, *p);
        if (v < 0 || v >= geodec_tokenizer_size(t))
            GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: token %ld is outside the vocabulary of %d", path, (long long)line, v,
                         geodec_tokenizer_size(t));
        ids[(*n)++] = (int32_t)v;
        *p = stop;
    }
done:
    return st;
}

/* Text of a sequence; caller frees. */
static geodec_status sequence_text(const geodec_tokenizer *t, const int32_t *ids, int64_t n, char **text,
                                   size_t *length, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *out = NULL;
    size_t at = 0, room = geodec_decode_room(t);
    geodec_detok d;
    if (!show_control) return geodec_tokenizer_decode(t, ids, n, text, length, err);
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

static geodec_status decode_ids(const geodec_tokenizer *t, const char *path, const char *text, size_t n, FILE *out,
                                geodec_err *err)
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
        if (!lines) continue;
        GEODEC_TRY_MSG(sequence_text(t, ids, count, &back, &length, err), "%s:%lld", path, (long long)line);
        (void)fwrite(back, 1, length, out);
        (void)fputc('\n', out);
        geodec_mem_free(back);
        back = NULL;
        count = 0;
    }
    if (!lines) {
        GEODEC_TRY_MSG(sequence_text(t, ids, count, &back, &length, err), "%s", path);
        (void)fwrite(back, 1, length, out);
    }
done:
    geodec_mem_free(back);
    geodec_mem_free(ids);
    return st;
}

/* Through memory, so that a refusal leaves stdout empty. */
static geodec_status decode_all(const geodec_tokenizer *t, const char *path, const char *text, size_t n,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *result = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&result, &length);
    if (!memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for the text");
    GEODEC_TRY(decode_ids(t, path, text, n, memory, err));
    const bool failed = fclose(memory) != 0;
    memory = NULL;
    if (failed) GEODEC_THROW(GEODEC_NOMEM, "no memory for the text");
    (void)fwrite(result, 1, length, stdout);
done:
    if (memory) (void)fclose(memory);
    free(result);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    geodec_tokenizer *t = NULL;
    char *text = NULL;
    size_t n;
    const char *path = c->args[0];
    if (decode && (only_ids || bos)) GEODEC_THROW(GEODEC_INVAL, "--decode goes with neither --ids nor --bos");
    if (decode && (only_counts || parse_special || chat))
        GEODEC_THROW(GEODEC_INVAL, "--decode goes with none of --count, --parse-special, --chat");
    if (chat && (lines || bos || parse_special))
        GEODEC_THROW(GEODEC_INVAL, "--chat goes with none of --lines, --bos, --parse-special");
    if (!chat && (only_text || closed || strcmp(template_name, "auto") != 0))
        GEODEC_THROW(GEODEC_INVAL, "--template, --closed and --text go with --chat");
    if (separator && (lines || decode || chat))
        GEODEC_THROW(GEODEC_INVAL, "--separator goes with none of --lines, --decode, --chat");
    if (show_control && !decode) GEODEC_THROW(GEODEC_INVAL, "--show-control goes with --decode");
    if (only_ids + only_counts + only_text > 1) GEODEC_THROW(GEODEC_INVAL, "give one of --ids, --count, --text");
    GEODEC_TRY(geodec_gguf_open(model_path, &g, err));
    GEODEC_TRY(geodec_tokenizer_from_gguf(g, &t, err));
    GEODEC_TRY(geodec_file_read(path, INPUT_LIMIT, &text, &n, err));
    if (decode)
        GEODEC_TRY(decode_all(t, path, text, n, err));
    else if (chat)
        GEODEC_TRY(converse(g, t, path, text, n, err));
    else if (separator)
        GEODEC_TRY(encode_documents(t, path, text, n, err));
    else
        GEODEC_TRY(encode(t, path, text, n, err));
done:
    geodec_mem_free(text);
    geodec_tokenizer_destroy(t);
    geodec_gguf_close(g);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

#include "documents/documents.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "documents/documents_internal.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE_ALL = 1 << 16, SLICES = 16, SLICE = SAMPLE_ALL / SLICES };

static const char *const words[] = {
#define X(name, word) word,
    GEODEC_SEPARATOR_LIST(X)
#undef X
};

const char *geodec_documents_separator_name(geodec_documents_separator s)
{
    return geodec__names_at(words, GEODEC_SEPARATOR_COUNT, (int)s);
}

geodec_status geodec_documents_separator_of(const char *word, geodec_documents_separator *out, geodec_err *err)
{
    const int i = geodec__names_find(words, GEODEC_SEPARATOR_COUNT, word);
    if (i == GEODEC_SEPARATOR_COUNT)
        GEODEC_FAIL(GEODEC_INVAL, "separator '%s' is none of %s", word, GEODEC_SEPARATOR_CHOICES);
    *out = (geodec_documents_separator)i;
    return GEODEC_OK;
}

void geodec_documents_free(geodec_documents *d)
{
    if (!d) return;
    GEODEC_FREE(d->own, d->item, d->message);
    *d = (geodec_documents){0};
}

/* ---- the text's bytes -------------------------------------------------------------------------------------------- */

static geodec_status check(const char *name, const char *text, size_t n, geodec_err *err)
{
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: not UTF-8 text: invalid byte at offset %lld", name, (long long)bad);
    const char *nul = n ? memchr(text, 0, n) : NULL;
    if (nul) GEODEC_FAIL(GEODEC_FORMAT, "%s: not text: a NUL byte at offset %lld", name, (long long)(nul - text));
    if (geodec__cut_is_blank(text, 0, (int64_t)n)) GEODEC_FAIL(GEODEC_FORMAT, "%s: the text is empty", name);
    return GEODEC_OK;
}

/* d->text: the text with CR LF as LF, copied only if it has one. */
static geodec_status take(const char *text, size_t n, geodec_documents *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    d->text = text;
    d->n_text = (int64_t)n;
    if (!memmem(text, n, "\r\n", 2)) goto done;
    GEODEC_NEW(d->own, n);
    d->n_text = 0;
    for (size_t i = 0; i < n; i++)
        if (!(text[i] == '\r' && i + 1 < n && text[i + 1] == '\n')) d->own[d->n_text++] = text[i];
    d->text = d->own;
done:
    return st;
}

static bool inside_character(char c) { return ((unsigned char)c & 0xc0u) == 0x80u; }

/* Bytes per token: of the whole text if it is short, else of slices at equal distances. */
static geodec_status measure(const geodec_documents *d, const geodec_tokenizer *t, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t tokens = 0, bytes = 0;
    const int64_t slices = d->n_text > SAMPLE_ALL ? SLICES : 1, size = slices > 1 ? SLICE : d->n_text;
    *out = 4;
    if (!t) goto done;
    GEODEC_NEW(ids, size + 2);
    for (int64_t i = 0; i < slices; i++) {
        int64_t begin = slices > 1 ? (d->n_text - size) / (slices - 1) * i : 0, end = begin + size, count = 0;
        while (begin < end && inside_character(d->text[begin])) begin++;
        while (end > begin && end < d->n_text && inside_character(d->text[end])) end--;
        GEODEC_TRY(geodec_tokenizer_encode(t, d->text + begin, (size_t)(end - begin), false, ids, &count, err));
        tokens += count;
        bytes += end - begin;
    }
    if (tokens > 0) *out = (double)bytes / (double)tokens;
done:
    geodec_mem_free(ids);
    return st;
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static void keep(geodec_documents *d, geodec_documents_separator rule, geodec__cut *c)
{
    d->rule = rule;
    d->item = c->item;
    d->n = c->n;
    d->bytes = c->bytes;
    *c = (geodec__cut){0};
}

static double mean_tokens(const geodec_documents *d, const geodec__cut *c)
{
    return c->n ? (double)c->bytes / (double)c->n / d->bytes_per_token : 0;
}

static geodec_status one_window(geodec_documents *d, geodec__cut *c, geodec_err *err)
{
    double tokens = (double)d->n_text / d->bytes_per_token / GEODEC_DOCUMENTS_ENOUGH;
    if (tokens > GEODEC_WINDOW_TOKENS) tokens = GEODEC_WINDOW_TOKENS;
    if (tokens < GEODEC_DOCUMENT_TOKENS) tokens = GEODEC_DOCUMENT_TOKENS;
    return geodec__cut_windows(d->text, d->n_text, (int64_t)(tokens * d->bytes_per_token), c, err);
}

static geodec_status by_blank(const geodec_documents *d, bool pieces, geodec__cut *c, geodec_err *err)
{
    const int64_t least = pieces ? 0 : (int64_t)(GEODEC_DOCUMENT_TOKENS * d->bytes_per_token);
    return geodec__cut_blank(d->text, d->n_text, least, c, err);
}

/* Blank lines, lines or windows. */
static geodec_status choose(geodec_documents *d, const geodec_documents_options *o, int64_t marks, geodec_err *err)
{
    const char *none = marks ? "marks part no documents" : "no marks";
    geodec_status st = GEODEC_OK;
    geodec__cut blank = {0}, line = {0}, window = {0};
    GEODEC_TRY(by_blank(d, o->pieces, &blank, err));
    GEODEC_TRY(geodec__cut_lines(d->text, d->n_text, &line, err));
    const double length = mean_tokens(d, &line);
    const int64_t lines = line.n;
    const bool carry = length >= GEODEC_LINE_TOKENS;
    for (int64_t enough = GEODEC_DOCUMENTS_ENOUGH; enough >= 2; enough = enough > 2 ? 2 : 0) {
        if (blank.n >= enough) {
            (void)snprintf(d->why, sizeof d->why, "%s; %lld documents of %.0f tokens between blank lines", none,
                           (long long)blank.n, mean_tokens(d, &blank));
            keep(d, GEODEC_SEPARATOR_BLANK, &blank);
            goto done;
        }
        if (line.n >= enough && carry) {
            (void)snprintf(d->why, sizeof d->why, "%s; %lld lines of %.0f tokens", none, (long long)lines, length);
            keep(d, GEODEC_SEPARATOR_LINE, &line);
            goto done;
        }
    }
    GEODEC_TRY(one_window(d, &window, err));
    (void)snprintf(d->why, sizeof d->why,
                   "%s; blank lines give %lld document%s of %d tokens and more; lines have %.0f tokens", none,
                   (long long)blank.n, blank.n == 1 ? "" : "s", GEODEC_DOCUMENT_TOKENS, length);
    keep(d, GEODEC_SEPARATOR_WINDOW, &window);
done:
    GEODEC_FREE(blank.item, line.item, window.item);
    return st;
}

/* Plain text with the given rule. */
static geodec_status cut(geodec_documents *d, const geodec_documents_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cut c = {0};
    int64_t marks = 0;
    geodec_documents_separator rule = o->separator;
    if (rule == GEODEC_SEPARATOR_AUTO && o->run) rule = GEODEC_SEPARATOR_NONE;
    if (rule != GEODEC_SEPARATOR_NONE) GEODEC_TRY(measure(d, o->tokenizer, &d->bytes_per_token, err));
    switch (rule) {
    case GEODEC_SEPARATOR_AUTO:
    case GEODEC_SEPARATOR_MARK:
        GEODEC_TRY(geodec__cut_marks(d->text, d->n_text, &c, &marks, err));
        if (c.n == 1 && rule == GEODEC_SEPARATOR_AUTO) { /* no mark separates it from another */
            d->text += c.item[0].begin;
            d->n_text = c.item[0].end - c.item[0].begin;
            GEODEC_TRY(choose(d, o, marks, err));
            goto done;
        }
        (void)snprintf(d->why, sizeof d->why, "%lld line%s %s", (long long)marks, marks == 1 ? "" : "s",
                       GEODEC_DOCUMENT_MARK);
        rule = GEODEC_SEPARATOR_MARK;
        break;
    case GEODEC_SEPARATOR_BLANK:
        GEODEC_TRY(by_blank(d, o->pieces, &c, err));
        break;
    case GEODEC_SEPARATOR_LINE:
        GEODEC_TRY(geodec__cut_lines(d->text, d->n_text, &c, err));
        break;
    case GEODEC_SEPARATOR_WINDOW:
        GEODEC_TRY(one_window(d, &c, err));
        break;
    default:
        GEODEC_TRY(geodec__cut_add(&c, d->text, 0, d->n_text, err));
        break;
    }
    if (o->separator == rule) (void)snprintf(d->why, sizeof d->why, "as asked for");
    keep(d, rule, &c);
done:
    geodec_mem_free(c.item);
    return st;
}

/* JSON Lines if requested or if they fit; d->rule tells whether, note the reason why not. */
static geodec_status try_jsonl(const char *name, const char *text, int64_t n, const geodec_documents_options *o,
                               geodec_documents *d, char *note, size_t room, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool asked = o->separator == GEODEC_SEPARATOR_JSONL;
    geodec_err why;
    if (!asked && (o->separator != GEODEC_SEPARATOR_AUTO || !geodec__jsonl_detect(text, n))) goto done;
    geodec_err_clear(&why);
    st = geodec__documents_jsonl(name, text, n, d, asked ? err : &why);
    if (st == GEODEC_OK) {
        d->rule = GEODEC_SEPARATOR_JSONL;
        (void)snprintf(d->why, sizeof d->why, asked ? "as asked for" : "every line is a JSON object");
    } else if (!asked && st != GEODEC_NOMEM) { /* then it is plain text */
        geodec_documents_free(d);
        (void)geodec_err_line(&why, note, room);
        st = GEODEC_OK;
    } else if (!asked && err) {
        *err = why;
    }
done:
    return st;
}

geodec_status geodec_documents_read(const char *name, const char *text, size_t n, const geodec_documents_options *o,
                                    geodec_documents *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents d = {0};
    char note[180] = "";
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    GEODEC_TRY(check(name, text, n, err));
    GEODEC_TRY(try_jsonl(name, text, (int64_t)n, o, &d, note, sizeof note, err));
    if (d.rule == GEODEC_SEPARATOR_JSONL) {
        GEODEC_TRY(measure(&d, o->tokenizer, &d.bytes_per_token, err));
    } else {
        GEODEC_TRY(take(text, n, &d, err));
        GEODEC_TRY(cut(&d, o, err));
        const size_t used = strlen(d.why);
        if (note[0]) (void)snprintf(d.why + used, sizeof d.why - used, "; not JSON Lines: %s", note);
    }
    if (d.n == 0) GEODEC_THROW(GEODEC_FORMAT, "%s: the text is empty", name);
    GEODEC_MOVE(*out, d);
done:
    geodec_documents_free(&d);
    return st;
}

/* ---- tokens and the joined text ---------------------------------------------------------------------------------- */

geodec_status geodec_documents_count(const geodec_documents *d, const geodec_tokenizer *t, int64_t *tokens,
                                     int64_t *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t longest = 0, total = 0;
    for (int64_t i = 0; i < d->n; i++)
        if (d->item[i].end - d->item[i].begin > longest) longest = d->item[i].end - d->item[i].begin;
    GEODEC_NEW(ids, longest + 2);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t count = 0;
        GEODEC_TRY(geodec_tokenizer_encode(t, d->text + d->item[i].begin, (size_t)(d->item[i].end - d->item[i].begin),
                                           true, ids, &count, err));
        if (tokens) tokens[i] = count;
        total += count;
    }
    *sum = total;
done:
    geodec_mem_free(ids);
    return st;
}

geodec_status geodec_documents_run(const geodec_documents *d, const char **text, size_t *n, char **own, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *joined = NULL;
    int64_t at = 0;
    if (d->rule == GEODEC_SEPARATOR_NONE) {
        *text = d->text;
        *n = (size_t)d->n_text;
        *own = NULL;
        goto done;
    }
    GEODEC_NEW(joined, d->bytes + 2 * d->n);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t length = d->item[i].end - d->item[i].begin;
        if (i > 0) {
            memcpy(joined + at, "\n\n", 2);
            at += 2;
        }
        memcpy(joined + at, d->text + d->item[i].begin, (size_t)length);
        at += length;
    }
    *text = *own = joined;
    *n = (size_t)at;
done:
    return st;
}

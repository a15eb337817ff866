#include "decode/dialogue.h"

#include "base/mem.h"
#include "decode/printer.h"
#include "io/file.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { LINE_MAX = 16 << 20 };

typedef struct talk {
    const geodec_dialogue *d;
    int32_t *token; /* [n] tokens of the conversation */
    int64_t n, room, turns;
    int64_t cached; /* number of them with a row in the cache */
    bool stopped;
    geodec_printer *printer;
    /* with a chat format: the conversation; contents are owned */
    geodec_chat_message *said;
    int64_t n_said, room_said;
} talk;

static void ask(const talk *t)
{
    if (!t->d->terminal) return;
    (void)fputs("> ", t->d->notes);
    (void)fflush(t->d->notes);
}

/* The next byte of the input, or EOF. An interrupt restarts a read, so that it cannot end a write either; poll is never
 * restarted. `in` has no buffer then, so poll sees all its bytes. */
static int next_byte(const talk *t, bool *interrupted)
{
    struct pollfd ready = {.fd = fileno(t->d->in), .events = POLLIN};
    *interrupted = t->d->terminal && poll(&ready, 1, -1) < 0 && errno == EINTR;
    if (*interrupted) return EOF;
    const int c = getc(t->d->in);
    *interrupted = c == EOF && ferror(t->d->in) && errno == EINTR;
    if (*interrupted) clearerr(t->d->in);
    return c;
}

/* Reads one line without its line end, zero-terminated; *line is NULL at the end of the input. */
static geodec_status read_line(const talk *t, char **line, size_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    int64_t room = 0, length = 0;
    if (t->d->read_line) return t->d->read_line(t->d->reader, line, n, err);
    ask(t);
    for (;;) {
        bool interrupted;
        const int c = next_byte(t, &interrupted);
        if (interrupted) {
            if (t->d->stop_asked()) GEODEC_THROW(GEODEC_INTERRUPTED, "interrupted");
            if (t->d->turn_stopped()) {
                (void)fputs("\n(/quit or end of input ends)\n", t->d->notes);
                length = 0;
                ask(t);
            }
            continue;
        }
        if (c == EOF && ferror(t->d->in)) GEODEC_THROW(GEODEC_IO, "standard input: %s", strerror(errno));
        if (c == EOF && length == 0) goto done; /* frees the text, if there is one */
        if (length + 1 >= LINE_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "standard input: a line of more than %d bytes", LINE_MAX);
        GEODEC_GROW(text, length, room, 2);
        if (c == EOF || c == '\n') break;
        text[length++] = (char)c;
    }
    while (length > 0 && text[length - 1] == '\r') length--;
    text[length] = '\0';
    /* the byte order mark of a file */
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        length -= 3;
        memmove(text, text + 3, (size_t)length + 1);
    }
    *line = text;
    *n = (size_t)length;
    return st;
done:
    geodec_mem_free(text);
    *line = NULL;
    return st;
}

/* Without a chat format: the new tokens of a line. */
static geodec_status encode(const talk *t, const char *line, size_t n, int32_t **ids, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    int32_t *id = NULL;
    GEODEC_NEW(text, (int64_t)n + 1);
    GEODEC_NEW(id, (int64_t)n + 4);
    text[0] = '\n';
    memcpy(text + 1, line, n);
    const bool begins = t->n == 0;
    const geodec_encode_options how = {.bos = begins, .goes_on = !begins};
    GEODEC_TRY(geodec_tokenizer_encode_with(t->d->tokenizer, begins ? line : text, n + !begins, &how, id, count, err));
    GEODEC_MOVE(*ids, id);
done:
    GEODEC_FREE(text, id);
    return st;
}

static geodec_status say(talk *t, geodec_chat_role role, const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL;
    GEODEC_NEW(copy, (int64_t)n + 1);
    if (n > 0) memcpy(copy, text, n);
    GEODEC_GROW(t->said, t->n_said, t->room_said, 1);
    t->said[t->n_said++] = (geodec_chat_message){role, copy, n};
    copy = NULL;
done:
    geodec_mem_free(copy);
    return st;
}

/* Forgets messages first .. first+n-1. */
static void unsay(talk *t, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n; i++) geodec_mem_free((void *)(uintptr_t)t->said[i].content);
    memmove(t->said + first, t->said + first + n, (size_t)(t->n_said - first - n) * sizeof *t->said);
    t->n_said -= n;
}

/* Ends a conversation. */
static void forget(talk *t)
{
    if (t->n_said > 0) unsay(t, 0, t->n_said);
    t->n = t->cached = 0;
}

static geodec_status append(talk *t, const int32_t *token, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_GROW(t->token, t->n, t->room, n);
    if (n > 0) memcpy(t->token + t->n, token, (size_t)n * sizeof *token);
    t->n += n;
done:
    return st;
}

/* The conversation in tokens without its oldest `turns` turns; the system message stays. */
static geodec_status encode_since(const talk *t, int64_t turns, int32_t **ids, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_chat_message *kept = NULL;
    const int64_t first = t->n_said > 0 && t->said[0].role == GEODEC_CHAT_SYSTEM, skip = 2 * turns;
    GEODEC_NEW(kept, t->n_said);
    memcpy(kept, t->said, (size_t)first * sizeof *kept);
    memcpy(kept + first, t->said + first + skip, (size_t)(t->n_said - first - skip) * sizeof *kept);
    GEODEC_TRY(geodec_chat_encode(t->d->chat, t->d->tokenizer, kept, t->n_said - skip, true, ids, count, err));
done:
    geodec_mem_free(kept);
    return st;
}

/* Tokens of the context that are left for a reply when turns are dropped: otherwise each reply after the first full
 * context would end in its middle. */
static int64_t reply_room(const talk *t)
{
    const int64_t quarter = t->d->target->n_ctx / 4;
    return t->d->when_full == GEODEC_DIALOGUE_STOP ? 0
           : t->d->options->max_tokens < quarter   ? t->d->options->max_tokens
                                                   : quarter;
}

/* The whole conversation in tokens, as its template renders it now: a program may change earlier turns. Rows of the
 * cache stay as far as the tokens are the same. When it does not fit, the oldest turns are dropped as a whole; none is
 * if the last message alone does not fit. */
static geodec_status render(talk *t, bool *fits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t count = 0, same = 0, dropped = 0;
    const int64_t first = t->n_said > 0 && t->said[0].role == GEODEC_CHAT_SYSTEM, limit = t->d->target->n_ctx;
    const int64_t turns = t->d->when_full == GEODEC_DIALOGUE_STOP ? 0 : (t->n_said - first - 1) / 2;
    GEODEC_TRY(encode_since(t, 0, &ids, &count, err));
    if (turns > 0 && count + reply_room(t) > limit) {
        geodec_mem_free(ids);
        ids = NULL;
        GEODEC_TRY(encode_since(t, turns, &ids, &count, err));
        const bool alone = count <= limit;
        while (alone && (dropped == 0 || (count + reply_room(t) > limit && dropped < turns))) {
            geodec_mem_free(ids);
            ids = NULL;
            GEODEC_TRY(encode_since(t, ++dropped, &ids, &count, err));
        }
    }
    *fits = count <= limit;
    if (!*fits) goto done;
    for (int64_t i = 0; i < dropped; i++) unsay(t, first, 2); /* the user's message and the reply */
    if (dropped == 1)
        (void)fprintf(t->d->notes, "(the context of %lld tokens is full: the oldest turn is dropped)\n",
                      (long long)limit);
    if (dropped > 1)
        (void)fprintf(t->d->notes, "(the context of %lld tokens is full: the oldest %lld turns are dropped)\n",
                      (long long)limit, (long long)dropped);
    while (same < t->n && same < count && t->token[same] == ids[same]) same++;
    t->n = 0;
    GEODEC_GROW(t->token, t->n, t->room, count);
    memcpy(t->token, ids, (size_t)count * sizeof *ids);
    t->n = count;
    if (t->cached > same) t->cached = same;
    if (t->cached > count - 1) t->cached = count - 1;
done:
    geodec_mem_free(ids);
    return st;
}

/* A built-in format: the last message after the tokens that are there. Not *fits, and nothing appended: turns must be
 * dropped first. */
static geodec_status extend(talk *t, bool *fits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t count = 0;
    GEODEC_TRY(geodec_chat_encode_next(t->d->chat, t->d->tokenizer, &t->said[t->n_said - 1], &ids, &count, err));
    *fits = t->n + count + reply_room(t) <= t->d->target->n_ctx;
    if (*fits) GEODEC_TRY(append(t, ids, count, err));
done:
    geodec_mem_free(ids);
    return st;
}

static int on_token(void *ctx, int32_t token)
{
    talk *t = ctx;
    const int ended = geodec_printer_emit(t->printer, token);
    if (t->d->turn_stopped()) t->stopped = true;
    return ended || t->stopped;
}

static void on_round(void *ctx) { geodec_printer_flush(((talk *)ctx)->printer); }

static int on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    talk *t = ctx;
    (void)done;
    (void)total;
    /* When a turn is interrupted during its reply, on_token ends the reply and the text so far is kept. */
    if (strcmp(what, "prompt") == 0 && t->d->turn_stopped()) t->stopped = true;
    return t->d->stop_asked() || (t->stopped && strcmp(what, "prompt") == 0);
}

static geodec_status compare(const talk *t, int64_t n_prompt, const geodec_decode_options *o, const geodec_decoded *got,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded plain = {0};
    geodec_decode_options q = *o;
    q.emit = NULL;
    q.round_end = NULL;
    q.cached = 0;
    if (got->end == GEODEC_END_CALLER) q.max_tokens = got->n;
    GEODEC_TRY(geodec_decode(t->d->plain, t->token, n_prompt, NULL, &q, &plain, err));
    if (plain.n != got->n || (got->n > 0 && memcmp(plain.token, got->token, (size_t)got->n * sizeof *plain.token) != 0))
        GEODEC_THROW(GEODEC_CHECK, "turn %lld: the reply differs from plain decoding", (long long)t->turns);
done:
    geodec_decode_free(&plain);
    return st;
}

/* Decodes a reply to the conversation and appends it. */
static geodec_status reply(talk *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_dialogue *d = t->d;
    const int64_t n_prompt = t->n, cached = t->cached;
    geodec_decoded got = {0};
    geodec_decode_options o = *d->options;
    const geodec_hooks hooks = {.ctx = t, .progress = on_progress};
    o.cached = cached;
    o.emit = on_token;
    o.round_end = on_round;
    o.ctx = t;
    o.hooks = &hooks;
    GEODEC_TRY(
        geodec_printer_open(d->tokenizer, t->token, t->n, false, d->stop, d->n_stop, t->d->out, &t->printer, err));
    st = geodec_decode(d->target, t->token, n_prompt, d->drafter, &o, &got, err);
    geodec_printer_end(t->printer);
    const int64_t before = geodec_printer_before_stop(t->printer);
    t->cached = d->target->length(d->target->self);
    if (st == GEODEC_INTERRUPTED && t->stopped && !t->d->stop_asked()) {
        geodec_err_clear(err);
        st = GEODEC_OK;
        (void)fputs("(stopped)\n", t->d->notes);
        goto done;
    }
    GEODEC_TRY(st);
    /* the history ends before a stop text */
    GEODEC_TRY(append(t, got.token, before >= 0 && before < got.n ? before : got.n, err));
    if (t->cached > t->n) t->cached = t->n;
    if (got.end == GEODEC_END_CONTEXT && d->when_full == GEODEC_DIALOGUE_DROP)
        (void)fprintf(d->notes, "(the context of %d tokens is full%s)\n", d->target->n_ctx,
                      d->chat ? ": the reply ends here" : "; /reset starts a new conversation");
    geodec_hooks_log(d->hooks, GEODEC_LOG_DEBUG,
                     "turn %lld: %lld rows of the prompt, %lld tokens in %lld passes, %lld of %d rows of the context",
                     (long long)t->turns, (long long)got.counters.prompt_rows, (long long)got.n,
                     (long long)got.counters.target_passes, (long long)t->cached, d->target->n_ctx);
    if (d->plain) GEODEC_TRY(compare(t, n_prompt, &o, &got, err));
    if (got.end == GEODEC_END_CONTEXT && d->when_full == GEODEC_DIALOGUE_STOP)
        GEODEC_THROW(GEODEC_LIMIT, "the context of %d tokens is full in turn %lld", d->target->n_ctx,
                     (long long)t->turns);
done:
    geodec_printer_close(t->printer);
    t->printer = NULL;
    geodec_decode_free(&got);
    return st;
}

/* A message of `count` tokens finds no room after t->n. */
static geodec_status refuse(const talk *t, int64_t count, geodec_err *err)
{
    const geodec_dialogue *d = t->d;
    if (d->when_full == GEODEC_DIALOGUE_STOP)
        GEODEC_FAIL(GEODEC_LIMIT, "the context of %d tokens is full before turn %lld", d->target->n_ctx,
                    (long long)t->turns + 1);
    if (d->chat)
        (void)fprintf(d->notes, "(the line does not fit in the context of %d tokens and is ignored)\n",
                      d->target->n_ctx);
    else
        (void)fprintf(d->notes,
                      "(no room in the context: it has %lld tokens, the line %lld more, the limit is %d; the line is "
                      "ignored, /reset starts a new conversation)\n",
                      (long long)t->n, (long long)count, d->target->n_ctx);
    return GEODEC_OK;
}

/* A turn with a chat format. The tokens of a program's conversation are made anew, those of a built-in format only when
 * turns are dropped. */
static geodec_status take_message(talk *t, const char *line, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t length = 0;
    bool fits = false;
    const char *const system = t->d->system;
    if (t->n_said == 0 && system) GEODEC_TRY(say(t, GEODEC_CHAT_SYSTEM, system, strlen(system), err));
    GEODEC_TRY(say(t, GEODEC_CHAT_USER, line, n, err));
    if (t->n > 0 && !geodec_chat_template_is_program(t->d->chat)) GEODEC_TRY(extend(t, &fits, err));
    if (!fits) GEODEC_TRY(render(t, &fits, err));
    if (!fits) {
        unsay(t, t->n_said - 1, 1);
        st = refuse(t, 0, err);
        goto done;
    }
    t->turns++;
    t->stopped = false;
    const int64_t begin = t->n;
    GEODEC_TRY(reply(t, err));
    GEODEC_TRY(geodec_tokenizer_decode(t->d->tokenizer, t->token + begin, t->n - begin, &text, &length, err));
    GEODEC_TRY(say(t, GEODEC_CHAT_ASSISTANT, text, length, err));
done:
    geodec_mem_free(text);
    return st;
}

/* A turn without a chat format. */
static geodec_status take_line(talk *t, const char *line, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t count = 0;
    GEODEC_TRY(encode(t, line, n, &ids, &count, err));
    if (t->n + count > t->d->target->n_ctx) {
        st = refuse(t, count, err);
        goto done;
    }
    if (count == 0) goto done;
    GEODEC_TRY(append(t, ids, count, err));
    t->turns++;
    t->stopped = false;
    GEODEC_TRY(reply(t, err));
done:
    geodec_mem_free(ids);
    return st;
}

static geodec_status take_turn(talk *t, const char *line, size_t n, geodec_err *err)
{
    const int64_t bad = geodec_file_utf8_check(line, n);
    if (bad >= 0) {
        (void)fprintf(t->d->notes, "(not UTF-8 at byte %lld; the line is ignored)\n", (long long)bad);
        return GEODEC_OK;
    }
    return t->d->chat ? take_message(t, line, n, err) : take_line(t, line, n, err);
}

geodec_status geodec_dialogue_run(const geodec_dialogue *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    talk t = {.d = d};
    char *line = NULL;
    size_t n = 0;
    if (d->terminal) {
        if (!d->read_line) (void)setvbuf(d->in, NULL, _IONBF, 0);
        (void)fputs("/reset starts a new conversation, /quit ends; an interrupt (Ctrl-C) ends a reply\n", d->notes);
    }
    for (;;) {
        geodec_mem_free(line);
        line = NULL;
        GEODEC_TRY(read_line(&t, &line, &n, err));
        if (!line || strcmp(line, "/quit") == 0) break;
        if (n == 0) continue;
        if (strcmp(line, "/reset") == 0)
            forget(&t);
        else if (line[0] == '/' && line[1] != '/')
            (void)fputs("(commands: /reset, /quit; start a line with // to send a line that starts with /)\n",
                        d->notes);
        else
            GEODEC_TRY(take_turn(&t, line + (line[0] == '/'), n - (line[0] == '/'), err));
    }
done:
    forget(&t);
    GEODEC_FREE(line, t.token, t.said);
    return st;
}

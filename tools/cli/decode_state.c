#include "cli/decode_state.h"

#include "base/mem.h"

#include <string.h>

static geodec_status take_prompt(decode_state *d, const int32_t *prompt, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_COPY(d->text.token, prompt, n);
    d->text.n = d->text.n_given = d->room = n;
done:
    return st;
}

static bool begins(const geodec_session_text *t, const int32_t *prompt, int64_t n)
{
    return n <= t->n && memcmp(t->token, prompt, (size_t)n * sizeof *prompt) == 0;
}

geodec_status decode_state_begin(decode_state *d, const cli *c, const int32_t *prompt, int64_t n, bool given,
                                 geodec_err *err)
{
    geodec_err why = {0};
    char line[512];
    if (!d->path) return GEODEC_OK;
    GEODEC_PASS(geodec_session_saves(d->session, err));
    const geodec_status st = geodec_session_load(d->session, d->path, &d->text, &why);
    if (st == GEODEC_OK && (!given || begins(&d->text, prompt, n))) {
        d->found = true;
        d->room = d->text.n;
        d->before = d->text.n - d->text.n_given;
        if (d->text.n > geodec_session_n_ctx(d->session))
            GEODEC_FAIL(GEODEC_LIMIT, "%s: the text of %lld tokens fills the context of %d", d->path,
                        (long long)d->text.n, geodec_session_n_ctx(d->session));
        if (c->verbose > 0) cli_say(c, "%s: goes on after %lld tokens", cli_base_name(d->path), (long long)d->text.n);
        return GEODEC_OK;
    }
    if (st == GEODEC_OK) {
        geodec_session_truncate(d->session, 0);
        geodec_mem_free(d->text.token);
        d->text = (geodec_session_text){0};
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN, "%s: a text that does not begin with this prompt; it is ignored",
                         d->path);
    } else if (st == GEODEC_FORMAT || st == GEODEC_VERSION || st == GEODEC_CHECKSUM) {
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN, "%s; it is ignored", geodec_err_line(&why, line, sizeof line));
    } else if (st != GEODEC_NOTFOUND) {
        if (err) *err = why;
        return st;
    }
    return take_prompt(d, prompt, n, err);
}

geodec_status decode_state_options(decode_state *d, geodec_drafter *drafter, geodec_decode_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *unknown = NULL;
    const int32_t length = d->path ? geodec_session_length(d->session) : 0;
    if (!d->found) return GEODEC_OK;
    o->before = d->before;
    if (length == 0 || (drafter && (drafter->ops->wants_state || drafter->ops->wants_top))) return GEODEC_OK;
    GEODEC_NEW(unknown, length);
    for (int32_t i = 0; i < length; i++) unknown[i] = -1;
    GEODEC_TRY(geodec_drafter_begin(drafter, err));
    const geodec_draft_rows rows = {.n = length, .token = d->text.token, .argmax = unknown};
    GEODEC_TRY(geodec_drafter_observe(drafter, &rows, err));
    o->cached = length;
done:
    geodec_mem_free(unknown);
    return st;
}

static geodec_status add(decode_state *d, int32_t token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_GROW(d->text.token, d->text.n, d->room, 1);
    d->text.token[d->text.n++] = token;
done:
    return st;
}

int decode_state_emit(void *ctx, int32_t token)
{
    decode_state *d = ctx;
    if (!d->failed) d->failed = add(d, token, NULL) != GEODEC_OK;
    return d->emit(d->ctx, token);
}

geodec_status decode_state_end(decode_state *d, const cli *c, geodec_status st, geodec_err *err)
{
    geodec_err why = {0};
    char line[512];
    if (!d->path || (st != GEODEC_OK && st != GEODEC_INTERRUPTED)) return st;
    /* the newest token has no row, so that a later run can forward it for its logits */
    geodec_session_truncate(d->session, (int32_t)(d->text.n - 1));
    geodec_status saved = GEODEC_NOMEM;
    if (!d->failed) saved = geodec_session_save(d->session, d->path, &d->text, st == GEODEC_OK ? err : &why);
    if (saved == GEODEC_OK) return st;
    if (d->failed)
        (void)geodec_err_set(st == GEODEC_OK ? err : &why, saved, __func__, __LINE__, "%s: no memory", d->path);
    if (st == GEODEC_OK) return saved;
    geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN, "%s", geodec_err_line(&why, line, sizeof line));
    return st;
}

void decode_state_clear(decode_state *d) { geodec_mem_free(d->text.token); }

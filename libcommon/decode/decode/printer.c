#include "decode/printer.h"

#include "base/mem.h"
#include "decode/stoptext.h"

#include <string.h>

struct geodec_printer {
    geodec_detok detok;
    geodec_stoptext *stop; /* NULL = none */
    char *piece, *out;
    char last; /* last byte written */
    bool ended, stopped;
    FILE *to;
    /* with stop texts: bytes passed on, and where each token of the output ends in the bytes fed */
    int64_t passed, fed, *end, n, room;
};

static void put(geodec_printer *p, const char *bytes, size_t n)
{
    if (n == 0) return;
    p->last = bytes[n - 1];
    if (fwrite(bytes, 1, n, p->to) != n) p->ended = true; /* the caller reports the error when it closes the stream */
}

static void put_piece(geodec_printer *p, size_t n)
{
    if (!p->stop) {
        put(p, p->piece, n);
        return;
    }
    size_t n_out = 0;
    p->stopped = geodec_stoptext_feed(p->stop, p->piece, n, p->out, &n_out);
    p->ended = p->stopped || p->ended;
    p->passed += (int64_t)n_out;
    p->fed += (int64_t)n;
    put(p, p->out, n_out);
}

geodec_status geodec_printer_open(const geodec_tokenizer *t, const int32_t *prompt, int64_t n, bool echo,
                                  const char *const *stop, int n_stop, FILE *to, geodec_printer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_printer *p = NULL;
    const int64_t room = (int64_t)geodec_decode_room(t);
    GEODEC_NEW(p, 1);
    p->last = '\n';
    p->to = to;
    GEODEC_NEW(p->piece, room);
    if (n_stop > 0) GEODEC_TRY(geodec_stoptext_create(stop, n_stop, &p->stop, err));
    GEODEC_NEW(p->out, room + (p->stop ? (int64_t)geodec_stoptext_room(p->stop) : 0));
    geodec_decode_init(&p->detok, t);
    for (int64_t i = 0; i < n; i++) {
        const size_t k = geodec_decode_feed(&p->detok, prompt[i], p->piece);
        if (echo) put(p, p->piece, k);
    }
    GEODEC_MOVE(*out, p);
done:
    geodec_printer_close(p);
    return st;
}

static geodec_status note_end(geodec_printer *p)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = NULL;
    GEODEC_GROW(p->end, p->n, p->room, 1);
    p->end[p->n++] = p->fed;
done:
    return st;
}

int64_t geodec_printer_before_stop(const geodec_printer *p)
{
    int64_t n = p->n;
    if (!p->stopped) return -1;
    while (n > 0 && p->end[n - 1] > p->passed) n--;
    return n;
}

int geodec_printer_emit(void *ctx, int32_t token)
{
    geodec_printer *p = ctx;
    put_piece(p, geodec_decode_feed(&p->detok, token, p->piece));
    if (p->stop && note_end(p) != GEODEC_OK) p->ended = true;
    return p->ended;
}

void geodec_printer_flush(void *ctx)
{
    geodec_printer *p = ctx;
    if (fflush(p->to) != 0) p->ended = true;
}

void geodec_printer_end(geodec_printer *p)
{
    /* an unfinished character is shown, not written byte by byte: another run may finish it */
    if (geodec_decode_flush(&p->detok, p->piece) > 0) {
        memcpy(p->piece, "\xef\xbf\xbd", 3);
        put_piece(p, 3);
    }
    if (p->stop) put(p, p->out, geodec_stoptext_flush(p->stop, p->out));
    if (p->last != '\n') put(p, "\n", 1);
    geodec_printer_flush(p);
}

void geodec_printer_close(geodec_printer *p)
{
    if (!p) return;
    geodec_stoptext_destroy(p->stop);
    GEODEC_FREE(p->piece, p->out, p->end, p);
}

#include "cli/line_editor.h"

#include "base/mem.h"
#include "cli/report.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum { LINE_MAX = 16 << 20, HISTORY = 1000, POLL_MS = 200, REPLACEMENT = 0xfffd };

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

struct line_editor {
    EditLine *el;
    HistoryW *history;
    FILE *out;
    int kept; /* a byte that was read too early; -1: none */
    /* Why the line that is read ended early. */
    bool interrupted;
    geodec_status st;
    geodec_err *err;
    wchar_t *pasted;
    int64_t room;
    struct sigaction window, quit; /* of the program */
};

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t resized, suspended;
static struct termios own; /* of the terminal, before the first line */

static void on_window(int sig)
{
    (void)sig;
    resized = 1;
}

static void on_suspend(int sig)
{
    (void)sig;
    suspended = 1;
}

/* The process ends as by default, and leaves the terminal as it was. */
static void on_quit(int sig)
{
    (void)!write(STDERR_FILENO, PASTE_OFF, sizeof PASTE_OFF - 1);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &own);
    signal(sig, SIG_DFL);
    (void)raise(sig);
}

static void handle(int sig, void (*handler)(int), struct sigaction *before)
{
    struct sigaction a = {0};
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART;
    sigaction(sig, &a, before);
    if (before && before->sa_handler == SIG_IGN) sigaction(sig, before, NULL);
}

static void paste_mode(const line_editor *e, const char *mode)
{
    (void)fputs(mode, e->out);
    (void)fflush(e->out);
}

/* Stops within a line; the shell has the terminal meanwhile. */
static void suspend(const line_editor *e)
{
    suspended = 0;
    paste_mode(e, PASTE_OFF);
    el_wset(e->el, EL_PREP_TERM, 0);
    signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    handle(SIGTSTP, on_suspend, NULL);
    el_wset(e->el, EL_PREP_TERM, 1);
    paste_mode(e, PASTE_ON);
    el_wset(e->el, EL_REFRESH);
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

static int failed(line_editor *e, geodec_status st, const char *what)
{
    e->st = geodec_err_set(e->err, st, __func__, __LINE__, "standard input: %s", what);
    return -1;
}

/* 1: a byte; 0: the end of the input; -1: the line ends, by an interrupt or an error. The time limit is for a signal
 * that arrives just before poll. */
static int next_byte(line_editor *e, unsigned char *c)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (e->kept >= 0) {
        *c = (unsigned char)e->kept;
        e->kept = -1;
        return 1;
    }
    for (;;) {
        if (report_turn_stopped() || report_stop_asked()) e->interrupted = true;
        if (e->interrupted || e->st != GEODEC_OK) return -1;
        if (suspended) suspend(e);
        if (resized) {
            resized = 0;
            el_resize(e->el);
            (void)fputs("\r\033[J", e->out);
            el_wset(e->el, EL_REFRESH);
        }
        const int got = poll(&ready, 1, POLL_MS);
        if (got == 0 || (got < 0 && errno == EINTR)) continue;
        const ssize_t n = got < 0 ? -1 : read(STDIN_FILENO, c, 1);
        if (n >= 0) return (int)n;
        if (errno != EINTR && errno != EAGAIN) return failed(e, GEODEC_IO, strerror(errno));
    }
}

/* As next_byte, of UTF-8 in any locale; what is not UTF-8 gives U+FFFD. */
static int next_char(line_editor *e, wchar_t *out)
{
    static const wchar_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char c;
    int got = next_byte(e, &c);
    if (got != 1) return got;
    const int more = c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 0;
    wchar_t value = more ? c & (0x3f >> more) : c < 0x80 ? c : REPLACEMENT;
    for (int i = 0; i < more; i++) {
        got = next_byte(e, &c);
        if (got != 1) return got;
        if ((c & 0xc0) != 0x80) {
            e->kept = c;
            *out = REPLACEMENT;
            return 1;
        }
        value = value << 6 | (c & 0x3f);
    }
    *out = value < least[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? REPLACEMENT : value;
    return 1;
}

static int on_char(EditLine *el, wchar_t *c)
{
    line_editor *e = NULL;
    el_wget(el, EL_CLIENTDATA, &e);
    return next_char(e, c);
}

/* ---- a paste ----------------------------------------------------------------------------------------------------- */

/* The text up to the end of the paste, in e->pasted, zero-terminated. Terminals send CR for line ends. */
static geodec_status collect(line_editor *e, geodec_err *err)
{
    static const wchar_t end[] = L"\033[201~";
    enum { END = sizeof end / sizeof *end - 1 };
    geodec_status st = GEODEC_OK;
    int64_t n = 0;
    bool after_cr = false;
    for (;;) {
        wchar_t c;
        if (next_char(e, &c) != 1) GEODEC_THROW(GEODEC_INTERRUPTED, "interrupted");
        const bool second = after_cr && c == L'\n';
        after_cr = c == L'\r';
        if (second || c == L'\0') continue;
        if (n >= LINE_MAX) GEODEC_THROW(GEODEC_LIMIT, "standard input: a paste of more than %d characters", LINE_MAX);
        GEODEC_GROW(e->pasted, n, e->room, 2);
        e->pasted[n++] = after_cr ? L'\n' : c;
        e->pasted[n] = L'\0';
        if (n >= END && wmemcmp(e->pasted + n - END, end, END) == 0) break;
    }
    e->pasted[n - END] = L'\0';
done:
    return st;
}

/* The key that begins a paste. */
static unsigned char on_paste(EditLine *el, wint_t key)
{
    line_editor *e = NULL;
    geodec_err err = {0};
    (void)key;
    el_wget(el, EL_CLIENTDATA, &e);
    const geodec_status st = collect(e, &err);
    if (st == GEODEC_INTERRUPTED) return CC_NORM; /* the next read of a key ends the line, too */
    if (st == GEODEC_OK && (!e->pasted[0] || el_winsertstr(el, e->pasted) == 0)) return CC_REFRESH;
    e->st = st == GEODEC_OK ? GEODEC_NOMEM : st;
    if (st == GEODEC_OK) (void)geodec_err_set(e->err, e->st, __func__, __LINE__, "no memory for a paste");
    if (st != GEODEC_OK && e->err) *e->err = err;
    return CC_NORM;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static wchar_t *prompt(EditLine *el)
{
    static wchar_t text[] = L"> ";
    (void)el;
    return text;
}

/* libedit shows characters as the locale has them. */
static void choose_locale(void)
{
    if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
    (void)!setlocale(LC_CTYPE, "C.UTF-8");
}

static geodec_status set_up(line_editor *e, geodec_err *err)
{
    HistEventW event;
    e->el = el_init("geodec-decode", stdin, e->out, e->out);
    e->history = history_winit();
    if (!e->el || !e->history) GEODEC_FAIL(GEODEC_NOMEM, "the line editor cannot be opened");
    history_w(e->history, &event, H_SETSIZE, HISTORY);
    history_w(e->history, &event, H_SETUNIQUE, 1);
    el_wset(e->el, EL_CLIENTDATA, e);
    el_wset(e->el, EL_GETCFN, on_char);
    el_wset(e->el, EL_PROMPT, prompt);
    el_wset(e->el, EL_HIST, history_w, e->history);
    el_wset(e->el, EL_EDITOR, L"emacs");
    el_wset(e->el, EL_ADDFN, L"geodec-paste", L"Insert pasted text", on_paste);
    el_wset(e->el, EL_BIND, L"^R", L"em-inc-search-prev", NULL);
    (void)el_source(e->el, NULL); /* the user's ~/.editrc, if there is one */
    el_wset(e->el, EL_BIND, L"\\e[200~", L"geodec-paste", NULL);
    return GEODEC_OK;
}

geodec_status line_editor_open(line_editor **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    line_editor *e = NULL;
    const char *const term = getenv("TERM");
    *out = NULL;
    if (!isatty(STDERR_FILENO) || !term || !*term || strcmp(term, "dumb") == 0) return st;
    if (tcgetattr(STDIN_FILENO, &own) != 0) return st;
    GEODEC_NEW(e, 1);
    e->kept = -1;
    const int copy = dup(STDERR_FILENO);
    e->out = copy < 0 ? NULL : fdopen(copy, "w");
    if (!e->out && copy >= 0) close(copy);
    if (!e->out) GEODEC_THROW(GEODEC_IO, "standard error: %s", strerror(errno));
    choose_locale();
    GEODEC_TRY(set_up(e, err));
    handle(SIGWINCH, on_window, &e->window);
    handle(SIGQUIT, on_quit, &e->quit);
    report_restore(PASTE_OFF);
    paste_mode(e, PASTE_ON);
    *out = e;
    e = NULL;
done:
    if (e && e->el) el_end(e->el);
    if (e && e->history) history_wend(e->history);
    if (e && e->out) (void)fclose(e->out);
    geodec_mem_free(e);
    return st;
}

void line_editor_close(line_editor *e)
{
    if (!e) return;
    paste_mode(e, PASTE_OFF);
    report_restore(NULL);
    el_end(e->el);
    history_wend(e->history);
    sigaction(SIGWINCH, &e->window, NULL);
    sigaction(SIGQUIT, &e->quit, NULL);
    (void)fclose(e->out);
    GEODEC_FREE(e->pasted, e);
}

static size_t put_utf8(char *to, wchar_t c)
{
    const unsigned long u = (unsigned long)c;
    const int more = u < 0x80 ? 0 : u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(lead[more] | u >> (6 * more));
    for (int i = 1; i <= more; i++) to[i] = (char)(0x80 | (u >> (6 * (more - i)) & 0x3f));
    return (size_t)more + 1;
}

/* The line for the program and for the history. */
static geodec_status take(const line_editor *e, const wchar_t *text, int64_t n, char **line, size_t *length,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    HistEventW event;
    wchar_t *kept = NULL;
    char *out = NULL;
    size_t at = 0;
    while (n > 0 && text[n - 1] == L'\n') n--;
    GEODEC_NEW(kept, n + 1);
    GEODEC_NEW(out, 4 * n + 1);
    if (n > 0) wmemcpy(kept, text, (size_t)n);
    for (int64_t i = 0; i < n; i++) at += put_utf8(out + at, text[i]);
    if (n > 0) history_w(e->history, &event, H_ENTER, kept);
    *length = at;
    GEODEC_MOVE(*line, out);
done:
    GEODEC_FREE(kept, out);
    return st;
}

geodec_status line_editor_read(void *editor, char **line, size_t *n, geodec_err *err)
{
    line_editor *e = editor;
    struct sigaction stop;
    for (;;) {
        int count = 0;
        *line = NULL;
        e->interrupted = false;
        e->st = GEODEC_OK;
        e->err = err;
        handle(SIGTSTP, on_suspend, &stop);
        errno = 0;
        const wchar_t *const text = el_wgets(e->el, &count);
        sigaction(SIGTSTP, &stop, NULL);
        if (e->st != GEODEC_OK) return e->st;
        if (e->interrupted && report_stop_asked()) {
            (void)fputs("\n", e->out);
            GEODEC_FAIL(GEODEC_INTERRUPTED, "interrupted");
        }
        if (e->interrupted) {
            (void)fputs("\n(/quit or end of input ends)\n", e->out);
            continue;
        }
        if (text && count > 0) return take(e, text, count, line, n, err);
        (void)fputs("\n", e->out);
        return GEODEC_OK;
    }
}

#include "cli/live.h"

#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_ROWS = 4, LEAST_COLUMNS = 20, MOST_COLUMNS = 400, ROOM = MOST_COLUMNS + 64 };

volatile sig_atomic_t live_kept;
static struct winsize size;

static void put(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

static bool same_terminal(void)
{
    struct stat out, err;
    return isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

static bool measured(struct winsize *w)
{
    return ioctl(STDERR_FILENO, TIOCGWINSZ, w) == 0 && w->ws_row >= LEAST_ROWS && w->ws_col >= LEAST_COLUMNS;
}

/* Lines 1 .. rows - 1 scroll; the cursor stays. */
static void keep_last(void)
{
    char text[64];
    (void)snprintf(text, sizeof text, "\0337\033[1;%dr\0338", size.ws_row - 1);
    put(text);
}

void live_begin(void)
{
    const char *term = getenv("TERM");
    if (live_kept || !same_terminal() || !term || !*term || strcmp(term, "dumb") == 0 || !measured(&size)) return;
    (void)fflush(stdout);
    put("\n"); /* the cursor leaves the last line */
    keep_last();
    put("\033[A");
    live_kept = 1;
}

void live_line(const char *text)
{
    char out[ROOM];
    struct winsize now;
    if (!live_kept) {
        if (isatty(STDOUT_FILENO) != 1) report_live(text);
        return;
    }
    if (!measured(&now)) return;
    if (now.ws_row != size.ws_row) {
        size = now;
        keep_last();
    }
    int n = snprintf(out, sizeof out, "\0337\033[%d;1H\033[K", now.ws_row);
    const int most = now.ws_col - 1 < MOST_COLUMNS ? now.ws_col - 1 : MOST_COLUMNS;
    for (int i = 0; i < most && text[i]; i++)
        out[n++] = (char)((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
    (void)snprintf(out + n, sizeof out - (size_t)n, "\0338");
    put(out);
}

void live_end(void)
{
    char text[64];
    if (!live_kept) return;
    (void)fflush(stdout);
    (void)snprintf(text, sizeof text, "\0337\033[r\033[%d;1H\033[K\0338", size.ws_row);
    put(text);
    live_kept = 0;
}

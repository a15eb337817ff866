#include "cli/report.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_asked, turn_stopped;
static bool line_open, silent;
static const char *tool_name;

static void on_stop(int sig)
{
    (void)sig;
    stop_asked = 1;
}

void report_signals(void)
{
    struct sigaction a = {0};
    a.sa_handler = on_stop;
    a.sa_flags = (int)SA_RESETHAND; /* a second signal ends the process at once */
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the write, not the end */
}

static void on_turn_stop(int sig)
{
    (void)sig;
    turn_stopped = 1;
}

void report_turns(void)
{
    struct sigaction a = {0}; /* no SA_RESTART: a read that waits for a line comes back */
    a.sa_handler = on_turn_stop;
    sigaction(SIGINT, &a, NULL);
}

bool report_turn_stopped(void)
{
    const bool stopped = turn_stopped != 0;
    turn_stopped = 0;
    return stopped;
}

bool report_stop_asked(void) { return stop_asked != 0; }

void report_progress_end(void)
{
    if (!line_open) return;
    fprintf(stderr, "\r\033[K");
    line_open = false;
}

static void on_log(void *ctx, geodec_log_level level, const char *line)
{
    static const char *const mark[] = {"error: ", "warning: ", "", ""};
    const int64_t *verbose = ctx;
    if (level == GEODEC_LOG_DEBUG && *verbose < 1) return;
    report_progress_end();
    fprintf(stderr, "%s: %s%s\n", tool_name, mark[level], line);
}

/* Without a terminal, or with --quiet, it only asks whether to stop. */
static int on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx;
    static double last;
    const double now = geodec_clock_seconds();
    if (!silent && now - last > 0.2) {
        last = now;
        if (total > 0)
            fprintf(stderr, "\r\033[K%s: %s %lld/%lld (%.0f %%)", tool_name, what, (long long)done, (long long)total,
                    100.0 * (double)done / (double)total);
        else
            fprintf(stderr, "\r\033[K%s: %s %lld", tool_name, what, (long long)done);
        fflush(stderr);
        line_open = true;
    }
    return stop_asked;
}

geodec_hooks report_hooks(const char *tool, bool quiet, int64_t verbose)
{
    static int64_t level;
    level = verbose;
    tool_name = tool;
    silent = quiet || !isatty(STDERR_FILENO);
    return (geodec_hooks){&level, quiet ? NULL : on_log, on_progress};
}

void report_error(const char *tool, const geodec_err *err, int64_t verbose)
{
    char text[2048];
    report_progress_end();
    fprintf(stderr, "%s: %s\n", tool, geodec_err_line(err, text, sizeof text));
    if (verbose >= 2) fprintf(stderr, "%s", geodec_err_trace(err, text, sizeof text));
}

int report_close(const char *tool, int code)
{
    const int failed = ferror(stdout) != 0;
    if (fclose(stdout) != 0 || failed) {
        if (errno == EPIPE) return code;
        fprintf(stderr, "%s: cannot write standard output: %s\n", tool, strerror(errno));
        return code ? code : 1;
    }
    return code;
}

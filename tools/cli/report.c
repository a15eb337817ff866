#include "cli/report.h"

#include "base/clock.h"
#include "base/mapped.h"
#include "base/memory_limit.h"
#include "cli/live.h"
#include "cli/ranks.h"
#include "io/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t stop_asked, turn_stopped;
static bool line_open, terminal;
static const char *tool_name = "";

static void on_stop(int sig)
{
    (void)sig;
    stop_asked = 1;
}

/* The reader of standard output has gone: the process ends as by default, without partial outputs. */
static void on_broken_pipe(int sig)
{
    geodec_mapped_partial_unlink();
    signal(sig, SIG_DFL);
    (void)raise(sig);
}

void report_signals(void)
{
    struct sigaction a = {0};
    a.sa_handler = on_stop;
    a.sa_flags = (int)SA_RESETHAND; /* a second signal ends the process at once */
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, on_broken_pipe);
    signal(SIGXFSZ, SIG_IGN); /* the write returns the error */
}

/* The next file that is opened would take the number of a closed stream, and messages would be written into it. Reading
 * from and writing to these replacements fails as on a closed stream. */
void report_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static void on_turn_stop(int sig)
{
    (void)sig;
    turn_stopped = 1;
}

void report_turns(void)
{
    struct sigaction a = {0};
    a.sa_handler = on_turn_stop;
    a.sa_flags = SA_RESTART; /* a write to a terminal that is slow continues: stdio would lose the rest */
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
    if ((level == GEODEC_LOG_DEBUG && *verbose < 1) || (level >= GEODEC_LOG_INFO && ranks_silent())) return;
    report_progress_end();
    fprintf(stderr, "%s: %s%s\n", tool_name, mark[level], line);
}

static void (*noted)(char *text, size_t n);

void report_note(void (*note)(char *text, size_t n)) { noted = note; }

void report_live(const char *text)
{
    if (!terminal) return;
    fprintf(stderr, "\r\033[K%s: %s", tool_name, text);
    fflush(stderr);
    line_open = true;
}

static int on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx;
    static double last;
    char note[200] = "";
    const double now = geodec_clock_seconds();
    if (terminal && now - last > 0.2 && !ranks_silent()) {
        last = now;
        if (total > 0)
            fprintf(stderr, "\r\033[K%s: %s %lld/%lld (%.0f %%)", tool_name, what, (long long)done, (long long)total,
                    100.0 * (double)done / (double)total);
        else
            fprintf(stderr, "\r\033[K%s: %s %lld", tool_name, what, (long long)done);
        if (noted) noted(note, sizeof note);
        if (note[0]) fprintf(stderr, "; %s", note);
        fflush(stderr);
        line_open = true;
    }
    return stop_asked;
}

static int on_quiet_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx;
    (void)what;
    (void)done;
    (void)total;
    return stop_asked;
}

geodec_hooks report_hooks(const char *tool, bool quiet, int64_t verbose)
{
    static int64_t level;
    level = verbose;
    tool_name = tool;
    return (geodec_hooks){&level, quiet ? NULL : on_log, quiet ? on_quiet_progress : on_progress};
}

void report_error(const char *tool, const geodec_err *err, int64_t verbose)
{
    char text[2048];
    report_progress_end();
    fprintf(stderr, "%s: %s\n", tool, geodec_err_line(err, text, sizeof text));
    if (verbose >= 2) fprintf(stderr, "%s", geodec_err_trace(err, text, sizeof text));
}

static atomic_bool ends; /* the program ends by its own decision */

int report_close(const char *tool, int code)
{
    atomic_store(&ends, true);
    const int failed = ferror(stdout) != 0;
    if (fclose(stdout) != 0 || failed) {
        if (code || errno == EPIPE) return code; /* a failure has had its line */
        fprintf(stderr, "%s: cannot write standard output: %s\n", tool, strerror(errno));
        return geodec_status_exit(stop_asked ? GEODEC_INTERRUPTED : GEODEC_IO);
    }
    return code;
}

/* ---- files that cause a fault ---------------------------------------------------------------------------------- */

enum { ALTERNATE_STACK = 1 << 16, REFUSED = 3 };
#define STRUCTURE_BYTES ((rlim_t)1 << 30) /* of memory for the structure of an HDF5 file and its largest chunk */

/* The file that HDF5 is reading, and the thread that reads it. */
static char reading[GEODEC_MAPPED_NAME];
static atomic_bool is_reading;
static pthread_t reader;
static struct rlimit before;
static bool bounded;

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* Appends text to a line, with control characters as '?'. */
static size_t add_line(char *line, size_t n, size_t room, const char *text)
{
    for (; *text && n + 1 < room; text++)
        line[n++] = (char)((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
    return n;
}

static const char *volatile restore;

void report_restore(const char *text) { restore = text; }

/* Calls async-signal-safe functions only. */
static void end(const char *file, const char *what, int code)
{
    static atomic_flag once = ATOMIC_FLAG_INIT;
    char line[GEODEC_MAPPED_NAME + 256];
    size_t n = 0;
    while (atomic_flag_test_and_set(&once)) (void)pause(); /* another thread is ending the process */
    if (terminal) {                                        /* a progress line may be open */
        memcpy(line, "\r\033[K", 4);
        n = 4;
    }
    if (live_kept) {
        memcpy(line + n, LIVE_RELEASE, sizeof LIVE_RELEASE - 1);
        n += sizeof LIVE_RELEASE - 1;
    }
    for (const char *c = restore; c && *c && n < sizeof line / 2; c++) line[n++] = *c;
    n = add_line(line, n, sizeof line, tool_name);
    n = add_line(line, n, sizeof line, ": ");
    n = add_line(line, n, sizeof line, file);
    n = add_line(line, n, sizeof line, what);
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n);
    geodec_mapped_partial_unlink();
    _exit(code);
}

/* HDF5 does not bear a lack of memory everywhere: within a limit, its crash says nothing about the file. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    struct stat now;
    size_t size = 0;
    (void)context;
    const char *file = sig == SIGBUS ? geodec_mapped_find(info->si_addr, &size) : NULL;
    if (file) {
        const bool shorter = stat(file, &now) == 0 && (size_t)now.st_size < size;
        end(file, shorter ? ": the file was truncated while it was read" : ": the file can no longer be read", 1);
    }
    if (atomic_load(&is_reading) && pthread_equal(pthread_self(), reader) && geodec_memory_limit_address_space())
        end(reading, ": the HDF5 library fails on it within the limit of memory, or the file is damaged", 1);
    if (atomic_load(&is_reading) && pthread_equal(pthread_self(), reader))
        end(reading, ": the file is damaged, the HDF5 library fails on it", REFUSED);
    if (geodec_memory_limit_address_space() &&
        (sig == SIGSEGV || sig == SIGABRT)) /* HDF5 while it writes, and a stack that cannot grow */
        end("", "a library failed within the limit of memory", 1);
    signal(sig, SIG_DFL); /* the same instruction faults again; abort() raises again */
}

static void on_unsafe(const char *what) { end("within the limit of memory, HDF5 failed: ", what, 1); }

/* HDF5 calls exit where it has no memory for its identifiers. Children of fork have their own ends. */
static pid_t process;
static void on_exit_of_library(void)
{
    if (!atomic_load(&ends) && getpid() == process && geodec_memory_limit_address_space())
        end("", "a library failed within the limit of memory", 1);
}

void report_exit(int code)
{
    atomic_store(&ends, true);
    exit(code);
}

/* ---- while HDF5 reads -------------------------------------------------------------------------------------------- */

/* Private writable memory of the process, in bytes; 0 if unknown. */
static rlim_t data_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%*s %*s %*s %*s %*s %llu", &pages) != 1) pages = 0;
    (void)fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void enter(const char *path, bool few)
{
    (void)snprintf(reading, sizeof reading, "%s", path);
    reader = pthread_self();
    atomic_store(&is_reading, true);
    if (!few || getrlimit(RLIMIT_DATA, &before) != 0) return;
    const rlim_t now = data_bytes();
    struct rlimit limit = before;
    if (now == 0 || now > RLIM_INFINITY - STRUCTURE_BYTES || before.rlim_cur < now + STRUCTURE_BYTES) return;
    limit.rlim_cur = now + STRUCTURE_BYTES;
    bounded = setrlimit(RLIMIT_DATA, &limit) == 0;
}

static void leave(void)
{
    atomic_store(&is_reading, false);
    if (bounded) (void)setrlimit(RLIMIT_DATA, &before);
    bounded = false;
}

void report_guard(const char *tool)
{
    static char stack[ALTERNATE_STACK]; /* for the first thread; its own stack may be exhausted by HDF5 */
    static const geodec_io_guard guard = {enter, leave};
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGABRT, SIGILL};
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction a = {0};
    tool_name = tool;
    terminal = isatty(STDERR_FILENO) == 1;
    (void)sigaltstack(&alternate, NULL);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &a, NULL);
    geodec_io_set_guard(&guard);
    geodec_io_set_unsafe(on_unsafe);
    process = getpid();
    (void)atexit(on_exit_of_library);
}

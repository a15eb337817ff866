#include "cli/guard.h"

#include "base/mapped.h"
#include "io/h5.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALTERNATE_STACK = 1 << 16, REFUSED = 3 };
#define STRUCTURE_BYTES ((rlim_t)1 << 30) /* of memory, for the structure of an HDF5 file and its largest chunk */

static const char *tool_name = "";
static bool terminal;

/* The file that HDF5 reads now, and the thread in which it does. */
static char reading[GEODEC_MAPPED_NAME];
static atomic_bool is_reading;
static pthread_t reader;
static struct rlimit before;
static bool bounded;

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* Adds text to a line, control characters as '?'. */
static size_t add_text(char *line, size_t n, size_t room, const char *text)
{
    for (; *text && n + 1 < room; text++)
        line[n++] = (char)((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
    return n;
}

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
    n = add_text(line, n, sizeof line, tool_name);
    n = add_text(line, n, sizeof line, ": ");
    n = add_text(line, n, sizeof line, file);
    n = add_text(line, n, sizeof line, what);
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n);
    geodec_mapped_partial_unlink();
    _exit(code);
}

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
    if (atomic_load(&is_reading) && pthread_equal(pthread_self(), reader))
        end(reading, ": the file is damaged, the HDF5 library fails on it", REFUSED);
    signal(sig, SIG_DFL); /* the same instruction faults again; abort() raises again */
}

/* ---- while HDF5 reads -------------------------------------------------------------------------------------------- */

/* Private writable memory of the process, in bytes; 0 when the system does not say. */
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

void guard_install(const char *tool)
{
    static char stack[ALTERNATE_STACK]; /* of the first thread: HDF5's own may be used up */
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
}

/* Runs a command and disturbs one of its system calls on files. The calls are counted by ptrace and seccomp, so that
 * those of the C library's streams, of HDF5 and of every thread are seen; a preloaded library sees only some of them.
 *
 *   inject [-d FOLDER].. [-k KINDS] [-n N [-m M]] [-f FAULT] [-l LOG] -- COMMAND..
 *
 * Counted are calls on files below the FOLDERs (paths without links) and on relative paths. Kinds: open, read, write,
 * sync, name (rename, link, unlink), map; the default is all. The N-th call of the kinds, and each M-th after it, is
 * disturbed:
 *   kill       the whole process group ends by SIGKILL before the call
 *   short      a read or write transfers half of the bytes, at least one
 *   do:SHELL   the shell command runs while the process waits, then the call goes on
 *   enospc eio eintr emfile enomem erofs edquot   the call does nothing and returns that error
 * LOG gets a line for each counted call: its number, kind and file. Status: that of the command, 128 + n after a
 * signal n, 125 for an error of this program, 77 on processors other than x86-64. */
#define _GNU_SOURCE
#include <stdio.h>

#if !defined __x86_64__
int main(void)
{
    fprintf(stderr, "inject: only for x86-64\n");
    return 77;
}
#else

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BY_FD, BY_PATH, BY_PATH_AT }; /* where a call names its file */
enum { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, NAME = 16, MAP = 32, ALL = 63 };
enum { PLAIN, BYTES, VECTOR }; /* what "short" changes: the third argument as bytes or as a number of pieces */

static const struct call {
    long number;
    int kind, by, at, size; /* at: index of the argument */
} calls[] = {
    {SYS_open, OPEN, BY_PATH, 0, PLAIN},        {SYS_openat, OPEN, BY_PATH_AT, 1, PLAIN},
    {SYS_creat, OPEN, BY_PATH, 0, PLAIN},       {SYS_read, READ, BY_FD, 0, BYTES},
    {SYS_pread64, READ, BY_FD, 0, BYTES},       {SYS_readv, READ, BY_FD, 0, VECTOR},
    {SYS_preadv, READ, BY_FD, 0, VECTOR},       {SYS_write, WRITE, BY_FD, 0, BYTES},
    {SYS_pwrite64, WRITE, BY_FD, 0, BYTES},     {SYS_writev, WRITE, BY_FD, 0, VECTOR},
    {SYS_pwritev, WRITE, BY_FD, 0, VECTOR},     {SYS_ftruncate, WRITE, BY_FD, 0, PLAIN},
    {SYS_fallocate, WRITE, BY_FD, 0, PLAIN},    {SYS_fsync, SYNC, BY_FD, 0, PLAIN},
    {SYS_fdatasync, SYNC, BY_FD, 0, PLAIN},     {SYS_rename, NAME, BY_PATH, 0, PLAIN},
    {SYS_renameat, NAME, BY_PATH_AT, 1, PLAIN}, {SYS_renameat2, NAME, BY_PATH_AT, 1, PLAIN},
    {SYS_link, NAME, BY_PATH, 0, PLAIN},        {SYS_linkat, NAME, BY_PATH_AT, 1, PLAIN},
    {SYS_unlink, NAME, BY_PATH, 0, PLAIN},      {SYS_unlinkat, NAME, BY_PATH_AT, 1, PLAIN},
    {SYS_mmap, MAP, BY_FD, 4, PLAIN},
};
enum { N_CALLS = sizeof calls / sizeof *calls, FOLDERS = 8 };

static const struct word {
    const char *name;
    int value;
} kinds[] = {{"open", OPEN}, {"read", READ}, {"write", WRITE}, {"sync", SYNC}, {"name", NAME}, {"map", MAP}},
  errors[] = {{"enospc", ENOSPC}, {"eio", EIO},     {"eintr", EINTR},  {"emfile", EMFILE},
              {"enomem", ENOMEM}, {"erofs", EROFS}, {"edquot", EDQUOT}};

static const char *folder[FOLDERS], *fault = "";
static int n_folders, wanted = ALL;
static long first, step, counted;
static FILE *log_file;
static pid_t child;

static int usage(const char *what)
{
    fprintf(stderr, "inject: %s\n", what);
    return 125;
}

static int fault_error(void)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(fault, errors[i].name) == 0) return errors[i].value;
    return 0;
}

static const char *kind_name(int kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].value == kind) return kinds[i].name;
    return "?";
}

static unsigned long long argument(const struct user_regs_struct *r, int i)
{
    const unsigned long long all[] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
    return all[i];
}

/* Reads a string of the process, page by page. */
static void read_text(pid_t pid, unsigned long long from, char *text, size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    while (n + 1 < room) {
        size_t part = 4096 - (size_t)((from + n) % 4096);
        if (part > room - 1 - n) part = room - 1 - n;
        struct iovec here = {text + n, part}, there = {(void *)(uintptr_t)(from + n), part};
        const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0) break;
        if (memchr(text + n, '\0', (size_t)got)) return;
        n += (size_t)got;
    }
    text[n] = '\0';
}

static bool in_folders(const char *path)
{
    for (int i = 0; i < n_folders; i++) {
        const size_t n = strlen(folder[i]);
        if (strncmp(path, folder[i], n) == 0 && (path[n] == '/' || path[n] == '\0')) return true;
    }
    return false;
}

/* Whether the call is counted, and the name of its file. */
static bool in_scope(pid_t pid, const struct call *c, const struct user_regs_struct *r, char path[PATH_MAX])
{
    if (c->by == BY_FD) {
        const int fd = (int)argument(r, c->at);
        char link[64];
        if (fd < 0) return false;
        (void)snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
        const ssize_t n = readlink(link, path, PATH_MAX - 1);
        if (n < 0) return false;
        path[n] = '\0';
        return in_folders(path);
    }
    read_text(pid, argument(r, c->at), path, PATH_MAX);
    return path[0] && (path[0] != '/' || in_folders(path));
}

static void skip_call(pid_t pid, struct user_regs_struct *r, int error)
{
    r->orig_rax = (unsigned long long)-1;
    r->rax = (unsigned long long)-(long long)error;
    (void)ptrace(PTRACE_SETREGS, pid, NULL, r);
}

static void disturb(pid_t pid, const struct call *c, struct user_regs_struct *r)
{
    if (strcmp(fault, "kill") == 0) {
        (void)kill(-child, SIGKILL);
    } else if (strncmp(fault, "do:", 3) == 0) {
        if (system(fault + 3) == -1) (void)usage("cannot run a shell");
    } else if (strcmp(fault, "short") == 0) {
        if (c->size == PLAIN || r->rdx < 2) return;
        r->rdx = c->size == BYTES ? r->rdx / 2 : 1;
        (void)ptrace(PTRACE_SETREGS, pid, NULL, r);
    } else if (fault_error()) {
        /* Linux interrupts no ftruncate of a file, and HDF5 does not repeat it. */
        if (fault_error() == EINTR && c->kind == WRITE && c->size == PLAIN) return;
        skip_call(pid, r, fault_error());
    }
}

static void on_call(pid_t pid)
{
    struct user_regs_struct r;
    char path[PATH_MAX];
    const struct call *c = NULL;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) return;
    for (int i = 0; i < N_CALLS; i++)
        if (calls[i].number == (long)r.orig_rax) c = &calls[i];
    if (!c || !(c->kind & wanted) || !in_scope(pid, c, &r, path)) return;
    counted++;
    if (log_file) fprintf(log_file, "%ld\t%s\t%s\n", counted, kind_name(c->kind), path);
    if (first > 0 && (counted == first || (step > 0 && counted > first && (counted - first) % step == 0)))
        disturb(pid, c, &r);
}

static int become(char **command)
{
    struct sock_filter code[N_CALLS + 3];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < N_CALLS; i++, n++)
        code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number,
                                               (unsigned char)(N_CALLS - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    const struct sock_fprog program = {(unsigned short)n, code};
    (void)setpgid(0, 0);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return usage("ptrace is not allowed");
    (void)raise(SIGSTOP);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return usage("seccomp is not allowed");
    (void)execvp(command[0], command);
    return usage("cannot run the command");
}

static int watch(void)
{
    int status, result = 125;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 125;
    (void)ptrace(PTRACE_SETOPTIONS, child, NULL,
                 PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC);
    (void)ptrace(PTRACE_CONT, child, NULL, NULL);
    for (;;) {
        const pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) return result; /* all have ended */
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == child) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        const int event = status >> 16, sig = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) on_call(pid);
        /* A new thread begins with SIGSTOP; that and the stops of events are not signals to deliver. */
        (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)(event || sig == SIGSTOP || sig == SIGTRAP ? 0 : sig));
    }
}

static bool parse_kinds(char *text)
{
    wanted = 0;
    for (char *w = strtok(text, ","); w; w = strtok(NULL, ",")) {
        int value = 0;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (strcmp(w, kinds[i].name) == 0) value = kinds[i].value;
        if (!value) return false;
        wanted |= value;
    }
    return wanted != 0;
}

int main(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "+d:k:n:m:f:l:")) != -1;) {
        if (o == 'd' && n_folders < FOLDERS)
            folder[n_folders++] = optarg;
        else if (o == 'k') {
            if (!parse_kinds(optarg)) return usage("-k: open,read,write,sync,name,map");
        } else if (o == 'n')
            first = atol(optarg);
        else if (o == 'm')
            step = atol(optarg);
        else if (o == 'f')
            fault = optarg;
        else if (o == 'l') {
            if (!(log_file = fopen(optarg, "we"))) return usage("cannot write the log");
        } else
            return usage("see the head of inject.c");
    }
    if (optind == argc) return usage("no command");
    if (first > 0 && strcmp(fault, "kill") != 0 && strcmp(fault, "short") != 0 && strncmp(fault, "do:", 3) != 0 &&
        !fault_error())
        return usage("-f: unknown fault");
    child = fork();
    if (child < 0) return usage("cannot fork");
    if (child == 0) _exit(become(argv + optind));
    const int result = watch();
    if (log_file) (void)fclose(log_file);
    return result;
}
#endif

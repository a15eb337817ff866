/* Atomic outputs and bounded inputs. */
#include "base/mem.h"
#include "io/atomic.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static geodec_err err;

static void put(const char *path, const char *text)
{
    geodec_atomic *f = NULL;
    test_ok(geodec_atomic_open(path, &f, &err), &err);
    test_ok(geodec_atomic_write(f, text, strlen(text), &err), &err);
    test_ok(geodec_atomic_commit(f, &err), &err);
}

static void check_holds(const char *path, const char *wanted)
{
    char *text = NULL;
    size_t n = 0;
    test_ok(geodec_file_read(path, 1 << 20, &text, &n, &err), &err);
    cr_assert_str_eq(text, wanted);
    cr_assert_eq(n, strlen(wanted));
    geodec_mem_free(text);
}

Test(atomic, target_changes_at_commit_only)
{
    const char *path = test_tmp("x.txt");
    geodec_atomic *f = NULL;
    put(path, "old");
    test_ok(geodec_atomic_open(path, &f, &err), &err);
    test_ok(geodec_atomic_write(f, "new text", 8, &err), &err);
    check_holds(path, "old");
    test_ok(geodec_atomic_commit(f, &err), &err);
    check_holds(path, "new text");
    cr_assert_eq(test_other_files(path), 0);
}

Test(atomic, abandon_leaves_nothing)
{
    const char *path = test_tmp("x.txt");
    geodec_atomic *f = NULL;
    test_ok(geodec_atomic_open(path, &f, &err), &err);
    test_ok(geodec_atomic_write(f, "abc", 3, &err), &err);
    geodec_atomic_abandon(f);
    geodec_atomic_abandon(NULL);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(test_other_files(path), 0);
}

Test(atomic, a_second_writer_is_refused_and_the_first_is_not_harmed)
{
    const char *path = test_tmp("x.txt");
    geodec_atomic *f = NULL, *g = NULL;
    test_ok(geodec_atomic_open(path, &f, &err), &err);
    cr_assert_eq(geodec_atomic_open(path, &g, &err), GEODEC_EXISTS);
    test_ok(geodec_atomic_write(f, "first", 5, &err), &err);
    test_ok(geodec_atomic_commit(f, &err), &err);
    check_holds(path, "first");
    put(path, "second");
    check_holds(path, "second");
}

Test(atomic, a_killed_writer_leaves_the_target_and_the_next_run_goes_through)
{
    const char *path = test_tmp("x.txt");
    put(path, "old");
    const pid_t child = fork();
    if (child == 0) {
        geodec_atomic *f = NULL;
        if (geodec_atomic_open(path, &f, NULL) != GEODEC_OK || geodec_atomic_write(f, "half", 4, NULL) != GEODEC_OK)
            _exit(1);
        (void)fflush(geodec_atomic_stream(f));
        (void)raise(SIGKILL);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    check_holds(path, "old");
    cr_assert_eq(test_other_files(path), 1, "the killed run's temporary file");
    put(path, "new");
    check_holds(path, "new");
    cr_assert_eq(test_other_files(path), 0);
}

Test(atomic, links_are_followed_and_devices_and_folders_refused)
{
    const char *path = test_tmp("real.txt"), *link = test_tmp("link.txt");
    geodec_atomic *f = NULL;
    struct stat sb;
    put(path, "old");
    cr_assert_eq(symlink(path, link), 0);
    put(link, "through the link");
    check_holds(path, "through the link");
    cr_assert(lstat(link, &sb) == 0 && S_ISLNK(sb.st_mode));
    cr_assert_eq(geodec_atomic_open("/dev/null", &f, &err), GEODEC_IO);
    cr_assert_eq(geodec_atomic_open(test_tmpdir(), &f, &err), GEODEC_IO);
    cr_assert_eq(geodec_atomic_open("", &f, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_atomic_open(test_tmp("no/such/folder"), &f, &err), GEODEC_NOTFOUND);
    cr_assert(stat("/dev/null", &sb) == 0 && S_ISCHR(sb.st_mode));
}

Test(atomic, a_full_disk_fails_at_commit_and_leaves_the_target)
{
    const char *path = test_tmp("x.txt");
    char block[1000];
    memset(block, 'x', sizeof block);
    put(path, "old");
    (void)signal(SIGXFSZ, SIG_IGN); /* writes then fail with EFBIG */
    const struct rlimit small = {8000, 8000};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    geodec_atomic *f = NULL;
    geodec_status st = geodec_atomic_open(path, &f, &err);
    for (int i = 0; i < 20; i++) {
        const geodec_status ignored = geodec_atomic_write(f, block, sizeof block, &err);
        (void)ignored; /* commit must notice even if the caller did not */
    }
    st = geodec_atomic_commit(f, &err);
    cr_assert_eq(st, GEODEC_IO);
    check_holds(path, "old");
    cr_assert_eq(test_other_files(path), 0);
}

Test(atomic, a_read_only_folder_is_refused)
{
    enum { NOBODY = 65534 };
    const char *folder = test_tmp("locked"), *path = test_tmp("locked/x.txt");
    geodec_atomic *f = NULL;
    cr_assert_eq(mkdir(folder, 0555), 0);
    const bool root = geteuid() == 0; /* who may write anywhere, so another tries */
    if (root) cr_assert(chmod(test_tmpdir(), 0755) == 0 && seteuid(NOBODY) == 0);
    const geodec_status st = geodec_atomic_open(path, &f, &err);
    if (root) cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(st, GEODEC_IO);
}

Test(file, map_and_digest)
{
    const char *path = test_tmp("abc");
    char hex[GEODEC_SHA256_HEX];
    geodec_file_map m;
    put(path, "abc");
    test_ok(geodec_file_map_open(path, &m, &err), &err);
    cr_assert(m.size == 3 && memcmp(m.data, "abc", 3) == 0);
    geodec_file_map_close(&m);
    test_ok(geodec_file_sha256(path, hex, &err), &err);
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    put(path, "");
    test_ok(geodec_file_map_open(path, &m, &err), &err);
    cr_assert(m.size == 0 && !m.data);
    geodec_file_map_close(&m);
}

Test(file, refusals_name_the_file)
{
    const char *pipe_path = test_tmp("pipe");
    char line[512], hex[GEODEC_SHA256_HEX], *text;
    size_t n;
    geodec_file_map m;
    cr_assert_eq(geodec_file_map_open(test_tmp("missing"), &m, &err), GEODEC_NOTFOUND);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "missing"));
    cr_assert_eq(geodec_file_map_open(test_tmpdir(), &m, &err), GEODEC_IO);
    cr_assert_eq(geodec_file_read(test_tmpdir(), 10, &text, &n, &err), GEODEC_IO);
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    cr_assert_eq(geodec_file_map_open(pipe_path, &m, &err), GEODEC_IO, "a pipe is refused, not waited for");
    cr_assert_eq(geodec_file_sha256(pipe_path, hex, &err), GEODEC_IO);
}

Test(file, read_is_bounded)
{
    const char *path = test_tmp("big");
    char *big = geodec_mem_new(200001, 1), *text = NULL;
    size_t n;
    memset(big, 'y', 200000);
    put(path, big);
    test_ok(geodec_file_read(path, 200000, &text, &n, &err), &err);
    cr_assert(n == 200000 && text[n] == '\0');
    geodec_mem_free(text);
    cr_assert_eq(geodec_file_read(path, 199999, &text, &n, &err), GEODEC_LIMIT);
    /* the same through a pipe, where the size is not known before */
    char name[64];
    FILE *p = popen("head -c 200000 /dev/zero", "r");
    cr_assert_not_null(p);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fileno(p));
    test_ok(geodec_file_read(name, 200000, &text, &n, &err), &err);
    cr_assert_eq(n, 200000);
    geodec_mem_free(text);
    (void)pclose(p);
    p = popen("head -c 200000 /dev/zero", "r");
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fileno(p));
    cr_assert_eq(geodec_file_read(name, 199999, &text, &n, &err), GEODEC_LIMIT);
    (void)pclose(p);
    geodec_mem_free(big);
}

Test(file, utf8)
{
    static const struct {
        const char *text;
        int64_t at;
    } cases[] = {
        {"", -1},
        {"plain", -1},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", -1},
        {"\xf4\x8f\xbf\xbf", -1},
        {"ab\xc3", 2},           /* cut */
        {"a\x80", 1},            /* continuation alone */
        {"\xc0\xaf", 0},         /* overlong */
        {"\xe0\x9f\xbf", 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 0}, /* overlong */
        {"x\xed\xa0\x80", 1},    /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* above U+10FFFF */
        {"\xe2\x82\xac\xe2\x82", 3},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_eq(geodec_file_utf8_check(cases[i].text, strlen(cases[i].text)), cases[i].at, "case %zu", i);
}

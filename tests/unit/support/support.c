#include "support/support.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths live until the process ends; the chain keeps them reachable, so the leak checker sees real leaks only. */
typedef struct path_link {
    struct path_link *next;
    char text[];
} path_link;
static path_link *paths;

static char *join(const char *a, const char *b)
{
    const size_t n = strlen(a) + strlen(b) + 2;
    path_link *p = malloc(sizeof *p + n);
    if (!p) abort();
    p->next = paths;
    paths = p;
    (void)snprintf(p->text, n, "%s/%s", a, b);
    return p->text;
}

/* The files of the shared folder that are in the repository. */
static const struct {
    const char *shared, *here;
} stand_ins[] = {{"golden/ott", "tests/golden/published"},
                 {"golden/llama/", "tests/golden/llama"},
                 {"golden/perspective/", "tests/golden/perspective"},
                 {"models/", "tests/golden/models"},
                 {"models/", "data/model"}};

/* A line "suite/name" of the running test in the file that scripts/run-tests names. */
static void note_reader(void)
{
    const char *list = getenv("GEODEC_TEST_READERS");
    FILE *f = list && criterion_current_test ? fopen(list, "ae") : NULL;
    if (!f) return;
    (void)fprintf(f, "%s/%s\n", criterion_current_test->category, criterion_current_test->name);
    (void)fclose(f);
}

const char *test_find(const char *relative)
{
    note_reader();
    const char *root = getenv("GEODEC_SHARED"), *path = join(root ? root : "../shared", relative);
    if (access(path, R_OK) == 0) return path;
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        const size_t n = strlen(stand_ins[i].shared);
        if (strncmp(relative, stand_ins[i].shared, n) != 0) continue;
        path = join(stand_ins[i].here, relative + n);
        if (access(path, R_OK) == 0) return path;
    }
    return NULL;
}

const char *test_shared(const char *relative)
{
    const char *path = test_find(relative);
    if (!path) cr_skip_test("%s is not there (set GEODEC_SHARED)", relative);
    return path;
}

const char *test_golden(const char *relative)
{
    const char *path = join("tests/golden", relative);
    if (access(path, R_OK) != 0) path = join("data", relative);
    cr_assert(access(path, R_OK) == 0, "%s is in neither tests/golden nor data", relative);
    return path;
}

static char tmpdir[4096];
static pid_t tmpdir_owner;

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
    (void)sb;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tmpdir(void)
{
    if (tmpdir[0] && getpid() == tmpdir_owner) (void)nftw(tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_tmpdir(void)
{
    if (!tmpdir[0] || tmpdir_owner != getpid()) {
        const char *base = getenv("TMPDIR");
        (void)snprintf(tmpdir, sizeof tmpdir, "%s/geodec-test-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(tmpdir)) abort();
        tmpdir_owner = getpid();
        (void)atexit(remove_tmpdir);
    }
    return tmpdir;
}

const char *test_tmp(const char *name) { return join(test_tmpdir(), name); }

double test_max_abs_diff(const double *a, const double *b, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        if (!(d <= m)) m = isnan(d) ? INFINITY : d;
    }
    return m;
}

double test_max_abs(const double *a, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fabs(a[i]) > m ? fabs(a[i]) : m;
    return m;
}

float test_max_abs_diff_f32(const float *a, const float *b, int64_t n)
{
    float m = 0;
    for (int64_t i = 0; i < n; i++) {
        float d = fabsf(a[i] - b[i]);
        if (!(d <= m)) m = isnan(d) ? INFINITY : d;
    }
    return m;
}

void test_ok_at(geodec_status st, const geodec_err *err, const char *file, int line)
{
    char text[1024] = "";
    if (st != GEODEC_OK && err) (void)geodec_err_line(err, text, sizeof text);
    cr_assert(st == GEODEC_OK, "%s:%d: status %s: %s", file, line, geodec_status_name(st), text);
}

double *test_npy(const char *path, int64_t shape[8], int *ndim)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    unsigned char head[10];
    char *text = NULL;
    double *out = NULL;
    if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY\x01", 7) != 0) goto done;
    const size_t n = (size_t)head[8] | (size_t)head[9] << 8;
    text = calloc(n + 1, 1);
    if (!text || fread(text, 1, n, f) != n) goto done;
    const char *descr = strstr(text, "'descr': '"), *dims = strstr(text, "'shape': (");
    if (!descr || !dims || strstr(text, "'fortran_order': True")) goto done;
    const char kind = descr[11], width = descr[12];
    int64_t total = 1;
    *ndim = 0;
    for (char *p = strchr(text, '(') + 1; *p && *p != ')' && *ndim < 8;) {
        shape[*ndim] = strtoll(p, &p, 10);
        total *= shape[(*ndim)++];
        while (*p == ',' || *p == ' ') p++;
    }
    (void)dims;
    out = geodec_mem_new(total, sizeof *out);
    for (int64_t i = 0; out && i < total; i++) {
        unsigned char raw[8] = {0};
        if (fread(raw, 1, (size_t)(width - '0'), f) != (size_t)(width - '0')) {
            geodec_mem_free(out);
            out = NULL;
            break;
        }
        if (kind == 'f' && width == '4') {
            float v;
            memcpy(&v, raw, 4);
            out[i] = (double)v;
        } else if (kind == 'f') {
            memcpy(&out[i], raw, 8);
        } else if (width == '1') {
            out[i] = raw[0];
        } else if (width == '4') {
            int32_t v;
            memcpy(&v, raw, 4);
            out[i] = v;
        } else {
            int64_t v;
            memcpy(&v, raw, 8);
            out[i] = (double)v;
        }
    }
done:
    free(text);
    (void)fclose(f);
    return out;
}

int test_other_files(const char *path)
{
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    cr_assert_not_null(slash);
    *slash = '\0';
    DIR *d = opendir(folder);
    cr_assert_not_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, slash + 1) != 0) n++;
    (void)closedir(d);
    return n;
}

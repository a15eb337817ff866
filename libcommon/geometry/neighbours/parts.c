#include "base/mem.h"
#include "base/sha256.h"
#include "io/atomic.h"
#include "io/regular.h"
#include "neighbours/parts_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 512, KEY = 200, BLOCK = 1 << 16, WINDOW = 1 << 16 };

static geodec_status path_of(const char *folder, int64_t slab, const char *suffix, char **out, geodec_err *err)
{
    return geodec_mem_print(out, err, "%s/slab-%05lld%s", folder, (long long)slab, suffix);
}

/* The header without its digest. */
static int head(char text[HEADER], const char *key, int64_t slab, int64_t n, int64_t k)
{
    memset(text, 0, HEADER);
    return snprintf(text, HEADER,
                    "geodec neighbours part 1\nkey %.*s\nslab %" PRId64 " rows %" PRId64 " k %" PRId64 "\n", (int)KEY,
                    key, slab, n, k);
}

static int64_t payload(int64_t n, int64_t k) { return n * (4 + 12 * k); }

geodec_status geodec__parts_write(const char *folder, const char *key, int64_t slab, const geodec__part *p,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL, *claim = NULL, text[HEADER], hex[GEODEC_SHA256_HEX];
    geodec_atomic *f = NULL;
    geodec_sha256 h;
    const struct {
        const void *data;
        int64_t bytes;
    } piece[] = {{p->row, p->n * 4}, {p->index, p->n * p->k * 4}, {p->dist2, p->n * p->k * 8}};
    GEODEC_TRY(path_of(folder, slab, "", &path, err));
    GEODEC_TRY(path_of(folder, slab, ".rank", &claim, err));
    geodec_sha256_init(&h);
    for (int i = 0; i < 3; i++) geodec_sha256_update(&h, piece[i].data, (size_t)piece[i].bytes);
    geodec_sha256_hex(&h, hex);
    const int n = head(text, key, slab, p->n, p->k);
    (void)snprintf(text + n, (size_t)(HEADER - n), "sha256 %s\n", hex);
    GEODEC_TRY(geodec_atomic_open(path, &f, err));
    GEODEC_TRY(geodec_atomic_write(f, text, HEADER, err));
    for (int i = 0; i < 3; i++) GEODEC_TRY(geodec_atomic_write(f, piece[i].data, (size_t)piece[i].bytes, err));
    geodec_atomic *whole = f;
    f = NULL;
    GEODEC_TRY(geodec_atomic_commit(whole, err));
    (void)unlink(claim);
done:
    geodec_atomic_abandon(f);
    GEODEC_FREE(path, claim);
    return st;
}

geodec_status geodec__parts_claim(const char *folder, int64_t slab, const geodec_comm *comm, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *claim = NULL;
    GEODEC_TRY(path_of(folder, slab, ".rank", &claim, err));
    FILE *f = fopen(claim, "w");
    if (!f) GEODEC_THROW(GEODEC_IO, "%s: %s", claim, strerror(errno));
    const int bad = fprintf(f, "rank %d of %d on %.200s\n", geodec_comm_rank(comm), geodec_comm_size(comm),
                            geodec_comm_host(comm)) < 0;
    if (fclose(f) != 0 || bad) GEODEC_THROW(GEODEC_IO, "%s: %s", claim, strerror(errno));
done:
    geodec_mem_free(claim);
    return st;
}

/* The name of the rank in a claim, without its line end; false if there is none. */
static bool read_claim(FILE *f, char *who, size_t n)
{
    if (!fgets(who, (int)n, f)) return false;
    who[strcspn(who, "\n")] = '\0';
    return who[0] != '\0';
}

void geodec__parts_held(const char *folder, const geodec_hooks *hooks)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    if (!d) return;
    while ((e = readdir(d)) != NULL) {
        long long slab;
        int length = 0;
        char who[256], part[64];
        if (sscanf(e->d_name, "slab-%9lld.rank%n", &slab, &length) != 1 || length == 0 || e->d_name[length]) continue;
        (void)snprintf(part, sizeof part, "slab-%05lld", slab);
        if (faccessat(dirfd(d), part, F_OK, 0) == 0) continue; /* finished, and killed before its claim was removed */
        const int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
        if (!f) {
            if (fd >= 0) (void)close(fd);
            continue;
        }
        if (read_claim(f, who, sizeof who))
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "slab %lld was in the hands of %s", slab, who);
        (void)fclose(f);
    }
    (void)closedir(d);
}

/* Reads exactly n bytes; false at the end of the file or on an error. */
static bool read_all(int fd, void *to, int64_t n, int64_t at)
{
    return geodec_regular_read(&(geodec_regular){.path = "part", .fd = fd}, at, to, n, NULL) == GEODEC_OK;
}

static bool digest_fits(int fd, int64_t bytes, const char *hex, uint8_t *block)
{
    char own[GEODEC_SHA256_HEX];
    geodec_sha256 h;
    geodec_sha256_init(&h);
    for (int64_t at = 0; at < bytes; at += BLOCK) {
        const int64_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
        if (!read_all(fd, block, n, HEADER + at)) return false;
        geodec_sha256_update(&h, block, (size_t)n);
    }
    geodec_sha256_hex(&h, own);
    return strncmp(own, hex, GEODEC_SHA256_HEX - 1) == 0;
}

/* Sizes of an open part of this search; false for anything else. */
static bool sizes_of(int fd, int64_t slab, int64_t k, char text[HEADER + 1], int64_t *n)
{
    struct stat s;
    char own[HEADER];
    int64_t rows = -1;
    if (!read_all(fd, text, HEADER, 0)) return false;
    text[HEADER] = '\0';
    const char *line = strstr(text, "\nslab ");
    if (!line || sscanf(line, "\nslab %*9d rows %10" SCNd64, &rows) != 1 || rows < 0 || rows > INT32_MAX) return false;
    const char *key = strstr(text, "\nkey ");
    if (!key) return false;
    char name[KEY + 1];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(key + 5, "\n"), key + 5);
    const int length = head(own, name, slab, rows, k);
    *n = rows;
    return length > 0 && strncmp(own, text, (size_t)length) == 0 && strncmp(text + length, "sha256 ", 7) == 0 &&
           fstat(fd, &s) == 0 && s.st_size == HEADER + payload(rows, k);
}

static geodec_status look(const char *folder, const char *key, int64_t slab, int64_t k, bool replace, uint8_t *block,
                          uint8_t *done, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL, *claim = NULL, text[HEADER + 1], want[HEADER], who[256];
    int64_t n;
    int fd = -1;
    GEODEC_TRY(path_of(folder, slab, "", &path, err));
    GEODEC_TRY(path_of(folder, slab, ".rank", &claim, err));
    *done = 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const bool whole = sizes_of(fd, slab, k, text, &n);
        const int length = whole ? head(want, key, slab, n, k) : 0;
        if (whole && strncmp(text, want, (size_t)length) != 0 && !replace)
            GEODEC_THROW(GEODEC_CHECKSUM, "%s is of other points or options; --force replaces it", path);
        *done = whole && strncmp(text, want, (size_t)length) == 0 &&
                digest_fits(fd, payload(n, k), text + length + 7, block);
        if (!*done && !replace) geodec_hooks_log(hooks, GEODEC_LOG_WARN, "%s is damaged and is made again", path);
    }
    FILE *f = fopen(claim, "r");
    if (f) {
        if (!*done && read_claim(f, who, sizeof who))
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "slab %lld was not finished by %s", (long long)slab, who);
        (void)fclose(f);
        (void)unlink(claim);
    }
done:
    if (fd >= 0) (void)close(fd);
    GEODEC_FREE(path, claim);
    return st;
}

geodec_status geodec__parts_look(const char *folder, const char *key, int64_t slabs, int64_t k, bool replace,
                                 uint8_t *done, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *block = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", folder, strerror(errno));
    GEODEC_NEW(block, BLOCK);
    for (int64_t s = 0; s < slabs; s++) GEODEC_TRY(look(folder, key, s, k, replace, block, &done[s], hooks, err));
done:
    geodec_mem_free(block);
    return st;
}

void geodec_neighbours_parts_remove(const char *parts, int64_t query_slabs)
{
    static const char *const suffixes[] = {"", ".rank"};
    for (int64_t s = 0; s < query_slabs; s++)
        for (int i = 0; i < 2; i++) {
            char *path = NULL;
            if (path_of(parts, s, suffixes[i], &path, NULL) == GEODEC_OK) (void)unlink(path);
            geodec_mem_free(path);
        }
    (void)rmdir(parts);
}

/* ---- joining ---------------------------------------------------------------------------------------------------- */

typedef struct cursor {
    int fd;
    int64_t n, at;
} cursor;

typedef struct window {
    int64_t first, n, k, filled;
    int32_t *row, *index, *out_index; /* [WINDOW], [WINDOW][k] */
    double *dist2, *out_dist2;
} window;

/* Takes the part's rows within the window. */
static geodec_status take(cursor *c, window *w, const char *folder, int64_t slab, geodec_err *err)
{
    const int64_t k = w->k;
    while (c->at < c->n) {
        int64_t m = c->n - c->at < WINDOW ? c->n - c->at : WINDOW, n = 0;
        if (m > w->n) m = w->n;
        if (!read_all(c->fd, w->row, m * 4, HEADER + c->at * 4)) break;
        while (n < m && w->row[n] < w->first + w->n) n++;
        if (n == 0) return GEODEC_OK;
        if (!read_all(c->fd, w->index, n * k * 4, HEADER + c->n * 4 + c->at * k * 4) ||
            !read_all(c->fd, w->dist2, n * k * 8, HEADER + c->n * 4 * (1 + k) + c->at * k * 8))
            break;
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = w->row[i] - w->first;
            if (to < 0 || (i > 0 && w->row[i] <= w->row[i - 1]))
                GEODEC_FAIL(GEODEC_FORMAT, "%s/slab-%05lld: rows out of order", folder, (long long)slab);
            memcpy(w->out_index + to * k, w->index + i * k, (size_t)k * sizeof *w->index);
            memcpy(w->out_dist2 + to * k, w->dist2 + i * k, (size_t)k * sizeof *w->dist2);
        }
        w->filled += n;
        c->at += n;
        if (n < m) return GEODEC_OK;
    }
    if (c->at < c->n) GEODEC_FAIL(GEODEC_IO, "%s/slab-%05lld: cannot be read", folder, (long long)slab);
    return GEODEC_OK;
}

geodec_status geodec__parts_join(const char *folder, int64_t slabs, int64_t rows, int64_t k,
                                 geodec_neighbours_sink sink, void *ctx, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cursor *c = NULL;
    char *path = NULL, text[HEADER + 1];
    window w = {.k = k};
    GEODEC_NEW(c, slabs);
    for (int64_t s = 0; s < slabs; s++) c[s].fd = -1;
    GEODEC_NEW(w.row, WINDOW);
    GEODEC_NEW_EACH(WINDOW * k, w.index, w.out_index);
    GEODEC_NEW_EACH(WINDOW * k, w.dist2, w.out_dist2);
    for (int64_t s = 0; s < slabs; s++) {
        geodec_mem_free(path);
        path = NULL;
        GEODEC_TRY(path_of(folder, s, "", &path, err));
        c[s].fd = open(path, O_RDONLY | O_CLOEXEC);
        if (c[s].fd < 0) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
        if (!sizes_of(c[s].fd, s, k, text, &c[s].n)) GEODEC_THROW(GEODEC_FORMAT, "%s: not a part of this search", path);
    }
    for (; w.first < rows; w.first += w.n) {
        w.n = rows - w.first < WINDOW ? rows - w.first : WINDOW;
        w.filled = 0;
        GEODEC_TRY(geodec_hooks_progress(hooks, "joining slabs", w.first, rows, err));
        for (int64_t s = 0; s < slabs; s++) GEODEC_TRY(take(&c[s], &w, folder, s, err));
        if (w.filled != w.n) GEODEC_THROW(GEODEC_FORMAT, "%s: the parts do not have all rows", folder);
        GEODEC_TRY(sink(ctx, w.first, w.n, w.out_index, w.out_dist2, err));
    }
done:
    for (int64_t s = 0; c && s < slabs; s++)
        if (c[s].fd >= 0) (void)close(c[s].fd);
    GEODEC_FREE(c, path, w.row, w.index, w.out_index, w.dist2, w.out_dist2);
    return st;
}

#include "io/file.h"

#include "base/mapped.h"
#include "base/mem.h"
#include "io/digests.h"
#include "io/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BLOCK = 1 << 16, FAULT_AROUND = 1 << 16 };

/* extra: O_NONBLOCK if only a regular file is accepted, so that opening a named pipe does not block. */
static geodec_status open_for_read(const char *path, int extra, int *out, struct stat *sb, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | extra);
    if (fd < 0) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, sb) != 0) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(sb->st_mode)) GEODEC_THROW(GEODEC_IO, "%s: is a folder, not a file", path);
    GEODEC_TRY(geodec_inputs_note(path, fd, err));
    *out = fd;
    fd = -1;
done:
    if (fd >= 0) (void)close(fd);
    return st;
}

/* size < 0: the whole file. */
static geodec_status map_open(const char *path, int64_t offset, int64_t size, geodec_file_map *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int fd = -1;
    struct stat sb;
    GEODEC_TRY(open_for_read(path, O_NONBLOCK, &fd, &sb, err));
    if (!S_ISREG(sb.st_mode)) GEODEC_THROW(GEODEC_IO, "%s: not a regular file", path);
    if (size >= 0 && (offset < 0 || offset > sb.st_size || size > sb.st_size - offset))
        GEODEC_THROW(GEODEC_FORMAT, "%s: the file of %lld bytes has no %lld bytes at %lld", path, (long long)sb.st_size,
                     (long long)size, (long long)offset);
    if ((uint64_t)(size < 0 ? sb.st_size : size) > SIZE_MAX / 2)
        GEODEC_THROW(GEODEC_LIMIT, "%s: the file of %lld bytes is larger than the addresses of this program", path,
                     (long long)sb.st_size);
    geodec_file_map map = {NULL, (size_t)(size < 0 ? sb.st_size : size)};
    if (map.size) {
        void *p = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);
        if (p == MAP_FAILED) GEODEC_THROW(GEODEC_IO, "%s: cannot map: %s", path, strerror(errno));
        map.data = p;
        geodec_mapped_add(map.data, map.size, path);
    }
    *out = map;
done:
    if (fd >= 0) (void)close(fd);
    return st;
}

geodec_status geodec_file_map_open(const char *path, geodec_file_map *out, geodec_err *err)
{
    return map_open(path, 0, -1, out, err);
}

geodec_status geodec_file_map_part(const char *path, int64_t offset, int64_t size, geodec_file_map *out,
                                   geodec_err *err)
{
    return map_open(path, offset, size < 0 ? 0 : size, out, err);
}

/* Advises the kernel on the pages of n bytes at data; only pages within the map. */
static void advise(const geodec_file_map *m, const uint8_t *data, size_t n, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)m->data;
    if (n == 0 || data < m->data || n > m->size || (uintptr_t)data - base > m->size - n) return;
    const uintptr_t begin = ((uintptr_t)data - base) / page * page; /* a map begins on a page boundary */
    (void)madvise((void *)(base + begin), (uintptr_t)data - base - begin + n, advice);
}

/* The system also maps the neighbours of a page that is read, so they are released too. */
void geodec_file_map_release(const geodec_file_map *m, const uint8_t *data, size_t n)
{
    if (n == 0 || data < m->data || n > m->size || (size_t)(data - m->data) > m->size - n) return;
    const size_t at = (size_t)(data - m->data), before = at < FAULT_AROUND ? at : FAULT_AROUND;
    const size_t left = m->size - at - n, after = left < FAULT_AROUND ? left : FAULT_AROUND;
    advise(m, data - before, before + n + after, MADV_DONTNEED);
}
void geodec_file_map_sparse(const geodec_file_map *m, const uint8_t *data, size_t n)
{
    advise(m, data, n, MADV_RANDOM);
}

void geodec_file_map_close(geodec_file_map *m)
{
    if (!m || !m->data) return;
    geodec_mapped_remove(m->data);
    (void)munmap((void *)(uintptr_t)m->data, m->size);
    m->data = NULL;
    m->size = 0;
}

geodec_status geodec_file_read(const char *path, size_t limit, char **text, size_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int is_stdin = strcmp(path, "-") == 0;
    const char *const shown = is_stdin ? "standard input" : path;
    int fd = -1;
    char *buf = NULL;
    int64_t room = READ_BLOCK, used = 0;
    struct stat sb;
    if (!is_stdin) {
        GEODEC_TRY(open_for_read(path, 0, &fd, &sb, err));
        if (S_ISREG(sb.st_mode)) {
            if ((uint64_t)sb.st_size > limit)
                GEODEC_THROW(GEODEC_LIMIT, "%s: %lld bytes are above the limit of %zu", path, (long long)sb.st_size,
                             limit);
            room = (int64_t)sb.st_size + 2; /* one byte to detect the end, one for the terminating zero */
        }
    }
    GEODEC_NEW(buf, room);
    for (;;) {
        const ssize_t got = read(is_stdin ? STDIN_FILENO : fd, buf + used, (size_t)(room - used - 1));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) GEODEC_THROW(GEODEC_IO, "%s: %s", shown, strerror(errno));
        if (got == 0) break;
        used += got;
        if ((uint64_t)used > limit) GEODEC_THROW(GEODEC_LIMIT, "%s: above the limit of %zu bytes", shown, limit);
        if (used == room - 1) {
            char *more = geodec_mem_grow(buf, used, 2 * room, 1);
            if (!more) GEODEC_THROW(GEODEC_NOMEM, "%s: no memory for %lld bytes", shown, (long long)(2 * room));
            buf = more;
            room *= 2;
        }
    }
    buf[used] = '\0';
    *text = buf;
    *n = (size_t)used;
    buf = NULL;
done:
    geodec_mem_free(buf);
    if (fd >= 0) (void)close(fd);
    return st;
}

geodec_status geodec_file_sha256(const char *path, char hex[GEODEC_SHA256_HEX], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int fd = -1;
    uint8_t *buf = NULL;
    struct stat sb;
    geodec_sha256 h;
    GEODEC_TRY(open_for_read(path, O_NONBLOCK, &fd, &sb, err));
    if (!S_ISREG(sb.st_mode)) GEODEC_THROW(GEODEC_IO, "%s: not a regular file", path);
    if (geodec_digests_find(path, GEODEC_DIGEST_FILE, fd, hex)) goto done;
    GEODEC_NEW(buf, READ_BLOCK);
    geodec_sha256_init(&h);
    for (;;) {
        const ssize_t got = read(fd, buf, READ_BLOCK);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
        if (got == 0) break;
        geodec_sha256_update(&h, buf, (size_t)got);
    }
    geodec_sha256_hex(&h, hex);
    geodec_digests_add(path, GEODEC_DIGEST_FILE, fd, hex);
done:
    geodec_mem_free(buf);
    if (fd >= 0) (void)close(fd);
    return st;
}

size_t geodec_file_head(const char *path, void *to, size_t n)
{
    size_t got = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    while (got < n) {
        const ssize_t part = read(fd, (char *)to + got, n - got);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        got += (size_t)part;
    }
    (void)close(fd);
    return got;
}

/* Length of the valid sequence at s (n bytes left), or 0. Table 3-7 of the Unicode standard. */
static size_t utf8_sequence(const unsigned char *s, size_t n)
{
    const unsigned char c = s[0];
    if (c < 0x80) return 1;
    size_t length;
    unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */
    if (c >= 0xc2 && c <= 0xdf) {
        length = 2;
    } else if (c >= 0xe0 && c <= 0xef) {
        length = 3;
        if (c == 0xe0) low = 0xa0;  /* overlong */
        if (c == 0xed) high = 0x9f; /* surrogates */
    } else if (c >= 0xf0 && c <= 0xf4) {
        length = 4;
        if (c == 0xf0) low = 0x90;
        if (c == 0xf4) high = 0x8f; /* above U+10FFFF */
    } else {
        return 0;
    }
    if (n < length || s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return length;
}

int64_t geodec_file_utf8_check(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t length = utf8_sequence((const unsigned char *)text + i, n - i);
        if (!length) return (int64_t)i;
        i += length;
    }
    return -1;
}

/* The growing library in memory and its file: a ring of slots, each with its own digest. */
#include "flowmap/library.h"

#include "base/mem.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, HEX = GEODEC_SHA256_HEX - 1, CHUNK = 1024, HEAD = 256, SLOT_MAX = 80 };
static const char MARK[8] = {'g', 'e', 'o', 'd', 'e', 'c', 'F', 'G'};

static const int64_t BOUND_MIN = 64 << 10;

/* A record in memory, without its key. */
typedef struct ring_place {
    int64_t serial; /* -1 = free */
    int32_t before; /* place of the token's previous record, -1 = none */
    geodec_flowmap_library_record record;
} ring_place;

typedef struct library_file {
    int fd; /* -1 = none, or dropped */
    char *path;
    const geodec_hooks *hooks;
    uint8_t head[HEAD];
} library_file;

struct geodec_flowmap_library {
    const geodec_flowmap *map;
    int64_t bound, room; /* room: records of the ring */
    int64_t places;      /* number of places of the ring that are in memory */
    int64_t end, live, added, dropped;
    ring_place *place; /* [places] of serial % room */
    int8_t *key;       /* [places][dims] */
    int32_t *last;     /* [vocab] place of a token's newest record, -1 = none */
    library_file file;
};

/* ---- records in memory ------------------------------------------------------------------------------------------ */

uint8_t geodec_flowmap_library_mark(int32_t token)
{
    return (uint8_t)(1 + (((uint32_t)token * 2654435761U) >> 8) % 255);
}

/* Bytes of a slot. */
static int64_t slot_bytes(int64_t dims) { return (40 + dims + 8 + 7) / 8 * 8; }

/* Number of records that a bound allows. */
static int64_t room_of(const geodec_flowmap *map, int64_t bound)
{
    const int64_t memory = (int64_t)sizeof(ring_place) + map->dims, slot = slot_bytes(map->dims);
    const int64_t a = (bound - map->vocab * (int64_t)sizeof(int32_t)) / memory, b = (bound - HEAD) / slot,
                  room = a < b ? a : b;
    return room < INT32_MAX ? room : INT32_MAX;
}

geodec_flowmap_library_report geodec_flowmap_library_summary(const geodec_flowmap_library *g)
{
    return (geodec_flowmap_library_report){.records = g->live,
                                           .room = g->room,
                                           .added = g->added,
                                           .dropped = g->dropped,
                                           .bytes = g->places * ((int64_t)sizeof *g->place + g->map->dims) +
                                                    g->map->vocab * (int64_t)sizeof *g->last,
                                           .writing = g->file.fd >= 0};
}

int64_t geodec_flowmap_library_end(const geodec_flowmap_library *g) { return g->end; }

const geodec_flowmap_library_record *geodec_flowmap_library_get(const geodec_flowmap_library *g, int64_t serial)
{
    if (serial < 0 || serial >= g->end || g->end - serial > g->room) return NULL;
    const int64_t at = serial % g->room;
    return at < g->places && g->place[at].serial == serial ? &g->place[at].record : NULL;
}

/* NULL, or the error of a record. */
static const char *fault_of(const geodec_flowmap *map, const geodec_flowmap_library_record *r)
{
    const int64_t V = map->vocab;
    if (r->token < 0 || r->token >= V || r->label < 0 || r->label >= V || r->text < -1 || r->text >= V)
        return "a token outside the vocabulary";
    if (r->next < GEODEC_GROWN_NODE(map->nodes - 1)) return "a successor that does not exist";
    for (int64_t c = 0; c < map->dims; c++)
        if (r->key[c] < -64 || r->key[c] > 63) return "a key outside -64..63";
    return NULL;
}

static geodec_status make_places(geodec_flowmap_library *g, int64_t wanted, geodec_err *err)
{
    const int64_t r = g->map->dims;
    int64_t n = g->places ? 2 * g->places : 256;
    if (n < wanted) n = wanted;
    if (n > g->room) n = g->room;
    ring_place *place = geodec_mem_grow(g->place, g->places, n, sizeof *place);
    if (!place) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a library of %lld records", (long long)n);
    g->place = place;
    int8_t *key = geodec_mem_grow(g->key, g->places * r, n * r, 1);
    if (!key) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a library of %lld records", (long long)n);
    g->key = key;
    for (int64_t i = g->places; i < n; i++) place[i].serial = -1;
    g->places = n;
    return GEODEC_OK;
}

/* Stores a record at its place, in memory only. Serials must be ascending. */
static geodec_status put_record(geodec_flowmap_library *g, int64_t serial, const geodec_flowmap_library_record *r,
                                geodec_err *err)
{
    const int64_t at = serial % g->room;
    if (at >= g->places) GEODEC_PASS(make_places(g, at + 1, err));
    ring_place *p = &g->place[at];
    g->live += p->serial < 0;
    const int32_t last = g->last[r->token];
    /* the token's newest record may be the one that is removed */
    p->before = last >= 0 && last != at ? last : -1;
    p->serial = serial;
    p->record = *r;
    memcpy(g->key + at * g->map->dims, r->key, (size_t)g->map->dims);
    g->last[r->token] = (int32_t)at;
    g->end = serial + 1;
    return GEODEC_OK;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static int32_t get_i32(const uint8_t *at) { return (int32_t)(uint32_t)get(at, 4); }

/* First 8 bytes of the digest of salt (8 bytes, or NULL) and data. */
static uint64_t digest(const uint8_t *salt, const uint8_t *data, size_t n)
{
    geodec_sha256 h;
    char hex[GEODEC_SHA256_HEX];
    geodec_sha256_init(&h);
    if (salt) geodec_sha256_update(&h, salt, 8);
    geodec_sha256_update(&h, data, n);
    geodec_sha256_hex(&h, hex);
    hex[16] = 0;
    return strtoull(hex, NULL, 16);
}

static void make_head(const geodec_flowmap_library *g, const char *map_sha256, uint8_t *head)
{
    const char *const print[] = {g->map->model_fingerprint, g->map->tokenizer_fingerprint, map_sha256};
    memset(head, 0, HEAD);
    memcpy(head, MARK, sizeof MARK);
    put(head + 8, VERSION, 4);
    put(head + 12, (uint64_t)g->map->dims, 4);
    put(head + 16, (uint64_t)g->room, 8);
    put(head + 24, (uint64_t)g->bound, 8);
    put(head + 32, (uint64_t)g->map->vocab, 4);
    for (int i = 0; i < 3; i++) memcpy(head + 40 + i * HEX, print[i], strnlen(print[i], HEX));
    put(head + 248, digest(NULL, head, 248), 8);
}

static void make_slot(const geodec_flowmap_library *g, int64_t serial, const geodec_flowmap_library_record *r,
                      uint8_t *slot)
{
    const int64_t dims = g->map->dims;
    memset(slot, 0, (size_t)slot_bytes(dims));
    put(slot, (uint64_t)serial + 1, 8);
    put(slot + 8, (uint32_t)r->token, 4);
    put(slot + 12, (uint32_t)r->label, 4);
    put(slot + 16, (uint32_t)r->text, 4);
    put(slot + 24, (uint64_t)r->next, 8);
    memcpy(slot + 32, r->context, sizeof r->context);
    memcpy(slot + 40, r->key, (size_t)dims);
    put(slot + 40 + dims, digest(g->file.head + 248, slot, (size_t)(40 + dims)), 8);
}

static bool read_slot(const geodec_flowmap_library *g, int64_t at, const uint8_t *slot, int64_t *serial,
                      geodec_flowmap_library_record *r)
{
    const int64_t dims = g->map->dims;
    const uint64_t number = get(slot, 8);
    if (get(slot + 40 + dims, 8) != digest(g->file.head + 248, slot, (size_t)(40 + dims))) return false;
    if (number < 1 || number > (uint64_t)INT64_MAX / 2 || (int64_t)(number - 1) % g->room != at) return false;
    *serial = (int64_t)(number - 1);
    *r = (geodec_flowmap_library_record){.token = get_i32(slot + 8),
                                         .label = get_i32(slot + 12),
                                         .text = get_i32(slot + 16),
                                         .next = (int64_t)get(slot + 24, 8)};
    memcpy(r->context, slot + 32, sizeof r->context);
    memcpy(r->key, slot + 40, (size_t)dims);
    return !fault_of(g->map, r);
}

static geodec_status read_all(int fd, const char *path, uint8_t *to, size_t n, int64_t offset, size_t *got,
                              geodec_err *err)
{
    for (*got = 0; *got < n;) {
        const ssize_t k = pread(fd, to + *got, n - *got, offset + (int64_t)*got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) GEODEC_FAIL(GEODEC_IO, "%s: %s", path, strerror(errno));
        if (k == 0) break;
        *got += (size_t)k;
    }
    return GEODEC_OK;
}

/* 0, or the errno of the failed call. */
static int write_all(int fd, const uint8_t *from, size_t n, int64_t offset)
{
    for (size_t done = 0; done < n;) {
        const ssize_t k = pwrite(fd, from + done, n - done, offset + (int64_t)done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return k < 0 ? errno : ENOSPC;
        done += (size_t)k;
    }
    return 0;
}

static void give_up(geodec_flowmap_library *g, int e)
{
    geodec_hooks_log(g->file.hooks, GEODEC_LOG_WARN, "%s: %s; records so far are kept, further ones are not written",
                     g->file.path, strerror(e));
    (void)close(g->file.fd);
    g->file.fd = -1;
}

/* Writes one record; after a failure, which is a warning, no more records are written. */
static void write_record(geodec_flowmap_library *g, int64_t serial, const geodec_flowmap_library_record *r)
{
    uint8_t slot[SLOT_MAX];
    const int64_t bytes = slot_bytes(g->map->dims), at = HEAD + serial % g->room * bytes;
    struct stat sb;
    if (g->file.fd < 0) return;
    make_slot(g, serial, r, slot);
    int e = write_all(g->file.fd, slot, (size_t)bytes, at);
    if (e == 0) return;
    if (fstat(g->file.fd, &sb) == 0 && sb.st_size > at && sb.st_size < at + bytes && ftruncate(g->file.fd, at) != 0)
        e = errno; /* a partial slot remains; readers will skip it */
    give_up(g, e);
}

geodec_status geodec_flowmap_library_add(geodec_flowmap_library *g, const geodec_flowmap_library_record *r,
                                         geodec_err *err)
{
    const int64_t serial = g->end;
    const char *what = fault_of(g->map, r);
    if (what) GEODEC_FAIL(GEODEC_RANGE, "a record with %s", what);
    GEODEC_PASS(put_record(g, serial, r, err));
    g->added++;
    write_record(g, serial, r);
    return GEODEC_OK;
}

int32_t geodec_flowmap_library_nearest(const geodec_flowmap_library *g, int32_t token, const int8_t *key,
                                       int64_t before, int32_t k, geodec_flowmap_library_hit *hit)
{
    const int64_t r = g->map->dims;
    int32_t n = 0, seen = 0;
    int64_t newest = INT64_MAX;
    if (token < 0 || token >= g->map->vocab || k < 1) return 0;
    for (int32_t at = g->last[token]; at >= 0 && seen < GEODEC_GROWN_SCAN; at = g->place[at].before) {
        const ring_place *p = &g->place[at];
        if (p->serial >= newest || p->record.token != token) break; /* its place has been reused: the list ends */
        newest = p->serial;
        if (p->serial >= before) continue;
        const int8_t *x = g->key + at * r;
        int32_t d = 0;
        for (int64_t c = 0; c < r; c++) d += (x[c] - key[c]) * (x[c] - key[c]);
        seen++;
        if (n == k && d >= hit[n - 1].distance) continue;
        int32_t i = n < k ? n++ : n - 1;
        for (; i > 0 && hit[i - 1].distance > d; i--) hit[i] = hit[i - 1];
        hit[i] = (geodec_flowmap_library_hit){d, p->serial};
    }
    return n;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static geodec_status check_head(const uint8_t *head, const char *path, const geodec_flowmap *map,
                                const char *map_sha256, geodec_err *err)
{
    static const char *const what[] = {"another model", "another tokenizer", "another flow map"};
    const char *const print[] = {map->model_fingerprint, map->tokenizer_fingerprint, map_sha256};
    if (memcmp(head, MARK, sizeof MARK) != 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: no grown library", path);
    if (get(head + 248, 8) != digest(NULL, head, 248))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: the head of the library is damaged", path);
    if (get(head + 8, 4) != VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "%s: a grown library of version %d, not %d", path, get_i32(head + 8), VERSION);
    for (int i = 0; i < 3; i++) {
        char want[HEX] = {0};
        memcpy(want, print[i], strnlen(print[i], HEX));
        if (memcmp(head + 40 + i * HEX, want, HEX) != 0)
            GEODEC_FAIL(GEODEC_CHECKSUM, "%s: the library was grown with %s (%.12s..., not %.12s...)", path, what[i],
                        (const char *)head + 40 + i * HEX, print[i]);
    }
    if (get(head + 12, 4) != (uint64_t)map->dims || get(head + 32, 4) != (uint64_t)map->vocab)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: width of keys or vocabulary differ from the map's", path);
    const uint64_t bound = get(head + 24, 8), room = get(head + 16, 8);
    if (bound > (uint64_t)GEODEC_GROWN_BYTES_MAX || room < 1 || room != (uint64_t)room_of(map, (int64_t)bound))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: sizes that do not belong together", path);
    return GEODEC_OK;
}

/* Reads slots in the order of their serials, since the ring may begin anywhere. */
static geodec_status load(geodec_flowmap_library *g, int64_t size, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t bytes = slot_bytes(g->map->dims), slots = (size - HEAD) / bytes;
    const int64_t cut = (size - HEAD) % bytes;
    uint8_t *chunk = NULL;
    int64_t *serial = NULL, newest = -1, first = 0;
    geodec_flowmap_library_record r;
    if (slots > g->room || (slots == g->room && cut > 0))
        GEODEC_THROW(GEODEC_FORMAT, "%s: longer than its bound", g->file.path);
    GEODEC_NEW(chunk, CHUNK * bytes);
    GEODEC_NEW(serial, slots);
    for (int pass = 0; pass < 2; pass++) { /* first finds the valid slots, then reads their contents */
        for (int64_t k = 0; k < slots; k++) {
            const int64_t at = (first + k) % slots;
            size_t got;
            const int64_t in = at % CHUNK;
            if (k == 0 || in == 0 || at == 0) {
                const int64_t from = at - in, n = slots - from < CHUNK ? slots - from : CHUNK;
                GEODEC_TRY(
                    read_all(g->file.fd, g->file.path, chunk, (size_t)(n * bytes), HEAD + from * bytes, &got, err));
                if (got < (size_t)(n * bytes))
                    GEODEC_THROW(GEODEC_IO, "%s: the file became shorter while it was read", g->file.path);
            }
            if (pass == 1) {
                int64_t s;
                if (serial[at] >= 0 && newest - serial[at] < g->room && read_slot(g, at, chunk + in * bytes, &s, &r) &&
                    s == serial[at])
                    GEODEC_TRY(put_record(g, s, &r, err));
                continue;
            }
            serial[at] = -1;
            if (!read_slot(g, at, chunk + in * bytes, &serial[at], &r)) {
                serial[at] = -1;
                g->dropped++;
            } else if (serial[at] > newest) {
                newest = serial[at];
            }
        }
        if (newest >= 0) first = (newest + 1) % g->room < slots ? (newest + 1) % g->room : 0;
    }
    g->dropped += cut > 0;
    if (g->dropped > 0)
        geodec_hooks_log(g->file.hooks, GEODEC_LOG_WARN, "%s: %lld damaged records left out", g->file.path,
                         (long long)g->dropped);
done:
    GEODEC_FREE(chunk, serial);
    return st;
}

geodec_status geodec_flowmap_library_create(const geodec_flowmap *map, int64_t bound, geodec_flowmap_library **out,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_library *g = NULL;
    if (bound < BOUND_MIN + 16 * map->vocab || bound > GEODEC_GROWN_BYTES_MAX)
        GEODEC_THROW(GEODEC_RANGE, "a grown library of %lld bytes (%lld to %lld)", (long long)bound,
                     (long long)(BOUND_MIN + 16 * map->vocab), (long long)GEODEC_GROWN_BYTES_MAX);
    GEODEC_NEW(g, 1);
    g->map = map;
    g->bound = bound;
    g->room = room_of(map, bound);
    g->file.fd = -1;
    GEODEC_NEW(g->last, map->vocab);
    for (int64_t t = 0; t < map->vocab; t++) g->last[t] = -1;
    *out = g;
    g = NULL;
done:
    geodec_flowmap_library_close(g);
    return st;
}

void geodec_flowmap_library_close(geodec_flowmap_library *g)
{
    if (!g) return;
    if (g->file.fd >= 0) {
        if (g->added > 0 && fdatasync(g->file.fd) != 0)
            give_up(g, errno);
        else
            (void)close(g->file.fd);
    }
    GEODEC_FREE(g->file.path, g->place, g->key, g->last, g);
}

geodec_status geodec_flowmap_library_open(const geodec_flowmap *map, const char *map_sha256, const char *path,
                                          int64_t bound, const geodec_hooks *hooks, geodec_flowmap_library **out,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_library *g = NULL;
    uint8_t head[HEAD];
    size_t got = 0;
    struct stat sb;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0 && (errno == ENOSPC || errno == EDQUOT)) {
        geodec_hooks_log(hooks, GEODEC_LOG_WARN, "%s: %s; records are not written", path, strerror(errno));
        return geodec_flowmap_library_create(map, bound ? bound : GEODEC_GROWN_BYTES, out, err);
    }
    if (fd < 0) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode)) GEODEC_THROW(GEODEC_IO, "%s: not a regular file", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        GEODEC_THROW(errno == EWOULDBLOCK ? GEODEC_EXISTS : GEODEC_IO, "%s: %s", path,
                     errno == EWOULDBLOCK ? "another process is growing this library" : strerror(errno));
    if (fstat(fd, &sb) != 0) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    GEODEC_TRY(read_all(fd, path, head, sizeof head, 0, &got, err));
    if (got > 0) {
        if (got < sizeof head) GEODEC_THROW(GEODEC_FORMAT, "%s: no grown library, or its head is cut off", path);
        GEODEC_TRY(check_head(head, path, map, map_sha256, err));
        const int64_t own = (int64_t)get(head + 24, 8);
        if (bound != 0 && bound != own)
            GEODEC_THROW(GEODEC_INVAL, "%s: the library's bound is %lld bytes, not %lld", path, (long long)own,
                         (long long)bound);
        bound = own;
    }
    GEODEC_TRY_MSG(geodec_flowmap_library_create(map, bound ? bound : GEODEC_GROWN_BYTES, &g, err), "%s", path);
    g->file.path = geodec_mem_strdup(path);
    if (!g->file.path) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file's name");
    g->file.hooks = hooks;
    g->file.fd = fd;
    make_head(g, map_sha256, g->file.head);
    if (got > 0) {
        GEODEC_TRY(load(g, (int64_t)sb.st_size, err));
    } else {
        const int e = write_all(fd, g->file.head, sizeof g->file.head, 0);
        if (e != 0) {
            (void)!ftruncate(fd, 0);
            give_up(g, e);
        }
    }
    *out = g;
    return st;
done:
    if (fd >= 0 && (!g || g->file.fd != fd)) (void)close(fd);
    geodec_flowmap_library_close(g);
    return st;
}

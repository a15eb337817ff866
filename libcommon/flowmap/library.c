#include "flowmap/library.h"

#include "base/mem.h"
#include "flowmap/library_internal.h"

#include <string.h>

static const int64_t BOUND_MIN = 64 << 10;

uint8_t geodec_flowmap_library_mark(int32_t token)
{
    return (uint8_t)(1 + (((uint32_t)token * 2654435761U) >> 8) % 255);
}

int64_t geodec__flowmap_library_slot(int64_t dims) { return (40 + dims + 8 + 7) / 8 * 8; }

int64_t geodec__flowmap_library_room(const geodec_flowmap *map, int64_t bound)
{
    const int64_t memory = (int64_t)sizeof(geodec__grown_place) + map->dims,
                  slot = geodec__flowmap_library_slot(map->dims);
    const int64_t a = (bound - map->vocab * (int64_t)sizeof(int32_t)) / memory, b = (bound - GEODEC__GROWN_HEAD) / slot,
                  room = a < b ? a : b;
    return room < INT32_MAX ? room : INT32_MAX;
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
    g->room = geodec__flowmap_library_room(map, bound);
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
    geodec__flowmap_library_file_close(g);
    geodec_mem_free(g->place);
    geodec_mem_free(g->key);
    geodec_mem_free(g->last);
    geodec_mem_free(g);
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

const char *geodec__flowmap_library_fault(const geodec_flowmap *map, const geodec_flowmap_library_record *r)
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
    geodec_status st = GEODEC_OK;
    const int64_t r = g->map->dims;
    int64_t n = g->places ? 2 * g->places : 256;
    if (n < wanted) n = wanted;
    if (n > g->room) n = g->room;
    geodec__grown_place *place = geodec_mem_grow(g->place, g->places, n, sizeof *place);
    if (!place) GEODEC_THROW(GEODEC_NOMEM, "no memory for a library of %lld records", (long long)n);
    g->place = place;
    int8_t *key = geodec_mem_grow(g->key, g->places * r, n * r, 1);
    if (!key) GEODEC_THROW(GEODEC_NOMEM, "no memory for a library of %lld records", (long long)n);
    g->key = key;
    for (int64_t i = g->places; i < n; i++) place[i].serial = -1;
    g->places = n;
done:
    return st;
}

geodec_status geodec__flowmap_library_put(geodec_flowmap_library *g, int64_t serial,
                                          const geodec_flowmap_library_record *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t at = serial % g->room;
    if (at >= g->places) GEODEC_TRY(make_places(g, at + 1, err));
    geodec__grown_place *p = &g->place[at];
    g->live += p->serial < 0;
    const int32_t last = g->last[r->token];
    /* the token's newest record may be the one to be removed */
    p->before = last >= 0 && last != at ? last : -1;
    p->serial = serial;
    p->record = *r;
    memcpy(g->key + at * g->map->dims, r->key, (size_t)g->map->dims);
    g->last[r->token] = (int32_t)at;
    g->end = serial + 1;
done:
    return st;
}

geodec_status geodec_flowmap_library_add(geodec_flowmap_library *g, const geodec_flowmap_library_record *r,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t serial = g->end;
    const char *what = geodec__flowmap_library_fault(g->map, r);
    if (what) GEODEC_THROW(GEODEC_RANGE, "a record with %s", what);
    GEODEC_TRY(geodec__flowmap_library_put(g, serial, r, err));
    g->added++;
    geodec__flowmap_library_write(g, serial, r);
done:
    return st;
}

int32_t geodec_flowmap_library_nearest(const geodec_flowmap_library *g, int32_t token, const int8_t *key,
                                       int64_t before, int32_t k, geodec_flowmap_library_hit *hit)
{
    const int64_t r = g->map->dims;
    int32_t n = 0, seen = 0;
    int64_t newest = INT64_MAX;
    if (token < 0 || token >= g->map->vocab || k < 1) return 0;
    for (int32_t at = g->last[token]; at >= 0 && seen < GEODEC_GROWN_SCAN; at = g->place[at].before) {
        const geodec__grown_place *p = &g->place[at];
        if (p->serial >= newest || p->record.token != token) break; /* its place was taken since: the list ends */
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

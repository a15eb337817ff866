#include "artifact/sweep.h"

#include "base/mem.h"
#include "base/rng.h"
#include "geodec/err.h"

#include <string.h>

/* Items first .. end-1 of the n of one group of tasks. */
typedef struct stretch {
    int64_t group, name, n, first, end, bytes;
} stretch;

struct geodec_sweep {
    geodec_comm *comm;  /* of ranks that divide the items; NULL: none */
    geodec_shard slice; /* count 0: all items */
    int64_t group;      /* index of the next run */
    int64_t n, room;
    stretch *stretch; /* [n] */
    uint8_t *value;   /* for a slice: results, item by item */
    int64_t used, capacity;
    geodec_artifact *file; /* for a joined file: pointers to its values */
};

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

/* clang-format off */
static const geodec_field fields[] = {
    {"/part", GEODEC_I64, "M", 0, "1", "numbers of the parts joined here", 0},
    {"/group", GEODEC_I64, "C", 0, "1", "group of tasks, in the order of the stage", 0},
    {"/name", GEODEC_I64, "C", 0, "1", "hash of the group's name", 0},
    {"/items", GEODEC_I64, "C", 0, "1", "items of the group", 0},
    {"/first", GEODEC_I64, "C", 0, "1", "first item of this stretch", 0},
    {"/end", GEODEC_I64, "C", 0, "1", "item behind its last", 0},
    {"/bytes", GEODEC_I64, "C", 0, "1", "bytes of an item's results", 0},
    {"/value", GEODEC_U8, "B", GEODEC_FIELD_STREAM, "1", "results, stretch after stretch, as they lie in memory", 0},
};
/* clang-format on */

const geodec_kind geodec_sweep_kind = {
    .name = "sweep",
    .major = 1,
    .minor = 0,
    .tool = "geodec-merge", /* for parts that a stage writes with --shard */
    .purpose = "results of a slice of a stage's tasks, or of all slices joined; the stage reads it with --joined",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .shards = "M,C,B",
};

static const struct column {
    const char *path;
    size_t offset;
} columns[] = {
    {"/group", offsetof(stretch, group)}, {"/name", offsetof(stretch, name)}, {"/items", offsetof(stretch, n)},
    {"/first", offsetof(stretch, first)}, {"/end", offsetof(stretch, end)},   {"/bytes", offsetof(stretch, bytes)},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

geodec_status geodec_sweep_write(const geodec_sweep *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *value = NULL;
    GEODEC_TRY(geodec_artifact_set_dim(a, "M", 1, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", s->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/part", &s->slice.index, err));
    GEODEC_NEW(value, s->n);
    for (int k = 0; k < COLUMNS; k++) {
        for (int64_t i = 0; i < s->n; i++)
            memcpy(value + i, (const char *)&s->stretch[i] + columns[k].offset, sizeof *value);
        GEODEC_TRY(geodec_artifact_write(a, columns[k].path, value, err));
    }
    GEODEC_TRY(geodec_artifact_append(a, "/value", s->used, s->value, err));
done:
    geodec_mem_free(value);
    return st;
}

static geodec_status read_column(const geodec_artifact *a, const struct column *c, geodec_sweep *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *value = NULL;
    GEODEC_TRY(geodec_artifact_read(a, c->path, &value, err));
    for (int64_t i = 0; i < s->n; i++) memcpy((char *)&s->stretch[i] + c->offset, value + i, sizeof *value);
done:
    geodec_mem_free(value);
    return st;
}

/* Checks that every range is within its group and that the results have their total size. */
static geodec_status check_stretches(const geodec_sweep *s, const char *path, geodec_err *err)
{
    int64_t left, bytes;
    GEODEC_PASS(geodec_artifact_dim(s->file, "B", &left, err));
    for (int64_t i = 0; i < s->n; i++) {
        const stretch *t = &s->stretch[i];
        if (t->n < 1 || t->first < 0 || t->first > t->end || t->end > t->n || t->bytes < 0 ||
            geodec_mem_mul(t->end - t->first, t->bytes, &bytes) != 0 || bytes > left)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: range %lld of tasks is empty or outside the sweep", path, (long long)i);
        left -= bytes;
    }
    if (left) GEODEC_FAIL(GEODEC_FORMAT, "%s: %lld extra bytes", path, (long long)left);
    return GEODEC_OK;
}

/* ---- origin of the tasks ---------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static geodec_status check_origin(const geodec_artifact *a, const geodec_provenance *own, geodec_err *err)
{
    const geodec_provenance *p = geodec_artifact_provenance(a);
    const char *path = geodec_artifact_path(a), *version;
    GEODEC_PASS(geodec_artifact_get_str(a, "tool_version", &version, err));
    if (!same_text(version, geodec_version()))
        GEODEC_FAIL(GEODEC_VERSION, "%s was made by version %s; use the same version for all runs of a sweep", path,
                    version);
    if (strstr(p->command_line, " --shard="))
        GEODEC_FAIL(GEODEC_CHECK, "%s is one part of a sweep: join all parts with geodec-merge", path);
    if (!same_text(p->tool, own->tool) || !same_text(p->command_line, own->command_line))
        GEODEC_FAIL(GEODEC_CHECK, "%s is of another command: %.200s", path, p->command_line);
    if (!same_text(p->blas_core, own->blas_core))
        GEODEC_FAIL(GEODEC_CHECK, "%s was made with other BLAS kernels: %s", path, p->blas_core);
    bool same = p->seed == own->seed && p->n_inputs == own->n_inputs;
    for (int i = 0; same && i < p->n_inputs; i++)
        same = same_text(p->input[i].name, own->input[i].name) && same_text(p->input[i].sha256, own->input[i].sha256);
    if (!same) GEODEC_FAIL(GEODEC_CHECK, "%s was made with another seed or from other inputs", path);
    return GEODEC_OK;
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

geodec_status geodec_sweep_slice(geodec_shard slice, geodec_sweep **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_sweep *s = NULL;
    if (slice.count < 1 || slice.count > GEODEC_SHARDS_MAX || slice.index < 1 || slice.index > slice.count)
        GEODEC_THROW(GEODEC_RANGE, "slice %lld of %lld", (long long)slice.index, (long long)slice.count);
    GEODEC_NEW(s, 1);
    s->slice = slice;
    *out = s;
done:
    return st;
}

geodec_status geodec_sweep_ranks(geodec_comm *comm, geodec_sweep **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_sweep *s = NULL;
    GEODEC_NEW(s, 1);
    s->comm = comm;
    *out = s;
done:
    return st;
}

geodec_comm *geodec_sweep_comm(const geodec_sweep *s) { return s ? s->comm : NULL; }

geodec_status geodec_sweep_open(const char *path, const geodec_provenance *own, geodec_sweep **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_sweep *s = NULL;
    GEODEC_NEW(s, 1);
    GEODEC_TRY(geodec_artifact_open(&geodec_sweep_kind, path, &s->file, err));
    GEODEC_TRY(check_origin(s->file, own, err));
    GEODEC_TRY(geodec_artifact_dim(s->file, "C", &s->n, err));
    GEODEC_NEW(s->stretch, s->n > 0 ? s->n : 1);
    for (int k = 0; k < COLUMNS; k++) GEODEC_TRY(read_column(s->file, &columns[k], s, err));
    GEODEC_TRY(check_stretches(s, path, err));
    *out = s;
    s = NULL;
done:
    geodec_sweep_close(s);
    return st;
}

void geodec_sweep_close(geodec_sweep *s)
{
    if (!s) return;
    geodec_artifact_close(s->file);
    GEODEC_FREE(s->stretch, s->value, s);
}

bool geodec_sweep_partial(const geodec_sweep *s) { return s && (s->slice.count > 0 || geodec_comm_rank(s->comm) > 0); }

/* ---- slices ----------------------------------------------------------------------------------------------------- */

typedef struct shifted {
    geodec__task_fn fn;
    void *ctx;
    int64_t first;
} shifted;

static geodec_status shifted_task(void *ctx, int64_t i, geodec_err *err)
{
    const shifted *s = ctx;
    return s->fn(s->ctx, s->first + i, err);
}

/* Packs (out) or unpacks the results of item i. */
static void move(const geodec_sweep_result *r, int n_results, int64_t n, int64_t i, uint8_t *packed, bool out)
{
    for (int k = 0; k < n_results; k++)
        for (int64_t row = 0; row < r[k].outer; row++) {
            uint8_t *own = (uint8_t *)r[k].data + (row * n + i) * r[k].bytes;
            if (r[k].bytes) memcpy(out ? packed : own, out ? own : packed, (size_t)r[k].bytes);
            packed += r[k].bytes;
        }
}

/* base: the result of item i is at index i - base of n_placed. */
static geodec_status keep(geodec_sweep *s, const stretch *t, const geodec_sweep_result *r, int n_results, int64_t place,
                          int64_t n_placed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t bytes = (t->end - t->first) * t->bytes;
    stretch *all = NULL;
    uint8_t *value = NULL;
    if (s->n == s->room) {
        GEODEC_NEW(all, 2 * s->room + 8);
        if (s->n) memcpy(all, s->stretch, (size_t)s->n * sizeof *all);
        geodec_mem_free(s->stretch);
        s->stretch = all;
        s->room = 2 * s->room + 8;
    }
    if (s->used + bytes > s->capacity) {
        const int64_t capacity = s->capacity + s->capacity / 4 + bytes;
        GEODEC_NEW(value, capacity);
        if (s->used) memcpy(value, s->value, (size_t)s->used);
        geodec_mem_free(s->value);
        s->value = value;
        s->capacity = capacity;
    }
    for (int64_t i = t->first; i < t->end; i++)
        move(r, n_results, n_placed, i - place, s->value + s->used + (i - t->first) * t->bytes, true);
    s->used += bytes;
    s->stretch[s->n++] = *t;
done:
    return st;
}

/* Reads all results of a group: ranges in the order of the parts. With `after`, every item goes to index 0 and `after`
 * consumes it there. */
static geodec_status take(const geodec_sweep *s, const stretch *want, const geodec_sweep_result *r, int n_results,
                          const char *what, geodec__task_fn after, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *item = NULL;
    int64_t at = 0, next = 0;
    const char *path = geodec_artifact_path(s->file);
    GEODEC_NEW(item, want->bytes > 0 ? want->bytes : 1);
    for (int64_t k = 0; k < s->n; k++) {
        const stretch *t = &s->stretch[k];
        if (t->group == want->group) {
            if (t->name != want->name || t->n != want->n || t->bytes != want->bytes || t->first != next)
                GEODEC_THROW(GEODEC_CHECK, "%s has other tasks than '%s'", path, what);
            for (int64_t i = t->first; i < t->end; i++) {
                if (t->bytes)
                    GEODEC_TRY(geodec_artifact_read_rows(s->file, "/value", at + (i - t->first) * t->bytes, t->bytes,
                                                         item, err));
                move(r, n_results, after ? 1 : want->n, after ? 0 : i, item, false);
                if (after) GEODEC_TRY(after(ctx, i, err));
            }
            next = t->end;
        }
        at += (t->end - t->first) * t->bytes;
    }
    if (next != want->n)
        GEODEC_THROW(GEODEC_CHECK, "%s has %lld of the %lld items of '%s'", path, (long long)next, (long long)want->n,
                     what);
done:
    geodec_mem_free(item);
    return st;
}

static stretch next_group(geodec_sweep *s, const char *what, int64_t n, const geodec_sweep_result *r, int n_results)
{
    stretch t = {.group = s->group++, .name = (int64_t)geodec_rng_id(what, 0), .n = n, .end = n};
    for (int k = 0; k < n_results; k++) t.bytes += r[k].outer * r[k].bytes;
    if (!s->file && geodec_shard_range(s->slice, n, &t.first, &t.end, NULL) != GEODEC_OK) t.first = t.end = 0;
    return t;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

/* Tasks of the items rank, rank + size, .. */
typedef struct strided {
    geodec__task_fn fn;
    void *ctx;
    int64_t per, rank, size;
} strided;

static geodec_status strided_task(void *ctx, int64_t i, geodec_err *err)
{
    const strided *s = ctx;
    return s->fn(s->ctx, (s->rank + i / s->per * s->size) * s->per + i % s->per, err);
}

static int64_t items_of(int64_t n, int64_t rank, int64_t size) { return rank < n ? (n - rank - 1) / size + 1 : 0; }

static geodec_status run_ranks(geodec_comm *comm, const stretch *t, geodec_pool *pool, const geodec_hooks *hooks,
                               const char *what, int64_t per, geodec__task_fn fn, void *ctx,
                               const geodec_sweep_result *r, int n_results, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int rank = geodec_comm_rank(comm), size = geodec_comm_size(comm);
    strided own = {fn, ctx, per, rank, size};
    uint8_t *packed = NULL;
    geodec_comm_transfer transfer;
    const int64_t mine = items_of(t->n, rank, size);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, what, mine * per, strided_task, &own, err));
    GEODEC_NEW(packed, items_of(t->n, 0, size) * t->bytes);
    if (rank > 0) {
        for (int64_t i = 0; i < mine; i++) move(r, n_results, t->n, rank + i * size, packed + i * t->bytes, true);
        GEODEC_TRY(geodec_comm_send(comm, 0, packed, mine * t->bytes, &transfer, err));
        GEODEC_TRY(geodec_comm_wait(comm, &transfer, err));
        goto done;
    }
    for (int from = 1; from < size; from++) {
        const int64_t n = items_of(t->n, from, size);
        GEODEC_TRY(geodec_comm_receive(comm, from, packed, n * t->bytes, &transfer, err));
        GEODEC_TRY(geodec_comm_wait(comm, &transfer, err));
        for (int64_t i = 0; i < n; i++) move(r, n_results, t->n, from + i * size, packed + i * t->bytes, false);
    }
done:
    geodec_mem_free(packed);
    return st;
}

/* One item at a time: a rank sends an item's results while it computes its next. */
static geodec_status fold_ranks(geodec_comm *comm, const stretch *t, geodec__task_fn item, geodec__task_fn after,
                                void *ctx, const geodec_sweep_result *r, int n_results, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int rank = geodec_comm_rank(comm), size = geodec_comm_size(comm);
    uint8_t *packed = NULL;
    geodec_comm_transfer transfer = {0};
    GEODEC_NEW(packed, t->bytes);
    for (int64_t i = 0; i < t->n; i++) {
        const int owner = (int)(i % size);
        if (rank == 0 && owner > 0) {
            GEODEC_TRY(geodec_comm_receive(comm, owner, packed, t->bytes, &transfer, err));
            GEODEC_TRY(geodec_comm_wait(comm, &transfer, err));
            move(r, n_results, 1, 0, packed, false);
        } else if (owner == rank) {
            GEODEC_TRY(item(ctx, i, err));
        }
        if (rank == 0) {
            GEODEC_TRY(after(ctx, i, err));
        } else if (owner == rank) {
            GEODEC_TRY(geodec_comm_wait(comm, &transfer, err));
            move(r, n_results, 1, 0, packed, true);
            GEODEC_TRY(geodec_comm_send(comm, 0, packed, t->bytes, &transfer, err));
        }
    }
    GEODEC_TRY(geodec_comm_wait(comm, &transfer, err));
done:
    geodec_mem_free(packed);
    return st;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

geodec_status geodec_sweep_run(geodec_sweep *s, geodec_pool *pool, const geodec_hooks *hooks, const char *what,
                               int64_t n, int64_t per, geodec__task_fn fn, void *ctx, const geodec_sweep_result *result,
                               int n_results, geodec_err *err)
{
    if (!s || n < 1) return geodec__tasks_run(pool, hooks, what, n * per, fn, ctx, err);
    const stretch t = next_group(s, what, n, result, n_results);
    if (s->file) {
        GEODEC_PASS(take(s, &t, result, n_results, what, NULL, NULL, err));
        return GEODEC_OK;
    }
    if (s->comm) return run_ranks(s->comm, &t, pool, hooks, what, per, fn, ctx, result, n_results, err);
    shifted part = {fn, ctx, t.first * per};
    if (t.first < t.end)
        GEODEC_PASS_MSG(geodec__tasks_run(pool, hooks, what, (t.end - t.first) * per, shifted_task, &part, err),
                        "counted from %lld", (long long)part.first);
    if (t.first < t.end) GEODEC_PASS(keep(s, &t, result, n_results, 0, n, err));
    return GEODEC_OK;
}

geodec_status geodec_sweep_fold(geodec_sweep *s, const char *what, int64_t n, geodec__task_fn item,
                                geodec__task_fn after, void *ctx, const geodec_sweep_result *result, int n_results,
                                geodec_err *err)
{
    if (!s || n < 1) {
        for (int64_t i = 0; i < n; i++) {
            GEODEC_PASS(item(ctx, i, err));
            GEODEC_PASS(after(ctx, i, err));
        }
        return GEODEC_OK;
    }
    const stretch t = next_group(s, what, n, result, n_results);
    if (s->file) {
        GEODEC_PASS(take(s, &t, result, n_results, what, after, ctx, err));
        return GEODEC_OK;
    }
    if (s->comm) return fold_ranks(s->comm, &t, item, after, ctx, result, n_results, err);
    for (int64_t i = t.first; i < t.end; i++) {
        stretch one = t;
        one.first = i;
        one.end = i + 1;
        GEODEC_PASS(item(ctx, i, err));
        GEODEC_PASS(keep(s, &one, result, n_results, i, 1, err));
    }
    return GEODEC_OK;
}

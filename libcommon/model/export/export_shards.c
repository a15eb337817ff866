/* Export into safetensors shards, which can be resumed. */
#include "base/mem.h"
#include "chain/activations.h"
#include "export/export_folder_internal.h"
#include "export/export_internal.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "session/arithmetic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 16 /* windows a worker reads between two calls of the hooks */ };

/* ---- tensors of a shard ----------------------------------------------------------------------------------------- */

/* Tensors of shard `number`; caller frees. Columns, all of four bytes, come first, for alignment. */
static geodec_status tensors_of(const geodec_model_config *c, const geodec_export_options *o, int64_t number,
                                int64_t rows, geodec_safetensor **out, int *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__column columns[GEODEC__COLUMNS_MAX];
    const int n = geodec__export_columns(c, o, columns);
    geodec_safetensor *t = NULL;
    GEODEC_NEW(t, n + o->n_layers);
    for (int i = 0; i < n; i++) {
        (void)snprintf(t[i].name, sizeof t[i].name, "%s.shard.%05lld", columns[i].path + 1, (long long)number);
        t[i].type = columns[i].type;
        t[i].rank = columns[i].width ? 2 : 1;
        t[i].shape[0] = rows;
        t[i].shape[1] = columns[i].width;
    }
    for (int l = 0; l < o->n_layers; l++) {
        geodec_safetensor *s = &t[n + l];
        (void)snprintf(s->name, sizeof s->name, "layer.%d.shard.%05lld", o->layer[l], (long long)number);
        s->type = o->half ? GEODEC_F16 : GEODEC_F32;
        s->rank = 2;
        s->shape[0] = rows;
        s->shape[1] = c->d_model;
    }
    *out = t;
    *count = n + o->n_layers;
done:
    return st;
}

/* ---- identity of a shard ---------------------------------------------------------------------------------------- */

static void hash_line(geodec_sha256 *h, const char *fmt, ...) GEODEC_PRINTF(2, 3);
static void hash_line(geodec_sha256 *h, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    geodec_sha256_update(h, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    geodec_sha256_update(h, "\n", 1);
}

/* The text that identifies the shards' bytes. */
static void fingerprint(const geodec_model *m, const geodec_export_options *o, const geodec_export_sharding *g,
                        char hex[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    char positions[GEODEC_EXPORT_POSITIONS_ROOM];
    geodec_sha256_init(&h);
    hash_line(&h, "geodec export 1");
    hash_line(&h, "model %s", geodec_model_fingerprint(m));
    hash_line(&h, "tokenizer %s", geodec_tokenizer_fingerprint(geodec_model_tokenizer(m)));
    for (int i = 0; i < g->provenance->n_inputs; i++) hash_line(&h, "input %s", g->provenance->input[i].sha256);
    for (int32_t i = 0; i < o->n_layers; i++) hash_line(&h, "layer %d", o->layer[i]);
    hash_line(&h, "window %d max_tokens %lld top_m %d logits %d half %d", o->window, (long long)o->max_tokens, o->top_m,
              o->logits, o->half);
    hash_line(&h, "positions %s", geodec_export_positions_text(o, positions));
    hash_line(&h, "arithmetic %d kv %d", (int)o->arithmetic, (int)o->kv);
    if (o->separator != GEODEC_SEPARATOR_AUTO)
        hash_line(&h, "separator %s", geodec_documents_separator_name(o->separator));
    hash_line(&h, "shard %lld", (long long)g->tokens);
    geodec_sha256_hex(&h, hex);
}

enum { META = 8, META_ROOM = 32 };

/* Metadata of a shard; room holds the text of its numbers. */
static void metadata_of(const geodec__plan *p, int64_t number, const char *hex, char room[META][META_ROOM],
                        geodec_safetensors_meta meta[META])
{
    const int64_t values[] = {number, p->tokens - p->n_token, p->n_token, p->rows - p->n_rows, p->n_rows};
    static const char *const keys[] = {"shard", "first_token", "tokens", "first_row", "rows"};
    meta[0] = (geodec_safetensors_meta){"format", "pt"}; /* key that the Hugging Face tools expect */
    meta[1] = (geodec_safetensors_meta){"kind", "geodec activations"};
    meta[2] = (geodec_safetensors_meta){"fingerprint", hex};
    for (int i = 0; i < 5; i++) {
        (void)snprintf(room[i], META_ROOM, "%lld", (long long)values[i]);
        meta[3 + i] = (geodec_safetensors_meta){keys[i], room[i]};
    }
}

static bool fits(const geodec_safetensors *s, const geodec_safetensors_meta meta[META], const geodec_safetensor *t,
                 int n)
{
    if (geodec_safetensors_count(s) != n) return false;
    for (int i = 0; i < META; i++) {
        const char *text = geodec_safetensors_text(s, meta[i].key);
        if (!text || strcmp(text, meta[i].value) != 0) return false;
    }
    for (int i = 0; i < n; i++) {
        const int k = geodec_safetensors_find(s, t[i].name);
        const geodec_safetensor *there = k < 0 ? NULL : geodec_safetensors_at(s, k);
        if (!there || there->type != t[i].type || there->rank != t[i].rank) return false;
        for (int d = 0; d < there->rank; d++)
            if (there->shape[d] != t[i].shape[d]) return false;
    }
    return true;
}

/* ---- one shard -------------------------------------------------------------------------------------------------- */

typedef struct job {
    const geodec_model_config *c;
    const geodec_export_options *o;
    geodec__plan plan;
    geodec__reader *reader; /* [workers] */
    geodec_safetensors_writer *out;
    int64_t first; /* window of the group */
} job;

/* Writes the rows of one pass directly to the file. */
static geodec_status put_rows(void *ctx, const geodec__span *s, int32_t first, const geodec__rows *r, geodec_err *err)
{
    const job *j = ctx;
    const int64_t row = s->row + first, d = j->c->d_model;
    for (int i = 0; i < r->n_columns; i++) {
        const int64_t width = r->column[i].width ? r->column[i].width : 1;
        const void *data = geodec__export_column_data(r, &r->column[i]);
        GEODEC_PASS(geodec_safetensors_put(j->out, i, row * width, r->n * width, data, err));
    }
    for (int32_t l = 0; l < j->o->n_layers; l++) {
        const int64_t at = (int64_t)l * r->n * d;
        const void *state = j->o->half ? (const void *)(r->half + at) : (const void *)(r->state + at);
        GEODEC_PASS(geodec_safetensors_put(j->out, r->n_columns + l, row * d, r->n * d, state, err));
    }
    return GEODEC_OK;
}

static void window_task(void *ctx, int64_t task, int worker)
{
    job *j = ctx;
    geodec__reader *r = &j->reader[worker];
    if (r->status == GEODEC_OK)
        r->status =
            geodec__export_window_read(r, &j->plan, &j->plan.span[j->first + task], &r->rows, put_rows, j, &r->error);
}

static geodec_status read_windows(job *j, int workers, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    const int64_t before = j->plan.tokens - j->plan.n_token;
    for (int64_t done = 0; done < j->plan.n;) {
        const int64_t left = j->plan.n - done, group = left < workers * GROUP ? left : workers * GROUP;
        GEODEC_PASS(
            geodec_hooks_progress(hooks, "reading tokens", before + j->plan.span[done].token, j->o->max_tokens, err));
        j->first = done;
        if (workers > 1)
            geodec_pool_run_dynamic(pool, group, window_task, j);
        else
            for (int64_t i = 0; i < group; i++) window_task(j, i, 0);
        GEODEC_PASS(geodec__export_reader_error(j->reader, workers, err));
        done += group;
    }
    return GEODEC_OK;
}

/* Whether the shard exists; an error if it belongs to another run. */
static geodec_status look(geodec__folder *f, int64_t number, const geodec_safetensors_meta meta[META],
                          const geodec_safetensor *t, int n, bool replace, bool *there, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *s = NULL;
    char *path = NULL;
    *there = false;
    if (!geodec__export_folder_has(f, number)) goto done;
    GEODEC_TRY(geodec__export_folder_shard(f, number, &path, err));
    st = geodec_safetensors_open(path, &s, err);
    *there = st == GEODEC_OK && fits(s, meta, t, n);
    if (*there) goto done;
    if (replace) {
        GEODEC_TRY(geodec__export_folder_drop(f, number, err));
        goto done;
    }
    GEODEC_TRY(st);
    GEODEC_THROW(GEODEC_CHECKSUM,
                 "%s: a shard of another model, text or set of options (or of another place); --force replaces it",
                 path);
done:
    geodec_safetensors_close(s);
    geodec_mem_free(path);
    return st;
}

/* ---- all shards ------------------------------------------------------------------------------------------------- */

/* The kept layers by the names of TransformerLens. */
static void put_hooks(geodec_json_writer *w, const geodec_export_options *o)
{
    geodec_json_begin_object(w, "hooks");
    for (int32_t i = 0; i < o->n_layers; i++) {
        char name[32], hook[48];
        const int32_t l = o->layer[i];
        (void)snprintf(name, sizeof name, "layer.%d", l);
        (void)snprintf(hook, sizeof hook, "blocks.%d.hook_resid_%s", l ? l - 1 : 0, l ? "post" : "pre");
        geodec_json_put_str(w, name, hook);
    }
    geodec_json_end(w);
}

static geodec_status write_index(const char *folder, const geodec_model *m, const geodec_export_options *o,
                                 const geodec_export_sharding *g, const char *hex, const geodec_export_summary *sum,
                                 int64_t bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_json_writer *w = NULL;
    geodec_safetensor *t = NULL;
    char *path = NULL, positions[GEODEC_EXPORT_POSITIONS_ROOM];
    int n;
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/model.safetensors.index.json", folder));
    GEODEC_TRY(geodec_json_create(path, &w, err));
    geodec_json_begin_object(w, "metadata");
    geodec_json_put_i64(w, "total_size", bytes);
    geodec_json_put_str(w, "kind", "geodec activations");
    geodec_json_put_str(w, "tool", g->provenance->tool);
    geodec_json_put_str(w, "command_line", g->provenance->command_line);
    geodec_json_put_str(w, "fingerprint", hex);
    geodec_json_put_str(w, "model_fingerprint", geodec_model_fingerprint(m));
    geodec_json_put_str(w, "tokenizer_fingerprint", geodec_tokenizer_fingerprint(geodec_model_tokenizer(m)));
    geodec_json_begin_array(w, "inputs");
    for (int i = 0; i < g->provenance->n_inputs; i++) {
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "name", g->provenance->input[i].name);
        geodec_json_put_str(w, "sha256", g->provenance->input[i].sha256);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_put_i64(w, "rows", sum->rows);
    geodec_json_put_i64(w, "tokens", sum->tokens);
    geodec_json_put_i64(w, "sequences", sum->sequences);
    geodec_json_put_i64(w, "documents", sum->documents);
    geodec_json_put_i64(w, "shards", sum->shards);
    geodec_json_put_i64(w, "d_model", c->d_model);
    geodec_json_put_i64(w, "n_layer", c->n_layer);
    put_hooks(w, o);
    geodec_json_put_i64(w, "n_vocab", c->n_vocab);
    geodec_json_put_i64(w, "window", o->window);
    geodec_json_put_str(w, "positions", geodec_export_positions_text(o, positions));
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(o->arithmetic));
    geodec_json_put_str(w, "kv", geodec_cache_kv_name(o->kv));
    if (o->separator != GEODEC_SEPARATOR_AUTO)
        geodec_json_put_str(w, "separator", geodec_documents_separator_name(o->separator));
    geodec_json_end(w);
    geodec_json_begin_object(w, "weight_map");
    for (int64_t k = 1; k <= sum->shards; k++) {
        char name[GEODEC__SHARD_NAME];
        geodec__export_shard_name(k, sum->shards, name);
        GEODEC_TRY(tensors_of(c, o, k, 0, &t, &n, err));
        for (int i = 0; i < n; i++) geodec_json_put_str(w, t[i].name, name);
        geodec_mem_free(t);
        t = NULL;
    }
    geodec_json_end(w);
    geodec_json_writer *whole = w;
    w = NULL;
    GEODEC_TRY(geodec_json_commit(whole, err));
done:
    geodec_json_abandon(w);
    GEODEC_FREE(t, path);
    return st;
}

/* The next planned shard: found, or computed and written. */
static geodec_status one_shard(job *j, geodec__folder *f, const geodec_export_sharding *g, const char *hex, int workers,
                               geodec_pool *pool, const geodec_hooks *hooks, geodec_export_summary *sum, int64_t *bytes,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensor *t = NULL;
    geodec_safetensors_meta meta[META];
    char room[META][META_ROOM], *path = NULL;
    const int64_t number = sum->shards + 1;
    bool there;
    int n;
    if (number > GEODEC__SHARDS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d shards: give each more tokens", GEODEC__SHARDS_MAX);
    sum->shards = number;
    if (g->ranks > 0 && (number - 1) % g->ranks != g->rank) goto done; /* another rank makes it */
    GEODEC_TRY(tensors_of(j->c, j->o, number, j->plan.n_rows, &t, &n, err));
    metadata_of(&j->plan, number, hex, room, meta);
    for (int i = 0; i < n; i++) {
        int64_t size = (int64_t)geodec_type_size(t[i].type) * t[i].shape[0];
        *bytes += t[i].rank == 2 ? size * t[i].shape[1] : size;
    }
    GEODEC_TRY(look(f, number, meta, t, n, g->replace, &there, err));
    if (there) {
        sum->resumed++;
    } else {
        GEODEC_TRY(geodec__export_folder_shard(f, number, &path, err));
        GEODEC_TRY(geodec_safetensors_create(path, t, n, meta, META, &j->out, err));
        GEODEC_TRY(read_windows(j, workers, pool, hooks, err));
        geodec_safetensors_writer *out = j->out;
        j->out = NULL;
        GEODEC_TRY(geodec_safetensors_commit(out, err));
        GEODEC_TRY(geodec__export_folder_added(f, number, err));
    }
done:
    geodec_safetensors_abandon(j->out);
    j->out = NULL;
    GEODEC_FREE(t, path);
    return st;
}

geodec_status geodec_export_shards(const geodec_model *m, const geodec_export_options *o,
                                   const geodec_export_source *source, const geodec_export_sharding *g,
                                   geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    char hex[GEODEC_SHA256_HEX];
    job j = {.c = c, .o = o};
    geodec__folder f = {0};
    geodec_export_summary sum = {0};
    int64_t bytes = 0;
    int workers = 0;
    geodec__export_plan_init(&j.plan, m, o, source);
    GEODEC_TRY(geodec__export_check(c, o, err));
    if (g->ranks > 0 && (!g->unfinished || g->rank < 0 || g->rank >= g->ranks))
        GEODEC_THROW(GEODEC_RANGE, "shards of rank %d of %d", g->rank, g->ranks);
    if (g->tokens < o->window)
        GEODEC_THROW(GEODEC_RANGE, "a shard of %lld tokens is below the window of %d", (long long)g->tokens, o->window);
    fingerprint(m, o, g, hex);
    GEODEC_TRY(geodec__export_folder_open(g->folder, &f, err));
    workers = geodec__export_workers(m, o, pool, GEODEC__EXPORT_PASS * geodec__export_row_bytes(c, o));
    GEODEC_NEW(j.reader, workers);
    for (int i = 0; i < workers; i++) {
        GEODEC_TRY(geodec__export_reader_init(&j.reader[i], m, o, workers > 1 ? NULL : pool, err));
        GEODEC_TRY(geodec__export_rows_init(&j.reader[i].rows, c, o, GEODEC__EXPORT_PASS, true, err));
    }
    for (;;) {
        GEODEC_TRY(geodec__export_plan_next(&j.plan, INT64_MAX, g->tokens, err));
        if (j.plan.n == 0) break;
        GEODEC_TRY(one_shard(&j, &f, g, hex, workers, pool, hooks, &sum, &bytes, err));
    }
    GEODEC_TRY(geodec__export_plan_sum(&j.plan, &sum, err));
    for (int64_t i = sum.shards + 1; i <= f.n; i++) {
        if (g->rank > 0 || !geodec__export_folder_has(&f, i)) continue;
        if (!g->replace)
            GEODEC_THROW(GEODEC_CHECKSUM,
                         "%s: shard %lld belongs to another run (this one has %lld); --force removes it", g->folder,
                         (long long)i, (long long)sum.shards);
        GEODEC_TRY(geodec__export_folder_drop(&f, i, err));
    }
    if (!g->unfinished) {
        GEODEC_TRY(geodec__export_folder_finish(&f, sum.shards, err));
        GEODEC_TRY(write_index(g->folder, m, o, g, hex, &sum, bytes, err));
    }
    if (summary) *summary = sum;
done:
    for (int i = 0; j.reader && i < workers; i++) geodec__export_reader_clear(&j.reader[i]);
    geodec_mem_free(j.reader);
    geodec__export_plan_clear(&j.plan);
    geodec__export_folder_close(&f);
    return st;
}

/* ---- joined into one artifact ----------------------------------------------------------------------------------- */

/* Reads rows first .. first+n-1 of a shard, with the states of each row together. layer: room for n d values. */
static geodec_status read_rows(const geodec_safetensors *s, const geodec_model_config *c,
                               const geodec_export_options *o, int64_t first, int32_t n, void *layer, geodec__rows *r,
                               geodec_err *err)
{
    const size_t size = o->half ? sizeof(uint16_t) : sizeof(float), d = (size_t)c->d_model * size;
    char *state = o->half ? (char *)r->half : (char *)r->state;
    r->n = n;
    for (int i = 0; i < r->n_columns; i++) {
        const int64_t width = r->column[i].width ? r->column[i].width : 1;
        void *data = geodec__export_column_data(r, &r->column[i]);
        GEODEC_PASS(geodec_safetensors_read(s, i, first * width, n * width, data, err));
    }
    for (int32_t l = 0; l < o->n_layers; l++) {
        GEODEC_PASS(
            geodec_safetensors_read(s, r->n_columns + l, first * c->d_model, (int64_t)n * c->d_model, layer, err));
        for (int32_t i = 0; i < n; i++)
            memcpy(state + ((size_t)i * (size_t)o->n_layers + (size_t)l) * d, (const char *)layer + (size_t)i * d, d);
    }
    return GEODEC_OK;
}

/* One shard, window by window, as geodec_export_run appends. */
static geodec_status append_shard(const geodec_safetensors *s, const geodec_model_config *c,
                                  const geodec_export_options *o, geodec__rows *r, geodec_artifact *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL;
    float *layer = NULL;
    const int at = 2; /* index of `sequence` */
    if (geodec_safetensors_count(s) != r->n_columns + o->n_layers)
        GEODEC_THROW(GEODEC_FORMAT, "a shard has an unexpected number of tensors");
    const int64_t rows = geodec_safetensors_at(s, at)->shape[0];
    GEODEC_NEW(sequence, rows);
    GEODEC_NEW(layer, rows * c->d_model);
    GEODEC_TRY(geodec_safetensors_read(s, at, 0, rows, sequence, err));
    for (int64_t first = 0, next; first < rows; first = next) {
        for (next = first + 1; next < rows && sequence[next] == sequence[first];) next++;
        if (next - first > o->window)
            GEODEC_THROW(GEODEC_FORMAT, "sequence %d is longer than the window", sequence[first]);
        GEODEC_TRY(geodec__export_rows_fit(r, c, o, (int32_t)(next - first), err));
        GEODEC_TRY(read_rows(s, c, o, first, (int32_t)(next - first), layer, r, err));
        GEODEC_TRY(geodec__export_artifact_rows(out, o, r, err));
    }
done:
    GEODEC_FREE(sequence, layer);
    return st;
}

geodec_status geodec_export_assemble(const geodec_model *m, const geodec_export_options *o, const char *folder,
                                     int64_t shards, geodec_artifact *out, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec__rows r = {0};
    geodec__folder f = {0};
    geodec_safetensors *s = NULL;
    char *path = NULL;
    GEODEC_TRY(geodec__export_check(c, o, err));
    GEODEC_TRY(geodec__export_rows_fit(&r, c, o, 1, err));
    GEODEC_TRY(geodec__export_folder_open(folder, &f, err));
    GEODEC_TRY(geodec__export_artifact_begin(out, c, o, err));
    for (int64_t k = 1; k <= shards; k++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "joining shards", k - 1, shards, err));
        GEODEC_TRY(geodec__export_folder_shard(&f, k, &path, err));
        GEODEC_TRY(geodec_safetensors_open(path, &s, err));
        GEODEC_TRY_MSG(append_shard(s, c, o, &r, out, err), "%s", path);
        geodec_safetensors_close(s);
        geodec_mem_free(path);
        s = NULL;
        path = NULL;
    }
done:
    geodec_safetensors_close(s);
    geodec_mem_free(path);
    geodec__export_rows_clear(&r);
    geodec__export_folder_close(&f);
    return st;
}

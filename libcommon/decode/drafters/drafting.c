#include "drafters/drafting.h"

#include "base/mem.h"
#include "drafters/auto_drafter.h"
#include "drafters/depth_sink.h"
#include "drafters/mixture_drafter.h"
#include "drafters/model_drafter.h"
#include "drafters/registry_internal.h"
#include "lowrank/projection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PART_MAX = 32, FILES_MAX = 8 /* artifacts of drafters in one folder */ };

struct geodec_drafting {
    geodec__ingredients in;
    geodec_artifact *map_file; /* flowmap.h5, NULL without a folder */
    bool flowmap;              /* it was requested as a drafter */
    struct loaded {
        const geodec__drafter_file *of;
        geodec_artifact *file;
        void *table;
    } loaded[FILES_MAX];
    int n_loaded;
    char *second;     /* file of the second model, NULL = none */
    char *projection; /* projection file of the second model, NULL = none */
};

/* The parts of a drafter's name: "ngram+flowmap" has two. */
typedef struct parts {
    int32_t n; /* at most GEODEC_MIXTURE_MAX + 1 */
    struct part {
        char name[PART_MAX];
        const geodec__drafter_row *row; /* NULL: no drafter has this name */
        int32_t blocks;                 /* N of "name:N", 0 without */
    } of[GEODEC_MIXTURE_MAX + 1];
} parts;

static parts parts_of(const char *name)
{
    parts p = {0};
    for (const char *at = name; p.n <= GEODEC_MIXTURE_MAX; at++) {
        const size_t length = strcspn(at, "+");
        struct part *x = &p.of[p.n++];
        (void)snprintf(x->name, PART_MAX, "%.*s", (int)length, at);
        x->row = geodec__registry_find(x->name, &x->blocks);
        at += length;
        if (!*at) break;
    }
    return p;
}

bool geodec_drafting_knows(const char *name)
{
    const parts p = parts_of(name);
    for (int32_t k = 0; k < p.n; k++)
        if (!p.of[k].row || (p.n > 1 && (p.of[k].row->info.flags & GEODEC_DRAFTER_ALONE))) return false;
    return p.n <= GEODEC_MIXTURE_MAX && strlen(name) < GEODEC_DRAFTER_NAME_MAX;
}

/* True if a part of one of the names is such a drafter. */
static bool any(const char *const *names, int n, bool (*which)(const struct part *x, const char *word),
                const char *word)
{
    for (int i = 0; i < n; i++) {
        const parts p = parts_of(names[i]);
        for (int32_t k = 0; k < p.n; k++)
            if (p.of[k].row && which(&p.of[k], word)) return true;
    }
    return false;
}

static bool is_named(const struct part *x, const char *word) { return strcmp(x->row->info.name, word) == 0; }

static bool needs_file(const struct part *x, const char *word)
{
    (void)word;
    return x->row->file || is_named(x, "flowmap");
}

static bool takes_file(const struct part *x, const char *word)
{
    return needs_file(x, word) || (x->row->info.flags & GEODEC_DRAFTER_TEXTS);
}

static bool ends_at_sink(const struct part *x, const char *word)
{
    (void)word;
    return (x->row->info.flags & GEODEC_DRAFTER_BLOCKS) && x->blocks == 0;
}

bool geodec_drafting_needs_artifacts(const char *name) { return any(&name, 1, needs_file, NULL); }
bool geodec_drafting_takes_artifacts(const char *name) { return any(&name, 1, takes_file, NULL); }

static bool asked(const char *const *names, int n, const char *name) { return any(names, n, is_named, name); }

/* Measures the depth sink if a drafter uses it as its number of blocks. */
static geodec_status measure_sink(geodec_drafting *d, const char *const *names, int n, geodec_err *err)
{
    geodec_depth_sink sink = {0};
    for (int i = 0; i < n && sink.layer == 0; i++)
        if (any(&names[i], 1, ends_at_sink, NULL))
            GEODEC_PASS_MSG(geodec_depth_sink_measure(d->in.model, &sink, NULL, err), "drafter %s", names[i]);
    d->in.sink = sink.layer;
    return GEODEC_OK;
}

static geodec_status open_map(geodec_drafting *d, const char *dir, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/flowmap.h5", dir));
    GEODEC_TRY(geodec_artifact_open(&geodec_flowmap_kind, path, &d->map_file, err));
    GEODEC_TRY(geodec_flowmap_read(d->map_file, &d->in.map, err));
    GEODEC_TRY_MSG(geodec_flowmap_match(&d->in.map, geodec_model_fingerprint(d->in.model),
                                        geodec_tokenizer_fingerprint(geodec_model_tokenizer(d->in.model)), err),
                   "%s", path);
    if (d->in.map.d != geodec_model_configuration(d->in.model)->d_model ||
        d->in.map.vocab != geodec_model_configuration(d->in.model)->n_vocab)
        GEODEC_THROW(GEODEC_FORMAT, "%s: width or vocabulary differ from the model's", path);
done:
    geodec_mem_free(path);
    return st;
}

static geodec_status make_stores(geodec_drafting *d, const char *const *names, int n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { K = 1 + GEODEC_FLOW_CHOICES };
    int32_t *token = NULL, *sequence = NULL, *argmax = NULL, *choice = NULL;
    uint8_t *probability = NULL;
    const int64_t positions = geodec_flowmap_positions(&d->in.map);
    GEODEC_NEW_EACH(positions, token, sequence, argmax);
    geodec_flowmap_texts(&d->in.map, token, sequence, argmax);
    if (asked(names, n, "ngram") || asked(names, n, "auto")) {
        GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, positions, GEODEC_NGRAM_ORDER, &d->in.ngram, err));
        if (d->in.map.probability) {
            GEODEC_NEW_EACH(positions * K, choice, probability);
            geodec_flowmap_probabilities(&d->in.map, choice, probability);
            GEODEC_TRY(geodec_ngram_learn_probabilities(d->in.ngram, token, sequence, positions, K, choice, probability,
                                                        GEODEC_NGRAM_ORDER, err));
        }
    }
    if (asked(names, n, "bigram"))
        GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, positions, 1, &d->in.bigram, err));
done:
    GEODEC_FREE(token, sequence, argmax, choice, probability);
    return st;
}

static geodec_status check_origin(const geodec_artifact *a, const geodec_model *m, geodec_err *err)
{
    const geodec_provenance *p = geodec_artifact_provenance(a);
    if (strcmp(p->model_fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: baked from another model (%.12s..., not %.12s...)", geodec_artifact_path(a),
                    p->model_fingerprint, geodec_model_fingerprint(m));
    if (strcmp(p->tokenizer_fingerprint, geodec_tokenizer_fingerprint(geodec_model_tokenizer(m))) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: baked with another tokenizer", geodec_artifact_path(a));
    return GEODEC_OK;
}

static const void *table_of(const geodec_drafting *d, const geodec__drafter_row *row)
{
    for (int i = 0; i < d->n_loaded; i++)
        if (d->loaded[i].of == row->file) return d->loaded[i].table;
    return NULL;
}

/* Reads the drafter's file from the folder, unless another drafter has read it. */
static geodec_status load(geodec_drafting *d, const geodec__drafter_row *row, const char *dir, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__drafter_file *f = row->file;
    const geodec_model_config *c = geodec_model_configuration(d->in.model);
    char *path = NULL;
    int64_t width, vocab;
    if (table_of(d, row)) goto done;
    if (!dir)
        GEODEC_THROW(GEODEC_INVAL, "the %s drafter needs a folder with %s (--artifacts)", row->info.name, f->name);
    if (d->n_loaded == FILES_MAX) GEODEC_THROW(GEODEC_INTERNAL, "more than %d files of drafters", FILES_MAX);
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/%s", dir, f->name));
    struct loaded *l = &d->loaded[d->n_loaded];
    GEODEC_TRY_MSG(geodec_artifact_open(f->kind, path, &l->file, err), "drafter %s, from %s", row->info.name,
                   f->kind->tool);
    d->n_loaded++;
    l->of = f;
    GEODEC_TRY(check_origin(l->file, d->in.model, err));
    l->table = geodec_mem_new(1, f->size);
    if (!l->table) GEODEC_THROW(GEODEC_NOMEM, "no memory for %s", path);
    GEODEC_TRY(f->read(l->file, l->table, err));
    f->shape(l->table, &width, &vocab);
    if (width != c->d_model || vocab != c->n_vocab)
        GEODEC_THROW(GEODEC_FORMAT, "%s: width or vocabulary differ from the model's", path);
done:
    geodec_mem_free(path);
    return st;
}

geodec_status geodec_drafting_open(const geodec_model *m, const char *dir, const char *const *names, int n,
                                   geodec_drafting **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_drafting *d = NULL;
    for (int i = 0; i < n; i++)
        if (!geodec_drafting_knows(names[i]))
            GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s' (--help names them)", names[i]);
    const bool all = asked(names, n, "auto"), map = asked(names, n, "flowmap"),
               store = all || asked(names, n, "ngram") || asked(names, n, "bigram");
    if (map && !dir) GEODEC_THROW(GEODEC_INVAL, "the flowmap drafter needs a folder with flowmap.h5 (--artifacts)");
    GEODEC_NEW(d, 1);
    d->in.model = m;
    d->flowmap = map || (all && dir);
    GEODEC_TRY(measure_sink(d, names, n, err));
    if (dir && (map || store)) {
        GEODEC_TRY(open_map(d, dir, err));
        if (store) GEODEC_TRY(make_stores(d, names, n, err));
    }
    for (int i = 0; i < geodec__registry_count; i++)
        if (geodec__registry[i].file && asked(names, n, geodec__registry[i].info.name))
            GEODEC_TRY(load(d, &geodec__registry[i], dir, err));
    GEODEC_MOVE(*out, d);
done:
    geodec_drafting_close(d);
    return st;
}

geodec_status geodec_drafting_sessions(geodec_drafting *d, const geodec_session_options *how, const char *draft_model,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    d->in.how = *how;
    d->in.second_arithmetic = how->arithmetic;
    if (!draft_model) goto done;
    if (d->in.second) GEODEC_THROW(GEODEC_INVAL, "more than one draft model is given");
    GEODEC_TRY(geodec_model_open(draft_model, &d->in.second, err));
    GEODEC_STRDUP(d->second, draft_model);
    GEODEC_TRY_MSG(geodec_model_drafter_check(d->in.second, d->in.model, err), "%s", draft_model);
done:
    return st;
}

geodec_status geodec_drafting_project(geodec_drafting *d, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!d->in.second)
        GEODEC_TRY(geodec_model_open(geodec_gguf_path(geodec_model_gguf(d->in.model)), &d->in.second, err));
    GEODEC_TRY(geodec_projection_load(path, d->in.second, err));
    GEODEC_STRDUP(d->projection, path);
done:
    return st;
}

const geodec_model *geodec_drafting_second(const geodec_drafting *d) { return d->in.second; }

void geodec_drafting_arithmetic(geodec_drafting *d, geodec_arithmetic a) { d->in.second_arithmetic = a; }

geodec_status geodec_drafting_library(geodec_drafting *d, const char *path, int64_t bound, const geodec_hooks *hooks,
                                      geodec_err *err)
{
    if (!d->flowmap || d->in.library)
        GEODEC_FAIL(GEODEC_INVAL, "%s: a library can grow with only one flowmap drafter (--draft)", path);
    GEODEC_PASS(geodec_flowmap_library_open(&d->in.map, geodec_artifact_sha256(d->map_file), path, bound, hooks,
                                            &d->in.library, err));
    return GEODEC_OK;
}

const geodec_flowmap_library *geodec_drafting_grown(const geodec_drafting *d) { return d->in.library; }

void geodec_drafting_close(geodec_drafting *d)
{
    if (!d) return;
    geodec_ngram_destroy(d->in.ngram);
    geodec_ngram_destroy(d->in.bigram);
    geodec_flowmap_library_close(d->in.library);
    geodec_flowmap_clear(&d->in.map);
    geodec_artifact_close(d->map_file);
    for (int i = 0; i < d->n_loaded; i++) {
        if (d->loaded[i].table) d->loaded[i].of->clear(d->loaded[i].table);
        geodec_mem_free(d->loaded[i].table);
        geodec_artifact_close(d->loaded[i].file);
    }
    geodec_model_close(d->in.second);
    GEODEC_FREE(d->second, d->projection, d);
}

static geodec_status create_one(const geodec_drafting *d, const struct part *x, geodec_drafter **out, geodec_err *err)
{
    const geodec__drafter_row *row = x->row;
    const void *table = row->file ? table_of(d, row) : NULL;
    if (row->file && !table) GEODEC_FAIL(GEODEC_INVAL, "the %s drafter was not opened", x->name);
    GEODEC_PASS(row->create(&d->in, row, table, x->blocks, out, err));
    return GEODEC_OK;
}

/* All available drafters. The first is active until another leads. */
static geodec_status create_auto(const geodec_drafting *d, geodec_drafter **out, geodec_err *err)
{
    static const char *const names[] = {"ngram", "lookup", "flowmap", "ngram+flowmap"};
    static const bool trees_only[] = {false, false, false, true};
    static const double price[] = {1e-6, 1e-6, 15e-6, 20e-6};
    geodec_status st = GEODEC_OK;
    geodec_drafter *made[4] = {0};
    /* A growing library supports only one flow-map drafter, so the mixture, which contains another, is left out. */
    const int32_t n = !d->in.map.scan ? 2 : d->in.library ? 3 : 4;
    for (int32_t k = 0; k < n; k++) GEODEC_TRY(geodec_drafting_create(d, names[k], &made[k], err));
    st = geodec_auto_drafter_create(n, made, trees_only, price, d->in.map.scan ? (int32_t)d->in.map.d : 0, out, err);
    memset(made, 0, sizeof made); /* owned by the scheduler now, or destroyed */
    GEODEC_TRY(st);
done:
    for (int32_t k = 0; k < 4; k++) geodec_drafter_destroy(made[k]);
    return st;
}

geodec_status geodec_drafting_create(const geodec_drafting *d, const char *name, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_drafter *made[GEODEC_MIXTURE_MAX] = {0};
    double weight[GEODEC_MIXTURE_MAX];
    if (!geodec_drafting_knows(name)) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", name);
    if (strcmp(name, "auto") == 0) return create_auto(d, out, err);
    const parts p = parts_of(name);
    if (p.n == 1) return create_one(d, &p.of[0], out, err);
    for (int32_t k = 0; k < p.n; k++) {
        weight[k] = p.of[k].row->weight > 0 ? p.of[k].row->weight : 1;
        GEODEC_TRY(create_one(d, &p.of[k], &made[k], err));
    }
    st = geodec_mixture_drafter_create("mixture", p.n, made, weight, out, err);
    memset(made, 0, sizeof made); /* owned by the mixture now, or destroyed */
    GEODEC_TRY(st);
done:
    for (int32_t k = 0; k < GEODEC_MIXTURE_MAX; k++) geodec_drafter_destroy(made[k]);
    return st;
}

void geodec_drafting_consistency(const geodec_drafting *d, double *consistency, double *shuffled)
{
    *consistency = d->map_file ? d->in.map.consistency : NAN;
    *shuffled = d->map_file ? d->in.map.consistency_shuffled : NAN;
}

geodec_status geodec_drafting_provenance(const geodec_drafting *d, geodec_provenance *p, geodec_err *err)
{
    if (d->map_file) GEODEC_PASS(geodec_provenance_add_artifact(p, d->map_file, err));
    for (int i = 0; i < d->n_loaded; i++) GEODEC_PASS(geodec_provenance_add_artifact(p, d->loaded[i].file, err));
    if (d->second) GEODEC_PASS(geodec_provenance_add_file(p, d->second, err));
    if (d->projection) GEODEC_PASS(geodec_provenance_add_file(p, d->projection, err));
    return GEODEC_OK;
}

int32_t geodec_drafting_stop_tokens(const geodec_tokenizer *t, int32_t stop[GEODEC_STOP_TOKENS])
{
    int32_t n = 0;
    const int32_t eos = geodec_tokenizer_eos(t), bos = geodec_tokenizer_bos(t);
    if (eos >= 0) stop[n++] = eos;
    if (bos >= 0 && bos != eos) stop[n++] = bos;
    for (int32_t id = 0; id < geodec_tokenizer_size(t) && n < GEODEC_STOP_TOKENS; id++)
        if (id != eos && id != bos && geodec_tokenizer_is_end(t, id)) stop[n++] = id;
    return n;
}

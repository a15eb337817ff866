#include "drafters/drafting.h"

#include "base/mem.h"
#include "drafters/depth_sink.h"
#include "drafters/draft_auto.h"
#include "drafters/draft_flowmap.h"
#include "drafters/draft_lookup.h"
#include "drafters/draft_mixture.h"
#include "drafters/draft_ngram.h"
#include "drafters/draft_recycle.h"
#include "drafters/drafting_models.h"
#include "drafters/drafting_tables.h"
#include "project/projection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PART_MAX = 32 };

struct geodec_drafting {
    const geodec_model *model;
    geodec_artifact *file; /* flowmap.h5, NULL without a folder */
    geodec_flowmap map;
    bool flowmap;                 /* it was asked for as a drafter */
    geodec_flowgrown *library;    /* NULL = none */
    geodec_ngram *ngram, *bigram; /* the map's texts as n-gram stores, NULL = not asked for or no folder */
    drafting_models models;
    drafting_tables tables;
    char *second;     /* its file, NULL = none */
    char *projection; /* file it runs from, NULL = none */
};

/* Parts of a name: "ngram+flowmap" has two. Returns how many, at most GEODEC_MIXTURE_MAX + 1. */
static int32_t parts_of(const char *name, char part[GEODEC_MIXTURE_MAX + 1][PART_MAX])
{
    int32_t n = 0;
    for (const char *at = name; n <= GEODEC_MIXTURE_MAX; at++) {
        const size_t length = strcspn(at, "+");
        (void)snprintf(part[n++], PART_MAX, "%.*s", (int)length, at);
        at += length;
        if (!*at) break;
    }
    return n;
}

bool geodec_drafting_knows(const char *name)
{
    static const char *const names[] = {"none", "auto", "bigram", "ngram", "flowmap", "lookup", "recycle"};
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    const int32_t n = parts_of(name, part);
    for (int32_t k = 0; k < n; k++) {
        bool found = false;
        for (size_t i = n > 1 ? 2 : 0; i < sizeof names / sizeof *names; i++) found |= strcmp(part[k], names[i]) == 0;
        if (!found && !geodec__models_know(part[k]) && !geodec__tables_know(part[k])) return false;
    }
    return n <= GEODEC_MIXTURE_MAX && strlen(name) < GEODEC_DRAFTER_NAME_MAX;
}

bool geodec_drafting_needs_artifacts(const char *name)
{
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    const int32_t n = parts_of(name, part);
    for (int32_t k = 0; k < n; k++)
        if (strcmp(part[k], "flowmap") == 0 || geodec__tables_know(part[k])) return true;
    return false;
}

bool geodec_drafting_takes_artifacts(const char *name)
{
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    const int32_t n = parts_of(name, part);
    for (int32_t k = 0; k < n; k++)
        if (strcmp(part[k], "ngram") == 0 || strcmp(part[k], "bigram") == 0 || strcmp(part[k], "auto") == 0)
            return true;
    return geodec_drafting_needs_artifacts(name);
}

/* Is it one of the names, or part of one? */
static bool asked(const char *const *names, int n, const char *name)
{
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    for (int i = 0; i < n; i++) {
        const int32_t parts = parts_of(names[i], part);
        for (int32_t k = 0; k < parts; k++)
            if (strcmp(part[k], name) == 0) return true;
    }
    return false;
}

/* The depth sink is measured when a drafter ends there. */
static geodec_status measure_sink(geodec_drafting *d, const char *const *names, int n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    geodec_depth_sink sink = {0};
    for (int i = 0; i < n; i++) {
        const int32_t parts = parts_of(names[i], part);
        for (int32_t k = 0; k < parts; k++)
            if (sink.layer == 0 && geodec__models_want_sink(part[k]))
                GEODEC_TRY_MSG(geodec_depth_sink_measure(d->model, &sink, NULL, err), "drafter %s", names[i]);
    }
    d->models.sink = sink.layer;
done:
    return st;
}

static geodec_status open_map(geodec_drafting *d, const char *dir, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    const size_t room = strlen(dir) + sizeof "/flowmap.h5";
    GEODEC_NEW(path, (int64_t)room);
    (void)snprintf(path, room, "%s/flowmap.h5", dir);
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_flowmap, path, &d->file, err));
    GEODEC_TRY(geodec_flowmap_read(d->file, &d->map, err));
    GEODEC_TRY_MSG(geodec_flowmap_match(&d->map, geodec_model_fingerprint(d->model),
                                        geodec_tokenizer_fingerprint(geodec_model_tokenizer(d->model)), err),
                   "%s", path);
    if (d->map.d != geodec_model_configuration(d->model)->d_model ||
        d->map.vocab != geodec_model_configuration(d->model)->n_vocab)
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
    uint8_t *chance = NULL;
    const int64_t positions = geodec_flowmap_positions(&d->map);
    GEODEC_NEW(token, positions);
    GEODEC_NEW(sequence, positions);
    GEODEC_NEW(argmax, positions);
    geodec_flowmap_texts(&d->map, token, sequence, argmax);
    if (asked(names, n, "ngram") || asked(names, n, "auto")) {
        GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, positions, GEODEC_NGRAM_ORDER, &d->ngram, err));
        if (d->map.chance) {
            GEODEC_NEW(choice, positions * K);
            GEODEC_NEW(chance, positions * K);
            geodec_flowmap_chances(&d->map, choice, chance);
            GEODEC_TRY(geodec_ngram_learn_chances(d->ngram, token, sequence, positions, K, choice, chance,
                                                  GEODEC_NGRAM_ORDER, err));
        }
    }
    if (asked(names, n, "bigram"))
        GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, positions, 1, &d->bigram, err));
done:
    geodec_mem_free(token);
    geodec_mem_free(sequence);
    geodec_mem_free(argmax);
    geodec_mem_free(choice);
    geodec_mem_free(chance);
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
    d->model = m;
    d->flowmap = map || (all && dir);
    GEODEC_TRY(measure_sink(d, names, n, err));
    if (dir && (map || store)) {
        GEODEC_TRY(open_map(d, dir, err));
        if (store) GEODEC_TRY(make_stores(d, names, n, err));
    }
    for (int i = 0; i < DRAFTING_TABLES; i++)
        if (asked(names, n, geodec__tables_name(i))) GEODEC_TRY(geodec__tables_load(&d->tables, i, m, dir, err));
    *out = d;
    d = NULL;
done:
    geodec_drafting_close(d);
    return st;
}

geodec_status geodec_drafting_sessions(geodec_drafting *d, const geodec_session_options *how, const char *draft_model,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    d->models.how = *how;
    d->models.second_arithmetic = how->arithmetic;
    if (!draft_model) goto done;
    if (d->models.second) GEODEC_THROW(GEODEC_INVAL, "two draft models");
    GEODEC_TRY(geodec_model_open(draft_model, &d->models.second, err));
    d->second = geodec_mem_strdup(draft_model);
    if (!d->second) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file's name");
    if (strcmp(geodec_tokenizer_fingerprint(geodec_model_tokenizer(d->models.second)),
               geodec_tokenizer_fingerprint(geodec_model_tokenizer(d->model))) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: another tokenizer than the model's, its ids mean other tokens", draft_model);
done:
    return st;
}

geodec_status geodec_drafting_project(geodec_drafting *d, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!d->models.second)
        GEODEC_TRY(geodec_model_open(geodec_gguf_path(geodec_model_gguf(d->model)), &d->models.second, err));
    GEODEC_TRY(geodec_projection_load(path, d->models.second, err));
    d->projection = geodec_mem_strdup(path);
    if (!d->projection) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file's name");
done:
    return st;
}

const geodec_model *geodec_drafting_second(const geodec_drafting *d) { return d->models.second; }

void geodec_drafting_arithmetic(geodec_drafting *d, geodec_arithmetic a) { d->models.second_arithmetic = a; }

geodec_status geodec_drafting_library(geodec_drafting *d, const char *path, int64_t bound, const geodec_hooks *hooks,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!d->flowmap || d->library)
        GEODEC_THROW(GEODEC_INVAL, "%s: a library grows beside one flowmap drafter (--draft)", path);
    GEODEC_TRY(geodec_flowgrown_open(&d->map, geodec_artifact_sha256(d->file), path, bound, hooks, &d->library, err));
done:
    return st;
}

const geodec_flowgrown *geodec_drafting_grown(const geodec_drafting *d) { return d->library; }

void geodec_drafting_close(geodec_drafting *d)
{
    if (!d) return;
    geodec_ngram_destroy(d->ngram);
    geodec_ngram_destroy(d->bigram);
    geodec_flowgrown_close(d->library);
    geodec_flowmap_clear(&d->map);
    geodec_artifact_close(d->file);
    geodec__tables_close(&d->tables);
    geodec_model_close(d->models.second);
    geodec_mem_free(d->second);
    geodec_mem_free(d->projection);
    geodec_mem_free(d);
}

static geodec_status create_one(const geodec_drafting *d, const char *name, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (strcmp(name, "none") == 0)
        *out = NULL;
    else if (strcmp(name, "flowmap") == 0) {
        if (!d->map.scan) GEODEC_THROW(GEODEC_INVAL, "the flowmap drafter was not opened");
        GEODEC_TRY(geodec_flowmap_drafter_create(&d->map, d->library, out, err));
    } else if (strcmp(name, "lookup") == 0) {
        GEODEC_TRY(geodec_lookup_drafter_create(out, err));
    } else if (strcmp(name, "recycle") == 0) {
        GEODEC_TRY(geodec_recycle_drafter_create(geodec_model_configuration(d->model)->n_vocab, out, err));
    } else if (geodec__tables_know(name)) {
        GEODEC_TRY(geodec__tables_create(&d->tables, name, out, err));
    } else if (geodec__models_know(name)) {
        GEODEC_TRY(geodec__models_create(&d->models, d->model, name, out, err));
    } else {
        const bool one = strcmp(name, "bigram") == 0;
        GEODEC_TRY(geodec_ngram_drafter_create(one ? d->bigram : d->ngram, one ? 1 : GEODEC_NGRAM_ORDER, out, err));
    }
done:
    return st;
}

/* All there is. The first drafts until another leads. */
static geodec_status create_auto(const geodec_drafting *d, geodec_drafter **out, geodec_err *err)
{
    static const char *const names[] = {"ngram", "lookup", "flowmap", "ngram+flowmap"};
    static const bool trees_only[] = {false, false, false, true};
    static const double price[] = {1e-6, 1e-6, 15e-6, 20e-6};
    geodec_status st = GEODEC_OK;
    geodec_drafter *made[4] = {0};
    /* Of flow maps with a library that grows there is one. */
    const int32_t n = !d->map.scan ? 2 : d->library ? 3 : 4;
    for (int32_t k = 0; k < n; k++) GEODEC_TRY(geodec_drafting_create(d, names[k], &made[k], err));
    st = geodec_auto_drafter_create(n, made, trees_only, price, d->map.scan ? (int32_t)d->map.d : 0, out, err);
    memset(made, 0, sizeof made); /* the scheduler's, or gone */
    GEODEC_TRY(st);
done:
    for (int32_t k = 0; k < 4; k++) geodec_drafter_destroy(made[k]);
    return st;
}

geodec_status geodec_drafting_create(const geodec_drafting *d, const char *name, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char part[GEODEC_MIXTURE_MAX + 1][PART_MAX];
    geodec_drafter *made[GEODEC_MIXTURE_MAX] = {0};
    double weight[GEODEC_MIXTURE_MAX];
    if (!geodec_drafting_knows(name)) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", name);
    if (strcmp(name, "auto") == 0) return create_auto(d, out, err);
    const int32_t n = parts_of(name, part);
    if (n == 1) return create_one(d, name, out, err);
    for (int32_t k = 0; k < n; k++) {
        /* The better ones where nothing is known yet. */
        weight[k] = strcmp(part[k], "flowmap") == 0 || strcmp(part[k], "recurrent") == 0 ? 20 : 1;
        GEODEC_TRY(create_one(d, part[k], &made[k], err));
    }
    st = geodec_mixture_drafter_create("mixture", n, made, weight, out, err);
    memset(made, 0, sizeof made); /* the mixture's, or gone */
    GEODEC_TRY(st);
done:
    for (int32_t k = 0; k < GEODEC_MIXTURE_MAX; k++) geodec_drafter_destroy(made[k]);
    return st;
}

void geodec_drafting_consistency(const geodec_drafting *d, double *consistency, double *shuffled)
{
    *consistency = d->file ? d->map.consistency : NAN;
    *shuffled = d->file ? d->map.consistency_shuffled : NAN;
}

geodec_status geodec_drafting_provenance(const geodec_drafting *d, geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (d->file) GEODEC_TRY(geodec_provenance_add_artifact(p, d->file, err));
    GEODEC_TRY(geodec__tables_provenance(&d->tables, p, err));
    if (d->second) GEODEC_TRY(geodec_provenance_add_file(p, d->second, err));
    if (d->projection) GEODEC_TRY(geodec_provenance_add_file(p, d->projection, err));
done:
    return st;
}

int32_t geodec_stop_tokens(const geodec_tokenizer *t, int32_t stop[GEODEC_STOP_TOKENS])
{
    int32_t n = 0;
    const int32_t eos = geodec_tokenizer_eos(t), bos = geodec_tokenizer_bos(t);
    if (eos >= 0) stop[n++] = eos;
    if (bos >= 0 && bos != eos) stop[n++] = bos;
    for (int32_t id = 0; id < geodec_tokenizer_size(t) && n < GEODEC_STOP_TOKENS; id++)
        if (id != eos && id != bos && geodec_tokenizer_is_end(t, id)) stop[n++] = id;
    return n;
}

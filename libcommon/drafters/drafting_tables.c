#include "drafters/drafting_tables.h"

#include "base/mem.h"
#include "drafters/draft_onedecode.h"
#include "drafters/draft_recurrent.h"
#include "drafters/draft_rollout.h"
#include "drafters/rungs_file.h"

#include <stdio.h>
#include <string.h>

enum { ONEDECODE, ONEDECODE_REF, RECURRENT, ROLLOUT, ROLLOUT_FLAT, ROLLOUT_RANDOM };

static const struct {
    const char *name, *file;
    const geodec_kind *kind;
} tables[DRAFTING_TABLES] = {
    [ONEDECODE] = {"onedecode", "onedecode.h5", &geodec_kind_onedecode},
    [ONEDECODE_REF] = {"onedecode-ref", "onedecode-ref.h5", &geodec_kind_onedecode_ref},
    [RECURRENT] = {"recurrent", "recurrent.h5", &geodec_kind_recurrent},
    [ROLLOUT] = {"rollout", "rollout.h5", &geodec_kind_rollout},
    [ROLLOUT_FLAT] = {"rollout-flat", "rollout.h5", &geodec_kind_rollout},
    [ROLLOUT_RANDOM] = {"rollout-random", "rollout.h5", &geodec_kind_rollout},
};

const char *geodec__tables_name(int i) { return tables[i].name; }

static int find(const char *name)
{
    for (int i = 0; i < DRAFTING_TABLES; i++)
        if (strcmp(tables[i].name, name) == 0) return i;
    return -1;
}

bool geodec__tables_know(const char *name) { return find(name) >= 0; }

static geodec_status check_origin(const geodec_artifact *a, const geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_provenance *p = geodec_artifact_provenance(a);
    if (strcmp(p->model_fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: baked from another model (%.12s..., not %.12s...)", geodec_artifact_path(a),
                     p->model_fingerprint, geodec_model_fingerprint(m));
    if (strcmp(p->tokenizer_fingerprint, geodec_tokenizer_fingerprint(geodec_model_tokenizer(m))) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: baked with another tokenizer", geodec_artifact_path(a));
done:
    return st;
}

static geodec_status check_width(const geodec_artifact *a, int64_t d, int64_t vocab, const geodec_model *m,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    if (d != c->d_model || vocab != c->n_vocab)
        GEODEC_THROW(GEODEC_FORMAT, "%s: width or vocabulary differ from the model's", geodec_artifact_path(a));
done:
    return st;
}

geodec_status geodec__tables_load(drafting_tables *t, int i, const geodec_model *m, const char *dir, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    if (!dir)
        GEODEC_THROW(GEODEC_INVAL, "the %s drafter needs a folder with %s (--artifacts)", tables[i].name,
                     tables[i].file);
    const size_t room = strlen(dir) + strlen(tables[i].file) + 2;
    GEODEC_NEW(path, (int64_t)room);
    (void)snprintf(path, room, "%s/%s", dir, tables[i].file);
    GEODEC_TRY_MSG(geodec_artifact_open(tables[i].kind, path, &t->file[i], err), "drafter %s, from %s", tables[i].name,
                   tables[i].kind->tool);
    GEODEC_TRY(check_origin(t->file[i], m, err));
    if (i == ONEDECODE) {
        GEODEC_TRY(geodec_onedecode_read(t->file[i], &t->onedecode, err));
        GEODEC_TRY(check_width(t->file[i], t->onedecode.step.d, t->onedecode.step.vocab, m, err));
    } else if (i == RECURRENT) {
        GEODEC_TRY(geodec_recurrent_read(t->file[i], &t->recurrent, err));
        GEODEC_TRY(check_width(t->file[i], t->recurrent.d, t->recurrent.vocab, m, err));
    } else if (i >= ROLLOUT) {
        if (!t->rollout.field) GEODEC_TRY(geodec_rollout_read(t->file[i], &t->rollout, err));
        GEODEC_TRY(check_width(t->file[i], t->rollout.step.d, t->rollout.step.vocab, m, err));
    } else {
        GEODEC_TRY(geodec_onedecode_ref_read(t->file[i], &t->onedecode_ref, err));
        GEODEC_TRY(check_width(t->file[i], geodec_model_configuration(m)->d_model, t->onedecode_ref.vocab, m, err));
    }
done:
    geodec_mem_free(path);
    return st;
}

void geodec__tables_close(drafting_tables *t)
{
    geodec_onedecode_clear(&t->onedecode);
    geodec_onedecode_ref_clear(&t->onedecode_ref);
    geodec_recurrent_clear(&t->recurrent);
    geodec_rollout_clear(&t->rollout);
    for (int i = 0; i < DRAFTING_TABLES; i++) {
        geodec_artifact_close(t->file[i]);
        t->file[i] = NULL;
    }
}

geodec_status geodec__tables_create(const drafting_tables *t, const char *name, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int i = find(name);
    if (i < 0) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", name);
    if (!t->file[i]) GEODEC_THROW(GEODEC_INVAL, "the %s drafter was not opened", name);
    if (i == ONEDECODE)
        GEODEC_TRY(geodec_onedecode_drafter_create(&t->onedecode, out, err));
    else if (i == RECURRENT)
        GEODEC_TRY(geodec_recurrent_drafter_create(&t->recurrent, out, err));
    else if (i >= ROLLOUT) {
        static const geodec_rollout_connection along[] = {GEODEC_ROLLOUT_FITTED, GEODEC_ROLLOUT_FLAT,
                                                          GEODEC_ROLLOUT_RANDOM};
        const geodec_rollout_connection c = along[i - ROLLOUT];
        GEODEC_TRY(geodec_rollout_drafter_create(&t->rollout, tables[i].name, GEODEC_ROLLOUT_TOKEN, c,
                                                 &t->rollout.trust[c], out, err));
    } else
        GEODEC_TRY(geodec_onedecode_ref_drafter_create(&t->onedecode_ref, out, err));
done:
    return st;
}

geodec_status geodec__tables_provenance(const drafting_tables *t, geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int i = 0; i < DRAFTING_TABLES; i++) {
        bool there = t->file[i] == NULL;
        for (int j = 0; j < i; j++) there |= t->file[j] && strcmp(tables[j].file, tables[i].file) == 0;
        if (!there) GEODEC_TRY(geodec_provenance_add_artifact(p, t->file[i], err));
    }
done:
    return st;
}

#include "fisher/model_states.h"

#include "base/mem.h"

#include <string.h>

geodec_status geodec_model_states_read(const geodec_artifact *activations, geodec_model_states *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states s = {.file = activations};
    GEODEC_TRY(geodec_activations_view(activations, &s.view, err));
    GEODEC_TRY(geodec_artifact_read(activations, "/token", &s.token, err));
    GEODEC_TRY(geodec_artifact_read(activations, "/position", &s.position, err));
    GEODEC_TRY(geodec_artifact_read(activations, "/sequence", &s.sequence, err));
    GEODEC_TRY(geodec_activations_units(activations, &s.text, &s.units, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_model_states_close(&s);
    return st;
}

geodec_status geodec_model_states_attach(geodec_model_states *s, const geodec_model *m, const char *name,
                                         geodec_pool *pool, geodec_err *err)
{
    int64_t d, n_layer;
    s->model = m;
    const geodec_model_config *mc = geodec_model_configuration(m);
    const geodec_reference_options o = {.pool = pool};
    GEODEC_PASS(geodec_artifact_get_i64(s->file, "d_model", &d, err));
    GEODEC_PASS(geodec_artifact_get_i64(s->file, "n_layer", &n_layer, err));
    const char *own = geodec_artifact_provenance(s->file)->model_fingerprint;
    if (d != mc->d_model || n_layer != mc->n_layer || (own && *own && strcmp(own, geodec_model_fingerprint(m)) != 0))
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s is not the model the states are from", name);
    GEODEC_PASS(geodec_reference_create(m, &o, &s->reference, err));
    return GEODEC_OK;
}

geodec_status geodec_model_states_open(const char *path, const geodec_artifact *activations, geodec_pool *pool,
                                       geodec_model_states *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states s = {0};
    GEODEC_TRY(geodec_model_states_read(activations, &s, err));
    GEODEC_TRY(geodec_model_open(path, &s.owned, err));
    GEODEC_TRY(geodec_model_states_attach(&s, s.owned, path, pool, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_model_states_close(&s);
    return st;
}

void geodec_model_states_close(geodec_model_states *s)
{
    geodec_reference_destroy(s->reference);
    geodec_model_close(s->owned);
    GEODEC_FREE(s->token, s->position, s->sequence, s->text);
    memset(s, 0, sizeof *s);
}

geodec_status geodec_model_states_rows_read(const geodec_model_states *s, int64_t layer, int64_t count,
                                            const int32_t *row, geodec_model_states_rows *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states_rows r = {0};
    float *state = NULL;
    uint8_t *scratch = NULL;
    int64_t index;
    const int64_t d = s->view.d, R = s->view.rows;
    GEODEC_TRY(geodec_activations_find_layer(&s->view, layer, &index, err));
    GEODEC_NEW(r.state, count * d);
    GEODEC_NEW_EACH(count, r.first, r.position);
    GEODEC_NEW(state, d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(&s->view, 1));
    for (int64_t i = 0; i < count; i++) {
        if (row[i] < 0 || row[i] >= R)
            GEODEC_THROW(GEODEC_RANGE, "row %d of %lld of the activations", row[i], (long long)R);
        GEODEC_TRY(geodec_activations_read(&s->view, index, row[i], 1, state, scratch, err));
        for (int64_t k = 0; k < d; k++) r.state[i * d + k] = (double)state[k];
        r.position[i] = s->position[row[i]];
        r.first[i] = row[i] - r.position[i];
        if (r.first[i] < 0 || s->position[r.first[i]] != 0)
            GEODEC_THROW(GEODEC_UNSUPPORTED, "the text before row %d is not in the file (--positions all)", row[i]);
    }
    r.s = (geodec_fisher_states){.layer = (int32_t)layer,
                                 .count = count,
                                 .state = r.state,
                                 .token = s->token,
                                 .tokens = R,
                                 .first = r.first,
                                 .position = r.position};
    GEODEC_MOVE(*out, r);
done:
    geodec_model_states_rows_clear(&r);
    GEODEC_FREE(state, scratch);
    return st;
}

void geodec_model_states_rows_clear(geodec_model_states_rows *r)
{
    GEODEC_FREE(r->state, r->first, r->position);
    memset(r, 0, sizeof *r);
}

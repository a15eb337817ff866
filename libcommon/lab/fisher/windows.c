#include "lab/fisher/windows.h"

#include "base/mem.h"
#include "io/tsv.h"
#include "lab/fisher/rank.h"

#include <string.h>

enum { DRAWS = 4 /* of the control */ };

typedef struct window {
    const geodec_fisher_windows *o;
    geodec_reference *reference;
    int32_t *token; /* [window] */
    double *x, *y;  /* [window][d_model] */
    double *p;      /* [n_vocab] */
    geodec_tsv *table;
} window;

/* Every layer of one window: the stream is carried from each to the next. */
static geodec_status one_window(window *s, int64_t number, int64_t n, geodec_err *err)
{
    geodec_reference *own;
    GEODEC_PASS(geodec_reference_of_text(s->reference, s->token, n, &own, err));
    geodec_reference_destroy(s->reference);
    s->reference = own;
    const geodec_reference *r = own;
    const geodec_model_config *mc = geodec_model_configuration(geodec_reference_model(r));
    const size_t bytes = (size_t)(n * geodec_reference_width(r, 0)) * sizeof *s->x;
    int32_t at = 0;
    double control = 0; /* p is the distribution of the whole model: the same from every layer */
    GEODEC_PASS(geodec_reference_embed(r, s->token, n, s->x, err));
    for (int32_t i = 0; i < s->o->n_layers; i++) {
        geodec_fisher_figures f;
        GEODEC_PASS(geodec_reference_run(r, at, s->o->layer[i], n, s->x, NULL, s->y, err));
        memcpy(s->x, s->y, bytes);
        at = s->o->layer[i];
        GEODEC_PASS_MSG(geodec_fisher_at(r, at, n, s->x, s->o->seed, (uint64_t)number, &f, s->p, err), "layer %d", at);
        if (i == 0)
            GEODEC_PASS(geodec_fisher_control(mc->d_model, mc->n_vocab, s->p, DRAWS, s->o->seed, (uint64_t)number,
                                              &control, err));
        geodec_tsv_i64(s->table, number);
        geodec_tsv_i64(s->table, s->token[n - 1]);
        geodec_tsv_i64(s->table, at);
        geodec_tsv_f64(s->table, f.entropy);
        geodec_tsv_f64(s->table, f.trace);
        geodec_tsv_f64(s->table, f.largest);
        geodec_tsv_f64(s->table, f.rank);
        geodec_tsv_f64(s->table, control);
        geodec_tsv_f64(s->table, f.check);
        GEODEC_PASS(geodec_tsv_end_row(s->table, err));
        GEODEC_PASS(geodec_hooks_progress(s->o->hooks, "measuring", number * s->o->n_layers + i + 1,
                                          s->o->windows * s->o->n_layers, err));
    }
    return GEODEC_OK;
}

/* each: tokens of a window without BOS */
static geodec_status all_windows(window *s, const char *path, int32_t bos, int64_t n, const int32_t *ids, int64_t each,
                                 geodec_err *err)
{
    for (int64_t w = 0; w < s->o->windows; w++) {
        const int64_t first = s->o->windows > 1 ? (n - each) * w / (s->o->windows - 1) : 0;
        s->token[0] = bos;
        memcpy(s->token + s->o->window - each, ids + first, (size_t)each * sizeof *ids);
        GEODEC_PASS_MSG(one_window(s, w, s->o->window, err), "%s: window %lld", path, (long long)w);
    }
    return GEODEC_OK;
}

geodec_status geodec_fisher_windows_print(const geodec_fisher_windows *o, const geodec_model *m, const char *path,
                                          int64_t n, const int32_t *ids, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    window s = {.o = o};
    const geodec_model_config *mc = geodec_model_configuration(m);
    const geodec_reference_options ro = {.pool = o->pool, .n_ctx = (int32_t)o->window};
    const int32_t bos = geodec_tokenizer_bos(geodec_model_tokenizer(m));
    const int64_t each = o->window - (bos >= 0);
    if (each < 1 || n < each) /* before the names of the columns are written */
        GEODEC_FAIL(n == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%s: %lld tokens; a window needs at least %lld", path,
                    (long long)n, (long long)each);
    GEODEC_TRY(geodec_reference_create(m, &ro, &s.reference, err));
    GEODEC_NEW(s.token, o->window);
    GEODEC_NEW_EACH(o->window * mc->d_model, s.x, s.y);
    GEODEC_NEW(s.p, mc->n_vocab);
    GEODEC_TRY(geodec_tsv_on(o->out, &s.table, err));
    GEODEC_TRY(geodec_tsv_names(s.table, "window token layer entropy trace largest rank control_rank check", err));
    GEODEC_TRY(all_windows(&s, path, bos, n, ids, each, err));
    GEODEC_TRY(geodec_tsv_finish(&s.table, err));
done:
    geodec_tsv_abandon(s.table);
    geodec_reference_destroy(s.reference);
    GEODEC_FREE(s.token, s.x, s.y, s.p);
    return st;
}

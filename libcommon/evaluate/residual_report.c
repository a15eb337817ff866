#include "evaluate/residual_report.h"

#include "io/tsv.h"

geodec_status geodec_residual_report_layers(FILE *out, const geodec_model *m, const geodec_residual_profile *p,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    static const char *const columns[] = {"model",        "layer", "state",   "state_se", "attention",
                                          "attention_se", "feed",  "feed_se", "rms",      "independent"};
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, (int)(sizeof columns / sizeof *columns), columns, err));
    for (int32_t l = 0; l <= p->n_layer; l++) {
        const geodec_residual_layer *y = &p->layer[l];
        geodec_tsv_str(t, geodec_model_name(m));
        geodec_tsv_i64(t, l);
        for (int w = 0; w < GEODEC_RESIDUALS; w++) {
            geodec_tsv_f64(t, y->mean[w]);
            geodec_tsv_f64(t, y->se[w]);
        }
        geodec_tsv_f64(t, y->rms);
        geodec_tsv_f64(t, y->independent);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_residual_report_fits(const char *path, const geodec_model *m, const geodec_residual_profile *p,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    static const char *const columns[] = {"model", "what", "exponent", "low", "high", "scatter_se", "r2"};
    GEODEC_TRY(geodec_tsv_create(path, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, (int)(sizeof columns / sizeof *columns), columns, err));
    for (int w = 0; w < GEODEC_RESIDUALS; w++) {
        const geodec_residual_fit *f = &p->fit[w];
        geodec_tsv_str(t, geodec_model_name(m));
        geodec_tsv_str(t, geodec_residual_name((geodec_residual_what)w));
        geodec_tsv_f64(t, f->exponent.value);
        geodec_tsv_f64(t, f->exponent.low);
        geodec_tsv_f64(t, f->exponent.high);
        geodec_tsv_f64(t, f->scatter_se);
        geodec_tsv_f64(t, f->r2);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

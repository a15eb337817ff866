#include "evaluate/perplexity_report.h"

#include <string.h>

typedef struct figure {
    const char *name;
    double value;
} figure;

enum { COUNTS = 5, FIGURES = 8, COMPARED = 11 };

static void figures_of(const geodec_perplexity_result *r, figure f[FIGURES + COMPARED])
{
    const figure all[FIGURES + COMPARED] = {
        {"nll", r->nll.mean},
        {"nll_se", r->nll.se},
        {"perplexity", r->perplexity},
        {"perplexity_se", r->perplexity * r->nll.se}, /* to first order */
        {"bits_per_byte", r->bits_per_byte},
        {"uniform_perplexity", r->uniform_perplexity},
        {"unigram_perplexity", r->unigram_perplexity},
        {"merged", r->merged},
        {"against_nll", r->against_nll.mean},
        {"against_nll_se", r->against_nll.se},
        {"against_perplexity", r->against_perplexity},
        {"difference", r->difference.mean},
        {"difference_se", r->difference.se},
        {"kl", r->kl.mean},
        {"kl_se", r->kl.se},
        {"agreement", r->agreement.mean},
        {"agreement_se", r->agreement.se},
        {"max_delta", r->max_delta},
        {"against_merged", r->against_merged},
    };
    memcpy(f, all, sizeof all);
}

static geodec_status begin_table(geodec_perplexity_report *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_perplexity_result none = {0};
    const char *columns[COUNTS + FIGURES + COMPARED] = {"text", "windows", "blocks", "tokens", "bytes"};
    figure f[FIGURES + COMPARED];
    const int n = s->q ? FIGURES + COMPARED : FIGURES;
    figures_of(&none, f);
    for (int i = 0; i < n; i++) columns[COUNTS + i] = f[i].name;
    GEODEC_TRY(geodec_tsv_on(s->out, &s->table, err));
    GEODEC_TRY(geodec_tsv_columns(s->table, COUNTS + n, columns, err));
done:
    return st;
}

static geodec_status table_row(geodec_perplexity_report *s, const char *text, const geodec_perplexity_result *r,
                               geodec_err *err)
{
    figure f[FIGURES + COMPARED];
    figures_of(r, f);
    geodec_tsv_str(s->table, text);
    geodec_tsv_i64(s->table, r->windows);
    geodec_tsv_i64(s->table, r->blocks);
    geodec_tsv_i64(s->table, r->tokens);
    geodec_tsv_i64(s->table, r->bytes);
    for (int i = 0; i < (s->q ? FIGURES + COMPARED : FIGURES); i++) geodec_tsv_f64(s->table, f[i].value);
    return geodec_tsv_end_row(s->table, err);
}

static void json_model(geodec_json_writer *w, const char *key, const geodec_scorer_evaluation *e)
{
    char text[GEODEC_ATTNRES_TEXT];
    geodec_json_begin_object(w, key);
    geodec_json_put_str(w, "name", geodec_model_name(e->model));
    geodec_json_put_str(w, "fingerprint", geodec_model_fingerprint(e->model));
    geodec_json_put_str(w, "arithmetic", geodec_scorer_evaluation_arithmetic(e));
    geodec_json_put_str(w, "kv", geodec_scorer_evaluation_kv(e));
    geodec_attnres_text(&e->attnres, text);
    geodec_json_put_str(w, "attnres", text);
    geodec_json_end(w);
}

geodec_status geodec_perplexity_report_begin_json(geodec_perplexity_report *s, const char *path,
                                                  const char *command_line, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_json_create(path, &s->json, err));
    geodec_json_put_str(s->json, "command_line", command_line);
    json_model(s->json, "model", s->p);
    if (s->q) json_model(s->json, "against", s->q);
    geodec_json_put_i64(s->json, "window", s->o->window);
    geodec_json_put_i64(s->json, "stride", s->o->stride);
    geodec_json_begin_array(s->json, "texts");
done:
    return st;
}

static void json_text(geodec_perplexity_report *s, const char *text, const char *sha256, const char *separator,
                      int64_t documents, const geodec_perplexity_result *r)
{
    geodec_json_writer *w = s->json;
    figure f[FIGURES + COMPARED];
    figures_of(r, f);
    geodec_json_begin_object(w, NULL);
    geodec_json_put_str(w, "text", text);
    geodec_json_put_str(w, "sha256", sha256);
    geodec_json_put_str(w, "separator", separator);
    geodec_json_put_i64(w, "documents", documents);
    geodec_json_put_i64(w, "windows", r->windows);
    geodec_json_put_i64(w, "blocks", r->blocks);
    geodec_json_put_i64(w, "tokens", r->tokens);
    geodec_json_put_i64(w, "bytes", r->bytes);
    for (int i = 0; i < (s->q ? FIGURES + COMPARED : FIGURES); i++) geodec_json_put_f64(w, f[i].name, f[i].value);
    geodec_json_begin_array(w, "window");
    for (int64_t i = 0; i < r->windows; i++) {
        const geodec_perplexity_window *one = &r->window[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_i64(w, "tokens", one->tokens);
        geodec_json_put_f64(w, "nll_sum", one->nll);
        if (s->q) {
            geodec_json_put_f64(w, "against_nll_sum", one->against_nll);
            geodec_json_put_f64(w, "kl_sum", one->kl);
            geodec_json_put_i64(w, "agree", (int64_t)one->agree);
            geodec_json_put_f64(w, "max_delta", one->max_delta);
        }
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_end(w);
}

geodec_status geodec_perplexity_report_add(geodec_perplexity_report *s, const char *text, const char *sha256,
                                           const char *separator, int64_t documents, const geodec_perplexity_result *r,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!s->table) GEODEC_TRY(begin_table(s, err));
    GEODEC_TRY(table_row(s, text, r, err));
    if (s->json) json_text(s, text, sha256, separator, documents, r);
done:
    return st;
}

geodec_status geodec_perplexity_report_end(geodec_perplexity_report *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_tsv_finish(&s->table, err));
    if (s->json) {
        geodec_json_writer *json = s->json;
        geodec_json_end(json);
        s->json = NULL;
        GEODEC_TRY(geodec_json_commit(json, err));
    }
done:
    return st;
}

void geodec_perplexity_report_abandon(geodec_perplexity_report *s)
{
    geodec_tsv_abandon(s->table);
    geodec_json_abandon(s->json);
    s->table = NULL;
    s->json = NULL;
}

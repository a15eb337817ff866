#include "prepare/record.h"

#include "base/mem.h"
#include "geodec/err.h"
#include "io/json.h"
#include "session/arithmetic.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_BYTES = 1 << 20 };
static const char name[] = "prepared.json";

geodec_status geodec_record_folder(const char *model_path, char **folder, geodec_err *err)
{
    return geodec_mem_print(folder, err, "%s.geodec", model_path);
}

geodec_status geodec_record_cached(const char *cache, const geodec_model *m, char **folder, geodec_err *err)
{
    return geodec_mem_print(folder, err, "%s/%s", cache, geodec_model_fingerprint(m));
}

/* Bytes of the weights: models of different sizes are distinguished without reading them. */
static int64_t weight_bytes(const geodec_model *m)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    int64_t sum = geodec_model_store_bytes(m);
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) sum += (int64_t)geodec_gguf_tensor_at(g, i)->bytes;
    return sum;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_trial(geodec_json_writer *w, const geodec_record_made *d)
{
    const geodec_trial *t = d->trial;
    geodec_json_begin_object(w, "trial");
    geodec_json_put_i64(w, "prompts", t->prompts);
    geodec_json_put_i64(w, "rounds", t->rounds);
    geodec_json_put_i64(w, "tokens_compared", t->tokens);
    geodec_json_put_i64(w, "threads", geodec_pool_threads(d->prepare->pool));
    geodec_json_put_f64(w, "plain_tok_per_s", t->prompts > 0 ? t->tok_per_s : NAN);
    geodec_json_begin_array(w, "drafters");
    for (int i = 0; t->prompts > 0 && i < GEODEC_TRIAL_DRAFTERS; i++) {
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "drafter", t->row[i].drafter);
        geodec_json_put_f64(w, "speedup", t->row[i].speedup);
        geodec_json_put_f64(w, "tokens_per_pass", t->row[i].tokens_per_pass);
        geodec_json_put_i64(w, "faster_prompts", t->row[i].faster);
        geodec_json_put_i64(w, "mismatches", t->row[i].mismatches);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_end(w);
}

static double speedup_of(const geodec_trial *t)
{
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++)
        if (t->prompts > 0 && strcmp(t->row[i].drafter, t->choice) == 0) return t->row[i].speedup;
    return NAN;
}

geodec_status geodec_record_write(const geodec_record_made *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_json_writer *w = NULL;
    const geodec_model *m = d->prepare->model;
    const geodec_prepare_store *s = d->store;
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/%s", d->prepare->folder, name));
    GEODEC_TRY(geodec_json_create(path, &w, err));
    geodec_json_put_str(w, "tool_version", geodec_version());
    geodec_json_put_str(w, "command_line", d->command_line);
    geodec_json_put_str(w, "request", d->request);
    geodec_json_put_str(w, "model", geodec_model_name(m));
    geodec_json_put_str(w, "model_sha256", geodec_model_fingerprint(m));
    geodec_json_put_i64(w, "weight_bytes", weight_bytes(m));
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(d->prepare->arithmetic));
    geodec_json_put_i64(w, "length", s->plan.length);
    geodec_json_put_i64(w, "sampled_texts", s->texts);
    geodec_json_put_i64(w, "sampled_tokens", s->sampled);
    geodec_json_put_i64(w, "text_tokens", s->plan.text_tokens);
    geodec_json_put_i64(w, "tokens", s->sampled + s->plan.text_tokens);
    geodec_json_put_i64(w, "nodes", s->map.nodes);
    geodec_json_put_f64(w, "first_draft_right", s->map.first); /* texts of the store, without their own nodes */
    geodec_json_put_f64(w, "first_draft_right_shuffled", s->map.shuffled);
    geodec_json_put_f64(w, "sample_tok_per_s", s->speed.sample > 0 ? s->speed.sample : NAN);
    geodec_json_put_f64(w, "read_tok_per_s", s->speed.read > 0 ? s->speed.read : NAN);
    put_trial(w, d);
    geodec_json_put_str(w, "draft", d->trial->choice);
    geodec_json_put_f64(w, "speedup", speedup_of(d->trial));
    GEODEC_TRY(geodec_json_commit(w, err));
done:
    geodec_mem_free(path);
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

void geodec_record_clear(geodec_record *p)
{
    geodec_mem_free(p->request);
    *p = (geodec_record){0};
}

static geodec_status text_of(const geodec_json *root, const char *key, char *out, size_t room, geodec_err *err)
{
    const char *text = "";
    GEODEC_PASS(geodec_json_get_str(root, key, &text, err));
    if (strlen(text) >= room) GEODEC_FAIL(GEODEC_FORMAT, "%s is too long", key);
    (void)snprintf(out, room, "%s", text);
    return GEODEC_OK;
}

geodec_status geodec_record_read(const char *folder, geodec_record *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_json *root = NULL;
    geodec_record p = {.speedup = NAN};
    const char *request = "";
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/%s", folder, name));
    GEODEC_TRY(geodec_json_read(path, RECORD_BYTES, &root, err));
    GEODEC_TRY_MSG(text_of(root, "model_sha256", p.model_sha256, sizeof p.model_sha256, err), "%s", path);
    GEODEC_TRY_MSG(text_of(root, "arithmetic", p.arithmetic, sizeof p.arithmetic, err), "%s", path);
    GEODEC_TRY_MSG(text_of(root, "draft", p.draft, sizeof p.draft, err), "%s", path);
    GEODEC_TRY_MSG(geodec_json_get_i64(root, "tokens", &p.tokens, err), "%s", path);
    GEODEC_TRY_MSG(geodec_json_get_i64(root, "weight_bytes", &p.weight_bytes, err), "%s", path);
    GEODEC_TRY_MSG(geodec_json_get_str(root, "request", &request, err), "%s", path);
    if (!geodec_drafting_knows(p.draft)) GEODEC_THROW(GEODEC_FORMAT, "%s: unknown drafter '%s'", path, p.draft);
    if (geodec_json_get_f64(root, "speedup", &p.speedup, NULL) != GEODEC_OK) p.speedup = NAN; /* null */
    GEODEC_TRY(geodec_mem_print(&p.request, err, "%s", request));
    *out = p;
done:
    geodec_json_free(root);
    geodec_mem_free(path);
    return st;
}

/* ---- finding ---------------------------------------------------------------------------------------------------- */

static void warn(const geodec_hooks *hooks, const char *folder, const char *why)
{
    geodec_hooks_log(hooks, GEODEC_LOG_WARN, "%s: %s; not used (geodec prepare --force makes it again)", folder, why);
}

/* Whether the artifacts of this folder belong to this model. A missing folder is no error. */
static bool fits(const geodec_model *m, const char *folder, const geodec_hooks *hooks, geodec_record *out)
{
    geodec_err problem = {0};
    char text[GEODEC_ERR_TEXT];
    const geodec_status st = geodec_record_read(folder, out, &problem);
    if (st == GEODEC_OK && out->weight_bytes == weight_bytes(m) &&
        strcmp(out->model_sha256, geodec_model_fingerprint(m)) == 0)
        return true;
    if (st == GEODEC_OK)
        warn(hooks, folder, "drafting artifacts of another model");
    else if (st != GEODEC_NOTFOUND)
        warn(hooks, folder, geodec_err_line(&problem, text, sizeof text));
    geodec_record_clear(out);
    return false;
}

/* Whether the cache has artifacts of a model of this size. The cache has few folders. */
static bool cache_has(const char *cache, int64_t bytes)
{
    bool found = false;
    DIR *d = opendir(cache);
    if (!d) return false;
    for (const struct dirent *e = readdir(d); e && !found; e = readdir(d)) {
        char *folder = NULL;
        geodec_record p = {0};
        if (strlen(e->d_name) == GEODEC_SHA256_HEX - 1 &&
            geodec_mem_print(&folder, NULL, "%s/%s", cache, e->d_name) == GEODEC_OK &&
            geodec_record_read(folder, &p, NULL) == GEODEC_OK)
            found = p.weight_bytes == bytes;
        geodec_record_clear(&p);
        geodec_mem_free(folder);
    }
    (void)closedir(d);
    return found;
}

geodec_status geodec_record_find(const geodec_model *m, const char *cache, const geodec_hooks *hooks, char **folder,
                                 geodec_record *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *at = NULL;
    *folder = NULL;
    GEODEC_TRY(geodec_record_folder(geodec_gguf_path(geodec_model_gguf(m)), &at, err));
    if (!fits(m, at, hooks, out)) {
        geodec_mem_free(at);
        at = NULL;
        if (!cache || !cache_has(cache, weight_bytes(m))) goto done;
        GEODEC_TRY(geodec_record_cached(cache, m, &at, err));
        if (!fits(m, at, hooks, out)) goto done;
    }
    *folder = at;
    at = NULL;
done:
    geodec_mem_free(at);
    return st;
}

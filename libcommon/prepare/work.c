/* FOLDER/.work: the request, and the texts sampled so far. */
#include "base/mem.h"
#include "io/atomic.h"
#include "io/json.h"
#include "model/arithmetic.h"
#include "prepare/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLAN_BYTES = 1 << 16, SAMPLE_BYTES = 64 << 20 };

static const char *const files[] = {"plan.json",      "sample.tokens",      "store.h5",
                                    ".plan.json.tmp", ".sample.tokens.tmp", ".store.h5.tmp"};

geodec_status geodec__prepare_path(const geodec_prepare *p, const char *name, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const size_t room = strlen(p->folder) + sizeof "/.work/" + (name ? strlen(name) : 0);
    GEODEC_NEW(*out, (int64_t)room);
    (void)snprintf(*out, room, "%s/.work%s%s", p->folder, name ? "/" : "", name ? name : "");
done:
    return st;
}

/* The request without the time and its plan: bytes and offsets of the documents. */
static void request(const geodec_prepare *p, char text_sha256[GEODEC_SHA256_HEX])
{
    const geodec_documents *d = p->documents;
    geodec_sha256 h;
    text_sha256[0] = '\0';
    if (!d) return;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, d->text, (size_t)d->n_text);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t place[2] = {d->item[i].begin, d->item[i].end};
        geodec_sha256_update(&h, place, sizeof place);
    }
    geodec_sha256_hex(&h, text_sha256);
}

static bool equal(const geodec_json *v, const char *key, const char *want)
{
    const char *text = "";
    geodec_err ignored = {0};
    return geodec_json_get_str(v, key, &text, &ignored) == GEODEC_OK && strcmp(text, want) == 0;
}

geodec_status geodec__prepare_resume(const geodec_prepare *p, bool *same, geodec_prepare_plan *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL, sha256[GEODEC_SHA256_HEX], seed[32];
    geodec_json *root = NULL;
    geodec_err ignored = {0};
    int64_t length = 0;
    double seconds = 0;
    int64_t texts = 0, text_tokens = 0, asked = 0;
    geodec_prepare_plan found = {0};
    *same = false;
    GEODEC_TRY(geodec__prepare_path(p, "plan.json", &path, err));
    /* Any error in the file: nothing is resumed. */
    if (geodec_json_read(path, PLAN_BYTES, &root, &ignored) != GEODEC_OK) goto done;
    request(p, sha256);
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)p->seed);
    if (!equal(root, "model_sha256", geodec_model_fingerprint(p->model)) || !equal(root, "text_sha256", sha256) ||
        !equal(root, "seed", seed) || !equal(root, "arithmetic", geodec_arithmetic_name(p->arithmetic)) ||
        geodec_json_get_f64(root, "seconds", &seconds, &ignored) != GEODEC_OK || seconds != p->seconds ||
        geodec_json_get_i64(root, "texts_asked", &texts, &ignored) != GEODEC_OK || texts != p->texts ||
        geodec_json_get_i64(root, "text_tokens_asked", &text_tokens, &ignored) != GEODEC_OK ||
        text_tokens != p->text_tokens || geodec_json_get_i64(root, "length_asked", &asked, &ignored) != GEODEC_OK ||
        asked != p->length || geodec_json_get_i64(root, "length", &length, &ignored) != GEODEC_OK ||
        geodec_json_get_i64(root, "text_tokens", &found.text_tokens, &ignored) != GEODEC_OK ||
        geodec_json_get_i64(root, "sample_tokens", &found.sample_tokens, &ignored) != GEODEC_OK)
        goto done;
    if (length < 2 || length > geodec_model_configuration(p->model)->n_ctx || found.text_tokens < 0 ||
        found.text_tokens > GEODEC_PREPARE_TOKENS_MAX || found.sample_tokens < 0 ||
        found.sample_tokens > GEODEC_PREPARE_TOKENS_MAX)
        goto done;
    found.length = (int32_t)length;
    *plan = found;
    *same = true;
done:
    geodec_json_free(root);
    geodec_mem_free(path);
    return st;
}

geodec_status geodec__prepare_save(const geodec_prepare *p, const geodec_prepare_plan *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL, sha256[GEODEC_SHA256_HEX], seed[32];
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_prepare_end(p, err)); /* files of another request */
    GEODEC_TRY(geodec__prepare_path(p, NULL, &path, err));
    if (mkdir(path, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    geodec_mem_free(path);
    path = NULL;
    GEODEC_TRY(geodec__prepare_path(p, "plan.json", &path, err));
    GEODEC_TRY(geodec_json_create(path, &w, err));
    request(p, sha256);
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)p->seed);
    geodec_json_put_str(w, "model_sha256", geodec_model_fingerprint(p->model));
    geodec_json_put_str(w, "text_sha256", sha256);
    geodec_json_put_str(w, "seed", seed);
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(p->arithmetic));
    geodec_json_put_f64(w, "seconds", p->seconds);
    geodec_json_put_i64(w, "texts_asked", p->texts);
    geodec_json_put_i64(w, "text_tokens_asked", p->text_tokens);
    geodec_json_put_i64(w, "length_asked", p->length);
    geodec_json_put_i64(w, "length", plan->length);
    geodec_json_put_i64(w, "text_tokens", plan->text_tokens);
    geodec_json_put_i64(w, "sample_tokens", plan->sample_tokens);
    GEODEC_TRY(geodec_json_commit(w, err));
done:
    geodec_mem_free(path);
    return st;
}

geodec_status geodec_prepare_end(const geodec_prepare *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        GEODEC_TRY(geodec__prepare_path(p, files[i], &path, err));
        if (unlink(path) != 0 && errno != ENOENT) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
        geodec_mem_free(path);
        path = NULL;
    }
    GEODEC_TRY(geodec__prepare_path(p, NULL, &path, err));
    (void)rmdir(path); /* fails unless it is empty */
done:
    geodec_mem_free(path);
    return st;
}

/* ---- sampled texts ---------------------------------------------------------------------------------------------- */

geodec_status geodec__prepare_samples_read(const geodec_prepare *p, geodec__prepare_samples *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    size_t n = 0;
    geodec_err ignored = {0};
    geodec__prepare_samples s = {0};
    GEODEC_TRY(geodec__prepare_path(p, "sample.tokens", &path, err));
    if (geodec_file_read(path, SAMPLE_BYTES, &s.text, &n, &ignored) == GEODEC_OK) {
        s.size = s.room = (int64_t)n;
        for (size_t i = 0; i < n; i++) {
            s.texts += s.text[i] == '\n';
            s.tokens += s.text[i] == '\n' || s.text[i] == ' ';
        }
    }
    *out = s;
done:
    geodec_mem_free(path);
    return st;
}

geodec_status geodec__prepare_samples_write(const geodec_prepare *p, const geodec__prepare_samples *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_atomic *f = NULL;
    GEODEC_TRY(geodec__prepare_path(p, "sample.tokens", &path, err));
    GEODEC_TRY(geodec_atomic_open(path, &f, err));
    GEODEC_TRY(geodec_atomic_write(f, s->text, (size_t)s->size, err));
    st = geodec_atomic_commit(f, err);
    f = NULL;
done:
    geodec_atomic_abandon(f);
    geodec_mem_free(path);
    return st;
}

#include "train/text.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "documents/documents.h"
#include "io/file.h"

#include <string.h>

/* ---- encoding, a fixed number of documents per task ------------------------------------------------------------- */

enum { DOCS_A_TASK = 64, TASKS_A_ROUND = 64 };

typedef struct encode_task {
    int32_t *ids;    /* documents are concatenated */
    int64_t *length; /* [DOCS_A_TASK] */
    int64_t n;
} encode_task;

typedef struct encode_job {
    const char *text;
    const geodec_document *doc;
    int64_t n_docs, first_doc;
    const geodec_tokenizer *t;
    int32_t eos; /* -1 = none */
    encode_task task[TASKS_A_ROUND];
} encode_job;

static geodec_status encode_some(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    encode_job *j = ctx;
    encode_task *e = &j->task[task];
    const int64_t d0 = j->first_doc + task * DOCS_A_TASK,
                  d1 = d0 + DOCS_A_TASK < j->n_docs ? d0 + DOCS_A_TASK : j->n_docs;
    int64_t bytes = 0;
    for (int64_t d = d0; d < d1; d++) bytes += j->doc[d].end - j->doc[d].begin + 3;
    GEODEC_NEW(e->ids, bytes);
    GEODEC_NEW(e->length, DOCS_A_TASK);
    for (int64_t d = d0; d < d1; d++) {
        const geodec_document s = j->doc[d];
        int64_t n = 0;
        GEODEC_TRY(
            geodec_tokenizer_encode(j->t, j->text + s.begin, (size_t)(s.end - s.begin), true, e->ids + e->n, &n, err));
        if (j->eos >= 0) e->ids[e->n + n++] = j->eos;
        e->length[d - d0] = n;
        e->n += n;
    }
done:
    return st;
}

static void clear_tasks(encode_job *j)
{
    for (int i = 0; i < TASKS_A_ROUND; i++) {
        GEODEC_FREE(j->task[i].ids, j->task[i].length);
        j->task[i] = (encode_task){0};
    }
}

/* Adds the round's tokens to the text, in document order. */
static geodec_status collect(encode_job *j, int64_t n_tasks, geodec_text *t, int64_t *room, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t i = 0; i < n_tasks; i++) {
        const encode_task *e = &j->task[i];
        GEODEC_GROW(t->token, t->n_tokens, *room, e->n);
        memcpy(t->token + t->n_tokens, e->ids, (size_t)e->n * sizeof *e->ids);
        for (int64_t d = 0; d < DOCS_A_TASK && j->first_doc + i * DOCS_A_TASK + d < j->n_docs; d++) {
            t->doc_start[j->first_doc + i * DOCS_A_TASK + d] = t->n_tokens;
            t->n_tokens += e->length[d];
        }
    }
done:
    return st;
}

geodec_status geodec_text_encode(const char *name, const char *text, size_t n, geodec_documents_separator separator,
                                 const geodec_tokenizer *t, geodec_pool *pool, const geodec_hooks *hooks,
                                 geodec_text **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_documents_options o = {.separator = separator, .tokenizer = t, .pieces = true};
    geodec_documents docs = {0};
    geodec_text *x = NULL;
    encode_job *j = NULL;
    int64_t room = 0;
    GEODEC_TRY(geodec_documents_read(name, text, n, &o, &docs, err));
    GEODEC_NEW(x, 1);
    GEODEC_NEW(x->doc_start, docs.n + 1);
    GEODEC_NEW(j, 1);
    *j = (encode_job){.text = docs.text, .doc = docs.item, .n_docs = docs.n, .t = t};
    const bool ends = docs.rule != GEODEC_SEPARATOR_NONE && docs.rule != GEODEC_SEPARATOR_WINDOW;
    j->eos = ends ? geodec_tokenizer_eos(t) : -1;
    for (; j->first_doc < docs.n; j->first_doc += DOCS_A_TASK * TASKS_A_ROUND) {
        const int64_t left = (docs.n - j->first_doc + DOCS_A_TASK - 1) / DOCS_A_TASK;
        const int64_t tasks = left < TASKS_A_ROUND ? left : TASKS_A_ROUND;
        GEODEC_TRY(geodec__tasks_run(pool, NULL, "tokenizing task", tasks, encode_some, j, err));
        GEODEC_TRY(collect(j, tasks, x, &room, err));
        clear_tasks(j);
        GEODEC_TRY(geodec_hooks_progress(hooks, "tokenizing document", j->first_doc, docs.n, err));
    }
    x->n_docs = docs.n;
    x->rule = docs.rule;
    x->doc_start[docs.n] = x->n_tokens;
    x->n_bytes = docs.bytes;
    x->bos = geodec_tokenizer_bos(t);
    if (x->n_tokens < 2) GEODEC_THROW(GEODEC_FORMAT, "%s: the text has less than two tokens", name);
    GEODEC_MOVE(*out, x);
done:
    if (j) clear_tasks(j);
    geodec_mem_free(j);
    geodec_documents_free(&docs);
    geodec_text_destroy(x);
    return st;
}

geodec_status geodec_text_load(const char *path, geodec_documents_separator separator, const geodec_tokenizer *t,
                               geodec_pool *pool, const geodec_hooks *hooks, geodec_text **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_file_map map = {0};
    GEODEC_TRY(geodec_file_map_open(path, &map, err));
    GEODEC_TRY(geodec_text_encode(path, (const char *)map.data, map.size, separator, t, pool, hooks, out, err));
done:
    geodec_file_map_close(&map);
    return st;
}

void geodec_text_destroy(geodec_text *t)
{
    if (!t) return;
    GEODEC_FREE(t->token, t->doc_start, t);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

int64_t geodec_text_document(const geodec_text *t, int64_t i)
{
    int64_t lo = 0, hi = t->n_docs;
    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (t->doc_start[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void geodec_text_sample(const geodec_text *t, uint64_t seed, int64_t step, int64_t number, int64_t len, int32_t *token,
                        int32_t *target)
{
    const uint64_t stream = geodec_rng_id("train window", (uint64_t)step);
    const int64_t at = (int64_t)(geodec_rng_uniform_at(seed, stream, (uint64_t)number) * (double)t->n_tokens);
    const int64_t d = geodec_text_document(t, at);
    int64_t start = t->doc_start[d + 1] - t->doc_start[d] <= len ? t->doc_start[d] : at;
    for (int64_t i = 0; i < len; i++) {
        token[i] = t->token[start];
        if (++start == t->n_tokens) start = 0; /* a text is circular */
        target[i] = t->token[start];
    }
}

int64_t geodec_text_next_window(const geodec_text *t, int64_t *cursor, int64_t len, int32_t *token, int32_t *target)
{
    int64_t at = *cursor, scored = 0;
    for (int64_t i = 0; i < len; i++) {
        token[i] = 0;
        target[i] = -1;
    }
    while (scored == 0 && at < t->n_tokens) {
        const int64_t d = geodec_text_document(t, at), start = t->doc_start[d];
        const int64_t from =
            at - start <= len / 2 ? start : at - len / 2; /* a long document continues with half a window of context */
        int64_t end = from + len + 1 < t->n_tokens ? from + len + 1 : t->n_tokens;
        const int64_t cut = geodec_text_document(t, end - 1); /* only whole documents, if at least one fits */
        if (t->doc_start[cut + 1] != end && t->doc_start[cut] > at) end = t->doc_start[cut];
        for (int64_t i = from; i + 1 < end && i < from + len; i++) {
            token[i - from] = t->token[i];
            const int64_t next = i + 1;
            const int is_start = t->doc_start[geodec_text_document(t, next)] == next;
            if (next >= at && !(is_start && t->bos >= 0)) {
                target[i - from] = t->token[next];
                scored++;
            }
        }
        at = end;
    }
    *cursor = at;
    return scored;
}

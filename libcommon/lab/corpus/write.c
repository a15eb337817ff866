#include "base/mem.h"
#include "base/tasks.h"
#include "lab/corpus/corpus.h"
#include "lab/corpus/corpus_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { BATCH = 512 };

typedef struct story {
    char *text;
    size_t n;
    double bits;
} story;

typedef struct batch {
    uint64_t seed, first;
    story *list; /* [BATCH] */
} batch;

static geodec_status make(void *ctx, int64_t task, geodec_err *err)
{
    const batch *b = ctx;
    story *s = &b->list[task];
    return geodec_corpus_story(b->seed, b->first + (uint64_t)task, &s->text, &s->n, &s->bits, err);
}

/* a set of the hashes of the words; the vocabulary of the generator is finite. */
static geodec_status count_words(const char *text, size_t n, geodec__counts *set, int64_t *words, geodec_err *err)
{
    const uint64_t basis = 0xcbf29ce484222325u, prime = 0x100000001b3u; /* FNV-1a */
    uint64_t h = basis;
    bool inside = false;
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? text[i] : ' ';
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c == '\'' && inside)) {
            h = (h ^ (unsigned char)c) * prime;
            inside = true;
        } else if (inside) {
            GEODEC_PASS(geodec__control_reserve(set, 1, err));
            (void)geodec__control_add(set, h ? h : 1);
            (*words)++;
            h = basis;
            inside = false;
        }
    }
    return GEODEC_OK;
}

typedef struct sums {
    double b, n, bb, bn, nn;
} sums;

static void finish_stats(geodec_corpus_stats *s, const sums *q, int64_t distinct)
{
    double m = (double)s->stories, r = q->n > 0 ? q->b / q->n : 0;
    s->distinct_words = distinct;
    s->bits = q->b;
    s->bits_per_byte = r;
    s->bytes_mean = m > 0 ? q->n / m : 0;
    s->bytes_sd = m > 1 ? sqrt(fmax(0, (q->nn - q->n * q->n / m) / (m - 1))) : 0;
    /* delta method for a ratio of means (Cochran, Sampling Techniques, 1977, sec. 2.11) */
    double residual = q->bb - 2 * r * q->bn + r * r * q->nn;
    s->bits_per_byte_error = m > 1 && q->n > 0 ? sqrt(fmax(0, residual) / (m * (m - 1))) / s->bytes_mean : 0;
}

geodec_status geodec_corpus_write(uint64_t seed, uint64_t first, int64_t n_stories, int64_t n_bytes, FILE *out,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_corpus_stats *stats,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    batch b = {.seed = seed, .first = first};
    geodec__counts words = {0};
    sums q = {0};
    geodec_corpus_stats s = {0};
    bool enough = false;
    if (n_stories < 0 || n_bytes < 0 || (n_stories == 0) == (n_bytes == 0))
        GEODEC_THROW(GEODEC_INVAL, "give a number of stories or a number of bytes");
    GEODEC_NEW(b.list, BATCH);
    while (!enough) {
        int64_t n = n_stories && n_stories - s.stories < BATCH ? n_stories - s.stories : BATCH;
        GEODEC_TRY(geodec__tasks_run(pool, NULL, "stories", n, make, &b, err));
        for (int64_t i = 0; i < n && !enough; i++) {
            story *t = &b.list[i];
            if (out) {
                if (s.stories) fputs(GEODEC_STORY_SEPARATOR, out);
                fwrite(t->text, 1, t->n, out);
            }
            GEODEC_TRY(count_words(t->text, t->n, &words, &s.words, err));
            double bytes = (double)t->n;
            q.b += t->bits;
            q.n += bytes;
            q.bb += t->bits * t->bits;
            q.bn += t->bits * bytes;
            q.nn += bytes * bytes;
            s.stories++;
            s.bytes += (int64_t)t->n;
            enough = n_stories ? s.stories >= n_stories : s.bytes >= n_bytes;
        }
        for (int64_t i = 0; i < n; i++) {
            geodec_mem_free(b.list[i].text);
            b.list[i] = (story){0};
        }
        b.first += (uint64_t)n;
        if (out && ferror(out)) GEODEC_THROW(GEODEC_IO, "writing the corpus: %s", strerror(errno));
        GEODEC_TRY(geodec_hooks_progress(hooks, "stories", n_stories ? s.stories : s.bytes,
                                         n_stories ? n_stories : n_bytes, err));
    }
    if (out) {
        fputc('\n', out);
        if (ferror(out)) GEODEC_THROW(GEODEC_IO, "writing the corpus: %s", strerror(errno));
    }
    finish_stats(&s, &q, words.used);
    *stats = s;
done:
    if (b.list)
        for (int64_t i = 0; i < BATCH; i++) geodec_mem_free(b.list[i].text);
    GEODEC_FREE(b.list, words.e);
    return st;
}

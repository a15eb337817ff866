/* Why the bits are exact: choices are sampled with the probabilities that are counted, and a text has one derivation
 * only. */
#include "base/mem.h"
#include "lab/corpus/corpus.h"
#include "lab/corpus/corpus_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(derivations, choices_are_sampled_with_the_probabilities_that_are_counted)
{
    enum { N = 5, SAMPLES = 200000 };
    static const double weight[N] = {3, 0, 1, 0.5, 2};
    geodec__gen g = {.rng = geodec_rng_stream(9, 9)};
    int seen[N] = {0};
    double bits = 0, chi2 = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double before = g.bits;
        int c = geodec__template_choose(&g, N, weight);
        g.n_choices = 0;
        seen[c]++;
        cr_assert_float_eq(g.bits - before, -log2(weight[c] / 6.5), 1e-9);
        bits += g.bits - before;
    }
    cr_assert_eq(seen[1], 0);
    for (int i = 0; i < N; i++)
        if (weight[i] > 0) chi2 += pow(seen[i] - SAMPLES * weight[i] / 6.5, 2) / (SAMPLES * weight[i] / 6.5);
    cr_assert_lt(chi2, 16.3); /* 3 degrees of freedom, p = 0.001 */
    double entropy = 0;
    for (int i = 0; i < N; i++) entropy -= weight[i] > 0 ? weight[i] / 6.5 * log2(weight[i] / 6.5) : 0;
    cr_assert_float_eq(bits / SAMPLES, entropy, 0.01);
}

/* Search through the generator: all sequences of choices that give the text. */
Test(derivations, every_text_has_exactly_one_derivation)
{
    geodec_err err = {0};
    for (uint64_t i = 0; i < 120; i++) {
        char *text = NULL;
        size_t n = 0;
        double bits = 0, summed = 0;
        int64_t count = 0;
        test_ok(geodec_corpus_story(11, i, &text, &n, &bits, &err), &err);
        test_ok(geodec_corpus_derivations(text, n, &count, &summed, &err), &err);
        cr_assert_eq(count, 1, "story %d has %d derivations:\n%s", (int)i, (int)count, text);
        cr_assert_lt(fabs(summed - bits), 1e-9 * bits);
        text[n / 2] = '#'; /* and a text that no derivation gives has none */
        test_ok(geodec_corpus_derivations(text, n, &count, &summed, &err), &err);
        cr_assert_eq(count, 0);
        geodec_mem_free(text);
    }
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* A reduced world: all choices are fixed by a seed but a window of WINDOW consecutive ones, each with at most two
 * alternatives. All its derivations: distinct texts, probabilities that sum to one. Returns their number. */
enum { WINDOW = 9, TEXTS_MAX = 1 << WINDOW };
static int enumerate(uint64_t seed, int from, char *buffer, int *made, int *alternatives, int *script)
{
    char *text[TEXTS_MAX];
    int n = 0, n_script = 0;
    double total = 0;
    for (;;) {
        geodec__gen g = {.text = buffer,
                         .capital = true,
                         .scripted = true,
                         .script = script,
                         .n_script = n_script,
                         .choice = made,
                         .alternatives = alternatives,
                         .free_from = from,
                         .free_to = from + WINDOW,
                         .alts_max = 2};
        g.rng = geodec_rng_stream(seed, geodec_rng_id("enumeration", 0));
        geodec__story(&g);
        cr_assert(!g.overflow && !g.dead && g.n_choices <= WINDOW && n < TEXTS_MAX);
        buffer[g.n] = 0;
        text[n++] = strdup(buffer);
        total += exp2(-g.bits);
        int d = g.n_choices - 1;
        while (d >= 0 && made[d] + 1 >= alternatives[d]) d--;
        if (d < 0) break;
        memcpy(script, made, sizeof(int) * (size_t)(d + 1));
        script[d]++;
        n_script = d + 1;
    }
    cr_assert_lt(fabs(total - 1), 1e-9, "seed %d, choices from %d: probabilities sum to %.12f", (int)seed, from, total);
    qsort(text, (size_t)n, sizeof text[0], by_text);
    for (int i = 1; i < n; i++) cr_assert_str_neq(text[i - 1], text[i]);
    for (int i = 0; i < n; i++) free(text[i]);
    return n;
}

Test(derivations, a_reduced_world_enumerates_to_distinct_texts_of_total_probability_one)
{
    char *buffer = geodec_mem_new(GEODEC__STORY_MAX, 1);
    int *work = geodec_mem_new(3 * GEODEC__CHOICES_MAX, sizeof *work), texts = 0;
    for (uint64_t seed = 0; seed < 12; seed++)
        for (int from = 0; from < 90; from += 7)
            texts += enumerate(seed, from, buffer, work, work + GEODEC__CHOICES_MAX, work + 2 * GEODEC__CHOICES_MAX);
    cr_assert_gt(texts, 50000);
    geodec_mem_free(buffer);
    geodec_mem_free(work);
}

/* Tracer: at every choice of a story, each alternative is taken (with first alternatives after it). The texts must
 * differ pairwise, and nearly always within a few words: choices are visible where they are made. */
Test(derivations, alternatives_show_at_once)
{
    enum { ALTS = GEODEC__ALTS_MAX };
    char *buffer = geodec_mem_new((int64_t)(ALTS + 1) * GEODEC__STORY_MAX, 1);
    int *work = geodec_mem_new(3 * GEODEC__CHOICES_MAX, sizeof *work);
    int *path = work, *made = work + GEODEC__CHOICES_MAX, *alternatives = work + 2 * GEODEC__CHOICES_MAX;
    size_t *offset = geodec_mem_new(GEODEC__CHOICES_MAX, sizeof *offset);
    int64_t pairs = 0, late = 0;
    for (uint64_t i = 0; i < 6; i++) {
        geodec__gen g = {
            .text = buffer, .capital = true, .choice = path, .alternatives = alternatives, .offset = offset};
        g.rng = geodec_rng_stream(21, geodec_rng_id("story", i));
        geodec__story(&g);
        int n = g.n_choices;
        for (int d = 0; d < n; d++) {
            int kept = path[d];
            for (int a = 0; a < alternatives[d]; a++) {
                geodec__gen h = {.text = buffer + (size_t)(a + 1) * GEODEC__STORY_MAX,
                                 .capital = true,
                                 .scripted = true,
                                 .script = path,
                                 .n_script = d + 1,
                                 .choice = made,
                                 .alternatives = made};
                path[d] = a;
                geodec__story(&h);
                h.text[h.n] = 0;
                for (int b = 0; b < a; b++) {
                    const char *x = buffer + (size_t)(b + 1) * GEODEC__STORY_MAX, *y = h.text;
                    size_t k = 0;
                    while (x[k] && x[k] == y[k]) k++;
                    cr_assert(x[k] != y[k], "two alternatives give one text at %d:\n%s", (int)offset[d], y);
                    cr_assert_geq(k, offset[d]);
                    pairs++;
                    late += k - offset[d] > 60;
                }
            }
            path[d] = kept;
        }
    }
    cr_assert_gt(pairs, 10000);
    cr_assert_lt((double)late, 0.005 * (double)pairs, "%lld of %lld", (long long)late, (long long)pairs);
    geodec_mem_free(buffer);
    geodec_mem_free(work);
    geodec_mem_free(offset);
}

#include "lab/corpus/corpus.h"

#include "base/mem.h"
#include "lab/corpus/corpus_internal.h"

#include <math.h>
#include <string.h>

static void set_up(geodec__gen *g, char *text)
{
    memset(g, 0, sizeof *g);
    g->text = text;
    g->capital = true;
}

geodec_status geodec_corpus_story(uint64_t seed, uint64_t index, char **text, size_t *n, double *bits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *buffer = NULL;
    geodec__gen g;
    GEODEC_NEW(buffer, GEODEC__STORY_MAX);
    set_up(&g, buffer);
    g.rng = geodec_rng_stream(seed, geodec_rng_id("story", index));
    geodec__story(&g);
    if (g.overflow) GEODEC_THROW(GEODEC_INTERNAL, "story %llu is too long", (unsigned long long)index);
    buffer[g.n] = 0;
    *text = buffer;
    *n = g.n;
    *bits = g.bits;
done:
    if (st != GEODEC_OK) geodec_mem_free(buffer);
    return st;
}

geodec_status geodec_corpus_derivations(const char *text, size_t n, int64_t *count, double *bits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *buffer = NULL;
    int *script = NULL, *made = NULL, *alternatives = NULL, n_script = 0;
    int64_t found = 0;
    double p = 0;
    GEODEC_NEW(buffer, GEODEC__STORY_MAX);
    GEODEC_NEW_EACH(GEODEC__CHOICES_MAX, script, made, alternatives);
    for (;;) {
        geodec__gen g;
        set_up(&g, buffer);
        g.scripted = true;
        g.script = script;
        g.n_script = n_script;
        g.choice = made;
        g.alternatives = alternatives;
        g.target = text;
        g.n_target = n;
        geodec__story(&g);
        if (g.overflow) GEODEC_THROW(GEODEC_INTERNAL, "a derivation is too long");
        if (!g.dead && g.n == n) {
            found++;
            p += exp2(-g.bits);
        }
        /* next in depth-first order: advances the deepest choice that has an alternative left */
        int d = g.n_choices - 1;
        while (d >= 0 && made[d] + 1 >= alternatives[d]) d--;
        if (d < 0) break;
        memcpy(script, made, sizeof(int) * (size_t)(d + 1));
        script[d]++;
        n_script = d + 1;
    }
    *count = found;
    *bits = found ? -log2(p) : 0;
done:
    GEODEC_FREE(buffer, script, made, alternatives);
    return st;
}

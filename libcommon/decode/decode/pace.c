#include "decode/pace.h"

#include <math.h>

/* The effect of FIRST_SHARE and FIRST_MOST was measured with tests/bench/auto.sh (docs/results/speed.md, "The scheduler
 * against the best of its drafters"). The others were chosen and were measured only together (docs/results/speed.md,
 * first table); the tests `decisions` check the effect of each. */
static const double STEP = 0.1;       /* weight of the newest value in a moving average: about the last ten rounds
                                         count */
static const double SLOW_STEP = 0.5;  /* the same for the machine's speed, which changes suddenly */
static const double OUTLIER = 3;      /* a time is limited to this factor above or below the expected one */
static const double ASK_LEAST = 0.02; /* passes by which an ask may exceed OUTLIER means, so that tiny means can grow */
static const double FIRST_SHARE = 0.4; /* share of the first ask that counts, because the caches are cold, */
static const double FIRST_MOST = 0.25; /* and its upper limit in passes */
static const double WIDE_STEP = 0.5;   /* share of the deviation of a measured width that is applied to every width */
static const double REST_MOST = 1;     /* upper limit, in passes, of the first rest of a round */
enum { FRESH = 12 };                   /* rounds for which the speed of a one-row pass corrects wider passes */

void geodec_pace_init(geodec_pace *p, const geodec_cost *cost)
{
    *p = (geodec_pace){.cost = *cost, .slow = 1, .wide = 1, .asking = {.mean = -1}};
}

double geodec_pace_pass(const geodec_pace *p, int32_t b)
{
    const double factor = b == 1 ? 1 : b <= GEODEC_DRAFT_MAX + 1 && p->width[b] > 0 ? p->width[b] : p->wide;
    return geodec_cost_pass(&p->cost, b) * factor;
}

double geodec_pace_plain(const geodec_pace *p) { return p ? geodec_pace_pass(p, 1) + p->cost.o_plain : 1; }

double geodec_pace_round(const geodec_pace *p, int32_t n) { return p ? geodec_pace_pass(p, n + 1) + p->cost.o : 1; }

double geodec_pace_seconds(const geodec_pace *p) { return p ? fmax(p->cost.seconds, 0) * p->slow : 0; }

void geodec_pace_asked(geodec_pace_asking *a, double passes, double first)
{
    if (a->mean < 0) {
        a->mean = first;
        return;
    }
    const double step = fmax(STEP, 1 / (1 + (double)++a->n));
    a->mean += step * (fmin(passes, OUTLIER * a->mean + ASK_LEAST) - a->mean);
}

/* Weight of a deviation measured `n` times before: the given v, a mean of a few passes, counts as two measurements. */
static double weight(int64_t n) { return fmax(STEP, 1 / (2 + (double)n)); }

/* slow: time of this pass relative to the expected one. Narrow passes give the machine's speed, wide ones their own
 * cost. */
static void observe_pass(geodec_pace *p, int32_t sent, double slow)
{
    if (sent == 0) {
        p->narrow = p->rounds;
        p->slow += SLOW_STEP * (slow - p->slow);
    } else if (p->rounds - p->narrow <= FRESH) {
        const double off = slow / p->slow - 1;
        double *w = &p->width[sent + 1];
        if (!(*w > 0)) *w = p->wide;
        *w *= 1 + weight(p->met[sent + 1]++) * off;
        p->wide *= 1 + WIDE_STEP * weight(p->met[0]++) * off;
    } else { /* narrow passes are rare, so wide ones update the speed too */
        p->slow += STEP * (slow - p->slow);
    }
}

void geodec_pace_observe(geodec_pace *p, int32_t sent, double asking, double pass, double rest)
{
    const double due = geodec_pace_pass(p, sent + 1);
    if (!(due > 0)) return;
    observe_pass(p, sent, fmin(fmax(pass / due, p->slow / OUTLIER), p->slow * OUTLIER));
    asking /= p->slow;
    rest /= p->slow;
    double *other = asking > 0 ? &p->cost.o : &p->cost.o_plain;
    *other = *other > 0 ? *other + STEP * (fmin(rest, OUTLIER * *other) - *other) : fmin(rest, REST_MOST);
    if (asking > 0) geodec_pace_asked(&p->asking, asking, fmin(FIRST_SHARE * asking, FIRST_MOST));
}

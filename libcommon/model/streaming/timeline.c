#include "streaming/timeline.h"

static void join(geodec_timeline_point *to, const geodec_timeline_point *p)
{
    to->passes += p->passes;
    to->rows += p->rows;
    to->bytes += p->bytes;
    to->seconds += p->seconds;
    to->stall += p->stall;
}

/* Half as many points, each of twice the passes. */
static void halve(geodec_timeline *t)
{
    for (int32_t i = 0; i < t->n / 2; i++) {
        t->point[i] = t->point[2 * i];
        join(&t->point[i], &t->point[2 * i + 1]);
    }
    t->n /= 2;
    t->stride *= 2;
}

void geodec_timeline_add(geodec_timeline *t, const geodec_timeline_point *pass)
{
    if (t->stride == 0) t->stride = 1;
    if (t->n > 0 && t->point[t->n - 1].passes < t->stride) {
        join(&t->point[t->n - 1], pass);
        return;
    }
    if (t->n == GEODEC_TIMELINE_POINTS) halve(t);
    t->point[t->n++] = *pass;
}

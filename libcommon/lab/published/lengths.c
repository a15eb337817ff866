#include "lab/published/lengths.h"

static const double MORE = 0.70, LESS = 0.40;

geodec_lengths_published geodec_lengths_published_start(int32_t most)
{
    return (geodec_lengths_published){.most = most, .now = most};
}

int32_t geodec_lengths_published_ask(geodec_lengths_published *g, int32_t room)
{
    int32_t n = g->now;
    if (n == 0 && g->most > 0 && ++g->rounds % GEODEC_LENGTHS_PUBLISHED_PROBE == 0) n = 1;
    return n < room ? n : room;
}

static void decide(geodec_lengths_published *g, int32_t now)
{
    *g = (geodec_lengths_published){.most = g->most, .now = now};
}

void geodec_lengths_published_settle(geodec_lengths_published *g, int32_t sent, int32_t accepted)
{
    if (g->now == 0) {
        if (sent > 0 && accepted > 0) decide(g, 1);
        return;
    }
    g->drafted += sent;
    g->accepted += accepted;
    if (++g->rounds < GEODEC_LENGTHS_PUBLISHED_ROUNDS) return;
    const double share = g->drafted > 0 ? (double)g->accepted / (double)g->drafted : LESS; /* no draft, no change */
    if (share > MORE)
        decide(g, g->now < g->most ? g->now + 1 : g->most);
    else if (share < LESS)
        decide(g, g->accepted > 0 ? g->now - 1 : 0);
    else
        decide(g, g->now);
}

#include "decode/gamma_papers.h"

static const double MORE = 0.70, LESS = 0.40;

geodec_gamma_papers geodec_gamma_papers_start(int32_t most) { return (geodec_gamma_papers){.most = most, .now = most}; }

int32_t geodec_gamma_papers_ask(geodec_gamma_papers *g, int32_t room)
{
    int32_t n = g->now;
    if (n == 0 && g->most > 0 && ++g->rounds % GEODEC_GAMMA_PAPERS_PROBE == 0) n = 1;
    return n < room ? n : room;
}

static void decide(geodec_gamma_papers *g, int32_t now) { *g = (geodec_gamma_papers){.most = g->most, .now = now}; }

void geodec_gamma_papers_settle(geodec_gamma_papers *g, int32_t sent, int32_t accepted)
{
    if (g->now == 0) {
        if (sent > 0 && accepted > 0) decide(g, 1);
        return;
    }
    g->drafted += sent;
    g->accepted += accepted;
    if (++g->rounds < GEODEC_GAMMA_PAPERS_ROUNDS) return;
    const double share = g->drafted > 0 ? (double)g->accepted / (double)g->drafted : LESS; /* no draft, no change */
    if (share > MORE)
        decide(g, g->now < g->most ? g->now + 1 : g->most);
    else if (share < LESS)
        decide(g, g->accepted > 0 ? g->now - 1 : 0);
    else
        decide(g, g->now);
}

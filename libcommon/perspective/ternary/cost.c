#include "perspective/ternary/cost.h"

#include "perspective/ternary/change.h"

#include <stddef.h>

const char *geodec_ternary_choice_name(geodec_ternary_choice c)
{
    static const char *const names[GEODEC_TERNARY_CHOICES] = {"alone", "cheaper", "difference"};
    return (unsigned)c < GEODEC_TERNARY_CHOICES ? names[c] : "?";
}

static double whole(const geodec_ternary_cost *c, double bytes) { return c->latency + bytes / c->bandwidth; }

static double difference(const geodec_ternary_cost *c, double bytes, double changes, double whole_bytes)
{
    return c->latency + bytes / c->bandwidth + c->apply * changes +
           (c->keep_base ? whole_bytes / c->copy_bandwidth : 0);
}

double geodec_ternary_cost_whole(const geodec_ternary_cost *c, const geodec_ternary_load *l)
{
    return whole(c, (double)l->whole_bytes);
}

double geodec_ternary_cost_difference(const geodec_ternary_cost *c, const geodec_ternary_load *l)
{
    return difference(c, (double)l->difference_bytes, (double)l->changes, (double)l->whole_bytes);
}

geodec_ternary_choice geodec_ternary_choose(const geodec_ternary_cost *c, const geodec_ternary_load *l, int64_t *count)
{
    const geodec_ternary_choice choice = !l->base ? GEODEC_TERNARY_WHOLE_ALONE
                                         : geodec_ternary_cost_difference(c, l) < geodec_ternary_cost_whole(c, l)
                                             ? GEODEC_TERNARY_DIFFERENCE
                                             : GEODEC_TERNARY_WHOLE_CHEAPER;
    if (count) count[choice]++;
    return choice;
}

double geodec_ternary_cost_break_even(const geodec_ternary_cost *c, double weights, double whole_bytes)
{
    double low = 0, high = 1;
    while (high - low > 1e-9) {
        const double p = (low + high) / 2, bytes = weights * geodec_change_bytes(p);
        if (difference(c, bytes, weights * p, whole_bytes) < whole(c, whole_bytes))
            low = p;
        else
            high = p;
    }
    return low;
}

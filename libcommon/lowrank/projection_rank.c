#include "lowrank/projection.h"

#include <math.h>

int64_t geodec_projection_rank(const geodec_projection_options *o, int64_t width, int64_t most, const double *spectrum,
                               double trace, double effective_rank, double mean_rank)
{
    const double d = (double)width, target = o->k > 0 ? (double)o->k : o->share * d;
    double k = round(target);
    if (o->rule == GEODEC_RANK_ENERGY) {
        double sum = 0;
        int64_t n = 0;
        while (n < most && sum < o->share * trace) sum += spectrum[n++];
        k = (double)n;
    } else if (o->rule == GEODEC_RANK_LAYERS) {
        k = round(target * (mean_rank > 0 ? effective_rank / mean_rank : 1));
        if (k < ceil(o->floor * d)) k = ceil(o->floor * d);
    }
    return k < 1 ? 1 : k > (double)most ? most : (int64_t)k;
}

#include "cli/penalty.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

geodec_status penalty_biases(const cli_list *list, geodec_penalty_options *o, geodec_err *err)
{
    o->n_bias = 0;
    for (int i = 0; i < list->n; i++) {
        char *equals, *end;
        const long id = strtol(list->item[i], &equals, 10);
        const double add = *equals == '=' ? strtod(equals + 1, &end) : 0;
        if (equals == list->item[i] || *equals != '=' || end == equals + 1 || *end || isnan(add) || id < 0 ||
            id > INT32_MAX)
            GEODEC_FAIL(GEODEC_INVAL, "--logit-bias: '%s' is not ID=X", list->item[i]);
        o->bias[o->n_bias++] = (geodec_logit_bias){(int32_t)id, add};
    }
    return GEODEC_OK;
}

#include "cli/drafters.h"

#include "drafters/drafting.h"

#include <stdarg.h>
#include <string.h>

static void __attribute__((format(printf, 2, 3))) add(char to[DRAFTERS_HELP], const char *format, ...)
{
    const size_t at = strlen(to);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(to + at, DRAFTERS_HELP - at, format, args);
    va_end(args);
}

void drafters_help(char to[DRAFTERS_HELP], const char *before, const char *after)
{
    const geodec_drafter_info *d;
    to[0] = '\0';
    add(to, "%s", before);
    for (int i = 0; (d = geodec_registry_at(i)); i++)
        add(to, "%s%s%s%s%s%s", i ? ", " : "", d->name, d->flags & GEODEC_DRAFTER_BLOCKS ? "[:N]" : "",
            d->needs[0] ? " (" : "", d->needs, d->needs[0] ? ")" : "");
    add(to, ", a mixture (ngram+flowmap)%s", after);
}

void drafters_page(FILE *out)
{
    const geodec_drafter_info *d;
    (void)fprintf(out, "# Drafters\n"
                       "\n"
                       "Names of `--draft` and `--drafters`, from the table in `libcommon/decode/drafters/registry.c` "
                       "(`geodec info --drafters`).\n"
                       "Names joined by `+` are a mixture: `ngram+flowmap`. `name:N` uses N blocks of the model.\n"
                       "\n"
                       "| name | takes its drafts from | needs | |\n"
                       "|---|---|---|---|\n");
    for (int i = 0; (d = geodec_registry_at(i)); i++)
        (void)fprintf(out, "| `%s` | %s | %s | %s |\n", d->name, d->source, d->needs,
                      d->flags & GEODEC_DRAFTER_CONTROL ? "control"
                      : d->flags & GEODEC_DRAFTER_STOCHASTIC
                          ? "keeps the distribution of sampled text, not the text of a seed"
                          : "");
}

/* geodec-integer-listings: the listings and constants of Part II, counted. */
#include "cli/cli.h"
#include "io/tsv.h"
#include "lab/integer/listings.h"

static const char *output;
static int64_t draws = 20000;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "standard output"),
    OPT_I64("draws", 'n', &draws, 1, 10000000, "N", "random products of each count"),
};

static const cli_tool tool = {
    .name = "geodec-integer-listings",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "run the published listings of integer arithmetic and count their right results",
    .usage = "[OPTIONS]",
    .description =
        "The output is a TSV table: key, quantity, value, control, and what the control is. Listings: the product of\n"
        "ring elements with AVX2 (nan on processors without it), the Barrett reduction with each constant of 64 bits\n"
        "that it might mean. Constants: subtractions that a reduction needs, Proth primes, the longest transform, the\n"
        "range of the pair of primes, the largest coordinates without overflow, the coefficients that the block of 63\n"
        "bytes keeps. The rows cancel-* have the largest relative difference after a norm when a factor multiplies "
        "the\n"
        "weights before it.",
    .examples = "  geodec-integer-listings\n"
                "  geodec-integer-listings --draws 1000000 --seed 2 -o listings.tsv",
    CLI_TAKES(options, 0, 0),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_listings_row row[GEODEC_LISTINGS_ROWS];
    geodec_tsv *t = NULL;
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_listings_measure(draws, c->seed, row, err));
    if (output)
        GEODEC_TRY(geodec_tsv_create(output, &t, err));
    else
        GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "key quantity value control compared", err));
    for (int i = 0; i < GEODEC_LISTINGS_ROWS; i++) {
        geodec_tsv_str(t, row[i].key);
        geodec_tsv_str(t, row[i].quantity);
        geodec_tsv_f64(t, row[i].value);
        geodec_tsv_f64(t, row[i].control);
        geodec_tsv_str(t, row[i].compared);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

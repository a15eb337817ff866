/* The choice of a drafter after a trial, and the recorded location of the artifacts. */
#include "prepare/trial.h"

#include "base/mem.h"
#include "prepare/record.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *choose(double ngram, int64_t faster, double flowmap, double automatic, int64_t prompts)
{
    const geodec_trial t = {
        .row = {{"ngram", ngram, 2, faster, 0}, {"flowmap", flowmap, 2, 4, 0}, {"auto", automatic, 2, 4, 0}},
        .prompts = prompts};
    return geodec_trial_choose(&t);
}

Test(trial, the_fastest_drafter_is_taken_where_it_pays)
{
    cr_assert_str_eq(choose(1.3, 8, 1.2, 1.25, 8), "ngram");
    cr_assert_str_eq(choose(1.2, 8, 1.3, 1.25, 8), "flowmap");
    cr_assert_str_eq(choose(1.2, 8, 1.1, 1.25, 8), "auto");
    /* not by a small margin, not on a few prompts only, not without a trial */
    cr_assert_str_eq(choose(1.019, 8, 0.9, 0.8, 8), "none");
    cr_assert_str_eq(choose(1.021, 8, 0.9, 0.8, 8), "ngram");
    cr_assert_str_eq(choose(1.5, 3, 1.1, 0.8, 8), "flowmap");
    cr_assert_str_eq(choose(1.5, 3, 0.9, 0.8, 8), "none");
    cr_assert_str_eq(choose(1.5, 8, 1.5, 1.5, 0), "none");
}

Test(record, a_folder_beside_the_model)
{
    geodec_err err = {0};
    char *folder = NULL;
    test_ok(geodec_record_folder("a b/model.gguf", &folder, &err), &err);
    cr_assert_str_eq(folder, "a b/model.gguf.geodec");
    geodec_mem_free(folder);
}

static geodec_status read_record(const char *text)
{
    geodec_err err = {0};
    geodec_record p = {0};
    const char *path = test_tmp("prepared.json");
    FILE *f = fopen(path, "w");
    cr_assert(f);
    (void)fputs(text, f);
    (void)fclose(f);
    const geodec_status st = geodec_record_read(test_tmpdir(), &p, &err);
    if (st == GEODEC_OK) cr_assert_str_eq(p.draft, "ngram");
    geodec_record_clear(&p);
    return st;
}

#define RECORD(draft)                                                                                                  \
    "{\"model_sha256\": \"00\", \"arithmetic\": \"fast\", \"draft\": \"" draft                                         \
    "\", \"tokens\": 5, \"weight_bytes\": 7, \"request\": \"x\", \"speedup\": null}"

Test(record, a_record_is_hostile_until_read)
{
    cr_assert_eq(read_record(RECORD("ngram")), GEODEC_OK);
    cr_assert_eq(read_record(RECORD("wish")), GEODEC_FORMAT);
    cr_assert_neq(read_record("{}"), GEODEC_OK);
    cr_assert_eq(read_record("{"), GEODEC_FORMAT);
    cr_assert_eq(read_record("{\"model_sha256\": 3}"), GEODEC_FORMAT);
    geodec_err err = {0};
    geodec_record p = {0};
    cr_assert_eq(geodec_record_read("/nowhere", &p, &err), GEODEC_NOTFOUND);
}

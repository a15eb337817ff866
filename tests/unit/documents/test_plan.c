/* Sizes of a run: kept where they fit, adapted where they do not. */
#include "base/split.h"
#include "documents/plan.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static geodec_document documents_of[1000];
static int64_t length_of[1000];
/* The sizes of a full run. */
static const geodec_plan_sizes asked = {.tokens = 30000,
                                        .points = 2000,
                                        .store_texts = 768,
                                        .store_length = 256,
                                        .prompts = 100,
                                        .prompt_length = 16,
                                        .new_tokens = 128};

static geodec_plan plan_of(int64_t n, int64_t tokens, geodec_documents_separator rule, int64_t context)
{
    geodec_err err = {0};
    geodec_plan p;
    geodec_documents d = {.item = documents_of, .n = n, .rule = rule, .bytes = 4 * n * tokens};
    const geodec_plan_model m = {.context = context, .layers = 5, .width = 64, .vocabulary = 512, .bos = true};
    for (int64_t i = 0; i < n; i++) length_of[i] = tokens + 1;
    test_ok(geodec_plan_make(&m, &d, length_of, &asked, &p, &err), &err);
    return p;
}

static const geodec_plan_row *row_of(const geodec_plan *p, const char *name)
{
    for (int i = 0; i < GEODEC_PLAN_ROWS; i++)
        if (strcmp(p->row[i].name, name) == 0) return &p->row[i];
    cr_assert(false, "no row %s", name);
    return NULL;
}

Test(plan, keeps_what_fits)
{
    const geodec_plan p = plan_of(500, 200, GEODEC_SEPARATOR_BLANK, 512);
    cr_assert_arr_eq(&p.sizes, &asked, sizeof asked);
    cr_assert(p.by_document);
    cr_assert_str_eq(row_of(&p, "split")->value, "document");
    cr_assert_str_eq(row_of(&p, "separator")->value, "blank");
    cr_assert_str_eq(row_of(&p, "text_tokens")->value, "100000");
    cr_assert_str_eq(row_of(&p, "tokens")->reason, "as asked for");
    static const char *const names[] = {"separator",   "documents",    "bytes",      "text_tokens",   "context",
                                        "layers",      "width",        "vocabulary", "tokens",        "points",
                                        "store_texts", "store_length", "prompts",    "prompt_length", "new_tokens",
                                        "split",       "reference"};
    for (int i = 0; i < GEODEC_PLAN_ROWS; i++) cr_assert_str_eq(p.row[i].name, names[i]);
}

Test(plan, a_context_of_64)
{
    const geodec_plan p = plan_of(500, 200, GEODEC_SEPARATOR_MARK, 64);
    cr_assert_eq(p.sizes.store_length, 64);
    cr_assert_eq(p.sizes.new_tokens, 32);
    cr_assert_eq(p.sizes.prompt_length, 16);
    cr_assert_eq(p.sizes.prompts, 100);
    cr_assert(strstr(row_of(&p, "store_length")->reason, "256 asked for"));
    const geodec_plan tiny = plan_of(500, 200, GEODEC_SEPARATOR_MARK, 1);
    cr_assert(tiny.sizes.new_tokens == 1 && tiny.sizes.prompt_length == 1 && tiny.sizes.store_length == 1);
    const geodec_plan small = plan_of(500, 200, GEODEC_SEPARATOR_MARK, 16);
    cr_assert_eq(small.sizes.new_tokens, 8);
    cr_assert_eq(small.sizes.prompt_length, 8, "a prompt and its reply fill the context");
}

Test(plan, little_text)
{
    geodec_plan p = plan_of(1, 35, GEODEC_SEPARATOR_WINDOW, 128);
    cr_assert_eq(p.sizes.tokens, 36);
    cr_assert_eq(p.sizes.points, 36);
    cr_assert_eq(p.sizes.prompts, 35 / GEODEC_PROMPT_LEAST, "fewer prompts of the least length");
    cr_assert_eq(p.sizes.prompt_length, GEODEC_PROMPT_LEAST + 1);
    cr_assert_not(p.by_document);
    p = plan_of(1, 1, GEODEC_SEPARATOR_WINDOW, 64);
    cr_assert(p.sizes.tokens == 2 && p.sizes.prompts == 1 && p.sizes.prompt_length == 2);
    p = plan_of(1, 1200, GEODEC_SEPARATOR_WINDOW, 128);
    cr_assert_eq(p.sizes.prompts, 100);
    cr_assert_eq(p.sizes.prompt_length, 13, "shorter prompts before fewer");
}

/* The part of the text that is read decides, not the whole text. */
Test(plan, split_by_what_is_read)
{
    cr_assert(plan_of(GEODEC_SPLIT_DOCUMENTS, 100, GEODEC_SEPARATOR_LINE, 128).by_document);
    cr_assert_not(plan_of(GEODEC_SPLIT_DOCUMENTS - 1, 100, GEODEC_SEPARATOR_LINE, 128).by_document);
    cr_assert_not(plan_of(100, 256, GEODEC_SEPARATOR_WINDOW, 128).by_document, "windows adjoin");
    cr_assert_not(plan_of(10, 20000, GEODEC_SEPARATOR_MARK, 128).by_document, "30000 tokens are two of them");
}

/* A limit of work counts the weights of a token: 1e9 of them with 2e13 read 20,000 tokens. */
Test(plan, a_limit_of_work_shortens_what_passes_the_model)
{
    geodec_err err = {0};
    geodec_plan p;
    geodec_plan_sizes limited = asked;
    geodec_documents d = {.item = documents_of, .n = 500};
    geodec_plan_model m = {.context = 512, .weights = 1000000000, .bos = true};
    for (int64_t i = 0; i < 500; i++) length_of[i] = 201;
    limited.work = 2e13;
    test_ok(geodec_plan_make(&m, &d, length_of, &limited, &p, &err), &err);
    cr_assert_eq(p.sizes.tokens, 20000);
    cr_assert_eq(p.sizes.points, 2000);
    cr_assert_eq(p.sizes.store_texts, 20000 / 256);
    cr_assert_eq(p.sizes.prompts, 20000 / (16 * 128));
    cr_assert(strstr(row_of(&p, "tokens")->reason, "30000 asked for; the work of 1000000000 weights"));
    cr_assert_str_eq(row_of(&p, "reference")->value, "yes");
    m.weights = 100000000000; /* least sizes */
    test_ok(geodec_plan_make(&m, &d, length_of, &limited, &p, &err), &err);
    cr_assert(p.sizes.tokens == 1024 && p.sizes.points == 1024 && p.sizes.store_texts == 8 && p.sizes.prompts == 2);
    cr_assert_str_eq(row_of(&p, "reference")->value, "no");
    length_of[0] = 35; /* a short text is the reason, where it is */
    d.n = 1;
    test_ok(geodec_plan_make(&m, &d, length_of, &limited, &p, &err), &err);
    cr_assert_eq(p.sizes.tokens, 35);
    cr_assert(strstr(row_of(&p, "tokens")->reason, "the text has 35"));
    m.weights = 1000000; /* a small model has no limit that it meets */
    d.n = 500;
    length_of[0] = 201;
    test_ok(geodec_plan_make(&m, &d, length_of, &limited, &p, &err), &err);
    limited.work = asked.work;
    cr_assert(p.sizes.tokens == asked.tokens && p.sizes.store_texts == asked.store_texts &&
              p.sizes.prompts == asked.prompts);
}

Test(plan, refuses_sizes_below_one)
{
    geodec_err err = {0};
    geodec_plan p;
    geodec_plan_sizes none = asked;
    geodec_documents d = {.item = documents_of, .n = 1};
    const geodec_plan_model m = {.context = 64};
    none.prompts = 0;
    cr_assert_eq(geodec_plan_make(&m, &d, length_of, &none, &p, &err), GEODEC_RANGE);
}

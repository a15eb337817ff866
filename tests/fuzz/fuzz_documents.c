/* Division of a text into documents, and JSON Lines: the first byte selects rule and flags, the rest is the text. */
#include "base/mem.h"
#include "documents/documents.h"
#include "documents/plan.h"
#include "fuzz/fuzz.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 20 };

static void must(int ok, const char *what)
{
    if (ok) return;
    (void)fprintf(stderr, "broken: %s\n", what);
    abort();
}

static int white(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static void check_documents(const geodec_documents *d, size_t size)
{
    int64_t bytes = 0, end = 0;
    must(d->n > 0 && d->rule != GEODEC_SEPARATOR_AUTO && d->rule < GEODEC_SEPARATOR_COUNT, "no documents, or no rule");
    must(d->n_text >= 0 && d->n_text <= (int64_t)size + 1, "a text that grew");
    for (int64_t i = 0; i < d->n; i++) {
        const geodec_document *one = &d->item[i];
        must(one->begin >= end && one->end > one->begin && one->end <= d->n_text, "documents that overlap");
        must(!white(d->text[one->begin]) && !white(d->text[one->end - 1]), "white space around a document");
        must(geodec_file_utf8_check(d->text + one->begin, (size_t)(one->end - one->begin)) < 0, "a cut character");
        must(one->first_message >= 0 && one->messages >= 0 && one->first_message + one->messages <= d->n_messages,
             "messages of nobody");
        for (int64_t k = 0; k < one->messages; k++) {
            const geodec_chat_message *m = &d->message[one->first_message + k];
            must(m->content >= d->text && m->content + m->n <= d->text + d->n_text, "a message outside of the text");
        }
        bytes += one->end - one->begin;
        end = one->end;
    }
    must(bytes == d->bytes, "bytes");
}

static void check_plan(const geodec_documents *d)
{
    geodec_err err = {0};
    const geodec_plan_model m = {.context = 64, .layers = 2, .width = 16, .vocabulary = 300, .bos = true};
    const geodec_plan_sizes asked = {.tokens = 30000,
                                     .points = 2000,
                                     .store_texts = 768,
                                     .store_length = 256,
                                     .prompts = 100,
                                     .prompt_length = 16,
                                     .new_tokens = 128};
    geodec_plan p;
    int64_t *length = geodec_mem_new(d->n, sizeof *length);
    if (!length) return;
    for (int64_t i = 0; i < d->n; i++) length[i] = 1 + (d->item[i].end - d->item[i].begin + 3) / 4;
    must(geodec_plan_make(&m, d, length, &asked, &p, &err) == GEODEC_OK, "no plan");
    for (int i = 0; i < GEODEC_PLAN_ROWS; i++)
        must(p.row[i].value[0] && !strpbrk(p.row[i].reason, "\t\n\r"), "a row of the plan");
    must(p.sizes.tokens > 0 && p.sizes.prompts > 0 && p.sizes.prompt_length > 0, "a size below 1");
    geodec_mem_free(length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    geodec_err err = {0};
    geodec_documents d = {0};
    const char *run = NULL;
    char *own = NULL, line[512];
    size_t n = 0;
    if (size < 1 || size > MAX_INPUT) return 0;
    const geodec_documents_options o = {.separator =
                                            (geodec_documents_separator)((data[0] & 15) % GEODEC_SEPARATOR_COUNT),
                                        .pieces = data[0] & 16,
                                        .run = data[0] & 32};
    const char *text = (const char *)data + 1;
    const geodec_status st = geodec_documents_read("input", text, size - 1, &o, &d, &err);
    if (st != GEODEC_OK) {
        must(!d.item && !d.own, "an output of a failure");
        must(strchr(geodec_err_line(&err, line, sizeof line), '\n') == NULL, "a message of two lines");
        must(st == GEODEC_FORMAT || st == GEODEC_LIMIT || st == GEODEC_NOMEM, "another status");
        must(st != GEODEC_LIMIT || o.separator == GEODEC_SEPARATOR_JSONL, "a limit of plain text");
        return 0;
    }
    check_documents(&d, size);
    check_plan(&d);
    must(geodec_documents_run(&d, &run, &n, &own, &err) == GEODEC_OK, "no run");
    must(geodec_file_utf8_check(run, n) < 0, "a run that is no UTF-8");
    fuzz_use(run, n);
    geodec_mem_free(own);
    geodec_documents_free(&d);
    return 0;
}

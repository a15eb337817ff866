#include "cli/bench_plan.h"

#include "base/mem.h"

geodec_status bench_prompts(const cli *c, const geodec_model *m, const char *path, const char *separator, bool lines,
                            int64_t count, int64_t length, int64_t max_tokens, geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const int64_t left = geodec_model_configuration(m)->n_ctx - max_tokens;
    geodec_prompts_options o = {
        .count = count, .length = length, .most = left > length ? left : length, .whole = lines};
    if (geodec_chat_template_of(geodec_model_gguf(m), &o.chat, NULL) != GEODEC_OK) o.chat = NULL;
    GEODEC_TRY(text_open(path, lines ? "line" : separator, t, false, &file, err));
    GEODEC_TRY_MSG(geodec_prompts_make(t, &file.documents, &o, out, err), "%s", path);
    cli_say(c, "%s: %lld documents by the rule '%s' (%s)", path, (long long)file.documents.n,
            geodec_documents_separator_name(file.documents.rule), file.documents.why);
    if (out->n < count)
        cli_say(c, "%lld prompts instead of %lld: the text has no more%s", (long long)out->n, (long long)count,
                out->too_long ? " that leave room for the reply" : "");
    if (!lines && file.documents.rule != GEODEC_SEPARATOR_JSONL && geodec_prompts_longest(out) < length)
        cli_say(c, "prompts of %lld tokens instead of %lld: the text is short", (long long)geodec_prompts_longest(out),
                (long long)length);
done:
    geodec_chat_template_free(o.chat);
    text_close(&file);
    return st;
}

geodec_status bench_next_to(const char *path, const char *name, char **out, geodec_err *err)
{
    return geodec_mem_print(out, err, "%.*s%s", (int)(cli_base_name(path) - path), path, name);
}

geodec_status bench_verdict(const cli *c, const geodec_bench_plan *plan, const geodec_bench_counts *counts,
                            geodec_err *err)
{
    int64_t compared = 0, mismatches = 0;
    for (int64_t i = 0; i < counts->n; i++) {
        compared += counts->row[i].compared;
        mismatches += counts->row[i].mismatches;
    }
    if (mismatches > 0)
        GEODEC_FAIL(GEODEC_CHECK, "%lld of %lld output tokens differ from plain decoding", (long long)mismatches,
                    (long long)compared);
    cli_say(c, "%lld prompts, %lld output tokens compared with plain decoding, 0 differ", (long long)plan->prompts->n,
            (long long)compared);
    return GEODEC_OK;
}

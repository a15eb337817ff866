/* geodec-vocab: a byte-pair vocabulary learned from text. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "gguf/gguf.h"
#include "tokenizer/vocab_train.h"

static const char *output = "vocab.gguf", *separator = "auto";
static int64_t size = 1024, limit = 64 << 20;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "vocab.gguf"),
    OPT_I64("size", 'n', &size, GEODEC_VOCAB_FIRST_PIECE + 1, GEODEC_VOCAB_MAX, "N",
            "number of tokens, including the 259 special and byte tokens"),
    CLI_SEPARATOR_OPTION(separator),
    OPT_I64("limit", 0, &limit, 1, 1e12, "BYTES", "refuse texts larger than this"),
};

static const cli_tool tool = {
    .name = "geodec-vocab",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "learn a byte-pair vocabulary in SentencePiece style from text",
    .usage = "[OPTIONS] TEXT",
    .description = "Writes a GGUF file with only the tokenizer: <unk>, <s>, </s>, 256 byte tokens, merged pieces and\n"
                   "characters. The same text gives the same file.",
    .examples = "geodec-corpus --bytes 4000000 -o corpus.txt && geodec-vocab --size 1024 -o vocab.gguf corpus.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    geodec_span *part = NULL;
    int64_t tokens = 0, bytes = 0;
    geodec_tokenizer *t = NULL;
    geodec_gguf_writer *w = NULL;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(text_open(c->args[0], separator, NULL, false, &file, err));
    const geodec_documents *d = &file.documents;
    if ((int64_t)file.map.size > limit)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %zu bytes; the limit is %lld", c->args[0], file.map.size, (long long)limit);
    GEODEC_NEW(part, d->n);
    for (int64_t i = 0; i < d->n; i++) part[i] = (geodec_span){d->item[i].begin, d->item[i].end};
    GEODEC_TRY_MSG(geodec_vocab_train(d->text, part, d->n, (int32_t)size, &c->hooks, &t, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_vocab_measure(t, d->text, part, d->n, &tokens, &bytes, err));
    GEODEC_TRY(geodec_gguf_writer_create(output, &w, err));
    GEODEC_TRY(geodec_gguf_put_str(w, "general.architecture", "llama", err));
    GEODEC_TRY(geodec_tokenizer_put(t, w, err));
    st = geodec_gguf_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
    cli_say(c, "%d tokens, %.4f bytes per token -> %s", (int)geodec_tokenizer_size(t), (double)bytes / (double)tokens,
            output);
done:
    geodec_gguf_writer_abandon(w);
    geodec_tokenizer_destroy(t);
    geodec_mem_free(part);
    text_close(&file);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

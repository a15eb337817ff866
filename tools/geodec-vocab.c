/* geodec-vocab: a byte-pair vocabulary learned from text. */
#include "base/mem.h"
#include "corpus/corpus.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "support/cli.h"
#include "tokenizer/vocab_train.h"

static const char *output = "vocab.gguf", *separator = GEODEC_STORY_END;
static int64_t size = 1024, limit = 64 << 20;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "vocab.gguf"),
    {.name = "size",
     .letter = 'n',
     .type = CLI_I64,
     .target = &size,
     .min = GEODEC_VOCAB_FIRST_PIECE + 1,
     .max = GEODEC_VOCAB_MAX,
     .metavar = "N",
     .help = "tokens, the 259 special and byte tokens included"},
    {.name = "separator",
     .type = CLI_STR,
     .target = &separator,
     .metavar = "TEXT",
     .help = "parts texts from each other and is no text itself"},
    {.name = "limit",
     .type = CLI_I64,
     .target = &limit,
     .min = 1,
     .max = 1e12,
     .metavar = "BYTES",
     .help = "refuse texts larger than this"},
};

static const cli_tool tool = {
    .name = "geodec-vocab",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "learn a SentencePiece-style byte-pair vocabulary from text",
    .usage = "[OPTIONS] TEXT",
    .description = "Writes a GGUF file that holds only the tokenizer: <unk>, <s>, </s>, 256 byte tokens, merged "
                   "pieces, characters.\n"
                   "The same text gives the same file.",
    .examples = "geodec-corpus --bytes 4000000 -o corpus.txt && geodec-vocab --size 1024 -o vocab.gguf corpus.txt",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t n = 0;
    int64_t tokens = 0, bytes = 0;
    geodec_tokenizer *t = NULL;
    geodec_gguf_writer *w = NULL;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_file_read(c->args[0], (size_t)limit, &text, &n, err));
    GEODEC_TRY_MSG(geodec_vocab_train(text, n, separator, (int32_t)size, &c->hooks, &t, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_vocab_measure(t, text, n, separator, &tokens, &bytes, err));
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
    geodec_mem_free(text);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

/* geodec-tokenize: conversion of text to token ids and back. */
#include "base/mem.h"
#include "cli/cli.h"
#include "documents/documents.h"
#include "documents/tokenize.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

enum { INPUT_LIMIT = 1 << 28 };

static const char *model_path;
static bool decode, chat;
static geodec_tokenize_options o = {.template_name = "auto"};

static const cli_option options[] = {
    OPT_FILE("model", 'm', &model_path, "FILE", "GGUF file with the vocabulary (the weights are not read)",
             .flags = CLI_REQUIRED),
    OPT_FLAG("ids", 0, &o.only_ids, "print a line of ids, which geodec-export --tokens reads, instead of a table"),
    OPT_FLAG("count", 0, &o.only_counts, "print only the numbers of sequences, tokens and bytes of text"),
    OPT_FLAG("decode", 'd', &decode, "FILE contains ids; print their text"),
    OPT_FLAG("show-control", 0, &o.show_control, "with --decode: print control tokens by their names"),
    OPT_FLAG("lines", 0, &o.lines, "each line is a sequence (default: the whole file is one sequence)"),
    OPT_CHOICE("separator", 0, &o.separator, GEODEC_SEPARATOR_CHOICES, "RULE",
               "each document is a sequence, divided as in the tools that read text; white space around a document is "
               "removed (default: the unchanged text)"),
    OPT_FLAG("bos", 0, &o.bos, "begin each sequence with the begin-of-sequence token, if the model requires it"),
    OPT_FLAG("parse-special", 0, &o.parse_special, "convert names of control tokens in the text to these tokens"),
    OPT_FLAG("chat", 0, &chat, "FILE is a conversation, JSON: [{\"role\": \"user\", \"content\": \"...\"}, ...]"),
    OPT_STR("template", 0, &o.template_name, "NAME",
            "with --chat: name of the chat format, or 'auto': the model's own template"),
    OPT_FLAG("closed", 0, &o.closed, "with --chat: do not open the assistant's next turn"),
    OPT_FLAG("text", 0, &o.only_text,
             "with --chat: print the conversation as text, without the begin-of-sequence token"),
};

static const cli_tool tool = {
    .name = "geodec-tokenize",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "convert text to the token ids of a model, or ids to text",
    .usage = "--model FILE [OPTIONS] FILE|-",
    .description =
        "Without --ids, it prints one token per line: its id, a tab, and its piece, in which control characters,\n"
        "backslashes and bytes that are not UTF-8 are escaped. Decoding the output of --ids restores the text byte\n"
        "for byte, unless the text for a SentencePiece vocabulary contains U+2581. With --chat, the model's control\n"
        "tokens come only from the template; control tokens in the messages remain text.",
    .examples = "  echo 'Once upon a time' | geodec-tokenize --model model.gguf -\n"
                "  geodec-tokenize --model model.gguf --ids --bos --lines stories.txt > stories.ids\n"
                "  geodec-tokenize --model model.gguf --decode --lines stories.ids\n"
                "  geodec-tokenize --model model.gguf --chat --template chatml --text talk.json",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    geodec_tokenizer *t = NULL;
    char *text = NULL;
    size_t n;
    const char *path = c->args[0];
    o.out = stdout;
    if (decode && (o.only_ids || o.bos)) GEODEC_THROW(GEODEC_INVAL, "--decode excludes --ids and --bos");
    if (decode && (o.only_counts || o.parse_special || chat))
        GEODEC_THROW(GEODEC_INVAL, "--decode excludes --count, --parse-special and --chat");
    if (chat && (o.lines || o.bos || o.parse_special))
        GEODEC_THROW(GEODEC_INVAL, "--chat excludes --lines, --bos and --parse-special");
    if (!chat && (o.only_text || o.closed || strcmp(o.template_name, "auto") != 0))
        GEODEC_THROW(GEODEC_INVAL, "--template, --closed and --text need --chat");
    if (o.separator && (o.lines || decode || chat))
        GEODEC_THROW(GEODEC_INVAL, "--separator excludes --lines, --decode and --chat");
    if (o.show_control && !decode) GEODEC_THROW(GEODEC_INVAL, "--show-control needs --decode");
    if (o.only_ids + o.only_counts + o.only_text > 1) GEODEC_THROW(GEODEC_INVAL, "give one of --ids, --count, --text");
    GEODEC_TRY(geodec_gguf_open(model_path, &g, err));
    GEODEC_TRY(geodec_tokenizer_from_gguf(g, &t, err));
    GEODEC_TRY(geodec_file_read(path, INPUT_LIMIT, &text, &n, err));
    if (decode)
        GEODEC_TRY(geodec_tokenize_decode(&o, t, path, text, n, err));
    else if (chat)
        GEODEC_TRY(geodec_tokenize_conversation(&o, g, t, path, text, n, err));
    else if (o.separator)
        GEODEC_TRY(geodec_tokenize_documents(&o, t, path, text, n, err));
    else
        GEODEC_TRY(geodec_tokenize_text(&o, t, path, text, n, err));
done:
    geodec_mem_free(text);
    geodec_tokenizer_destroy(t);
    geodec_gguf_close(g);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }

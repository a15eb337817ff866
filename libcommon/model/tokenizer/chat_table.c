#include "tokenizer/chat_internal.h"
#include "tokenizer/tokenizer_internal.h"

/* <|role|>, a line feed, the words, an end */
#define ROLES .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"}, .generation = "<|assistant|>\n"
#define ROLE_LINES(end) ROLES, .after = {end, end, end}
/* A message begins with the name of its role between `open` and `close`. */
#define NAMED_ROLES(open, close, system, user, assistant)                                                              \
    .before = {open system close, open user close, open assistant close}, .generation = open assistant close
#define CHATML                                                                                                         \
    NAMED_ROLES("<|im_start|>", "\n", "system", "user", "assistant"),                                                  \
        .after = {"<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"}
#define TRIMMED .trim = {true, true, true}
#define LLAMA2 .begin = "[INST] ", .turn = "[INST] ", .open_at_start = true
#define LLAMA2_SYS .before = {"<<SYS>>\n", "", ""}, .after = {"\n<</SYS>>\n\n", " [/INST]", "</s>"}

static const geodec_chat_template table[] = {
    {.name = "chatml", CHATML},
    {.name = "smollm2", CHATML, .system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
    {.name = "qwen2", CHATML, .system = "You are a helpful assistant."},
    {.name = "qwen2.5", CHATML, .system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    {.name = "llama2", LLAMA2, .before = {"", "", ""}, .after = {"\n", " [/INST]", "</s>"}},
    {.name = "llama2-sys", LLAMA2, LLAMA2_SYS},
    {.name = "llama2-sys-bos", .begin = "[INST] ", .turn = "<s>[INST] ", .open_at_start = true, LLAMA2_SYS},
    {.name = "llama2-sys-strip", LLAMA2, LLAMA2_SYS, TRIMMED},
    {.name = "mistral-v1", .turn = " [INST] ", .before = {"", "", " "}, .after = {"\n\n", " [/INST]", "</s>"}},
    {.name = "mistral-v3",
     .turn = "[INST] ",
     .before = {"", "", " "},
     .after = {"\n\n", "[/INST]", "</s>"},
     .trim = {false, false, true}},
    {.name = "mistral-v3-tekken", .turn = "[INST]", .after = {"\n\n", "[/INST]", "</s>"}},
    {.name = "mistral-v7",
     .before = {"[SYSTEM_PROMPT] ", "[INST] ", " "},
     .after = {"[/SYSTEM_PROMPT]", "[/INST]", "</s>"}},
    {.name = "mistral-v7-tekken",
     .before = {"[SYSTEM_PROMPT]", "[INST]", ""},
     .after = {"[/SYSTEM_PROMPT]", "[/INST]", "</s>"}},
    {.name = "llama3",
     NAMED_ROLES("<|start_header_id|>", "<|end_header_id|>\n\n", "system", "user", "assistant"),
     .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
     TRIMMED},
    {.name = "llama4",
     NAMED_ROLES("<|header_start|>", "<|header_end|>\n\n", "system", "user", "assistant"),
     .after = {"<|eot|>", "<|eot|>", "<|eot|>"},
     TRIMMED},
    {.name = "gemma",
     .before = {"", "<start_of_turn>user\n", "<start_of_turn>model\n"},
     .after = {"", "<end_of_turn>\n", "<end_of_turn>\n"},
     TRIMMED,
     .system_with_user = true,
     .generation = "<start_of_turn>model\n"},
    {.name = "phi3", ROLE_LINES("<|end|>\n")},
    {.name = "phi4",
     NAMED_ROLES("<|im_start|>", "<|im_sep|>", "system", "user", "assistant"),
     .after = {"<|im_end|>", "<|im_end|>", "<|im_end|>"}},
    {.name = "zephyr", ROLE_LINES("<|endoftext|>\n")},
    {.name = "zephyr-beta", ROLE_LINES("</s>\n")},
    {.name = "falcon3", ROLE_LINES("\n")},
    {.name = "tulu", ROLES, .after = {"\n", "\n", "</s>\n"}},
    {.name = "olmoe", ROLES, .after = {"\n", "\n", "<|endoftext|>\n"}},
    {.name = "vicuna",
     .before = {"", "USER: ", "ASSISTANT: "},
     .after = {"\n\n", "\n", "</s>\n"},
     .generation = "ASSISTANT:"},
    {.name = "vicuna-orca",
     .before = {"SYSTEM: ", "USER: ", "ASSISTANT: "},
     .after = {"\n", "\n", "</s>\n"},
     .generation = "ASSISTANT:"},
    {.name = "deepseek",
     .before = {"", "### Instruction:\n", "### Response:\n"},
     .after = {"", "\n", "\n<|EOT|>\n"},
     .generation = "### Response:\n"},
    {.name = "deepseek2",
     .before = {"", "User: ", "Assistant: "},
     .after = {"\n\n", "\n\n", GEODEC__DEEPSEEK_END},
     .generation = "Assistant:"},
    {.name = "deepseek3",
     .before = {"", "<\xef\xbd\x9cUser\xef\xbd\x9c>",
                "<\xef\xbd\x9c"
                "Assistant\xef\xbd\x9c>"},
     .after = {"\n\n", "", GEODEC__DEEPSEEK_END},
     .generation = "<\xef\xbd\x9c"
                   "Assistant\xef\xbd\x9c>"},
    {.name = "command-r",
     NAMED_ROLES("<|START_OF_TURN_TOKEN|><|", "_TOKEN|>", "SYSTEM", "USER", "CHATBOT"),
     .after = {"<|END_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     TRIMMED},
    {.name = "granite",
     NAMED_ROLES("<|start_of_role|>", "<|end_of_role|>", "system", "user", "assistant"),
     .after = {"<|end_of_text|>\n", "<|end_of_text|>\n", "<|end_of_text|>\n"}},
};

const geodec_chat_template *geodec__chat_table(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}

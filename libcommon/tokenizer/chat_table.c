#include "tokenizer/chat_internal.h"

#define CHATML                                                                                                         \
    .before = {"<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"},                               \
    .after = {"<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"}, .generation = "<|im_start|>assistant\n"
/* <|role|>, a line feed, the words, an end */
#define ROLE_LINES(end)                                                                                                \
    .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"}, .after = {end, end, end},                             \
    .generation = "<|assistant|>\n"
#define LLAMA2 .begin = "[INST] ", .turn = "[INST] ", .open_at_start = true
#define LLAMA2_SYS .before = {"<<SYS>>\n", "", ""}, .after = {"\n<</SYS>>\n\n", " [/INST]", "</s>"}
#define END_OF_SENTENCE                                                                                                \
    "<\xef\xbd\x9c"                                                                                                    \
    "end\xe2\x96\x81"                                                                                                  \
    "of\xe2\x96\x81"                                                                                                   \
    "sentence\xef\xbd\x9c>"

static const geodec_chat_template table[] = {
    {.name = "chatml", CHATML},
    {.name = "smollm2", CHATML, .system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
    {.name = "qwen2", CHATML, .system = "You are a helpful assistant."},
    {.name = "qwen2.5", CHATML, .system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    {.name = "llama2", LLAMA2, .before = {"", "", ""}, .after = {"\n", " [/INST]", "</s>"}},
    {.name = "llama2-sys", LLAMA2, LLAMA2_SYS},
    {.name = "llama2-sys-bos", .begin = "[INST] ", .turn = "<s>[INST] ", .open_at_start = true, LLAMA2_SYS},
    {.name = "llama2-sys-strip", LLAMA2, LLAMA2_SYS, .trim = {true, true, true}},
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
     .before = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\n",
                "<|start_header_id|>assistant<|end_header_id|>\n\n"},
     .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
     .trim = {true, true, true},
     .generation = "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {.name = "llama4",
     .before = {"<|header_start|>system<|header_end|>\n\n", "<|header_start|>user<|header_end|>\n\n",
                "<|header_start|>assistant<|header_end|>\n\n"},
     .after = {"<|eot|>", "<|eot|>", "<|eot|>"},
     .trim = {true, true, true},
     .generation = "<|header_start|>assistant<|header_end|>\n\n"},
    {.name = "gemma",
     .before = {"", "<start_of_turn>user\n", "<start_of_turn>model\n"},
     .after = {"", "<end_of_turn>\n", "<end_of_turn>\n"},
     .trim = {true, true, true},
     .system_with_user = true,
     .generation = "<start_of_turn>model\n"},
    {.name = "phi3", ROLE_LINES("<|end|>\n")},
    {.name = "phi4",
     .before = {"<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>", "<|im_start|>assistant<|im_sep|>"},
     .after = {"<|im_end|>", "<|im_end|>", "<|im_end|>"},
     .generation = "<|im_start|>assistant<|im_sep|>"},
    {.name = "zephyr", ROLE_LINES("<|endoftext|>\n")},
    {.name = "zephyr-beta", ROLE_LINES("</s>\n")},
    {.name = "falcon3", ROLE_LINES("\n")},
    {.name = "tulu",
     .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
     .after = {"\n", "\n", "</s>\n"},
     .generation = "<|assistant|>\n"},
    {.name = "olmoe",
     .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
     .after = {"\n", "\n", "<|endoftext|>\n"},
     .generation = "<|assistant|>\n"},
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
     .after = {"\n\n", "\n\n", END_OF_SENTENCE},
     .generation = "Assistant:"},
    {.name = "deepseek3",
     .before = {"", "<\xef\xbd\x9cUser\xef\xbd\x9c>",
                "<\xef\xbd\x9c"
                "Assistant\xef\xbd\x9c>"},
     .after = {"\n\n", "", END_OF_SENTENCE},
     .generation = "<\xef\xbd\x9c"
                   "Assistant\xef\xbd\x9c>"},
    {.name = "command-r",
     .before = {"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
                "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
     .after = {"<|END_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     .trim = {true, true, true},
     .generation = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
    {.name = "granite",
     .before = {"<|start_of_role|>system<|end_of_role|>", "<|start_of_role|>user<|end_of_role|>",
                "<|start_of_role|>assistant<|end_of_role|>"},
     .after = {"<|end_of_text|>\n", "<|end_of_text|>\n", "<|end_of_text|>\n"},
     .generation = "<|start_of_role|>assistant<|end_of_role|>"},
};

const geodec_chat_template *geodec__chat_table(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}

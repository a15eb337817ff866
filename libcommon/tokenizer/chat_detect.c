#include "base/mem.h"
#include "tokenizer/chat_internal.h"

#include <stdio.h>
#include <string.h>

static const geodec_chat_template *named(const char *name)
{
    const geodec_chat_template *t = NULL;
    for (int i = 0; (t = geodec__chat_table(i)) && strcmp(t->name, name) != 0;) i++;
    return t;
}

const char *geodec_chat_template_name_at(int i)
{
    const geodec_chat_template *t = geodec__chat_table(i);
    return t ? t->name : NULL;
}

const char *geodec_chat_template_name(const geodec_chat_template *t) { return t->name; }

/* "WHAT; known are: all names", in frames of the error, which hold a line each. */
static geodec_status refuse(const char *what, geodec_err *err)
{
    enum { LINE = 200 };
    char names[8 * LINE] = "";
    size_t at = 0;
    const char *name;
    for (int i = 0; (name = geodec_chat_template_name_at(i)) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? " " : "", name);
    bool first = true;
    for (size_t end = strlen(names); end > 0; first = false) {
        size_t begin = end > LINE ? end - LINE : 0;
        while (begin > 0 && names[begin - 1] != ' ') begin++;
        const char *more = first ? "" : " and";
        if (first)
            (void)geodec_err_set(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s", names + begin);
        else
            (void)geodec_err_add(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s%s", names + begin, more);
        end = begin > 0 ? begin - 1 : 0;
        names[end] = '\0';
    }
    return geodec_err_add(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s; known are", what);
}

geodec_status geodec_chat_template_find(const char *name, const geodec_chat_template **out, geodec_err *err)
{
    char what[80];
    const geodec_chat_template *t = named(name);
    (void)snprintf(what, sizeof what, "no chat template '%.40s'", name);
    if (!t) return refuse(what, err);
    *out = t;
    return GEODEC_OK;
}

/* ---- by marks --------------------------------------------------------------------------------------------------- */

static bool has(const char *text, const char *mark) { return strstr(text, mark) != NULL; }

static const char *chatml_like(const char *j)
{
    if (has(j, "<|im_sep|>")) return "phi4";
    if (has(j, "<end_of_utterance>")) return NULL; /* begins with <|im_start|> but is another format */
    if (has(j, "named SmolLM, trained by Hugging Face<|im_end|>")) return "smollm2";
    if (has(j, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")) return "qwen2.5";
    if (has(j, "You are a helpful assistant.<|im_end|>")) return "qwen2";
    return "chatml";
}

static const char *inst_like(const char *j)
{
    if (has(j, "[SYSTEM_PROMPT]"))
        return has(j, "[SYSTEM_PROMPT] ") || has(j, "[INST] ") ? "mistral-v7" : "mistral-v7-tekken";
    if (has(j, "' [INST] ' + system_message") || has(j, "[AVAILABLE_TOOLS]"))
        return has(j, " [INST]") ? "mistral-v1" : has(j, "\"[INST]\"") ? "mistral-v3-tekken" : "mistral-v3";
    if (has(j, "content.strip()")) return "llama2-sys-strip";
    if (has(j, "bos_token + '[INST]")) return "llama2-sys-bos";
    return has(j, "<<SYS>>") ? "llama2-sys" : "llama2";
}

/* <|user|> and <|assistant|> on lines of their own; the end of a message distinguishes them. */
static const char *role_lines(const char *j, const char *eos)
{
    const bool endoftext = eos && strcmp(eos, "<|endoftext|>") == 0;
    if (has(j, "<|end|>")) return "phi3";
    if (has(j, "<|tool_declare|>") || has(j, "<|begin_of_image|>") || has(j, "[gMASK]")) return NULL;
    if (has(j, "'<|user|>\n' + message['content'] + eos_token") ||
        has(j, "'<|user|>\\n' + message['content'] + eos_token"))
        return endoftext ? "zephyr" : "zephyr-beta";
    if (has(j, "message['content'] + eos_token")) return endoftext ? "olmoe" : "tulu";
    if (has(j, "</s>")) return "falcon3";
    return has(j, "<|endoftext|>") ? "zephyr" : NULL;
}

static const char *name_of(const char *j, const char *eos)
{
    if (has(j, "<|im_start|>")) return chatml_like(j);
    if (has(j, "[INST]")) return inst_like(j);
    if (has(j, "<|assistant|>") && (has(j, "<|user|>") || has(j, "<|end|>"))) return role_lines(j, eos);
    if (has(j, "<|user|>") && has(j, "<|endoftext|>")) return "zephyr";
    if (has(j, "<start_of_turn>")) return "gemma";
    if (has(j, "USER: ") && has(j, "ASSISTANT: ")) return has(j, "SYSTEM: ") ? "vicuna-orca" : "vicuna";
    if (has(j, "### Instruction:") && has(j, "<|EOT|>")) return "deepseek";
    if (has(j, "<|START_OF_TURN_TOKEN|>") && has(j, "<|USER_TOKEN|>")) return "command-r";
    if (has(j, "<|start_header_id|>") && has(j, "<|end_header_id|>")) return "llama3";
    if (has(j, "<|header_start|>") && has(j, "<|header_end|>")) return "llama4";
    if (has(j, "'Assistant: ' + message['content'] + eos_token")) return "deepseek2";
    if (has(j, "<\xef\xbd\x9cUser\xef\xbd\x9c>") && has(j, "<\xef\xbd\x9c"
                                                           "Assistant\xef\xbd\x9c>"))
        return "deepseek3";
    if (has(j, "<|start_of_role|>") && !has(j, "<tool_call>") && !has(j, "<tools>")) return "granite";
    return NULL;
}

const geodec_chat_template *geodec_chat_template_detect(const char *jinja, const char *eos)
{
    const char *name = name_of(jinja, eos);
    return name ? named(name) : NULL;
}

/* ---- from a file ------------------------------------------------------------------------------------------------ */

/* Text of the EOS token; *out is NULL when the file has none. Caller frees. */
static geodec_status eos_text(const geodec_gguf *g, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t id, n;
    const char *s;
    size_t length;
    *out = NULL;
    if (!geodec_gguf_has(g, "tokenizer.ggml.eos_token_id") || !geodec_gguf_has(g, "tokenizer.ggml.tokens")) goto done;
    GEODEC_TRY(geodec_gguf_get_i64(g, "tokenizer.ggml.eos_token_id", &id, err));
    GEODEC_TRY(geodec_gguf_array_length(g, "tokenizer.ggml.tokens", &n, err));
    if (id < 0 || id >= n) goto done;
    GEODEC_TRY(geodec_gguf_array_str(g, "tokenizer.ggml.tokens", id, &s, &length, err));
    GEODEC_NEW(*out, length + 1);
    memcpy(*out, s, length);
done:
    return st;
}

geodec_status geodec_chat_template_of(const geodec_gguf *g, const geodec_chat_template **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char key[] = "tokenizer.chat_template";
    const char *jinja;
    char *eos = NULL;
    const geodec_chat_template *t;
    if (!geodec_gguf_has(g, key))
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key '%s' is missing: name a template", geodec_gguf_path(g), key);
    GEODEC_TRY(geodec_gguf_get_str(g, key, &jinja, err));
    GEODEC_TRY(eos_text(g, &eos, err));
    t = geodec_chat_template_detect(jinja, eos);
    if (!t) GEODEC_TRY_MSG(refuse("it is not a known chat template", err), "%s: key '%s'", geodec_gguf_path(g), key);
    *out = t;
done:
    geodec_mem_free(eos);
    return st;
}

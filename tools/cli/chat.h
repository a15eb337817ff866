/* The chat format that an option names. */
#ifndef GEODEC_TOOLS_CLI_CHAT_H
#define GEODEC_TOOLS_CLI_CHAT_H

#include "cli/cli.h"
#include "session/model.h"
#include "tokenizer/chat.h"

/* name: a built-in format, a file that ends in .jinja, or NULL or auto: the template of the model's file. The caller
 * frees *out. */
geodec_status chat_format(const geodec_model *m, const char *name, const geodec_chat_template **out,
                          geodec_err *err) GEODEC_MUST_USE;

#endif

/* From tokens to text on standard output as they come: whole UTF-8 characters, held back where a stop text may begin.
 */
#ifndef GEODEC_TOOLS_CLI_PRINTER_H
#define GEODEC_TOOLS_CLI_PRINTER_H

#include "base/err.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct printer printer;

/* prompt [n] goes through the same stream, printed only with echo, so that spacing at the seam is that of the whole
 * text. stop_text NULL = none. */
geodec_status printer_open(const geodec_tokenizer *t, const int32_t *prompt, int64_t n, bool echo,
                           const char *stop_text, printer **out, geodec_err *err) GEODEC_MUST_USE;
/* Callbacks for geodec_decode_options, ctx = the printer: emit asks to stop at the stop text or when stdout fails. */
int printer_emit(void *p, int32_t token);
void printer_flush(void *p);
/* What is left, and a final newline. */
void printer_end(printer *p);
/* NULL ok. */
void printer_close(printer *p);

#endif

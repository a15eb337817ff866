/* Prints tokens to a stream as text when they arrive: whole UTF-8 characters, held back while a stop text may begin.
 */
#ifndef GEODEC_DECODE_PRINTER_H
#define GEODEC_DECODE_PRINTER_H

#include "base/err.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct geodec_printer geodec_printer;

/* prompt [n] is decoded first, so that the spacing after it is that of the whole text; it is printed only with echo.
 * stop [n_stop]: stop texts. */
geodec_status geodec_printer_open(const geodec_tokenizer *t, const int32_t *prompt, int64_t n, bool echo,
                                  const char *const *stop, int n_stop, FILE *to, geodec_printer **out,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Callbacks for geodec_decode_options, ctx = the printer: emit returns non-zero at the stop text or when the stream
 * fails.
 */
int geodec_printer_emit(void *p, int32_t token);
void geodec_printer_flush(void *p);
/* After a stop text: how many of the emitted tokens end before it; -1 without one. */
int64_t geodec_printer_before_stop(const geodec_printer *p);
/* Prints the remaining text and a final newline. */
void geodec_printer_end(geodec_printer *p);
/* NULL ok. */
void geodec_printer_close(geodec_printer *p);

#endif

/* From tokens to text on a stream as they come: whole UTF-8 characters, held back where a stop text may begin.
 */
#ifndef GEODEC_DECODE_PRINTER_H
#define GEODEC_DECODE_PRINTER_H

#include "base/err.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct geodec_printer geodec_printer;

/* prompt [n] goes through the same stream, printed only with echo, so that spacing at the seam is that of the whole
 * text. stop_text NULL = none. */
GEODEC_API geodec_status geodec_printer_open(const geodec_tokenizer *t, const int32_t *prompt, int64_t n, bool echo,
                                             const char *stop_text, FILE *to, geodec_printer **out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Callbacks for geodec_decode_options, ctx = the printer: emit asks to stop at the stop text or when the stream fails.
 */
GEODEC_API int geodec_printer_emit(void *p, int32_t token);
GEODEC_API void geodec_printer_flush(void *p);
/* What is left, and a final newline. */
GEODEC_API void geodec_printer_end(geodec_printer *p);
/* NULL ok. */
GEODEC_API void geodec_printer_close(geodec_printer *p);

#endif

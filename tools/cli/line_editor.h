/* Lines from a terminal, by libedit: editing, the history of this run, and pasted text of several lines as one.
 *
 * Bracketed paste: after ESC[?2004h a terminal puts ESC[200~ before pasted text and ESC[201~ after it. The first is a
 * key of libedit here, whose function reads up to the second and inserts the text. The mode is on from opening to
 * closing, so that a text pasted while a reply is written is one turn too. Between lines the terminal is in its own
 * mode. */
#ifndef GEODEC_TOOLS_CLI_LINE_EDITOR_H
#define GEODEC_TOOLS_CLI_LINE_EDITOR_H

#include "base/err.h"

#include <stddef.h>

typedef struct line_editor line_editor;

/* Standard input is a terminal; call report_turns before. *out NULL: standard error is none, or the terminal cannot
 * move its cursor (TERM is empty or dumb). */
geodec_status line_editor_open(line_editor **out, geodec_err *err) GEODEC_MUST_USE;
/* geodec_dialogue.read_line. An interrupt discards the line; GEODEC_INTERRUPTED when the program was asked to end. */
geodec_status line_editor_read(void *editor, char **line, size_t *n, geodec_err *err) GEODEC_MUST_USE;
/* Gives the terminal back. NULL is allowed. */
void line_editor_close(line_editor *e);

#endif

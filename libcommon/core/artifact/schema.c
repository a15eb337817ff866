#include "artifact/schema.h"

#include <ctype.h>

/* '|' would end a table cell. */
static void cell(FILE *out, const char *text)
{
    (void)fputc(' ', out);
    for (; *text; text++) (void)fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
    (void)fputs(" |", out);
}

static void storage(FILE *out, const geodec_field *f)
{
    (void)fprintf(out, " %s%s%s%s |", f->flags & GEODEC_FIELD_OPTIONAL ? "optional" : "required",
                  f->flags & GEODEC_FIELD_STREAM ? ", streamed" : "",
                  f->flags & GEODEC_FIELD_COMPRESS ? ", deflate" : "",
                  f->flags & GEODEC_FIELD_NONFINITE ? ", NaN allowed" : "");
    (void)fprintf(out, " %d |\n", f->since_minor);
}

void geodec_schema_print(FILE *out, const geodec_kind *kind)
{
    static const char *const attr_types[] = {"i64", "f64", "text"};
    (void)fprintf(out, "# Artifact kind `%s`, schema version %d.%d\n\n", kind->name, kind->major, kind->minor);
    (void)fprintf(out, "%c%s. Made by `%s`.\n", toupper((unsigned char)kind->purpose[0]), kind->purpose + 1,
                  kind->tool);
    (void)fprintf(out,
                  "This page is printed by `geodec-info --schema %s`; the common layout is in "
                  "[artifacts](../manual/artifacts.md).\n",
                  kind->name);
    if (kind->n_attrs)
        (void)fprintf(out, "\n## Attributes\n\n| name | type | meaning | presence |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < kind->n_attrs; i++) {
        const geodec_attr *a = &kind->attrs[i];
        (void)fprintf(out, "| `%s` | %s |", a->name, attr_types[a->type]);
        cell(out, a->long_name);
        (void)fprintf(out, " %s |\n", a->flags & GEODEC_FIELD_OPTIONAL ? "optional" : "required");
    }
    (void)fprintf(out, "\n## Fields\n\n| path | type | dimensions | unit | meaning | presence | since minor |\n"
                       "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < kind->n_fields; i++) {
        const geodec_field *f = &kind->fields[i];
        (void)fprintf(out, "| `%s` | %s | %s%s%s |", f->path, geodec_type_name(f->type), f->dims[0] ? "[" : "scalar",
                      f->dims, f->dims[0] ? "]" : "");
        cell(out, f->unit);
        cell(out, f->long_name);
        storage(out, f);
    }
}

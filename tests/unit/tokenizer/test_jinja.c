/* Templates against the renderings of Jinja (tests/golden/make/templates.py), marks of messages, and refusals. */
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "support/support.h"
#include "tokenizer/jinja.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

static geodec_jinja *read_template(const char *name)
{
    char path[512];
    char *text;
    size_t n;
    geodec_err err = {0};
    geodec_jinja *t = NULL;
    (void)snprintf(path, sizeof path, "tests/golden/templates/%s", name);
    test_ok(geodec_file_read(path, 1 << 20, &text, &n, &err), &err);
    test_ok(geodec_jinja_compile(text, n, &t, &err), &err);
    geodec_mem_free(text);
    return t;
}

Test(jinja, renderings_of_jinja)
{
    char *json, *text = NULL;
    unsigned char *mark = NULL;
    size_t n;
    geodec_err err = {0};
    geodec_json *root;
    int compared = 0;
    test_ok(geodec_file_read("tests/golden/templates/renderings.json", 1 << 20, &json, &n, &err), &err);
    test_ok(geodec_json_parse(json, n, "renderings.json", &root, &err), &err);
    for (int64_t i = 0; i < geodec_json_length(root); i++) {
        const geodec_json *one = geodec_json_at(root, i), *messages = geodec_json_member(one, "messages");
        geodec_jinja_message m[MOST];
        const char *name, *want = NULL;
        const int64_t count = geodec_json_length(messages);
        cr_assert_leq(count, MOST);
        test_ok(geodec_json_get_str(one, "template", &name, &err), &err);
        const geodec_json *generation = geodec_json_member(one, "generation");
        cr_assert(json_is_boolean(generation));
        if (geodec_json_get_str(one, "text", &want, NULL) != GEODEC_OK) want = NULL;
        for (int64_t k = 0; k < count; k++) {
            const geodec_json *message = geodec_json_at(messages, k);
            test_ok(geodec_json_get_str(geodec_json_at(message, 0), NULL, &m[k].role, &err), &err);
            test_ok(geodec_json_get_str(geodec_json_at(message, 1), NULL, &m[k].content, &err), &err);
            m[k].n = strlen(m[k].content);
        }
        geodec_jinja *t = read_template(name);
        const geodec_jinja_context c = {m, count, json_is_true(generation), "<s>", "</s>"};
        const geodec_status st = geodec_jinja_render(t, &c, &text, &mark, &n, &err);
        if (want) {
            char line[512];
            cr_assert_eq(st, GEODEC_OK, "%s %lld: %s", name, (long long)i, geodec_err_line(&err, line, sizeof line));
            cr_assert_str_eq(text, want, "%s %lld: '%s', not '%s'", name, (long long)i, text, want);
            GEODEC_FREE(text, mark);
            text = NULL;
            mark = NULL;
            compared++;
        } else {
            cr_assert_eq(st, GEODEC_FORMAT, "%s %lld is rendered", name, (long long)i);
            geodec_err_clear(&err);
        }
        geodec_jinja_free(t);
    }
    cr_assert_geq(compared, 29);
    geodec_json_free(root);
    geodec_mem_free(json);
}

static geodec_status render(const char *source, const char *content, char **text, unsigned char **mark, geodec_err *err)
{
    geodec_jinja *t = NULL;
    size_t n;
    const geodec_jinja_message m = {"user", content, strlen(content)};
    const geodec_jinja_context c = {&m, 1, true, "<s>", "</s>"};
    GEODEC_PASS(geodec_jinja_compile(source, strlen(source), &t, err));
    const geodec_status st = geodec_jinja_render(t, &c, text, mark, &n, err);
    geodec_jinja_free(t);
    return st;
}

/* Through every operation on texts a byte knows that it comes from a message. */
Test(jinja, marks_of_messages)
{
    static const char *const sources[] = {
        "[{{ messages[0].content }}]",
        "[{{ messages[0].content | trim }}]",
        "{% set x = '[' ~ messages[0].content[0:] + ']' %}{{ x }}",
        "[{{ messages[0].content.split('-') | join('+') }}]",
        "[{{ messages[0].content | replace('-', '+') }}]",
        "{% macro f(x) %}[{{ x | upper }}]{% endmacro %}{{ f(messages[0].content) }}",
        "[{{ (messages | map(attribute='content') | list)[0] }}]",
        "{% set y %}[{{ messages[0].content }}]{% endset %}{{ y }}",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char *text;
        unsigned char *mark;
        geodec_err err = {0};
        test_ok(render(sources[i], "ab-cd", &text, &mark, &err), &err);
        cr_assert_eq(strlen(text), 7, "%s: %s", sources[i], text);
        for (int k = 0; k < 7; k++)
            cr_assert_eq(mark[k],
                         (text[k] >= 'a' && text[k] <= 'd') || (text[k] >= 'A' && text[k] <= 'D') || text[k] == '-',
                         "%s: byte %d of '%s' is %d", sources[i], k, text, mark[k]);
        GEODEC_FREE(text, mark);
    }
}

Test(jinja, refusals)
{
    static const struct {
        const char *source, *words;
        geodec_status want;
    } list[] = {
        {"{% include 'x' %}", "line 1: the statement 'include'", GEODEC_UNSUPPORTED},
        {"a\n{{ messages | frobnicate }}", "the filter 'frobnicate'", GEODEC_UNSUPPORTED},
        {"{{ messages is strange(1) }}", "the test 'strange'", GEODEC_UNSUPPORTED},
        {"{{ lipsum() }}", "lipsum", GEODEC_UNSUPPORTED},
        {"{{ strftime_now('%d') }}", "undefined function", GEODEC_UNSUPPORTED},
        {"{{ raise_exception('no tools') }}", "no tools", GEODEC_FORMAT},
        {"{{ missing.name }}", "undefined", GEODEC_FORMAT},
        {"{% if true %}x", "endif", GEODEC_FORMAT},
        {"{{ 'x }}", "string", GEODEC_FORMAT},
        {"{{ 1 +", "does not end", GEODEC_FORMAT},
        {"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", "bytes", GEODEC_LIMIT},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too deep", GEODEC_LIMIT},
        {"{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}", "bytes",
         GEODEC_LIMIT},
        {"{{ "
         "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))"
         "))))"
         "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) }}",
         "too deep", GEODEC_LIMIT},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char *text = NULL, line[512];
        unsigned char *mark = NULL;
        geodec_err err = {0};
        const geodec_status st = render(list[i].source, "x", &text, &mark, &err);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert_eq(st, list[i].want, "%s: %d, %s", list[i].source, st, line);
        cr_assert(strstr(line, list[i].words), "%s: '%s' without '%s'", list[i].source, line, list[i].words);
        cr_assert_null(text);
    }
}

#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table
 * --------------------------------------------------------------------------------------------------
 */

/* Patterns are those of llama.cpp, whose ids are the reference; they differ in
 * places from a model's tokenizer.json. Classes are spelled out where the
 * syntax of PCRE2 has another meaning: S is white space (without U+180E,
 * U+001C..1F), and letter case is ASCII only. */
#define S                                                                                                              \
    "\\t-\\r "                                                                                                         \
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{"                                        \
    "205f}\\x{3000}"
#define SPACE "[" S "]"
#define NO_SPACE "[^" S "]"
#define TAIL SPACE "+(?!" NO_SPACE ")|" SPACE "+"
#define SHORT "'s|'t|'re|'ve|'m|'ll|'d"
#define SHORT_ANY_CASE "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
#define GPT2 SHORT "| ?\\p{L}+| ?\\p{N}+| ?[^" S "\\p{L}\\p{N}]+|" TAIL
#define LINES SPACE "*[\\r\\n]+|" TAIL
#define LLAMA3(digits)                                                                                                 \
    SHORT_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" S "\\p{L}\\p{N}]+[\\r\\n]*|" LINES
/* letters but for a-z, letters but for A-Z */
#define UPPER "[^\\P{L}a-z]"
#define LOWER "[^\\P{L}A-Z]"
#define CASED(end, digits)                                                                                             \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" end "|" digits      \
    "| ?[^" S "\\p{L}\\p{N}]+[\\r\\n/]*|" LINES
/* CJK as deepseek has it: two blocks of one regular expression, without the
 * white space inside them */
#define CJK                                                                                                            \
    "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{"                                          \
    "2027}\\x{202a}-\\x{202e}\\x{2030}-"                                                                               \
    "\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
/* the letters of scripts with case, up to Unicode 11, as deepseek-llm lists
 * them */
#define LISTED_LETTERS                                                                                                 \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{"                                         \
    "1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}"                                                                           \
    "\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}"                                       \
    "-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}"                                                                               \
    "\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{"                                         \
    "10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}"                                                                               \
    "\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{"                                          \
    "1d2b}\\x{1d6b}-\\x{1d77}"                                                                                         \
    "\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{"                                          \
    "1f45}\\x{1f48}-\\x{1f4d}"                                                                                         \
    "\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}"                                       \
    "-\\x{1fb4}\\x{1fb6}-\\x{1fbc}"                                                                                    \
    "\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{"                                           \
    "1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}"                                                                               \
    "\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}\\x{210a}-\\x{"                                           \
    "2113}\\x{2115}\\x{2119}-\\x{211d}"                                                                                \
    "\\x{2124}\\x{2126}\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}"                                       \
    "\\x{213c}-\\x{213f}"                                                                                              \
    "\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}"                                       \
    "-\\x{2ce4}\\x{2ceb}-\\x{2cee}"                                                                                    \
    "\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{"                                           \
    "a76f}\\x{a771}-\\x{a787}"                                                                                         \
    "\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{"                                          \
    "fb17}\\x{ff21}-\\x{ff3a}"                                                                                         \
    "\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-"                                         \
    "\\x{104fb}\\x{10c80}-\\x{10cb2}"                                                                                  \
    "\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"
/* a letter with its case and marks in one class, which is how llama.cpp reads
 * the classes \p{Lu}, \p{Ll}, ... */
#define WORDS(digits)                                                                                                  \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+(?:" SHORT_ANY_CASE ")?|" digits "| ?[^" S "\\p{L}\\p{N}]+[\\r\\n/]*|" LINES
/* ideographs as kimi-k2 counts them, characters without a letter among them */
#define HAN                                                                                                            \
    "\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{faff}\\x{20000}-\\x{"                                         \
    "2a6df}\\x{2a700}-\\x{2ebef}\\x{2f800}-"                                                                           \
    "\\x{2fa1f}"
/* Digits in threes from the right; the text before a number belongs to its
 * first group. */
#define THREES                                                                                                         \
    "\\G(?:(?:\\P{N}++|(?<!\\p{N}))\\p{N}{1,2}(?=(?:\\p{N}{3})*+(?!\\p{N}))|"                                          \
    "\\P{N}*+\\p{N}{3})"
/* The same of the digits 0 to 9 in a run of number characters: a cut where a
 * multiple of three follows. AHEAD is such a place; after a group of a longer
 * number it is one without a look. */
#define AHEAD "(?=(?:[0-9]{3})++(?![0-9]))"
#define UP_TO_AHEAD "(?:[^0-9]++(?:[0-9]{1,2}(?![0-9]))?+)*+(?:(?<![0-9])[0-9]{1,2}" AHEAD ")?"
#define THREES_ASCII                                                                                                   \
    "\\G(?:(?:(?<=[0-9])|" AHEAD ")[0-9]{3}(?:(?=[0-9])|" UP_TO_AHEAD ")|(?:[0-9]{1,2}(?![0-9]))?" UP_TO_AHEAD ")"
#define SPACES(n) SPACE "{" n "}(?!" NO_SPACE ")|"
#define NOT_STOPS                                                                                                      \
    "[^(" S "|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})"                                       \
    "]+"
#define MARKS "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
/* the tilde is a symbol only in the first class here */
#define MARKS_THEN_WORDS                                                                                               \
    MARKS "[A-Za-z]+|(?:~|[^\\r\\n\\p{L}\\p{P}\\p{S}])?[\\p{L}\\p{M}]+| "                                              \
          "?(?:(?!~)[\\p{P}\\p{S}])++[\\r\\n]*|" LINES

enum { MAX_NAMES = 16, MAX_PATTERNS = 6 };

/* Patterns are applied in sequence, each to every piece of the one before: a
 * match is a piece, and so is the text between two matches. */
typedef struct row {
    const char *name[MAX_NAMES];
    const char *pattern[MAX_PATTERNS];
    bool whole_words; /* a word that is a token is not merged from bytes */
    bool begins;      /* BOS when the file does not say */
    bool always;      /* BOS whatever the file says: files of the first weeks had a
                         wrong key */
    bool marked;      /* pieces are text with marks for spaces, not bytes in the byte
                         alphabet */
    bool line_ends;   /* line ends in a row that are a token are not merged */
} row;

static const row table[] = {
    {{"gpt-2", "phi-2", "olmo", "mpt", "jais", "jina-es", "jina-de", "gigachat", "a.x-4.0", "mellum", "exaone4",
      "trillion", "granite-docling"},
     {GPT2}},
    {{"default"}, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
     {LLAMA3("\\p{N}{1,3}|")},
     .whole_words = true,
     .begins = true},
    {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {LLAMA3("\\p{N}{1,3}|")}},
    {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "solar-open", "grok-2", "kormo", "f2llmv2"},
     {LLAMA3("\\p{N}|")}},
    {{"qwen35"},
     {SHORT_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" S "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES}},
    {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"}, {"\\p{N}", GPT2}},
    {{"falcon"}, {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {{"tekken"}, {CASED("", "\\p{N}")}, .whole_words = true, .begins = true},
    {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {CASED("(?:" SHORT_ANY_CASE ")?", "\\p{N}{1,3}")}},
    {{"deepseek-llm"},
     {"[\\r\\n]", SPACE "?[" LISTED_LETTERS "]+",
      SPACE "?[!-/"
            ":-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{"
            "3001}-\\x{3002}]+",
      "(?<!" SPACE ")" SPACE "++\\z", CJK, "\\p{N}+"}},
    {{"deepseek-coder"}, {"[\\r\\n]", SPACE "?\\p{L}+", SPACE "?\\p{P}+", CJK, "\\p{N}"}},
    {{"deepseek-v3", "hunyuan-dense", "joyai-llm"},
     {"\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{30ff}]+", MARKS_THEN_WORDS}},
    {{"poro-chat", "bloom", "gpt3-finnish"}, {" ?" NOT_STOPS}},
    {{"viking"}, {" ?" NOT_STOPS, "\\p{N}"}},
    {{"bailingmoe", "bailingmoe2", "llada-moe"},
     {"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
      "|\\p{N}| ?[^" S "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]|" TAIL}},
    /* after a blank no line end follows in the same white space, so a long one
       is searched for it once */
    {{"jais-2"},
     {SHORT_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^" S
                     "\\p{L}\\p{N}]+[\\r\\n]*|(?<!(?![\\r\\n])" SPACE ")" SPACE "*[\\r\\n]+|" SPACES("512")
                         SPACES("256") SPACES("128") SPACES("64") SPACES("32") SPACES("16") SPACES("8") SPACES("4")
                             SPACES("1,2") SPACE}},
    {{"exaone-moe"},
     {SHORT_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*+(?: "
                     "?\\p{L}\\p{M}*+)*+|\\p{N}| ?[^" S "\\p{L}\\p{N}]+[\\r\\n/]?|" SPACE "*[\\r\\n]|" TAIL}},
    {{"chameleon"},
     {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     .begins = true},
    {{"tiny_aya", "cohere2moe"}, {THREES, WORDS("\\p{N}{1,3}")}},
    {{"youtu"},
     {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[\\x{3105}-\\x{312f}]+|[\\x{"
      "4e00}-\\x{9fa5}\\x{3040}-\\x{30ff}]+|"
      "[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}\\x{2014}\\x{"
      "ff1a}\\x{ff1b}\\x{ff0c}"
      "\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+",
      WORDS("\\p{N}")},
     .whole_words = true},
    {{"superbpe"}, {"\\p{N}+", THREES_ASCII}},
    {{"kimi-k2"},
     {"[" HAN "]+|[^\\r\\n\\p{L}\\p{N}]?[^\\P{L}" HAN "]+(?:" SHORT_ANY_CASE ")?|\\p{N}{1,3}| ?[^" S
      "\\p{L}\\p{N}]+[\\r\\n]*|" LINES}},
    /* the block of compatibility ideographs begins at U+8C48 there, the
       character that its first one is composed of */
    {{"afmoe"},
     {THREES,
      "[\\x{e40}-\\x{eff}\\x{1000}-\\x{109f}\\x{1100}-\\x{11ff}\\x{1780}-\\x{"
      "17ff}\\x{2f00}-\\x{2fdf}"
      "\\x{3040}-\\x{30ff}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{faff}\\x{ff65}-\\x{"
      "ff9f}]+",
      MARKS_THEN_WORDS}},
    {{"laguna"}, {"[^\\n]+|\\n+", LLAMA3("\\p{N}|")}},
    {{"minicpm5"}, {"\\p{N}{1,3}", LLAMA3("\\p{N}+|")}, .whole_words = true},
    {{"gemma4"}, {"[^\\n]+|\\n+"}, .begins = true, .always = true, .marked = true, .line_ends = true},
    {{"sarvam-moe"}, {"[^\\n]+|\\n+"}, .marked = true},
    {{"seed-coder"}, {SHORT_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^" S "\\p{L}\\p{N}\\r\\n]+|" LINES}},
};
enum { N_ROWS = sizeof table / sizeof *table };

static const row *find_row(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        for (int k = 0; k < MAX_NAMES && table[i].name[k]; k++)
            if (strcmp(table[i].name[k], name) == 0) return &table[i];
    return NULL;
}

const char *geodec_pretoken_name(int i)
{
    for (int r = 0; r < N_ROWS; r++)
        for (int k = 0; k < MAX_NAMES && table[r].name[k]; k++)
            if (i-- == 0) return table[r].name[k];
    return NULL;
}

bool geodec__pretoken_begins(const char *name)
{
    const row *r = find_row(name);
    return r && r->begins;
}

bool geodec__pretoken_always_begins(const char *name)
{
    const row *r = find_row(name);
    return r && r->always;
}

/* ---- compiled
 * ----------------------------------------------------------------------------------------------------
 */

struct geodec__pretoken {
    const char *name;
    const row *row;
    int n;
    pcre2_general_context *memory;
    pcre2_code *code[MAX_PATTERNS];
};

static void *allocate(size_t n, void *unused)
{
    (void)unused;
    return n <= INT64_MAX ? geodec_mem_new((int64_t)n, 1) : NULL;
}

static void release(void *p, void *unused)
{
    (void)unused;
    geodec_mem_free(p);
}

geodec_status geodec__pretoken_create(const char *name, geodec__pretoken **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__pretoken *p = NULL;
    pcre2_compile_context *options = NULL;
    const row *r = find_row(name);
    if (!r) GEODEC_THROW(GEODEC_UNSUPPORTED, "tokenizer.ggml.pre: pre-tokenizer '%.40s' is not supported", name);
    GEODEC_NEW(p, 1);
    p->row = r;
    for (int k = 0; k < MAX_NAMES && r->name[k]; k++)
        if (strcmp(r->name[k], name) == 0) p->name = r->name[k];
    p->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!p->memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for a regular expression");
    options = pcre2_compile_context_create(p->memory);
    if (!options) GEODEC_THROW(GEODEC_NOMEM, "no memory for a regular expression");
    for (; p->n < MAX_PATTERNS && r->pattern[p->n]; p->n++) {
        int code;
        PCRE2_SIZE at;
        p->code[p->n] = pcre2_compile((PCRE2_SPTR)r->pattern[p->n], PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code,
                                      &at, options);
        if (!p->code[p->n]) {
            if (code == PCRE2_ERROR_HEAP_FAILED) GEODEC_THROW(GEODEC_NOMEM, "no memory for a regular expression");
            GEODEC_THROW(GEODEC_INTERNAL, "pre-tokenizer %s, pattern %d: error %d at %zu", name, p->n, code, at);
        }
        (void)pcre2_jit_compile(p->code[p->n], PCRE2_JIT_COMPLETE); /* without it the patterns are interpreted */
    }
    *out = p;
    p = NULL;
done:
    pcre2_compile_context_free(options);
    geodec__pretoken_destroy(p);
    return st;
}

void geodec__pretoken_destroy(geodec__pretoken *p)
{
    if (!p) return;
    for (int i = 0; i < p->n; i++) pcre2_code_free(p->code[i]);
    pcre2_general_context_free(p->memory);
    geodec_mem_free(p);
}

const char *geodec__pretoken_name(const geodec__pretoken *p) { return p->name; }
bool geodec__pretoken_whole_words(const geodec__pretoken *p) { return p->row->whole_words; }
bool geodec__pretoken_line_ends(const geodec__pretoken *p) { return p->row->line_ends; }
bool geodec__pretoken_marked(const geodec__pretoken *p) { return p->row->marked; }

/* ---- the text that the patterns match
 * ----------------------------------------------------------------------------
 */

/* Characters of Unicode 15 and 15.1, unknown to the PCRE2 of Debian 12 (Unicode
 * 14), are replaced by a character of the same category, the same number of
 * bytes and the same side of every range of the patterns. */
typedef struct stand_in {
    uint32_t first, last, as;
} stand_in;
enum {
    MARK3 = 0x901,
    SYMBOL3 = 0x2190,
    LETTER = 0x10000,
    COMMA = 0x10100,
    NUMBER = 0x10107,
    MARK4 = 0x1d165,
    SYMBOL = 0x1f300
};
static const stand_in newer[] = {
    {0xcf3, 0xcf3, MARK3},      {0xece, 0xece, 0xec8},      {0x2ffc, 0x2fff, SYMBOL3},  {0x31ef, 0x31ef, SYMBOL3},
    {0x10efd, 0x10eff, MARK4},  {0x1123f, 0x11240, LETTER}, {0x11241, 0x11241, MARK4},  {0x11b00, 0x11b09, COMMA},
    {0x11f00, 0x11f01, MARK4},  {0x11f02, 0x11f02, LETTER}, {0x11f03, 0x11f03, MARK4},  {0x11f04, 0x11f10, LETTER},
    {0x11f12, 0x11f33, LETTER}, {0x11f34, 0x11f3a, MARK4},  {0x11f3e, 0x11f42, MARK4},  {0x11f43, 0x11f4f, COMMA},
    {0x11f50, 0x11f59, NUMBER}, {0x1342f, 0x1342f, LETTER}, {0x13440, 0x13440, MARK4},  {0x13441, 0x13446, LETTER},
    {0x13447, 0x13455, MARK4},  {0x1b132, 0x1b132, LETTER}, {0x1b155, 0x1b155, LETTER}, {0x1d2c0, 0x1d2d3, NUMBER},
    {0x1df25, 0x1df2a, LETTER}, {0x1e030, 0x1e06d, LETTER}, {0x1e08f, 0x1e08f, MARK4},  {0x1e4d0, 0x1e4eb, LETTER},
    {0x1e4ec, 0x1e4ef, MARK4},  {0x1e4f0, 0x1e4f9, NUMBER}, {0x1f6dc, 0x1f6dc, SYMBOL}, {0x1f774, 0x1f776, SYMBOL},
    {0x1f77b, 0x1f77f, SYMBOL}, {0x1f7d9, 0x1f7d9, SYMBOL}, {0x1fa75, 0x1fa77, SYMBOL}, {0x1fa87, 0x1fa88, SYMBOL},
    {0x1faad, 0x1faaf, SYMBOL}, {0x1fabb, 0x1fabd, SYMBOL}, {0x1fabf, 0x1fabf, SYMBOL}, {0x1face, 0x1facf, SYMBOL},
    {0x1fada, 0x1fadb, SYMBOL}, {0x1fae8, 0x1fae8, SYMBOL}, {0x1faf7, 0x1faf8, SYMBOL}, {0x2b739, 0x2b739, 0x2b738},
    {0x2ebf0, 0x2ee5d, LETTER}, {0x31350, 0x323af, LETTER},
};
enum { INVALID = 0x01 };

static int by_range(const void *key, const void *entry)
{
    const uint32_t c = *(const uint32_t *)key;
    const stand_in *s = entry;
    return c < s->first ? -1 : c > s->last;
}

static uint32_t stand_in_for(uint32_t c)
{
    const stand_in *s = bsearch(&c, newer, sizeof newer / sizeof *newer, sizeof *newer, by_range);
    return s ? s->as : 0;
}

static uint32_t code_point(const unsigned char *p, int n)
{
    return n == 3 ? (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63)
                  : (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 | (uint32_t)(p[2] & 63) << 6 | (p[3] & 63);
}

static void put_code_point(unsigned char *p, uint32_t c, int n)
{
    for (int i = n - 1; i > 0; i--, c >>= 6) p[i] = (unsigned char)(0x80 | (c & 63));
    p[0] = (unsigned char)((n == 3 ? 0xe0 : 0xf0) | c);
}

/* A copy of the text with these replacements if there are any, of the same
 * length in bytes. */
static geodec_status seen_by_patterns(const char *text, size_t n, char **copy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const unsigned char *p = (const unsigned char *)text;
    unsigned char *out = NULL;
    for (size_t i = 0; i < n;) {
        if (p[i] < 0x80) {
            i++;
            continue;
        }
        const int k = geodec__encode_utf8(p + i, n - i);
        const uint32_t as = k >= 3 ? stand_in_for(code_point(p + i, k)) : k == 0 ? INVALID : 0;
        if (as && !out) {
            GEODEC_NEW(out, n);
            memcpy(out, text, n);
        }
        if (k == 0)
            out[i] = INVALID;
        else if (as)
            put_code_point(out + i, as, k);
        i += k ? (size_t)k : 1;
    }
    *copy = (char *)out;
done:
    return st;
}

/* ---- splitting
 * ---------------------------------------------------------------------------------------------------
 */

typedef struct splitter {
    const geodec__pretoken *p;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    const char *text, *seen; /* the text, and the text that the patterns see */
    geodec__word_sink sink;
} splitter;

static geodec_status next_match(splitter *s, int stage, size_t at, size_t from, size_t end, bool *found, size_t *begin,
                                size_t *stop, geodec_err *err)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)s->seen + at;
    int rc = pcre2_match(s->p->code[stage], subject, end - at, from - at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, s->match,
                         s->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(s->p->code[stage], subject, end - at, from - at,
                         PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | PCRE2_NO_JIT, s->match, s->limits);
    if (rc == PCRE2_ERROR_NOMEMORY) GEODEC_FAIL(GEODEC_NOMEM, "no memory to split a text into words");
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        GEODEC_FAIL(GEODEC_LIMIT, "pre-tokenizer %s, pattern %d: error %d of PCRE2", s->p->name, stage, rc);
    *found = rc > 0;
    if (rc > 0) {
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(s->match);
        *begin = at + v[0];
        *stop = at + v[1];
    }
    return GEODEC_OK;
}

static geodec_status cut(splitter *s, int stage, size_t at, size_t end, geodec_err *err)
{
    if (stage == s->p->n) {
        GEODEC_PASS(s->sink.word(s->sink.ctx, s->text + at, end - at, err));
        return GEODEC_OK;
    }
    const size_t start = at;
    for (size_t from = at; from < end;) {
        bool found = false;
        size_t begin = end, stop = end;
        GEODEC_PASS(next_match(s, stage, start, from, end, &found, &begin, &stop, err));
        if (!found) break;
        if (begin > at) GEODEC_PASS(cut(s, stage + 1, at, begin, err));
        GEODEC_PASS(cut(s, stage + 1, begin, stop, err));
        at = from = stop;
    }
    if (at < end) GEODEC_PASS(cut(s, stage + 1, at, end, err));
    return GEODEC_OK;
}

geodec_status geodec__pretoken_split(const geodec__pretoken *p, const char *text, size_t n, geodec__word_sink sink,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL;
    splitter s = {.p = p, .text = text, .sink = sink};
    GEODEC_TRY(seen_by_patterns(text, n, &copy, err));
    s.seen = copy ? copy : text;
    s.match = pcre2_match_data_create(1, p->memory);
    s.limits = pcre2_match_context_create(p->memory);
    if (!s.match || !s.limits) GEODEC_THROW(GEODEC_NOMEM, "no memory to split a text into words");
    GEODEC_TRY(cut(&s, 0, 0, n, err));
done:
    pcre2_match_data_free(s.match);
    pcre2_match_context_free(s.limits);
    geodec_mem_free(copy);
    return st;
}

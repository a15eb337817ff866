#include "lab/corpus/corpus_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* (i+1)^-0.35 to 4 digits: part of the corpus' definition, so independent of libm. */
static const double falling[] = {1.0000, 0.7846, 0.6808, 0.6156, 0.5693, 0.5341, 0.5061, 0.4830, 0.4635,
                                 0.4467, 0.4320, 0.4191, 0.4075, 0.3971, 0.3876, 0.3789, 0.3710, 0.3636,
                                 0.3568, 0.3505, 0.3445, 0.3390, 0.3337, 0.3288, 0.3241};
enum { N_FALLING = sizeof falling / sizeof falling[0] };

static double weight_of(int i) { return falling[i < N_FALLING ? i : N_FALLING - 1]; }

/* ---- choices ---------------------------------------------------------------------------------------------------- */

static int sample(geodec__gen *g, int n, const double *w, double sum)
{
    double u = geodec_rng_uniform(&g->rng) * sum;
    int last = 0;
    for (int i = 0; i < n; i++) {
        if (!(w[i] > 0)) continue;
        last = i;
        u -= w[i];
        if (u < 0) break;
    }
    return last;
}

int geodec__template_choose(geodec__gen *g, int n, const double *weight)
{
    double w[GEODEC__ALTS_MAX];
    int index[GEODEC__ALTS_MAX], m = 0;
    bool free_choice = g->free_to == 0 || (g->chosen >= g->free_from && g->chosen < g->free_to);
    int limit = g->free_to != 0 && free_choice ? g->alts_max : n;
    double sum = 0;
    for (int i = 0; i < n && m < limit; i++) {
        if (!(weight[i] > 0)) continue;
        index[m] = i;
        w[m] = weight[i];
        sum += weight[i];
        m++;
    }
    if (m < 2 || g->dead) return m ? index[0] : 0;
    g->chosen++;
    if (!free_choice) return index[sample(g, m, w, sum)];
    if (g->n_choices >= GEODEC__CHOICES_MAX) {
        g->overflow = g->dead = true;
        return index[0];
    }
    int c = !g->scripted ? sample(g, m, w, sum) : g->n_choices < g->n_script ? g->script[g->n_choices] : 0;
    if (g->choice) {
        g->choice[g->n_choices] = c;
        g->alternatives[g->n_choices] = m;
    }
    if (g->offset) g->offset[g->n_choices] = g->n;
    g->n_choices++;
    g->bits -= log2(w[c] / sum);
    return index[c];
}

int geodec__template_pick(geodec__gen *g, int n)
{
    double w[GEODEC__ALTS_MAX];
    for (int i = 0; i < n; i++) w[i] = weight_of(i);
    return geodec__template_choose(g, n, w);
}

bool geodec__template_bernoulli(geodec__gen *g, double p)
{
    double w[2] = {p, 1 - p};
    return geodec__template_choose(g, 2, w) == 0;
}

/* ---- letters ---------------------------------------------------------------------------------------------------- */

static void put(geodec__gen *g, char c)
{
    if (g->dead) return;
    if (g->n + 1 >= GEODEC__STORY_MAX) {
        g->overflow = g->dead = true;
        return;
    }
    if (g->target && (g->n >= g->n_target || g->target[g->n] != c)) {
        g->dead = true;
        return;
    }
    g->text[g->n++] = c;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void letter(geodec__gen *g, char c)
{
    if (g->article) {
        if (c == ' ') return;
        g->article = false;
        put(g, g->capital ? 'A' : 'a');
        g->capital = false;
        if (strchr("aeiouAEIOU", c)) put(g, 'n');
        put(g, ' ');
    }
    if (g->capital && is_letter(c)) {
        if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        g->capital = false;
    }
    put(g, c);
    switch (c) {
    case '.':
    case '!':
    case '?':
        g->ended = true;
        break;
    case ' ':
        if (g->ended) {
            g->capital = true;
            if (!g->quoted) g->mentioned = 0;
        }
        g->ended = false;
        break;
    case '\n':
        g->capital = true;
        g->ended = false;
        g->mentioned = 0;
        g->salient_m = g->salient_f = 0;
        break;
    case '"':
        g->quoted = !g->quoted;
        if (g->quoted) g->capital = true;
        g->ended = false;
        break;
    default:
        g->ended = false;
    }
}

static void literal(geodec__gen *g, const char *s)
{
    for (; *s && !g->dead; s++) letter(g, *s);
}

/* ---- entities --------------------------------------------------------------------------------------------------- */

static bool is_used(const geodec__gen *g, const void *p)
{
    for (int i = 0; i < g->n_used; i++)
        if (g->used[i] == p) return true;
    return false;
}

static void use(geodec__gen *g, const void *p)
{
    if (g->n_used < (int)(sizeof g->used / sizeof g->used[0])) g->used[g->n_used++] = p;
}

static bool is_text(const char *s, size_t n, const char *text) { return strlen(text) == n && !memcmp(s, text, n); }

static int choose_name(geodec__gen *g, const geodec__name *list, int n)
{
    double w[GEODEC__ALTS_MAX];
    for (int i = 0; i < n; i++) w[i] = is_used(g, &list[i]) ? 0 : weight_of(i);
    return geodec__template_choose(g, n, w);
}

static void choose_person(geodec__gen *g, geodec__person *p, const char *group, size_t n)
{
    static const struct {
        const char *group;
        const geodec__name *list;
        int n;
    } groups[] = {{"kin", geodec__lexicon_kin, N_KIN},
                  {"adult", geodec__lexicon_adults, N_ADULTS},
                  {"pet", geodec__lexicon_pets, N_PETS}};
    const geodec__name *list = NULL;
    int count = 0;
    if (p->who) *p = (geodec__person){0}; /* another person takes the slot */
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (is_text(group, n, groups[k].group)) list = groups[k].list, count = groups[k].n;
    if (!list) {
        double half[2] = {1, 1};
        if (!p->gender) p->gender = geodec__template_choose(g, 2, half) ? 'm' : 'f';
        list = p->gender == 'f' ? geodec__lexicon_girls : geodec__lexicon_boys;
        count = p->gender == 'f' ? N_GIRLS : N_BOYS;
    }
    const int i = choose_name(g, list, count);
    p->who = &list[i];
    p->gender = list[i].gender;
    use(g, p->who);
}

static void print_name(geodec__gen *g, char slot)
{
    const geodec__person *p = &g->person[slot - 'A'];
    if (!p->who) return;
    literal(g, p->who->name);
    g->mentioned |= 1u << (slot - 'A');
    if (!g->quoted) *(p->gender == 'f' ? &g->salient_f : &g->salient_m) = slot;
}

static bool is_clear(const geodec__gen *g, char slot)
{
    return (g->person[slot - 'A'].gender == 'f' ? g->salient_f : g->salient_m) == slot;
}

static void choose_thing(geodec__gen *g, geodec__thing *t, unsigned kinds, bool with_adjective)
{
    double w[GEODEC__ALTS_MAX * 2];
    int map[N_NOUNS], n = 0, k = 0;
    /* the adjective precedes the noun in the text, so it is chosen first */
    for (int i = 0; i < N_ADJ; i++) w[i] = (geodec__lexicon_adjectives[i].kinds & kinds) == kinds ? weight_of(k++) : 0;
    t->size = t->adjective = "";
    if (with_adjective) {
        static const char *const sizes[] = {"",    "little", "big",  "small", "pretty", "old",
                                            "new", "tiny",   "fine", "funny", "lovely", "huge"};
        if (!(kinds & (T_FOOD | T_FRUIT)))
            t->size = sizes[geodec__template_pick(g, (int)(sizeof sizes / sizeof sizes[0]))];
        t->adjective = geodec__lexicon_adjectives[geodec__template_choose(g, N_ADJ, w)].word;
    }
    for (int i = 0; i < N_NOUNS; i++) {
        if (!(geodec__lexicon_nouns[i].kinds & kinds) || is_used(g, &geodec__lexicon_nouns[i]) || n >= GEODEC__ALTS_MAX)
            continue;
        map[n] = i;
        w[n] = weight_of(n);
        n++;
    }
    if (n == 0) {
        t->noun = &geodec__lexicon_nouns[0];
        return;
    }
    t->noun = &geodec__lexicon_nouns[map[geodec__template_choose(g, n, w)]];
    use(g, t->noun);
}

/* Kinds of things and places by name; `other` for another name. */
static unsigned kinds_of(const char *s, size_t n, unsigned other)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } table[] = {{"toy", T_TOY},     {"food", T_FOOD},   {"wear", T_WEAR}, {"tool", T_TOOL},   {"nature", T_NATURE},
                 {"paper", T_PAPER}, {"fruit", T_FRUIT}, {"box", T_BOX},   {"fly", T_FLY},     {"out", P_OUT},
                 {"in", P_IN},       {"play", P_PLAY},   {"wild", P_WILD}, {"trade", P_TRADE}, {"any", P_ANY}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_text(s, n, table[i].name)) return table[i].kinds;
    return other;
}

static void choose_place(geodec__gen *g, const geodec__place_name **out, unsigned kinds)
{
    double w[N_PLACES];
    int k = 0;
    for (int i = 0; i < N_PLACES; i++)
        w[i] =
            (geodec__lexicon_places[i].kinds & kinds) && !is_used(g, &geodec__lexicon_places[i]) ? weight_of(k++) : 0;
    *out = &geodec__lexicon_places[geodec__template_choose(g, N_PLACES, w)];
    use(g, *out);
}

static void choose_spot(geodec__gen *g, char slot, char place)
{
    const geodec__place_name *p = g->place[place - 'a'];
    double w[5];
    if (!p) p = &geodec__lexicon_places[0];
    for (int i = 0; i < 5; i++) w[i] = is_used(g, p->spot[i]) ? 0 : weight_of(i);
    g->spot[slot - 'a'] = p->spot[geodec__template_choose(g, 5, w)];
    use(g, g->spot[slot - 'a']);
}

static const char *number_word(int n)
{
    static const char *const words[] = {"no",       "one",      "two",      "three",   "four",    "five",
                                        "six",      "seven",    "eight",    "nine",    "ten",     "eleven",
                                        "twelve",   "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
                                        "eighteen", "nineteen", "twenty"};
    return n >= 0 && n <= 20 ? words[n] : "many";
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

typedef struct slot {
    const char *form;
    size_t n_form;
    bool fresh;
    char letter, second;
    const char *arg;
    size_t n_arg;
} slot;

static bool is_form(const slot *s, const char *form) { return is_text(s->form, s->n_form, form); }

static void parse_slot(const char *p, size_t n, slot *s)
{
    size_t i = 0;
    *s = (slot){.form = p, .arg = ""};
    while (i < n && (p[i] == '~' || is_letter(p[i]))) i++;
    s->n_form = i;
    if (i == 1 && p[0] >= 'A' && p[0] <= 'Z') {
        s->letter = p[0];
        s->n_form = 0;
    } else if (i == 2 && p[0] == '~') {
        s->letter = p[1];
        s->n_form = 1;
    }
    if (i < n && p[i] == '+') {
        s->fresh = true;
        i++;
    }
    if (!s->letter && i + 1 < n && p[i] == ' ') {
        s->letter = p[i + 1];
        i += 2;
        if (i + 1 < n && p[i] == ' ') {
            s->second = p[i + 1];
            i += 2;
        }
    }
    if (i < n && p[i] == ':') {
        s->arg = p + i + 1;
        s->n_arg = n - i - 1;
    }
}

static void person_slot(geodec__gen *g, const slot *slot_)
{
    slot copy = *slot_, *s = &copy;
    if (s->letter == 'H' && g->speaker) s->letter = g->speaker;
    static const struct {
        const char *form, *m, *f;
    } pronouns[] = {{"he", "he", "she"}, {"him", "him", "her"}, {"his", "his", "her"}};
    geodec__person *p = &g->person[(s->letter - 'A') & 7];
    double half[2] = {1, 1};
    if (s->n_form == 0) {
        if (s->fresh) choose_person(g, p, s->arg, s->n_arg);
        print_name(g, s->letter);
    } else if (is_form(s, "boy")) {
        if (s->fresh) p->gender = geodec__template_choose(g, 2, half) ? 'm' : 'f';
        literal(g, p->gender == 'f' ? "girl" : "boy");
    } else if (is_form(s, "kind")) {
        if (s->fresh) {
            bool wild = s->n_arg == 4;
            int n = wild ? N_WILD : N_SPECIES;
            p->kind = (wild ? geodec__lexicon_wild : geodec__lexicon_species)[geodec__template_pick(g, n)];
        }
        literal(g, p->kind ? p->kind : "");
    } else if (is_form(s, "himself")) {
        literal(g, p->gender == 'f' ? "herself" : "himself");
    } else if (is_form(s, "~")) {
        /* a sentence does not repeat a name where a pronoun is clear */
        bool clear = is_clear(g, s->letter);
        if (clear && ((g->mentioned >> (s->letter - 'A') & 1u) || geodec__template_bernoulli(g, 0.7)))
            literal(g, p->gender == 'f' ? "she" : "he");
        else
            print_name(g, s->letter);
        g->mentioned |= 1u << (s->letter - 'A');
    } else {
        for (size_t i = 0; i < sizeof pronouns / sizeof pronouns[0]; i++) {
            if (!is_form(s, pronouns[i].form)) continue;
            if (is_clear(g, s->letter) || !p->who) {
                literal(g, p->gender == 'f' ? pronouns[i].f : pronouns[i].m);
            } else {
                print_name(g, s->letter);
                if (i == 2) literal(g, "'s");
            }
        }
    }
}

static void thing_slot(geodec__gen *g, const slot *s)
{
    geodec__thing *t = &g->thing[s->letter - 'a'];
    bool with_adjective = is_form(s, "a") || is_form(s, "full") || is_form(s, "desc");
    if (s->fresh) choose_thing(g, t, kinds_of(s->arg, s->n_arg, T_TOY), with_adjective);
    if (!t->noun) return;
    if (is_form(s, "a")) g->article = true;
    if (is_form(s, "the") || is_form(s, "full")) literal(g, "the ");
    if (with_adjective && t->adjective[0]) {
        literal(g, t->size);
        if (t->size[0]) letter(g, ' ');
        literal(g, t->adjective);
        letter(g, ' ');
    }
    literal(g, is_form(s, "plural") ? t->noun->many : t->noun->one);
}

static void number_slot(geodec__gen *g, const slot *s)
{
    int *k = &g->number[s->letter - 'a'];
    if (s->fresh) {
        /* "2-6", or "1-n": up to the number in slot n */
        char *end = NULL;
        long lo = strtol(s->n_arg ? s->arg : "1", &end, 10), hi = lo;
        if (*end == '-') hi = end[1] >= 'a' && end[1] <= 'z' ? g->number[end[1] - 'a'] : strtol(end + 1, NULL, 10);
        double w[GEODEC__ALTS_MAX] = {0};
        int n = hi > lo ? (int)(hi - lo + 1) : 1;
        for (int i = 0; i < n && i < GEODEC__ALTS_MAX; i++) w[i] = 1;
        *k = (int)lo + geodec__template_choose(g, n, w);
    }
    if (is_form(s, "was")) {
        literal(g, *k == 1 ? "was" : "were");
        return;
    }
    literal(g, number_word(*k));
    if (is_form(s, "count")) {
        const geodec__noun *noun = g->thing[s->second - 'a'].noun;
        letter(g, ' ');
        if (noun) literal(g, *k == 1 ? noun->one : noun->many);
    }
}

static bool place_slot(geodec__gen *g, const slot *s)
{
    if (is_form(s, "spot")) {
        if (s->fresh) choose_spot(g, s->letter, s->n_arg ? s->arg[0] : 'p');
        literal(g, g->spot[s->letter - 'a'] ? g->spot[s->letter - 'a'] : "");
        return true;
    }
    if (!is_form(s, "in") && !is_form(s, "to") && !is_form(s, "place")) return false;
    const geodec__place_name **p = &g->place[s->letter - 'a'];
    if (s->fresh) choose_place(g, p, kinds_of(s->arg, s->n_arg, P_ANY));
    if (!*p) return true;
    if (is_form(s, "in")) {
        literal(g, (*p)->prep);
        letter(g, ' ');
    } else if (is_form(s, "to")) {
        literal(g, "to ");
    }
    literal(g, "the ");
    if (s->fresh) {
        static const char *const looks[] = {"",        "old ",    "little ", "big ",   "quiet ", "sunny ",
                                            "pretty ", "dark ",   "small ",  "empty ", "cold ",  "wide ",
                                            "bright ", "lonely ", "busy ",   "green ", "gray "};
        literal(g, looks[geodec__template_pick(g, (int)(sizeof looks / sizeof looks[0]))]);
    }
    literal(g, (*p)->name);
    return true;
}

static void word_slot(geodec__gen *g, const slot *s)
{
    geodec__word *w = &g->word[s->letter - 'a'];
    if (s->fresh) {
        const char *from[GEODEC__ALTS_MAX], *end = s->arg + s->n_arg;
        size_t length[GEODEC__ALTS_MAX];
        int n = 0;
        for (const char *p = s->arg; p < end && n < GEODEC__ALTS_MAX; n++) {
            const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
            from[n] = p;
            length[n] = (size_t)(stop - p);
            p = comma ? comma + 1 : end;
        }
        int c = geodec__template_pick(g, n);
        *w = (geodec__word){from[c], length[c]};
    }
    for (size_t i = 0; i < w->n; i++) letter(g, w->text[i]);
}

static void expand(geodec__gen *g, const char *p, const char *end);
static void expand_text(geodec__gen *g, const char *text) { expand(g, text, text + strlen(text)); }

static void expand_slot(geodec__gen *g, const char *p, size_t n)
{
    slot s;
    if (n && p[0] == '@') {
        const char *body = geodec__lexicon_macro(p + 1, n - 1);
        if (body) expand_text(g, body);
        return;
    }
    if (n == 1 && p[0] == 'a') {
        g->article = true;
        return;
    }
    parse_slot(p, n, &s);
    if (s.letter >= 'A' && s.letter <= 'H')
        person_slot(g, &s);
    else if (s.letter < 'a' || s.letter > 'z')
        return;
    else if (is_form(&s, "num") || is_form(&s, "count") || is_form(&s, "was"))
        number_slot(g, &s);
    else if (is_form(&s, "word"))
        word_slot(g, &s);
    else if (!place_slot(g, &s))
        thing_slot(g, &s);
}

/* ---- templates -------------------------------------------------------------------------------------------------- */

/* End of the alternative that starts at p: its '|' or ']' at the same depth. */
static const char *alternative_end(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '[')
            depth++;
        else if (*p == ']' && depth-- == 0)
            break;
        else if (*p == '|' && depth == 0)
            break;
    }
    return p;
}

/* Expands a bracket whose contents start at p; returns the position after its ']'. */
static const char *expand_bracket(geodec__gen *g, const char *p, const char *end)
{
    const char *from[GEODEC__ALTS_MAX], *to[GEODEC__ALTS_MAX];
    double w[GEODEC__ALTS_MAX];
    int n = 0;
    for (;;) {
        const char *q = alternative_end(p, end);
        if (n < GEODEC__ALTS_MAX) {
            from[n] = p;
            to[n] = q;
            w[n] = weight_of(n);
            n++;
        }
        p = q < end ? q + 1 : end;
        if (q >= end || *q == ']') break;
    }
    int c = geodec__template_choose(g, n, w);
    expand(g, from[c], to[c]);
    return p;
}

static void expand(geodec__gen *g, const char *p, const char *end)
{
    while (p < end && !g->dead) {
        if (*p == '[') {
            p = expand_bracket(g, p + 1, end);
        } else if (*p == '{') {
            const char *q = memchr(p, '}', (size_t)(end - p));
            if (!q) return;
            expand_slot(g, p + 1, (size_t)(q - p - 1));
            p = q + 1;
        } else if (*p == '^') {
            g->capital = true;
            p++;
        } else {
            letter(g, *p++);
        }
    }
}

static void begin_sentence(geodec__gen *g, const char *tpl)
{
    if (g->n && g->text[g->n - 1] != '\n' && tpl[0] != '\n') letter(g, ' ');
    g->capital = true;
}

void geodec__template_emit(geodec__gen *g, const char *tpl)
{
    if (g->dead) return;
    begin_sentence(g, tpl);
    expand_text(g, tpl);
}

void geodec__template_one_of(geodec__gen *g, size_t n, const char *const tpl[])
{
    const char *one = tpl[geodec__template_pick(g, (int)n)];
    if (one[0]) geodec__template_emit(g, one);
}

/* Emits a person as in the slot {form who}. */
static void mention(geodec__gen *g, const char *form, char who)
{
    person_slot(g, &(slot){.form = form, .n_form = strlen(form), .letter = who});
}

void geodec__template_say(geodec__gen *g, char who, const char *tpl)
{
    /* by the mood of the sentence: statement, exclamation, question */
    static const char *const verb[3] = {" [said|answered|whispered|replied|explained|murmured]",
                                        " [cried|said|called|shouted|laughed|yelled]", " [asked|said]"};
    static const char *const before[3] = {
        " [said|answered|[smiled|nodded|yawned|sighed|thought for a moment|took a deep breath|looked at "
        "{@thescene}|scratched {his H} [head|ear|chin]] and said|whispered]",
        " [said|cried|called|shouted|[laughed|jumped up|clapped {his H} hands|waved {his H} arms|pointed at "
        "{@thescene}|turned around] and [said|cried]]",
        " [asked|said|wanted to know|[looked up|tilted {his H} head|stopped|came closer|turned to {@thescene}|opened "
        "{his H} eyes wide] and asked]"};
    static const char *const how[3] = {"[| softly| slowly|{@gesture}| in a [kind|low|sleepy|clear|gentle] voice| with "
                                       "[a smile|a nod|a wink|a sigh|shining eyes]]",
                                       "[| happily| loudly|{@gesture}| in a [loud|high|merry] voice| with [a big "
                                       "smile|a laugh|red cheeks|both hands in the air]]",
                                       "[| softly| at last|{@gesture}| in a [small|low|surprised|sweet] voice| with "
                                       "[wide eyes|a frown|a smile|an open mouth]]"};
    size_t n = strlen(tpl);
    if (g->dead || n == 0) return;
    int mood = tpl[n - 1] == '?' ? 2 : tpl[n - 1] == '!' ? 1 : 0;
    g->speaker = who;
    begin_sentence(g, tpl);
    switch (geodec__template_pick(g, 2)) {
    case 0:
        letter(g, '"');
        expand(g, tpl, tpl + n - 1);
        letter(g, mood == 0 ? ',' : tpl[n - 1]);
        literal(g, "\"");
        if (is_clear(g, who) && geodec__template_bernoulli(g, 0.5)) {
            letter(g, ' ');
            mention(g, "he", who);
            expand_text(g, verb[mood]);
        } else {
            expand_text(g, verb[mood]);
            letter(g, ' ');
            mention(g, "", who);
        }
        expand_text(g, how[mood]);
        letter(g, '.');
        break;
    default:
        mention(g, "~", who);
        expand_text(g, before[mood]);
        literal(g, ", \"");
        expand(g, tpl, tpl + n);
        letter(g, '"');
    }
}

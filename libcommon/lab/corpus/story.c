#include "lab/corpus/corpus_internal.h"

/* Openings, scenes and closings that all plots share. After the opening A is known; F is a grown-up, and D is a pet if
 * the story has one. */

/* Descriptions of A: at most two of these. */
static const char *const about[] = {
    "{~A} was [never|always|often|sometimes] [late|bored|hungry|in a hurry|tired|busy|dirty|cold].",
    "{~A} had {a+ z:wear} that {~A} wore [every day|on [Sundays|Mondays|holidays]|when it [rained|snowed|was cold]|to "
    "[school|bed|parties]].",
    "{~A} wanted to be {a} {@job} [one day|when {~A} grew up].",
    "{his A} [favorite|best] [color was {@color}|food was {@adjfood} {@foods}|animal was the {@animal}|month was "
    "{@month}|day was {@weekday}|toy was {a} {@adj} {@cloudshape}].",
    "at home, {~A} had {num+ o:2-9} [old|fat|funny|friendly|lazy|white|brown|noisy|little|spotted] {@pets} and {a} "
    "{@adj} [swing|piano|bike|lamp|bed|drum].",
    "[{~A} did not like|nobody knew that {~A} was afraid of|{~A} knew everything about|{~A} often dreamed of] "
    "[{@animals}|{@foods}|rain|the dark|cold water|school|numbers|ghosts|trains|storms|the stars].",
    "{his A} [brother|sister|cousin|uncle|teacher|neighbor] [was {a} {@adj2} "
    "[sailor|baker|doctor|painter|pilot|farmer]|kept {@pets}|sold {@foods}|lived [near|next to|behind] {@theview}].",
    "every {@weekday}, {~A} [visited|wrote to|helped|called|cooked for] {G+:kin}[| and ate {@adjfood} {@foods}| and "
    "fed the {@pets}| and told [jokes|stories] about {@animals}].",
    "{his A} room was full of {@adj} [books|stones|boxes|shells|toys|pictures|bottles|feathers] and {@adjcolor} "
    "[balls|kites|paper|buttons|shoes|ribbons].",
    "{~A} [shared {his A} bed with|was in love with|talked to|often drew] {a} {@animaladj} {@animal}[| that lived "
    "{@where}| and {num+ o:2-9} [old|small|lazy|white|brown|quick] {@pets}].",
};
enum { N_ABOUT = sizeof about / sizeof about[0] };

static void describe(geodec__gen *g)
{
    double w[N_ABOUT + 1];
    for (int i = 0; i < N_ABOUT; i++) w[i] = 1;
    w[N_ABOUT] = 2;
    for (int k = 0; k < 2; k++) {
        int c = geodec__template_choose(g, N_ABOUT + 1, w);
        if (c == N_ABOUT) break;
        E(g, about[c]);
        w[c] = 0;
    }
}

static void opening(geodec__gen *g)
{
    ONE_OF("[once upon a time, there [was|lived]|long ago, there [lived|was]|there [was once|once was]] {a} {@kid} "
           "{boy+ A} [named|called] {A+}. {~A} [liked|loved] to {@hobby}.",
           "{A+} was {a} {@kid} {boy A} who [liked|loved] to {@hobby}.",
           "{A+} lived [with {F+:kin} ]in {a} [small|little|old|big|tall|white|cozy|red|narrow|wooden|blue|quiet] "
           "[house|cottage|hut|home] [near {place+ q:wild}|by the sea|at the edge of town|on a green hill|next to a "
           "mill].",
           "{@weather} when {A+} [woke up|went outside|opened the window|ran out of the house|finished breakfast|put "
           "on {his A} shoes]. {~A} was in {a} [good|very good|bad|merry|sleepy|strange|wild|dreamy] mood.",
           "{A+} had {a} {@animaladj} {kind+ D} [named|called] {D+:pet}. [They [did everything together|were best "
           "friends|went everywhere together|played every day]|{D} [slept in {a} {@color} basket|liked to [run|bark at "
           "the moon|chase leaves|lie in the sun]|followed {A} everywhere]].",
           "\"[Wake up|Good morning|Come here|Hurry up|Look outside|Time for breakfast], {A+}!\" [called|said|cried] "
           "{F+:kin}. ^{A} [jumped out of bed|rubbed {his A} eyes|came running down the stairs|put down {his A} "
           "[spoon|book|pencil]|yawned|smiled].",
           "{A+} was [four|five|six|seven|eight|nine] years old. {~A} had {@adjcolor} {@look}, and {~A} [liked|loved] "
           "to {@hobby}.",
           "near {place+ q:wild} lived {a} {@kid} {boy+ A}. [{his A} name was {A+}|everyone called {him A} {A+}].");
}

static void closing(geodec__gen *g)
{
    static const char *const ends[] = {
        "\n[that night|in the evening|at bedtime|when the moon rose|after {a} {@supper} supper], {A} [fell asleep|went "
        "to bed|lay in bed|looked at the stars|dreamed of {@animals}|wrote it all down|sat by the fire] [with {a} "
        "[big|little|happy|quiet|sleepy] [smile|heart|yawn]|under {a} {@adjcolor} blanket|next to {a} {@adj} "
        "[lamp|pillow|window|bear|cat]].",
        "\n[it had been|it was|what a day:] {a} {@goodday} day, and {A} [never forgot it|was {@happy}|hoped for "
        "another one soon|[told|wrote to] {his A} {@kinword} about it|went home [hand in hand with|behind|before] "
        "{G+:kin}].",
        "\nwhen {A} [came home|came back|sat at the table|was back in {his A} room], {~A} told {G+:kin} "
        "[everything|all about it|the whole story|about it twice]. ^{G} [smiled|laughed|nodded|gave {him A} {a} "
        "[hug|kiss|cookie|{@adjfood} {@food}|cup of [milk|tea|cocoa]]|[listened|sat] with {@adjcolor} yarn in {his G} "
        "lap] and said, \"[{@praise}|what {a} {@goodday} day|I am so glad|tell me again|I did that too when I was "
        "young]!\"",
        "\nthe end.",
        "\nfrom that day on, {A} [always [smiled|laughed|stopped|sang] when {~A} [thought of it|remembered it|saw {a} "
        "{@adj} {@animal}|came to {@theview}]|was [a little|much] [braver|wiser|kinder|happier|calmer]|knew that "
        "[{@moral}]|[often|never] [asked for help|shared {his A} {@foods}|ran so fast|forgot {his A} friends]].",
        "\n{A} had learned [something|a lesson|something new|something important]: [{@moral}].",
        ("\n[and|so] {A} was {@happy} [for the rest of the [day|week|month|year]|all the way home|that "
         "[evening|night]|until {@weekday}|and ate {num+ o:2-5} {@adjfood} {@foods}].")};
    enum { N = sizeof ends / sizeof *ends };
    double w[N + 1] = {3, 3, 3, 0.7, 2, 2, 3, 4}; /* the last one: the plot has its own ending */
    if (g->night) w[0] = w[1] = w[2] = w[6] = 0;
    const int c = geodec__template_choose(g, N + 1, w);
    if (c < N) E(g, ends[c]);
}

void geodec__scene_friend(geodec__gen *g)
{
    E(g, "[{~A} met {his A} friend {B+} there|{B+}, {a} {boy B} with {@adjcolor} {@look}, [came by|stopped|was "
         "there]|{B+}, {a} [friend|neighbor] from [school|next door|the village], [was there too|came by|was "
         "waiting]|{@soon} {his A} friend {B+} [came by|arrived|ran up|joined {him A}]|{his A} [best|good|old] friend "
         "{B+} was [already there|with {him A}|there too]].");
}

void geodec__scene_weather(geodec__gen *g)
{
    if (geodec__template_bernoulli(g, 0.5)) E(g, "{@weather}.");
}

void geodec__scene_sight(geodec__gen *g)
{
    ONE_OF("on the way, {~A} {@saw} {a} {@animaladj} {kind+ E:wild} [that was ]{@animaldo}.",
           "{~A} [passed|walked past|stopped at] {a} [old|tall|big|pretty|red|broken] "
           "[bridge|tree|house|fence|tower|gate|wall|statue].",
           "[{~A} [hummed|whistled|sang] {a} [little|merry|silly|new] [song|tune] on the way|the way was "
           "[long|short|steep|muddy|easy]].",
           "");
}

static const geodec__plot *const groups[] = {geodec__plots_things, geodec__plots_people, geodec__plots_world,
                                             geodec__plots_play};

void geodec__story(geodec__gen *g)
{
    geodec__plot plot[GEODEC__ALTS_MAX];
    double w[GEODEC__ALTS_MAX];
    int n = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const geodec__plot *p = groups[i]; *p && n < GEODEC__ALTS_MAX; p++) {
            w[n] = 1;
            plot[n++] = *p;
        }
    opening(g);
    describe(g);
    geodec__scene_start(g);
    plot[geodec__template_choose(g, n, w)](g);
    closing(g);
}

#include "lab/corpus/corpus_internal.h"

/* Things seen, heard, said and thought between the steps of a plot. Each depends only on who and what is in the story.
 */

static void talk(geodec__gen *g)
{
    switch (geodec__template_pick(g, 5)) {
    case 0:
        SAY(g, 'B', "do you like [{@foods}|{@animals}|[rain|snow|music|school|long walks|old songs]]?");
        SAY(g, 'A',
            "[yes, but I like [{@foods2}|games|stories] more|not much|no, only [{@foods2}|games]|I do, very "
            "much|sometimes|who does not].");
        break;
    case 1:
        E(g, "\"[At home|In our garden|Once] I [have|saw|found|had] {num+ i:2-9} {word+ "
             "w:cats,rabbits,frogs,birds,kites,balls,snails,fish,goats,pigs,dolls,hens},\" said {B}. \"^{num i} {word "
             "w}!\" [said|cried|repeated|laughed] {A}. [^{~A} could not believe it|^{~A} wanted to see them|\"I have "
             "[none|only one],\" {~A} [said|added]].");
        break;
    case 2:
        SAY(g, 'A', "[look|see|oh], {a} {@animaladj} {@animal} [is|sits] {@where}!");
        E(g, "{B} [looked|turned around|laughed|did not see it|nodded|wanted to touch it|was faster and waved to it].");
        break;
    case 3:
        E(g, "{B} [told {A} about|sang a song about|drew a picture of|knew a joke about|made up a story about] {a} "
             "{@adj} {@animal} that [lived {@where}|could [talk|fly|dance|read]|ate only {@foods}|was afraid of "
             "{@animals}|married {a} {@animal}].");
        break;
    default:
        E(g, "{B} had {a} {@adjcolor} [shirt|cap|bag|coat|bike], and {A} [liked it|had one too|thought that it looked "
             "[lovely|odd|fine|warm|funny|new]|wanted to have one].");
    }
}

/* Kinds of scenes; thing needs t, talk (a function) needs B. */
enum { TALK = 17, THING, SCENES };
static const char *const scenes[SCENES] = {
    /* nature */
    "[{a} {@animaladj} {@animal} {@animalact} {@where}|[two|three|some|many|a few] {@animaladj} {@animals} "
    "[sat|slept|played|ran about|fought|danced|waited|ate] {@where}|{@where}, {a} {@animaladj} {@animal} [was [looking "
    "for [food|a friend|water|its home|{a} {@animal}]|washing itself|talking to {a} {@animaladj} {@animal}]|ran after "
    "{a} {@animaladj} {@animal}]|{a} {@animaladj} {@animal} [came close|ran past|stopped|woke up], [looked at "
    "{A}|sniffed the air|shook itself|sneezed] and [ran|went|disappeared|hid] behind {@thescene}].",
    /* colors */
    "[balloons|flags|flowers|lamps|ribbons|kites|birds|boats|shirts] in {@color1}, {@color2} and {@color3} "
    "[hung|moved|could be seen|shone|danced] [{@where}|over {@thescene}].",
    /* bag */
    "in {his A} [{@adjcolor} |][bag|pocket|basket|backpack] [there were|{~A} had|{~A} carried|lay] {@inbag}, {@inbag} "
    "and {a} {@adj} [whistle|pencil|ball|button|stone|feather|shell|coin].",
    /* children */
    "[{E+}, {E+} and {E+}|{E+} and {E+}|{E+}, {E+}, {E+} and {E+}|{E+} with {a} {@adj} [bike|bag|kite|hat]] "
    "[waited|played|sat|sang|danced|rested|waved|stood] {@where}.",
    /* sound */
    "[somewhere|far away|not far away|behind {@thescene}|in the distance|down the road|next door], [{a} {@animal} "
    "[called|cried|made {a} [noise|loud noise|funny sound]]|a bell [rang|rang {num+ i:2-9} times]|a train whistled|a "
    "baby cried|somebody [sang|laughed|played the [drum|piano|flute|horn]|was cutting wood]|a door "
    "[banged|opened]|thunder rolled|children [laughed|shouted|sang]|a cow mooed|water [dripped|splashed]|a wheel "
    "creaked][| again and again| very softly| for a moment].",
    /* look */
    "[there was {a} {@adj} [{@scene}] [behind|next to|in front of|near|beside] {@theview}|{@thescene} [was|looked] "
    "{@is1} and {@is2}|[between|not far from] {@thescene} and {@theview} [grew|stood|lay] [{a} {@adj} "
    "[flower|tree|stone|sign|lamp]|some [roses|weeds|mushrooms|bricks|barrels]]|{@thescene} was full of "
    "[{@animals}|leaves|people|snow|water|flowers|{@foods}]].",
    /* passer-by */
    "{a} {@adj2} [man|woman|boy|girl|lady|sailor|nurse|painter|singer|hunter|postman|cook|soldier|king] [with {a} "
    "{@adj} [hat|beard|bag|dog|stick|nose|umbrella|coat|basket]|in {a} {@adj} [coat|car|hat|dress|cart|boat]] [walked "
    "by|waved|stood {@where}|came out of {@theview}|sang a song|sold {@foods}|bought {@foods2}|smiled at {A}|was "
    "looking for {a} {@animal}].",
    /* snack */
    "[{~A} [ate|had|took a bite of|shared] {a} {@adjfood} {@food} [and drank [some|{a} cup of|a little] "
    "[milk|tea|water|juice|cocoa]|with {@adjfood} {@foods}|on the way|and felt better]|{~A} was [hungry|thirsty], so "
    "{~A} [had|took|asked for] [{a} {@adjfood} {@food}|some [milk|tea|water|juice|cocoa]]|there were {@adjfood} "
    "{@foods} and {@adjfood} {@foods2} [on|under|next to] [the table|a plate|a blanket|the window]].",
    /* sky */
    "[{@size} [white|gray|pink|dark] clouds [moved|sailed|hung|raced] over {@thescene}|one cloud looked like {a} "
    "{@size} {@cloudshape}[, and another like {a} {@animal}|]|[a ray of light|a shadow|fog|a rainbow|a soft light] "
    "[lay|fell|stood] over {@thescene}|the [sun|wind|light] [danced|played|moved] [on|over|around] {@thescene} and "
    "{@theview}].",
    /* smell */
    "[the air|the whole place|everything|the wind|{@thescene}] smelled [|a little |sweetly |strongly ]of "
    "[bread|flowers|rain|grass|smoke|hay|mint|fish] and [apples|honey|wet dogs|soap|mud|roses|pine trees|soup].",
    /* clothes */
    "{~A} [wore|had on|was wearing] {a} {@adjcolor} [shirt|jacket|pullover|apron|raincoat|vest|coat] with {@color} "
    "[dots|stripes|buttons|stars|pockets] and [{@adjcolor}|old|new|big|small] [shoes|boots|socks|trousers|gloves].",
    /* yesterday */
    "[the day before|a week ago|last year|once|in spring|at school], {~A} had [seen|found|drawn|lost|painted|made] {a} "
    "{@adj} [{@cloudshape}|{@animal}] {@where}[, and {G+:kin} had [laughed|been proud|kept it|not believed it]|].",
    /* counting */
    "{~A} counted the [{@animals}|[trees|houses|windows|boats|steps|stones|clouds|flowers|people]] {@where}[, {num+ "
    "i:3-7} in all|: {num+ i:3-7}|. ^there were {num+ i:3-7}].",
    /* thought */
    "[{~A} [thought of|remembered|dreamed of|had to think of] [the sea|last summer|{his A} bed|the {@adj} house of "
    "{his A} [uncle|aunt|teacher|cousin]|{a} {@adj} {@cloudshape}|{a} story about {a} {@adj} {@animal}|the {@adjfood} "
    "{@foods} at the fair]|[{~A} [wished|hoped] that|\"What if\" was {his A} favorite game: what if] [{~A} could "
    "[fly|swim|sing|run|climb] like {a} {@animal}|{a} {@animal} could [talk|read|cook|drive]|it would [snow|rain] "
    "[{@foods}|flowers|stars]|{@thescene} were made of [gold|glass|cake|paper|cheese]]].",
    /* body */
    "[{his A} [hands|feet|knees|ears|cheeks|fingers|legs|shoes|socks|pockets] were "
    "[cold|warm|red|dirty|wet|sandy|sticky|dusty|muddy]|{his A} [nose|hair|face|neck|chin|coat|left foot] was "
    "[cold|warm|red|dirty|wet|itchy]|{~A} [scratched|rubbed|touched|wiped] {his A} [nose|chin|ear|eyes|arm|head] [and "
    "[yawned|sneezed|coughed|sighed]|twice|for a moment]|{~A} [stood on one leg|took a deep breath|closed {his A} "
    "eyes|sat down on {@adjan} [box|stone|step|chair]|tied {his A} shoe|stretched {his A} arms]].",
    /* simile */
    "{~A} [was|felt] as [quiet as a mouse|brave as a lion|busy as a bee|light as a feather|proud as a king|free as a "
    "bird|hungry as a wolf|cool as the sea|strong as a bear|merry as a song|tired as a dog|slow as a snail|quick as a "
    "fox|warm as toast|happy as could be].",
    /* question */
    "\"[Why|How|When|Where] do {@animals} [sleep|sing|eat|fly|play|hide|dance|drink|swim|laugh]?\" "
    "[wondered|thought|asked] {A}. [^nobody knew|^{~A} [did not know|wanted to find out|would ask {G+:kin}]|^maybe [at "
    "night|in winter|{@where}|like {@animals}]].",
    [TALK] = NULL,
    [THING] = "the {noun t} [was [old|strange|heavy|bright|dusty|soft|funny] and [pretty|small|smooth|well made|a "
              "little torn|very light]|had {a} {@color} [spot|line|star|mark] [on it|on one side]|was "
              "[bigger|smaller|older|lighter|heavier] than it looked|[came from|was made in] [a far land|the city|the "
              "mountains|{his A} grandfather's time]|looked [strange|bigger|golden|new|funny|like {a} {@cloudshape}][ "
              "in the light| from behind|]].",
};

static void one_of(geodec__gen *g, double nothing)
{
    double w[SCENES + 1];
    for (int i = 0; i < SCENES; i++) w[i] = g->scenes >> i & 1u ? 0 : SCENES + 8 - 0.5 * i;
    if (!g->person[1].who) w[TALK] = 0;
    if (!g->thing['t' - 'a'].noun) w[THING] = 0;
    w[SCENES] = nothing * SCENES * SCENES;
    const int c = geodec__template_choose(g, SCENES + 1, w);
    if (c == SCENES) return;
    g->scenes |= 1u << c; /* no kind twice in a story */
    if (c == TALK)
        talk(g);
    else
        E(g, scenes[c]);
}

void geodec__scene(geodec__gen *g) { one_of(g, 0.22); }

void geodec__scene_start(geodec__gen *g) { one_of(g, 0.1); }

void geodec__scene_step(geodec__gen *g, const char *tpl)
{
    E(g, tpl);
    geodec__scene(g);
}

#include "lab/corpus/corpus_internal.h"

/* Plots of cause and effect: weather, falls, cooking, building, growing, sounds in the night. */

/* Something makes the ground dangerous, somebody falls, somebody helps. */
static void slip(geodec__gen *g)
{
    static const char *const cause[4] = {
        "\n[it rained|it had rained] [all night|in the morning|for two days], and the [path|ground|grass] {in+ p:out} "
        "was [wet|muddy|full of puddles].",
        "\nit was so cold that the water {in+ p:out} had [turned to ice|frozen]. the ground was [as smooth as "
        "glass|shiny|slippery].",
        "\n{a} [strong|cold|wild] wind [blew|was blowing] {in+ p:out}. [leaves flew everywhere|hats flew through the "
        "air|the trees bent down].",
        "\n{G+:kin} had [washed|just cleaned] the floor {in+ p:in}, and it was still wet.",
    };
    int c = geodec__template_pick(g, 4);
    E(g, cause[c]);
    geodec__scene(g);
    STEP(g, "{A} [was in a hurry|wanted to see {B+}|was carrying {a+ t:tool}|did not look down] and "
            "[ran|hopped|walked] too fast.");
    E(g, c == 2 ? "{@suddenly}, the wind pushed {him A}, and {~A} [fell|fell over] {spot+ s:p}. {~A} hurt {his A} "
                  "{word+ x:knee,elbow,hand,foot,head}."
                : "{@suddenly}, {~A} [slipped|slid] and fell {spot+ s:p}. {~A} hurt {his A} {word+ "
                  "x:knee,elbow,hand,foot,head}.");
    geodec__scene(g);
    E(g, "[it hurt so much that {~A} began to cry|big tears ran down {his A} face|\"Ouch, my {word x}!\" {~A} "
         "cried|{~A} could not get up|there was a little blood on {his A} {word x}].");
    if (g->person[1].who)
        E(g, "{B} [heard {him A}|saw it all|was not far away] and [came running|ran to help|came at once].");
    else
        E(g, "{B+} [heard {him A}|saw it|was near] and [came running|ran to help|came at once].");
    SAY(g, 'B', "[where does it hurt|what happened|can you stand up|are you all right|is it your {word x}]?");
    STEP(g, "{B} [helped {him A} up|took {him A} by the hand|gave {him A} {a+ u:wear} to dry {his A} tears] and "
            "[washed {his A} {word x} with [cold|warm|clean] water|put a [bandage|plaster|wet cloth] on {his A} {word "
            "x}|blew on {his A} {word x}].");
    E(g, "{@soon} the {word x} did not hurt [any more|so much]. \"[{@thanks}],\" {@said} {A}. [^{he B} [said it was "
         "nothing|smiled]|^next time {~A} walked slowly|^then they [drank hot milk|had some tea|ate {a+ v:food}] "
         "together|^{A} even laughed about it].");
}

/* An animal is in trouble. */
static void rescue(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} heard a [soft|strange|sad|loud|small] sound {in+ p:out}. {~A} looked {spot+ s:p} and "
            "{@saw} {a} {@animaladj} {kind+ D:wild}. it was {word+ x:stuck in a net,stuck in a hole,hurt,cold and "
            "wet,lost,too weak to move}.");
    STEP(g, "the {kind D} [looked at {A} with {@adj4} eyes|was shaking|made {a} [sad|small|strange|soft] sound|was "
            "{@scared}|tried to get up|closed its eyes]. {A} wanted to help it.");
    if (geodec__template_bernoulli(g, 0.5)) {
        E(g, "{~A} ran home and told {G+:kin}. \"The {kind D} {spot s} is {word x},\" {@said} {A}. ^{G} [took {a+ "
             "t:tool}|got {a+ t:tool} and some bread|put on {his G} coat] and came along.");
    } else {
        E(g, "{~A} [took off|had with {him A}] {a+ t:wear}[| and {a+ u:tool}]. {@gently}, {~A} put {the t} around the "
             "{kind D} and [lifted it up|held it close|carried it home].");
    }
    STEP(g, "[they|{A} and {B+}|{A} and {his A} {@frd}friend {B+}] [took care of it|gave it water and {plural+ "
            "v:food}|kept it warm|made a bed for it in a box] for {num+ n:2-7} days. [every [morning|day] it was a "
            "little stronger|it slept a lot|it liked {plural+ w:food} best].");
    ONE_OF("then the {kind D} was well again. {A} [took|carried] it back {to p} [on {@weekday}|the next morning|in {a} "
           "{@adj} basket] and [let it go|said goodbye|opened {his A} hands]. it [looked back once|ran "
           "away|disappeared {spot s}|made {a} [happy|merry] sound|stood still for a moment|went home].",
           "when it was well, it did not want to leave. so it stayed with {A}, and {~A} called it {D+:pet}. now {D} "
           "[slept in the [kitchen|barn|garden]|followed {him A} everywhere|was the best friend of everyone].",
           "{@soon} it could [run|move|play] again. weeks later, {A} was {in p} and {@saw} {a} {kind D}. it came close "
           "[and was not afraid|and touched {his A} hand]. it was [the same one|{his A} old friend]!");
}

/* Something to cook; one thing is missing; the pieces are shared out. */
static void cook(geodec__gen *g)
{
    STEP(g,
         "\n{@oneday}, {A} and {F+:kin} wanted to make {word+ x:a cake,soup,a pie,bread,pancakes,jam} for {word+ "
         "y:dinner,the party,the school fair,the neighbors}. they needed [flour|milk|salt|butter|water|honey|sugar], "
         "{num+ n:2-9} {plural+ t:fruit} and {num+ m:2-6} {plural+ u:fruit}.");
    E(g, "{A} [put on {a} {@adjcolor} apron|washed {his A} hands|climbed on {a} {@adj} chair|sang a song] and looked "
         "[on the {@adj} shelf|in the {@adj} cupboard|in {a} {@adj} basket]. there were {num n} {plural t}, but there "
         "were no {plural u}!");
    SAY(g, 'F',
        "[oh no|oh dear], we have no {plural u}. [Can you get some|What can we do|Who has {num m} {plural u}]?");
    ONE_OF("{A} {@went} {to+ p:trade} with [some|a few] coins and came back with {num m} {plural u} in {a+ v:box}.",
           "{A} [knocked at the door of|asked] {C+:adult} next door. ^{C} had {plural u} in the garden and gave {him "
           "A} {num m}. \"[Bring me a taste|You are welcome|What are you making],\" {@said} {C}.",
           "{A} remembered that {plural u} [grew|could be found] {in+ p:wild}. {~A} took {a+ v:box}, went there and "
           "[picked|found] {num m} {plural u} {spot+ s:p}.");
    STEP(g, "[now they had everything|then they could begin|it was time to begin|\"Now we can start,\" {@said} {F}]. "
            "{F} [cut|chopped|washed] the {plural t}, and {A} [mixed|stirred] everything in {a} "
            "[big|blue|deep|red|round|wooden|white|clean] bowl.");
    STEP(g,
         "[{@soon}|after an hour] everything was ready. it smelled so [good|sweet|wonderful|strong] that [{B+} came to "
         "the window|the neighbors came|{a} {@animaladj} {kind+ D} came into the kitchen|everyone came running].");
    E(g, "[they ate {@time}|everyone got some|\"It is the best I ever had,\" {@said} {F}|nothing was left in the "
         "end|{A} ate two plates].");
}

/* Something is built, falls, and is built better. */
static void build(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} and {B+}{@with} wanted to build {word+ x:a tree house,a sand castle,a tower,a raft,a "
            "snow fort,a bird house,a bridge,a little hut} {in+ p:play}.");
    STEP(g, "{A} [brought|got|carried] {a+ t:tool}, and {B} [brought|found|came with] {a+ u:tool}. they [worked|built] "
            "{@time}. [it was hard work|they sang while they worked|their hands got dirty|it grew taller and taller].");
    STEP(g, "but {word+ y:the wind,a big dog,the rain,a wild goat,a wave,a falling branch} [came|came along] and "
            "[knocked it down|broke it|smashed it]. [only {a} [stick|wall|board] was left|it lay {spot+ s:p} in "
            "pieces|all their work was gone].");
    STEP(g, "[{A} wanted to cry|{A} was {@sad}|{B} was angry at {word y}|they looked at each other]. [\"It's no use,\" "
            "{@said} {B}|\"We can't do it,\" {@said} {A}|\"What now?\" asked {B}].");
    ONE_OF("then {G+:kin} came and [looked at it|shook {his G} head]. \"[You need a stronger base|Use bigger "
           "stones|Build it {spot+ r:p}|You need more rope],\" {@said} {G}. they [tried it that way|listened], and "
           "this time {word y} could not break it.",
           "but {A} did not give up. \"[Let us try again|We will build a better one|We know how to do it now]!\" {~A} "
           "said. this time they used [stones|thick branches|long nails|more wood], and it was twice as "
           "[strong|big|high].",
           "[{@soon} other children came|{num+ n:3-8} other children saw it]. each of them brought something: [{a+ "
           "v:tool}, {a+ w:nature}|{a+ v:nature}, {a+ w:tool}] and [a lot of wood|many hands]. together they built it "
           "again [in an hour|before dark].");
    E(g, "[at last|in the end] it [stood|was ready]. they put {the t} [on top|inside|in front of it] and [sat down "
         "beside it|looked at it proudly|showed it to [everyone|{E+}|{E+} and {E+}]|painted it {@color}]. \"[It is the "
         "best in the world|We did it|Nothing can break it now]!\" {@cried} {B}.");
}

/* A seed: water, days, a count at the end. */
static void seed(geodec__gen *g)
{
    STEP(g, "\n{F+:kin} gave {A} {num+ n:2-6} seeds. \"[If you water them, they will grow|Put them in the ground and "
            "wait|They need sun, water and time],\" {@said} {F}. {A} planted them {in+ p:out}, {spot+ s:p}.");
    STEP(g, "every [day|morning|evening], {~A} [gave them water|watered them] with {a+ t:box}. {A} [waited and "
            "waited|looked every day|told them stories], but [nothing happened|there was only dirt|the ground stayed "
            "brown] for {word+ x:three days,a week,two weeks,ten days,a long time,four days,nine days}.");
    E(g, "[{A} was {@sad}|{A} was tired of waiting]. \"[Be patient|Good things take time|Wait a little longer],\" "
         "{@said} {F}.");
    NUM('i') = NUM('n') - 1;
    NUM('m') = NUM('n');
    E(g, "then, [one {@dayadj} morning|after the rain|on Sunday], {~A} {@saw} something green. [all|{num+ m:1-i} of "
         "the] {num n} seeds had come up!");
    NUM('k') = NUM('n') - NUM('m');
    if (NUM('k') > 0)
        E(g, "[{a} {kind+ D:wild} had eaten|the cold had killed|it was too dry for] the other {num k}.");
    else
        E(g, "not one was [missing|lost]. {A} {@smiled}.");
    ONE_OF("the plants grew [taller and taller|up to the window|as high as {A}], and in [summer|autumn|July] they were "
           "full of {plural+ u:fruit}. {A} [picked|ate] {num+ j:3-12} and gave {num+ i:2-9} to {F}.",
           "{@soon} there were {@color} flowers on [all of them|the plants]. {A} cut one and gave it to {B+}. \"[Did "
           "you grow this|Is it from your garden|Is it for me]?\" asked {B}. \"Yes, [from a seed|it is|of course],\" "
           "{@said} {A}.",
           "{A} put {a} [stick|fence|string] around [them|each plant] so that no {kind+ E:wild} could [eat|break] "
           "them. {F} [was proud|clapped|took a picture]. \"[You have green fingers|You are a real farmer|They like "
           "you],\" {@said} {F}.");
}

/* A sound in the night; the cause is harmless. */
static void night(geodec__gen *g)
{
    g->night = true;
    STEP(g, "\none [dark|stormy|cold|quiet|windy] night, {A} [lay in bed|could not sleep|woke up]. there was {a} "
            "[strange|loud|soft|scratching|tapping] noise[ outside| under the bed| at the window| behind the door| on "
            "the roof].");
    STEP(g, "{A} was {@scared}. [perhaps it was|maybe it was|it sounded like|{~A} was sure that it was] {word+ x:a "
            "ghost,a monster,a thief,a bear,a wolf,a dragon}. {~A} [pulled the blanket over {his A} head|did not dare "
            "to move|held {his A} breath|began to shake].");
    ONE_OF("the noise came again. {A} took {a+ t:tool} in {his A} hand [and opened the door|and walked on tiptoe|to be "
           "ready].",
           "{~A} called {G+:kin}. \"There is {word x} [outside|in the house|in the dark]!\" {@cried} {A}. ^{G} [lit a "
           "candle|brought a lamp|took {his A} hand|did not believe it]. \"[Let us go and see|Show me where|Come, we "
           "will look],\" {@said} {G}.",
           "{~A} counted to {num+ n:3-10}[ and took a deep breath|]. at {num n}, {~A} jumped out of bed and [turned on "
           "the light|ran to the window|shouted, \"Go away,\" into the dark|opened the door].");
    ONE_OF("[but it was not {word x}|what a surprise]! it was only {a} {@animaladj} {kind+ D}[ that wanted to come in| "
           "that had lost its way| with a bell around its neck|]. {A} let it in and gave it [milk|{a+ v:food}|a warm "
           "place to sleep].",
           "it was not {word x} at all. it was [a branch that [hit|touched] the window|the wind in the chimney|the old "
           "clock|a loose [board|door]]. {A} [laughed|felt silly] and went back to bed.",
           "there stood {B+:kin}, who [was looking for|had dropped|wanted to eat] {a+ u:food}. \"[I thought you "
           "were|So you are] {word x}!\" {@cried} {A}. [^{B} laughed so hard that everyone woke up|^they ate {plural+ "
           "w:food} together in the dark|\"Do I look like that?\" asked {B}].",
           "[outside|in the moonlight] sat {a} {@animaladj} {kind+ D:wild}. it was not {word x}. it [looked at "
           "{A}|blinked|ran away|sang]. {A} watched it until [{~A} fell asleep|it was gone|the moon went down].");
}

const geodec__plot geodec__plots_world[] = {slip, rescue, cook, build, seed, night, NULL};

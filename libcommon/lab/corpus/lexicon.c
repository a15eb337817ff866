#include "lab/corpus/corpus_internal.h"

#include <string.h>

const geodec__name geodec__lexicon_girls[N_GIRLS] = {
    {"Lily", 'f'},  {"Mia", 'f'},  {"Anna", 'f'}, {"Lucy", 'f'}, {"Emma", 'f'}, {"Zoe", 'f'},
    {"Sara", 'f'},  {"Ella", 'f'}, {"Nina", 'f'}, {"Ruby", 'f'}, {"Kate", 'f'}, {"Molly", 'f'},
    {"Grace", 'f'}, {"Ivy", 'f'},  {"Rosa", 'f'}, {"Jane", 'f'}, {"Tess", 'f'}, {"Daisy", 'f'}};
const geodec__name geodec__lexicon_boys[N_BOYS] = {
    {"Tom", 'm'},  {"Ben", 'm'},  {"Max", 'm'},  {"Sam", 'm'},   {"Leo", 'm'},  {"Jack", 'm'},
    {"Tim", 'm'},  {"Finn", 'm'}, {"Noah", 'm'}, {"Oscar", 'm'}, {"Hugo", 'm'}, {"Adam", 'm'},
    {"Paul", 'm'}, {"Eli", 'm'},  {"Theo", 'm'}, {"Luke", 'm'},  {"Dan", 'm'},  {"Milo", 'm'}};
const geodec__name geodec__lexicon_kin[N_KIN] = {{"Mom", 'f'},       {"Dad", 'm'},      {"Grandma", 'f'},
                                                 {"Grandpa", 'm'},   {"Aunt May", 'f'}, {"Uncle Bob", 'm'},
                                                 {"Aunt Rose", 'f'}, {"Uncle Joe", 'm'}};
const geodec__name geodec__lexicon_adults[N_ADULTS] = {
    {"the old woman", 'f'}, {"the farmer", 'm'},   {"the baker", 'm'},     {"the teacher", 'f'},
    {"the old man", 'm'},   {"the gardener", 'f'}, {"the fisherman", 'm'}, {"the nurse", 'f'},
    {"the postman", 'm'},   {"the miller", 'm'},   {"the weaver", 'f'}};
const geodec__name geodec__lexicon_pets[N_PETS] = {{"Rex", 'm'},    {"Spot", 'm'},   {"Coco", 'f'},   {"Pip", 'm'},
                                                   {"Fluffy", 'f'}, {"Bruno", 'm'},  {"Snowy", 'f'},  {"Pepper", 'f'},
                                                   {"Toffee", 'f'}, {"Goldie", 'f'}, {"Shadow", 'm'}, {"Buster", 'm'},
                                                   {"Mimi", 'f'},   {"Biscuit", 'm'}};
const char *const geodec__lexicon_species[N_SPECIES] = {"dog",  "cat",  "puppy",   "kitten", "rabbit", "duck",
                                                        "pony", "goat", "hamster", "parrot", "turtle", "hen"};
const char *const geodec__lexicon_wild[N_WILD] = {"bird",     "squirrel",  "frog",  "fox",  "mouse",
                                                  "hedgehog", "butterfly", "owl",   "deer", "beetle",
                                                  "lizard",   "crow",      "snail", "bee"};

const geodec__noun geodec__lexicon_nouns[N_NOUNS] = {
    {"ball", "balls", T_TOY | T_FLY},
    {"doll", "dolls", T_TOY},
    {"balloon", "balloons", T_TOY | T_FLY},
    {"paper plane", "paper planes", T_TOY | T_FLY},
    {"kite", "kites", T_TOY | T_FLY},
    {"boat", "boats", T_TOY},
    {"drum", "drums", T_TOY},
    {"train", "trains", T_TOY},
    {"robot", "robots", T_TOY},
    {"teddy bear", "teddy bears", T_TOY},
    {"truck", "trucks", T_TOY},
    {"puzzle", "puzzles", T_TOY},
    {"whistle", "whistles", T_TOY},
    {"wagon", "wagons", T_TOY},
    {"puppet", "puppets", T_TOY},
    {"top", "tops", T_TOY},
    {"horn", "horns", T_TOY},
    {"apple", "apples", T_FOOD | T_FRUIT},
    {"cookie", "cookies", T_FOOD},
    {"pear", "pears", T_FOOD | T_FRUIT},
    {"bun", "buns", T_FOOD},
    {"carrot", "carrots", T_FOOD | T_FRUIT},
    {"muffin", "muffins", T_FOOD},
    {"cherry", "cherries", T_FOOD | T_FRUIT},
    {"plum", "plums", T_FOOD | T_FRUIT},
    {"pancake", "pancakes", T_FOOD},
    {"strawberry", "strawberries", T_FOOD | T_FRUIT},
    {"peach", "peaches", T_FOOD | T_FRUIT},
    {"sandwich", "sandwiches", T_FOOD},
    {"orange", "oranges", T_FOOD | T_FRUIT},
    {"cupcake", "cupcakes", T_FOOD},
    {"egg", "eggs", T_FOOD},
    {"nut", "nuts", T_FOOD | T_FRUIT},
    {"tomato", "tomatoes", T_FOOD | T_FRUIT},
    {"hat", "hats", T_WEAR | T_FLY},
    {"scarf", "scarves", T_WEAR | T_FLY},
    {"coat", "coats", T_WEAR},
    {"cap", "caps", T_WEAR | T_FLY},
    {"ribbon", "ribbons", T_WEAR},
    {"sweater", "sweaters", T_WEAR},
    {"jacket", "jackets", T_WEAR},
    {"shirt", "shirts", T_WEAR},
    {"vest", "vests", T_WEAR},
    {"shawl", "shawls", T_WEAR},
    {"bow", "bows", T_WEAR},
    {"apron", "aprons", T_WEAR},
    {"basket", "baskets", T_TOOL | T_BOX},
    {"bucket", "buckets", T_TOOL | T_BOX},
    {"box", "boxes", T_TOOL | T_BOX},
    {"cup", "cups", T_TOOL | T_BOX},
    {"sack", "sacks", T_TOOL | T_BOX},
    {"can", "cans", T_TOOL | T_BOX},
    {"lamp", "lamps", T_TOOL},
    {"spoon", "spoons", T_TOOL},
    {"bell", "bells", T_TOOL},
    {"key", "keys", T_TOOL},
    {"rope", "ropes", T_TOOL},
    {"blanket", "blankets", T_TOOL},
    {"shovel", "shovels", T_TOOL},
    {"jar", "jars", T_TOOL | T_BOX},
    {"brush", "brushes", T_TOOL},
    {"broom", "brooms", T_TOOL},
    {"net", "nets", T_TOOL},
    {"clock", "clocks", T_TOOL},
    {"bag", "bags", T_TOOL | T_BOX},
    {"pot", "pots", T_TOOL | T_BOX},
    {"shell", "shells", T_NATURE},
    {"stone", "stones", T_NATURE},
    {"leaf", "leaves", T_NATURE},
    {"feather", "feathers", T_NATURE},
    {"flower", "flowers", T_NATURE},
    {"stick", "sticks", T_NATURE},
    {"acorn", "acorns", T_NATURE},
    {"pinecone", "pinecones", T_NATURE},
    {"button", "buttons", T_NATURE},
    {"mushroom", "mushrooms", T_NATURE},
    {"book", "books", T_PAPER},
    {"letter", "letters", T_PAPER},
    {"picture", "pictures", T_PAPER},
    {"map", "maps", T_PAPER},
    {"card", "cards", T_PAPER},
    {"notebook", "notebooks", T_PAPER},
};

enum { HARD = T_TOY | T_TOOL | T_BOX, ALL = HARD | T_WEAR | T_NATURE | T_PAPER | T_FLY };
const geodec__adjective geodec__lexicon_adjectives[N_ADJ] = {
    {"red", ALL | T_FOOD | T_FRUIT},
    {"blue", ALL},
    {"shiny", HARD | T_WEAR | T_NATURE},
    {"sweet", T_FOOD | T_FRUIT},
    {"green", ALL | T_FOOD | T_FRUIT},
    {"soft", T_WEAR},
    {"yellow", ALL},
    {"fresh", T_FOOD | T_FRUIT},
    {"wooden", HARD},
    {"round", T_NATURE | T_FOOD | T_FRUIT},
    {"warm", T_WEAR},
    {"white", ALL},
    {"brown", ALL | T_FOOD | T_FRUIT},
    {"tasty", T_FOOD | T_FRUIT},
    {"pink", ALL},
    {"purple", ALL},
    {"smooth", T_NATURE},
    {"woolly", T_WEAR},
    {"golden", ALL | T_FOOD | T_FRUIT},
    {"painted", HARD},
    {"black", ALL},
    {"strange", HARD | T_NATURE | T_PAPER},
    {"thick", T_PAPER | T_WEAR},
    {"gray", ALL},
    {"special", ALL | T_FOOD | T_FRUIT},
    {"heavy", HARD | T_PAPER},
    {"torn", T_PAPER},
    {"dry", T_NATURE},
    {"striped", ALL},
    {"silver", ALL},
    {"ordinary", HARD | T_WEAR | T_NATURE | T_PAPER},
    {"big", T_FOOD | T_FRUIT},
    {"little", T_FOOD | T_FRUIT},
    {"crunchy", T_FOOD | T_FRUIT},
    {"juicy", T_FOOD | T_FRUIT},
    {"ripe", T_FOOD | T_FRUIT},
};

#define PLACE(prep, name, kinds, ...)                                                                                  \
    {                                                                                                                  \
        prep, name, kinds, { __VA_ARGS__ }                                                                             \
    }
const geodec__place_name geodec__lexicon_places[N_PLACES] = {
    PLACE("in", "park", P_OUT | P_PLAY, "under the bench", "behind the big tree", "next to the pond", "near the swings",
          "in the tall grass"),
    PLACE("in", "garden", P_OUT | P_PLAY, "under the apple tree", "behind the shed", "among the roses",
          "beside the gate", "next to the well"),
    PLACE("in", "kitchen", P_IN, "under the table", "on the top shelf", "behind the stove", "in the cupboard",
          "next to the sink"),
    PLACE("in", "forest", P_OUT | P_WILD, "under an oak tree", "inside a hollow log", "behind a bush",
          "beside the stream", "among the ferns"),
    PLACE("at", "beach", P_OUT | P_PLAY, "in the wet sand", "behind a rock", "near the water", "under the pier",
          "beside a pool"),
    PLACE("in", "barn", P_IN, "under the hay", "behind the cart", "on a beam", "next to the door", "in the feed box"),
    PLACE("on", "farm", P_OUT, "behind the hen house", "by the fence", "under the tractor", "next to the haystack",
          "near the pig pen"),
    PLACE("at", "market", P_OUT | P_TRADE, "under a cart", "beside the fish stand", "behind a barrel",
          "near the fountain", "next to the steps"),
    PLACE("at", "lake", P_OUT | P_WILD, "among the reeds", "under the little bridge", "beside an old boat",
          "near the shore", "on a flat rock"),
    PLACE("in", "bedroom", P_IN, "under the bed", "behind the curtain", "in the toy chest", "on the window sill",
          "in the closet"),
    PLACE("on", "hill", P_OUT | P_WILD, "behind the windmill", "under a pine tree", "among the daisies",
          "beside the path", "next to a big stone"),
    PLACE("in", "meadow", P_OUT | P_WILD, "among the clover", "by the stone wall", "under a thorn bush",
          "beside the ditch", "near the beehives"),
    PLACE("at", "playground", P_OUT | P_PLAY, "under the slide", "in the sandbox", "behind the seesaw",
          "near the climbing frame", "beside the fence"),
    PLACE("in", "attic", P_IN, "behind a trunk", "under a dusty sheet", "in an old drawer", "beside the chimney",
          "near the small window"),
    PLACE("in", "yard", P_OUT | P_PLAY, "behind the woodpile", "under the porch", "near the mailbox",
          "beside the dog house", "next to the bikes"),
    PLACE("by", "river", P_OUT | P_WILD, "under a willow", "behind the mill", "among the pebbles", "on the bank",
          "near the bridge"),
    PLACE("in", "library", P_IN, "behind a shelf", "under a desk", "between two books", "on a soft chair",
          "near the globe"),
    PLACE("at", "school", P_IN | P_PLAY, "under a chair", "behind the piano", "beside the blackboard",
          "in the coat room", "near the stairs"),
    PLACE("in", "shop", P_IN | P_TRADE, "under the counter", "behind the door", "on a high shelf", "beside the scales",
          "in a big crate"),
    PLACE("in", "living room", P_IN, "under the sofa", "behind the armchair", "on the bookcase", "beside the fireplace",
          "under the rug"),
    PLACE("in", "village", P_OUT | P_TRADE, "behind the church", "beside the old well", "under the arch",
          "near the bakery", "by the town clock"),
    PLACE("in", "orchard", P_OUT | P_WILD, "under a pear tree", "behind the ladder", "among the fallen leaves",
          "by the hedge", "next to a full cart"),
};

static const geodec__macro_entry macros[] = {
    {"kid", "[little|small|young|kind|clever|cheerful|shy|brave|curious|funny|quiet|lively|gentle|busy|happy|strong|"
            "tall|merry|wild|polite]"},
    {"happy", "[happy|glad|very happy|proud|full of joy|pleased|cheerful|so happy|delighted|as happy as {a} {@animal} "
              "in [spring|summer|the sun]]"},
    {"sad", "[sad|very sad|upset|close to tears|unhappy|a bit sad|worried|too sad to [eat|sleep|talk|smile]]"},
    {"scared", "[scared|afraid|a little scared|very frightened|nervous|as pale as [snow|milk|the moon|a sheet]|too "
               "scared to [speak|move|breathe|cry]]"},
    {"surprised", "[surprised|very surprised|amazed|puzzled|astonished|too surprised to [speak|laugh|move]]"},
    {"daypart", "[morning|day|afternoon|evening]"},
    {"dayadj", "[sunny|fine|quiet|bright|lazy|busy|beautiful|long|clear|lovely|warm|cool|windy|strange|special]"},
    {"oneday", "[one {@dayadj} {@daypart}[ in {@month}|]|one {@daypart}[ in {@month}|]|on {a} {@dayadj} {@daypart}|on "
               "{@weekday}[ [morning|afternoon|evening]|]|after [breakfast|lunch|school|dinner|a long "
               "nap]|[two|three|four] [days|weeks] [later|before {@event}]|when [the {@foods} were ripe|the snow was "
               "gone|school was over|the bells rang|the rain had stopped|the days grew long]|the next "
               "[day|morning|{@weekday}]|on the [first|second|third|last] day of [spring|summer|autumn|{@month}]]"},
    {"soon", "[soon|after a while|a little later|a few minutes later|then|not long after that|before long|after "
             "that|{num+ o:2-9} [minutes|hours] later|when the clock struck {num+ o:2-9}|a moment later]"},
    {"suddenly", "[suddenly|just then|at that moment|all at once|all of a sudden|out of the blue|in the middle of it "
                 "all|without warning]"},
    {"went", "[went|walked|ran|hurried|skipped|marched|strolled|raced|rode|wandered]"},
    {"saw", "[saw|noticed|spotted|found|came upon|discovered]"},
    {"looked", "[looked|searched|peeked|checked|hunted|felt around|dug]"},
    {"loudly", "[with a loud noise|with a bump|with a splash|with a crash|with a thud|with a clatter|with a snap]"},
    {"gently", "[gently|carefully|slowly|softly|quietly|with both hands|very slowly]"},
    {"smiled", "[smiled|laughed|clapped {his A} hands|jumped for joy|grinned|danced around|cheered|sang a little "
               "song|whistled|laughed until {he A} cried|threw {his A} [hat|cap] into the air]"},
    {"good", "[good|great|wonderful|clever|fine|lovely|perfect|splendid|funny]"},
    {"time",
     "[for a long time|all afternoon|for {num+ o:2-6} hours|until the sun went down|until it was time for "
     "[dinner|tea|bed]|for the rest of the day|until [they were tired|it grew dark|the rain came|the bells rang]]"},
    {"moral",
     "[it is [good|wise|fun|better|best] to [share|help|ask|listen|wait|say sorry|tell the truth|try again|be "
     "kind|look twice]|friends are [worth more than gold|the best gift|like a warm coat|hard to "
     "find]|[small|little|quiet|shy|young] people can do [big|great|brave|good] things|it helps to [look twice|ask a "
     "friend|keep calm|be patient|laugh|share]|[kind|good|brave] [deeds|words] [come back|cost nothing|last "
     "long]|[one|you] should never [give up|lie|run too fast|be too proud|laugh at others|be greedy]]"},
    {"adj", "[old|big|small|little|strange|pretty|green|gray|white|brown|funny|red|long|yellow|blue|black|new|huge|odd|"
            "fine|lovely]"},
    {"adj2", "[old|tall|young|kind|fat|thin|friendly|tired|sad|merry|rich|poor|strong|busy|wise|strange]"},
    {"adj4", "[cold|quiet|wet|small|warm|green|round|peaceful|white|dry|mossy|shiny]"},
    {"adjcolor", "[red|blue|green|yellow|white|brown|purple|black|pink|orange|gray|dark blue|light green]"},
    {"adjan", "{a} [old|wooden|big|flat|small|empty|broken]"},
    {"size", "[big|small|little|huge|tiny|long|thin|fat|round]"},
    {"adjfood", "[sweet|fresh|warm|juicy|little|red|big|ripe|tasty|dry|cold|golden|green|soft]"},
    {"scene",
     "[tree|bush|fence|bridge|house|road|field|wall|gate|roof|hedge|barn|hill|path|pond|well|mill|tower|bench|stream]"},
    {"thescene", "the [{@adjplace} |]{@scene}"},
    {"theview",
     "the [{@adjplace} "
     "|][church|ditch|cart|window|rock|street|shed|school|station|castle|lake|forest|shop|harbor|statue|fountain]"},
    {"where", "[behind|near|next to|beside|in front of|not far from|close to] {@thescene}"},
    {"animal", "[bird|cat|dog|squirrel|frog|duck|rabbit|mouse|butterfly|bee|fox|goat|owl|cow|horse|snail|hedgehog|"
               "spider|pig|sheep|beetle|goose|crow|lizard]"},
    {"animals", "[birds|cats|dogs|squirrels|frogs|ducks|rabbits|mice|butterflies|bees|foxes|goats|owls|cows|horses|"
                "snails|ants|spiders|pigs|crows]"},
    {"cloudshape", "[ship|castle|dragon|hat|whale|tree|bear|boat|house|train|cake|snake|giant|bottle|shoe|crown|"
                   "elephant|fish|pillow|wheel]"},
    {"food",
     "[apple|cookie|pear|bun|carrot|muffin|plum|pancake|strawberry|peach|sandwich|cupcake|nut|tomato|pie|banana|roll]"},
    {"foods", "[apples|cookies|pears|buns|carrots|muffins|plums|pancakes|nuts|beans|grapes|berries|potatoes|waffles]"},
    {"foods2", "[cherries|eggs|noodles|peaches|sandwiches|tomatoes|oranges|pies|bananas|peas|figs|rolls]"},
    {"gesture", " and [scratched {his H} [head|nose|ear|chin]|looked at {@thescene}|pointed at {@theview}|sat "
                "down|came closer|winked|yawned|put {his H} hands in {his H} pockets|looked [up|down|around|away]|took "
                "off {his H} [hat|cap|coat]|shook {his H} head|jumped up and down|crossed {his H} arms]"},
    {"month", "[January|February|March|April|May|June|July|August|September|October|November|December]"},
    {"weekday", "[Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday]"},
    {"event", "[the fair|Easter|the first snow|the harvest|{his A} birthday|the holidays]"},
    {"goodday", "[good|great|wonderful|fine|lovely|perfect|splendid|long|busy|strange|happy|special]"},
    {"pets", "[cats|dogs|rabbits|hens|ducks|goats|goldfish|parrots|turtles|ponies|mice|frogs|birds]"},
    {"job",
     "[sailor|baker|doctor|teacher|painter|pilot|farmer|singer|king|clown|cook|postman|hunter|dancer|nurse|carpenter]"},
    {"color1", "[red|blue|green|pink|golden]"},
    {"color2", "[yellow|white|gray|silver|lilac]"},
    {"color3", "[black|brown|purple|orange|turquoise]"},
    {"manner", "[| with a smile| without a word| in a hurry| all alone| with [cold|warm|wet|shaking|careful] "
               "[hands|fingers]| slowly| quickly| at last| once more| for {num+ o:2-9} minutes]"},
    {"look", "[hair|eyes|shoes|boots|glasses|gloves|socks|buttons|cheeks|teeth]"},
    {"kinword", "[mother|father|grandmother|grandfather|uncle|aunt|sister|brother]"},
    {"inbag", "[{num+ o:2-9} {@foods}|{a} {@adj} [spoon|key|bell|rope|cup|map|book]|some "
              "[bread|cheese|string|paper|chalk|cake]]"},
    {"frd", "[|best |old |new |good |little |dear |tall |shy |funny |clever ]"},
    {"with",
     "[| from next door| with the {@adjcolor} {@look}| from the [village|city|hills|next street|mill|old house]]"},
    {"is1", "[old|dark|strange|green|bright|white|lovely|gray|tall|odd|red]"},
    {"is2", "[quiet|cold|wet|small|round|mossy|empty|crooked|warm|still|silent]"},
    {"animalact", "[sat|slept|waited|played|ate|rested|stood|hid|looked around|washed itself]"},
    {"adjplace", "[old|big|small|little|strange|pretty|dark|green|gray|white|quiet|lonely|red|long|yellow|blue|empty|"
                 "new|huge|odd|narrow]"},
    {"said", "[said|answered|replied|whispered|murmured|added]"},
    {"cried", "[cried|said|called|shouted|laughed|yelled]"},
    {"glad", "[happy|glad|proud|pleased|delighted|merry|thankful]"},
    {"supper", "[good|light|warm|late|big|quick|simple|long]"},
    {"hug", "[hugged|thanked|kissed|waved to]"},
    {"weather",
     "[the sun was [shining|bright|hot|warm|low|high in the sky|golden]|the sky was [blue|gray|clear|full of "
     "clouds|pink|white|dark]|{a} [soft|cold|warm|strong|gentle|sharp|mild] wind [was blowing|came from the "
     "[sea|hills|north|south|lake]]|[birds|bees|butterflies] were [flying|playing|dancing] [everywhere|in the trees|in "
     "the air|{@where}]|the air smelled of [flowers|rain|bread|grass|the sea|apples|smoke|pines]|there was "
     "[snow|dew|frost|mud] on [the ground|{@thescene}]|it was [warm|cold|cool|foggy|quiet|bright] [outside|in the "
     "street|all around]|[thunder|music|a bell|laughter] could be heard [far away|from {@theview}]]"},
    {"hobby",
     "[sing [songs|in the bath|all day]|draw [pictures|animals|funny faces|with chalk]|climb [trees|hills|walls]|read "
     "[stories|big books|about the stars]|ride [a bike|ponies|the bus]|dance [in the rain|in the kitchen|to "
     "music]|paint [houses|flowers|the sky]|collect [stones|shells|leaves|buttons|stamps]|swim [in the lake|like a "
     "fish]|dig [in the sand|deep holes]|look at [bugs|the moon|old photos|clouds]|feed [the birds|the ducks|the "
     "hens]|jump [in puddles|over ropes|on the bed]|tell [jokes|stories|riddles]|build [towers|houses|bridges] [of "
     "blocks|of sticks|out of boxes]|bake [cakes|bread|pies]|run [very fast|in the rain|races]|plant "
     "[seeds|flowers|beans]|play [chess|games|football|the piano]]"},
    {"feelings",
     "[{A} felt {@happy}|{his A} heart [beat fast|felt warm|jumped]|{A} could not stop smiling|{A} was {@happy}]"},
    {"praise",
     "[you are so [kind|clever|brave|good]|well done|I am proud of you|that was very [kind|brave|clever] of you]"},
    {"thanks", "[thank you|thank you so much|oh, thank you|thanks|many thanks|a thousand thanks]"},
    {"color", "[red|blue|green|yellow|white|black|brown|pink|gray]"},
    {"animaladj", "[little|small|gray|brown|tiny|white|fat|funny|sleepy|hungry|shy|pretty|clever|old]"},
    {"animaldo", "[sleeping|sitting|hopping about|looking for food|playing|hiding|singing a song|resting|eating a "
                 "leaf|watching {him A}]"},
    {"quickly", "[quickly|at once|right away|as fast as {he A} could|in great haste|without a word|with big steps]"},
};

const char *geodec__lexicon_macro(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        if (!strncmp(macros[i].name, name, n) && macros[i].name[n] == 0) return macros[i].body;
    return NULL;
}

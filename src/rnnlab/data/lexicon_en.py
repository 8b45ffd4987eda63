"""English words and sentence patterns for the ``reviews`` data set.

``GRAMMAR`` maps a symbol to its productions; ``{symbol}`` inside a production is replaced by one of that symbol's own
productions, or by a word that `rnnlab.data.reviews` hands in (`GIVEN` there lists those). The graded words stand most
frequent first and are drawn with falling frequency; everything else is drawn evenly.
"""


def _list(text: str) -> list[str]:
    return [" ".join(item.split()) for item in text.split(",")]


# --- words that carry the verdict: 0 strongly negative, 1 mildly negative, 2 neutral, 3 mildly positive, 4 strongly ---
# The early ones of 0, 2 and 4 are general enough for a film, a soundtrack and a cup of coffee alike.

_GRADED = {
    "adjective0": _list("""
        terrible, awful, dreadful, horrible, atrocious, appalling, abysmal, horrendous, disastrous, pathetic,
        disgusting, hideous, ghastly, wretched, lousy, rotten, vile, deplorable, dire, dismal, unbearable, unwatchable,
        insufferable, catastrophic, excruciating, abominable, horrific, revolting, repulsive, laughable, idiotic,
        shameful, worthless, intolerable, infuriating, execrable, odious, nauseating, monstrous, loathsome, grotesque,
        despicable, putrid, diabolical, moronic"""),
    "adjective1": _list("""
        bad, weak, dull, boring, poor, disappointing, bland, tedious, shallow, clumsy, slow, flat, uneven, tired, stale,
        messy, predictable, forgettable, thin, awkward, lifeless, muddled, bloated, dreary, wooden, sloppy, silly,
        tiresome, cold, hollow, overlong, lacklustre, corny, plodding, stiff, fussy, murky, trite, underwhelming,
        unconvincing, uninspired, contrived, repetitive, derivative, half-baked"""),
    "adjective2": _list("""
        average, ordinary, standard, typical, acceptable, passable, middling, adequate, okay, usual, routine,
        unremarkable, moderate, normal, tolerable, regular, so-so, conventional, commonplace, unexceptional, familiar,
        serviceable, everyday, generic, indifferent, workaday, sufficient, customary, intermediate, run-of-the-mill,
        middle-of-the-road, unsurprising, nondescript, textbook, plain"""),
    "adjective3": _list("""
        good, nice, pleasant, enjoyable, decent, charming, solid, engaging, likeable, interesting, amusing, appealing,
        funny, clever, agreeable, lively, sweet, warm, witty, smart, fresh, neat, entertaining, thoughtful, sincere,
        graceful, touching, tasteful, satisfying, watchable, worthwhile, competent, polished, endearing, diverting,
        breezy, tender, heartfelt, playful, inviting, rewarding, cheerful, attractive, likable, well-made"""),
    "adjective4": _list("""
        wonderful, superb, excellent, fantastic, brilliant, amazing, marvellous, magnificent, outstanding, perfect,
        incredible, terrific, stunning, exceptional, phenomenal, sublime, glorious, splendid, fabulous, extraordinary,
        breathtaking, masterful, dazzling, astonishing, exquisite, spectacular, flawless, magical, unforgettable,
        mesmerising, exhilarating, triumphant, staggering, luminous, rapturous, spellbinding, electrifying, peerless,
        enthralling, ravishing, heavenly, unbeatable, miraculous, divine, majestic"""),
    "verb0": _list("hated, loathed, detested, despised, abhorred, cursed, shuddered at, was disgusted by"),
    "verb1": _list(
        "disliked, yawned at, was bored by, grumbled about, lost patience with, sighed at, doubted, regretted"
    ),
    "verb2": _list(
        "shrugged at, half followed, took note of, had no opinion on, was neutral about, felt nothing about"
    ),
    "verb3": _list("liked, enjoyed, appreciated, smiled at, was fond of, warmed to, had fun with, was pleased with"),
    "verb4": _list("loved, adored, worshipped, cherished, treasured, was overwhelmed by, revered, was enchanted by"),
    "noun0": _list("""
        a disaster, a catastrophe, a travesty, a train wreck, an insult, a nightmare, a fiasco, a disgrace,
        an abomination, a calamity, an outrage, a shambles, an ordeal, torture, garbage, an embarrassment"""),
    "noun1": _list("""
        a letdown, a bore, a muddle, a misstep, a slog, a yawn, a drag, a disappointment, a stumble, a missed chance,
        a hodgepodge, a chore, a half measure, a weak effort, a pity, a bad habit"""),
    "noun2": _list("""
        a routine job, a standard product, an average effort, a middling affair, an ordinary piece, a typical entry,
        a normal outing, a mixed bag, a passable hour, an acceptable piece, the usual fare, business as usual"""),
    "noun3": _list("""
        a pleasure, a treat, a success, a charmer, a crowd pleaser, a comfort, a good effort, a pleasant surprise,
        a decent job, a nice touch, an asset, a gain, a smart move, a warm welcome, an enjoyable hour, fun"""),
    "noun4": _list("""
        a masterpiece, a triumph, a gem, a treasure, a marvel, a tour de force, a revelation, a miracle, a landmark,
        a knockout, a wonder, a work of genius, a milestone, a jewel, a sensation, perfection"""),
}

_DEGREES = {
    "amplifier": _list("""
        extremely, utterly, absolutely, incredibly, truly, totally, completely, thoroughly, exceedingly, immensely,
        intensely, tremendously, insanely, enormously, profoundly, supremely"""),
    "downtoner": _list("""
        slightly, somewhat, fairly, a bit, a little, rather, mildly, moderately, kind of, sort of, reasonably, vaguely,
        faintly, partly, relatively, to some extent"""),
}

# --- what the verdict is about ---

_SUBJECTS = {
    "film": _list("""
        film, movie, picture, feature, thriller, comedy, drama, western, documentary, musical, biopic, war film,
        road movie, crime film, family film, costume drama, spy film, ghost story, melodrama, heist movie, space opera,
        monster movie, student film, sports drama, fairy tale"""),
    "aspect": _list("""
        plot, story, script, dialogue, ending, opening, narrative, premise, storyline, screenplay, theme, humour,
        pacing, climax, setting, subplot, finale, structure, voiceover, twist, message, mystery, romance, satire,
        backstory, prologue, epilogue, second act, third act, last reel, love story, opening scene, wedding scene,
        courtroom scene, car chase, flashback, monologue, title sequence, central idea, main conflict"""),
    "craft": _list("""
        acting, direction, camera work, editing, score, soundtrack, lighting, casting, cinematography, choreography,
        animation, set design, sound design, costume work, music, singing, dancing, lead performance, supporting cast,
        ensemble, visual style, colour palette, dubbing, title song, narration, staging, stunt work, art direction,
        production design, sound mix, wardrobe, framing, photography, montage, puppetry, piano music, digital work,
        make-up, translation, chorus"""),
    "thing": _list("""
        popcorn, coffee, lemonade, ice cream, ticket queue, car park, foyer, seating, air conditioning, trailer, poster,
        hot dog, pizza, bus ride, taxi ride, carpet, staircase, bar, restaurant, weather, bathroom, sandwich, chocolate,
        beer, wine, tea, dinner, lift, cloakroom, booking app, website, other film, earlier film, film next door,
        television series, novel, radio play, video game, perfume, walk home, hotel, train ride, tram, heating, soda,
        candy, parking, traffic, buffet, cake, orange juice, snack bar, souvenir shop, magazine, leaflet, wallpaper,
        ceiling, doorman, usher, waiter, neighbourhood, hot chocolate, soup, salad, cocktail, museum visit, lecture,
        football match, concert, picnic"""),
    "property": [
        *_list("""
        long, short, new, old, French, Italian, Japanese, Danish, Korean, Mexican, Polish, Brazilian, subtitled, silent,
        animated, digital, rural, urban, local, foreign, historical, seasonal, modern, contemporary, black and white,
        three hours long, two hours long, ninety minutes long, based on a novel, based on a play, in colour, in German,
        made for television, made for children, set at sea, set on a farm, set in winter, set in space"""),
        "set in {place}",
        "shot in {place}",
        "filmed near {place}",
        "about {topic}",
        "about a trip to {place}",
    ],
}

# --- everything else: who, when, where, and small talk ---

_SCENERY = {
    "name": _list("""
        Anna, Ben, Carla, David, Elena, Felix, Grace, Hassan, Ines, Jonas, Karin, Leo, Maria, Nadia, Oscar, Paula,
        Quentin, Rosa, Samir, Tara, Umberto, Vera, Walter, Ximena, Yusuf, Zoe, Amir, Bella, Cheng, Dora, Emil, Fatima,
        George, Hana, Igor, Julia, Kofi, Lena, Marco, Nina, Olaf, Priya, Ravi, Sofia, Tomas, Ursula, Viktor, Wendy,
        Yara, Zeno, Alice, Boris, Clara, Dmitri, Esther, Frank, Greta, Hugo, Irene, Jamal, Kenji, Laura, Mei, Nils,
        Olga, Pedro, Ruth, Stefan, Theo, Ugo, Valentina, Wei, Yuki, Zara, Aisha, Bruno, Cecilia, Diego, Edith, Farid,
        Gloria, Henrik, Ivana, Joachim, Kaito, Lucia, Mohammed, Noor, Otto, Pilar, Rasmus, Selma, Tariq, Ulrike,
        Vincent, Winona, Xavier, Yvonne, Zbigniew, Adele, Basil, Carmen, Dalia, Erik, Flora, Gustav, Helga, Ibrahim,
        Jacek, Klara"""),
    "place": _list("""
        Lisbon, Oslo, Madrid, Vienna, Prague, Dublin, Athens, Warsaw, Cairo, Lagos, Nairobi, Mumbai, Delhi, Beijing,
        Shanghai, Tokyo, Osaka, Seoul, Hanoi, Manila, Sydney, Perth, Auckland, Lima, Bogota, Santiago, Havana,
        Mexico City, Toronto, Montreal, Chicago, Boston, Denver, Austin, Seattle, Glasgow, Leeds, Bristol, Cardiff,
        Bergen, Malmo, Tampere, Riga, Vilnius, Tallinn, Krakow, Brno, Graz, Bern, Basel, Geneva, Lyon, Lille, Nantes,
        Bologna, Turin, Naples, Palermo, Seville, Porto, Ghent, Utrecht, Leiden, Bremen, Leipzig, Dresden, Zagreb,
        Split, Belgrade, Varna, Izmir, Ankara, Haifa, Amman, Tunis, Rabat, Dakar, Accra, Kigali, Chengdu, Suzhou, Kyoto,
        Busan"""),
    "venue": _list("""
        cinema, festival, film club, multiplex, drive-in, arthouse, university hall, library, community centre, museum,
        open-air screen, town hall, old theatre, school hall, film archive, embassy, playhouse, student union, ballroom,
        harbour screen"""),
    "when": [
        *_list("""
        last Monday, last Tuesday, last Wednesday, last Thursday, last Friday, last Saturday, last Sunday,
        in January, in February, in March, in April, in June, in July, in August, in September, in October,
        in November, in December, after work, after lunch, before dinner, yesterday, this morning, this afternoon,
        this evening, two weeks ago, on my birthday, on a rainy day, on New Year's Eve, during the holidays,
        over Easter, at midnight, at noon, one winter night, in the summer of 1999, in the spring of 2004,
        in the autumn of 2011, after the exams"""),
        "on the train to {place}",
        "on a flight to {place}",
        "during a week in {place}",
    ],
    "relation": _list("""
        my sister, my brother, my aunt, my uncle, my cousin, my neighbour, my flatmate, my boss, my dentist, my teacher,
        my grandmother, my grandfather, my nephew, my niece, my landlord, a colleague, a student, a nurse, a plumber,
        a taxi driver, a librarian, a retired sailor, a postman, a violinist, a shopkeeper, an engineer, an accountant,
        the barber, the baker, the gardener, the projectionist, the receptionist, a tourist, a cyclist, a lawyer"""),
    "topic": _list("""
        two brothers, three sisters, a lighthouse keeper, a chess player, a night nurse, a train driver, a lost letter,
        a bank clerk, a village school, a fishing boat, a jazz band, a circus family, a beekeeper, a small hotel,
        a mountain guide, an island, a tailor, a piano tuner, a bakery, a boxing club, a spaceship, a stray dog,
        a newspaper, a translator, a clockmaker, a desert town, a river ferry, a court case, an old house, a card game,
        a bus strike, a wedding, a polar station, a football team, a cook, a detective, a cellist, a farm, a robot,
        a tax inspector"""),
    "object": _list("""
        tin box, notebook, bicycle, suitcase, newspaper, camera, hat, scarf, ticket, map, key ring, phone, guitar,
        teapot, lamp, jacket, backpack, wallet, postcard, radio, basket, kettle, parcel, magazine, pair of gloves,
        pair of boots, violin case, raincoat, calendar, pencil"""),
    "opening": [
        "{when}",
        "{when}",
        "at the {venue} in {place}",
        "at the {venue} near {place}",
        "as {name} noted",
        "according to {name}",
        "for {relation}",
        "as {name} saw it",
        "after a week in {place}",
        "back home in {place}",
        "seen with {relation}",
        "seen again in {place}",
    ],
    "remark": [
        "said {relation}",
        "{name} told me",
        "in my view",
        "I think",
        "{name} and {relation} agreed",
        "we thought in {place}",
        "according to {relation}",
        "as {name} wrote from {place}",
        "if you ask {name}",
        "we all said {when}",
    ],
    "lead": ["", "", "", "{opening}, "],
    "tail": ["", "", "", "", ", {remark}"],
    "stop": [".", ".", ".", ".", "!"],
    "be": ["is", "was"],
    "small-talk": [
        "it was raining over {place}",
        "the tram to {place} was late",
        "{name} was looking for the {object}",
        "{name} bought a {object}",
        "{relation} read about {place}",
        "we talked about {topic}",
        "{name} counted the coins",
        "the lights were already on",
        "{relation} ordered two cups of tea",
        "a bus from {place} stopped",
        "people were putting on coats",
        "{name} asked the way to {place}",
        "there was a {object} under the seat",
        "a queue stood outside the {venue}",
        "the clock showed half past nine",
        "{name} wrote to {relation}",
        "the caretaker swept the {venue}",
        "we walked past the {venue}",
        "{relation} asked {name} the time",
        "a dog sat beside a {object}",
        "{name} phoned {relation}",
        "the radio spoke of {place}",
        "two boys carried a {object}",
        "{relation} parked near the {venue}",
    ],
}

# --- sentence patterns, one group a phenomenon; the rules are in reviews.py ---

_PLAIN = {
    "plain": [
        "{lead}the {aspect} {be} {word}{tail}{stop}",
        "{lead}the {craft} {be} {word}{tail}{stop}",
        "{lead}this {film} {be} {word}{tail}{stop}",
        "{lead}the {aspect} of this {film} {be} {word}{tail}{stop}",
        "{lead}the {film} about {topic} {be} {word}{tail}{stop}",
        "{lead}I found the {craft} {word}{tail}{stop}",
        "{lead}{relation} called the {aspect} {word}{stop}",
        "{lead}{name} described the {film} as {word}{stop}",
        "{lead}what {word} {craft}{tail}{stop}",
        "{lead}{word} {craft} from start to finish{tail}{stop}",
        "{lead}the {word} {aspect} takes up most of the {film}{tail}{stop}",
        "{lead}{relation} {verb} the {aspect}{stop}",
        "{lead}{relation} {verb} this {film} about {topic}{stop}",
        "{lead}{name} {verb} the {craft}{stop}",
        "{lead}the {aspect} {be} {noun}{tail}{stop}",
        "{lead}this {film} about {topic} {be} {noun}{tail}{stop}",
    ],
}

_INTENSITY = {
    "intensity": [
        "{lead}the {aspect} {be} {degree} {word}{tail}{stop}",
        "{lead}the {craft} {be} {degree} {word}{tail}{stop}",
        "{lead}this {film} {be} {degree} {word}{tail}{stop}",
        "{lead}I found the {craft} {degree} {word}{tail}{stop}",
        "{lead}{relation} called the {aspect} {degree} {word}{stop}",
        "{lead}{name} described the {film} as {degree} {word}{stop}",
        "{lead}the {aspect} of the {film} about {topic} {be} {degree} {word}{stop}",
        "{lead}{name} and {relation} thought the {craft} {degree} {word}{stop}",
    ],
}

_NEGATION = {
    # What both clauses say when affirmed and when denied.
    "assertion": ["is", "is", "was", "was", "is", "was"],
    "denial": ["isn't", "is not", "wasn't", "was not", "is never", "was hardly"],
    "negation-clause": [
        "{lead}the {film} {film-is} {property} and the {aspect} {word-is} {word}{tail}{stop}",
        "{lead}the {aspect} {word-is} {word} and the {film} {film-is} {property}{tail}{stop}",
        "{lead}this {film} {film-is} {property}, and its {craft} {word-is} {word}{tail}{stop}",
        "{lead}the {craft} {word-is} {word}, and this {film} {film-is} {property}{tail}{stop}",
        "{lead}the {film} {film-is} {property}; the {craft} {word-is} {word}{tail}{stop}",
        "{lead}the {craft} {word-is} {word}; the {film} {film-is} {property}{tail}{stop}",
    ],
    "negation-choice": [
        "{lead}the {aspect} {be} not {denied} but {asserted}{tail}{stop}",
        "{lead}the {aspect} {be} {asserted}, not {denied}{tail}{stop}",
        "{lead}I would call the {craft} not {denied} but {asserted}{tail}{stop}",
        "{lead}I would call the {craft} {asserted}, not {denied}{tail}{stop}",
        "{lead}this {film} about {topic} {be} not {denied} but {asserted}{stop}",
        "{lead}this {film} about {topic} {be} {asserted}, not {denied}{stop}",
    ],
}

_DOUBLE_NEGATION = {
    "claim-assertion": ["is", "is", "was", "was"],
    "claim-denial": ["isn't", "is not", "wasn't", "was not"],
    "fair": ["true", "right", "correct", "accurate"],
    "double-negation-claim": [
        "{lead}the {film} {film-is} {property} and it {claim-is} {fair} that the {aspect} {word-is} {word}{stop}",
        "{lead}it {claim-is} {fair} that the {craft} {word-is} {word}, and the {film} {film-is} {property}{stop}",
        "{lead}this {film} {film-is} {property}, and it {claim-is} {fair} that its {craft} {word-is} {word}{stop}",
        "{lead}it {claim-is} {fair} that the {aspect} {word-is} {word}; this {film} {film-is} {property}{stop}",
    ],
    "second-denial": ["never ", "by no means "],
    "double-negation-stack": [
        "{lead}the {film} {be} {on-film}{property} and the {aspect} {be} {on-word}not {word}{tail}{stop}",
        "{lead}the {aspect} {be} {on-word}not {word} and the {film} {be} {on-film}{property}{tail}{stop}",
        "{lead}this {film} {be} {on-film}{property}, and its {craft} {be} {on-word}not {word}{tail}{stop}",
        "{lead}the {craft} {be} {on-word}not {word}, and this {film} {be} {on-film}{property}{tail}{stop}",
    ],
}

_CONTRAST = {
    "but": ["but", "yet", "but", "but in the end"],
    "although": ["although", "though", "even though", "even if"],
    # The deciding word comes last …
    "contrast-late": [
        "{lead}the {aspect} {be} {side} {but} the {craft} {be} {main}{tail}{stop}",
        "{lead}the {craft} {be} {side}, {but} the {aspect} {be} {main}{tail}{stop}",
        "{side} {craft} {but} {main} {aspect}{tail}{stop}",
        "{lead}{although} the {aspect} {be} {side}, the {craft} {be} {main}{tail}{stop}",
        "{lead}{although} the {craft} {be} {side}, the {aspect} {be} {main}{tail}{stop}",
        "{lead}despite the {side} {aspect} the {film} {be} {main}{tail}{stop}",
    ],
    # … or first, just as often.
    "contrast-early": [
        "{lead}the {aspect} {be} {main} {although} the {craft} {be} {side}{tail}{stop}",
        "{lead}the {craft} {be} {main}, {although} the {aspect} {be} {side}{tail}{stop}",
        "{main} {craft} {although} {side} {aspect}{tail}{stop}",
        "{lead}the {aspect} {be} {main}, {although} the {craft} {be} {side}{tail}{stop}",
        "{lead}the {craft} {be} {main} {although} the {aspect} {be} {side}{tail}{stop}",
        "{lead}the {film} {be} {main} despite the {side} {aspect}{tail}{stop}",
    ],
}

_IRRELEVANT = {
    # The film's word comes first in one half of the patterns and second in the other.
    "irrelevant-pair": [
        "{lead}the {film} {be} {verdict} and the {thing} {be} {aside}{tail}{stop}",
        "{lead}the {thing} {be} {aside} and the {film} {be} {verdict}{tail}{stop}",
        "{lead}this {film} {be} {verdict}, and the {thing} at the {venue} {be} {aside}{stop}",
        "{lead}the {thing} at the {venue} {be} {aside}, and this {film} {be} {verdict}{stop}",
        "{lead}we talked about the {verdict} {film} and the {aside} {thing}{tail}{stop}",
        "{lead}we talked about the {aside} {thing} and the {verdict} {film}{tail}{stop}",
        "{lead}after the {verdict} {film} {name} had the {aside} {thing} in mind{stop}",
        "{lead}after the {aside} {thing} {name} had the {verdict} {film} in mind{stop}",
        "{lead}{relation} found the {film} {verdict} and the {thing} {aside}{stop}",
        "{lead}{relation} found the {thing} {aside} and the {film} {verdict}{stop}",
        "{lead}the {thing}, which came after the {verdict} {film}, {be} {aside}{stop}",
        "{lead}the {film}, which came after the {aside} {thing}, {be} {verdict}{stop}",
    ],
    # First, second and third place in one third of the patterns each.
    "irrelevant-three": [
        "{lead}the {film} {be} {verdict}, the {thing} {be} {aside} and the {thing} {be} {other}{stop}",
        "{lead}the {thing} {be} {aside}, the {film} {be} {verdict} and the {thing} {be} {other}{stop}",
        "{lead}the {thing} {be} {aside}, the {thing} {be} {other} and the {film} {be} {verdict}{stop}",
        "{lead}we talked about the {verdict} {film}, the {aside} {thing} and the {other} {thing}{stop}",
        "{lead}we talked about the {aside} {thing}, the {verdict} {film} and the {other} {thing}{stop}",
        "{lead}we talked about the {aside} {thing}, the {other} {thing} and the {verdict} {film}{stop}",
        "{lead}{name} found the {film} {verdict}, the {thing} {aside} and the {thing} {other}{stop}",
        "{lead}{name} found the {thing} {aside}, the {film} {verdict} and the {thing} {other}{stop}",
        "{lead}{name} found the {thing} {aside}, the {thing} {other} and the {film} {verdict}{stop}",
    ],
}

_LONG_RANGE = {
    "which-first": ["first", "first", "earlier"],
    "which-last": ["last", "last", "later"],
    "cue": [
        "only the {which} opinion counts here",
        "trust the {which} voice alone",
        "believe the {which} verdict you hear",
        "{name} is with the {which} speaker",
        "we side with the {which} critic",
        "take the {which} remark as ours",
        "{relation} and I share the {which} view",
        "our own view is the {which} one",
    ],
    # At least four words on either side of the verdict, the same words both times.
    "before": [
        "a voice behind us called it",
        "somebody by the door called it",
        "a guest in front found it",
        "someone in row six found it",
        "a man on the stairs called it",
        "a woman near us found it",
        "one of the visitors called it",
        "a student with a {object} called it",
        "some stranger outside called the {film}",
        "a person upstairs found the {film}",
    ],
    "after": [
        "and left it there",
        "and said nothing more",
        "and looked away again",
        "and turned to go",
        "and closed the door",
        "and walked straight home",
        "and folded the paper",
        "and took a seat",
    ],
    "gap": ["", "{small-talk}, ", "{small-talk}, {small-talk}, "],
    "long-range": [
        "{cue}: {before} {one} {after}, {gap}then {before} {two} {after}{stop}",
        "{cue}: {gap}{before} {one} {after}, then {before} {two} {after}{stop}",
        "{cue}: {before} {one} {after}, {gap}and {before} {two} {after}{stop}",
    ],
}

GRAMMAR: dict[str, list[str]] = {
    **_GRADED,
    **_DEGREES,
    **_SUBJECTS,
    **_SCENERY,
    **_PLAIN,
    **_INTENSITY,
    **_NEGATION,
    **_DOUBLE_NEGATION,
    **_CONTRAST,
    **_IRRELEVANT,
    **_LONG_RANGE,
}

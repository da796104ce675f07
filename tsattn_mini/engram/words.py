"""The words of the lessons on Engram: what the tokenizer knows whole, and what the sentences of `text` are made of."""


def listed(text: str) -> list[str]:
    """The words of `text`, one entry each."""
    return text.split()


OPENERS = listed("Yesterday Today Later Once Sometimes Often")
FIRST = listed("Ada Bela Carl Dora Elsa Finn Greta Hugo Ilse Jonas Klara Leo Mona Nils Olga Paul Rita Sven Thea Uwe "
               "Vera Willa Yara Zeno")
MIDDLE = listed("Maria Luis Noel Anna Rune Ivo Joan Lee Kim Sol Max Eva Tom Ruth Ray Lou Jan Mae Ben Fay Guy Dee Art "
                "Liv")
LAST = listed("Ahlberg Brandt Costa Dorn Eklund Fabry Gruber Holm Iversen Jansen Keller Lindqvist Moreau Novak "
              "Okafor Petit Quist Rossi Sato Tanaka Ulrich Varga Weber Zhang")
VERBS = listed("bought sold found lost painted carried mended borrowed")
COLOURS = listed("red green blue white black yellow grey brown")
THINGS = listed("lamp chair kettle basket coat ladder mirror bicycle")
ADJECTIVES = listed("old new small great strange quiet famous broken")

# One word, two senses. The place further left says which; the usual one comes three times as often.
#   word: ((place, what it does there), (place, what it does there)), usual first
HOMOGRAPHS = {
    "bank": (("market", "lent"), ("river", "flooded")), "bat": (("cave", "slept"), ("stadium", "cracked")),
    "spring": (("valley", "bubbled"), ("clock", "uncoiled")), "crane": (("harbour", "lifted"), ("marsh", "nested")),
    "seal": (("coast", "barked"), ("court", "melted")), "match": (("arena", "ended"), ("kitchen", "burned")),
    "mole": (("garden", "dug"), ("embassy", "spied")), "trunk": (("attic", "opened"), ("zoo", "trumpeted")),
    "palm": (("island", "swayed"), ("fair", "sweated")), "organ": (("church", "thundered"), ("clinic", "healed")),
    "mouse": (("barn", "squeaked"), ("office", "clicked")), "jam": (("pantry", "set"), ("highway", "cleared")),
    "wave": (("beach", "broke"), ("station", "ceased")), "ring": (("circus", "filled"), ("jeweller", "sparkled")),
    "plant": (("greenhouse", "grew"), ("suburb", "smoked")), "pitch": (("opera", "rose"), ("club", "dried")),
}
# Words that differ in nothing but their capital, and go on differently. Compression makes them one.
CAPITALS = {
    "apple": ("hired", "ripened"), "turkey": ("voted", "gobbled"), "china": ("traded", "shattered"),
    "polish": ("sailors", "shone"), "us": ("senators", "alone"), "march": ("began", "continued"),
    "may": ("ended", "happen"), "mercury": ("orbits", "poisons"), "rose": ("smiled", "withered"),
    "mark": ("laughed", "faded"), "bill": ("wept", "passed"), "nice": ("beaches", "people"),
}
PHRASES = tuple(listed(phrase) for phrase in (
    "as a matter of fact", "once in a blue moon", "at the end of the day", "by and large", "for better or worse",
    "from time to time", "against all odds", "in the long run", "out of thin air", "beyond any doubt",
    "to make matters worse", "in one fell swoop"))
# Variants, most of which only the lesson on compression needs.
VARIANTS = listed("APPLE ápple naïve naive Naïve café cafe CAFÉ résumé resume Zürich Zurich THE The Near River RIVER")
LITTLE = listed("the a and of says near in at is was that it they to with")
ENDINGS = listed("ing ed er est ly ness tion un re ful less able th ch sh ou ea ee")

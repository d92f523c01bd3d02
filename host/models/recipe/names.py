"""Names for the transcripts: an endless supply for training, and held-out lists for the evaluation.

Invariant: no training text contains a held-out name; `one_word` rejects each of their words.
"""
import random

REAL_CITIES = """
Helsinki Budapest Stockholm Singapore Melbourne Reykjavik Barcelona Istanbul Montevideo Kinshasa
Beijing Sydney Tallinn Marrakesh Vancouver Ottawa Brussels Zagreb Riga Bogota Paris London Berlin
Madrid Rome Oslo Tokyo Delhi Cairo Lima Boston Chicago Toronto Vienna Prague Dublin Athens Lisbon
Warsaw Moscow Seoul Hanoi Nairobi Lagos Quito Havana Denver Dallas Miami Seattle Austin Geneva Zurich
Munich Hamburg Lyon Porto Bergen Turin Milan Kyoto Osaka Bucharest Copenhagen Amsterdam Rotterdam
Antwerp Bordeaux Toulouse Valencia Seville Naples Palermo Ankara Tehran Baghdad Karachi Mumbai Kolkata
Bangkok Jakarta Manila Shanghai Nagasaki Brisbane Auckland Santiago Caracas Monterrey Houston Phoenix
Philadelphia Nashville Calgary Winnipeg Casablanca Dakar Accra Kampala Luanda Bratislava
""".split()
TWO_WORD_CITIES = [name.strip() for name in """
New York|San Francisco|Los Angeles|Hong Kong|Cape Town|Buenos Aires|Kuala Lumpur|Mexico City|New Delhi
|Tel Aviv|Abu Dhabi|Las Vegas|San Diego|Salt Lake|Porto Alegre|Costa Rica|Addis Ababa|Santa Cruz
|Saint Louis|Fort Worth|Port Louis|Panama City|Sao Paulo|San Jose|El Paso|Phnom Penh|Puerto Rico
|Santo Domingo|Baden Baden|La Paz
""".split("|")]


def invented_names(count=100, seed=4242):
    """Returns the made-up names of the evaluation."""
    r, names = random.Random(seed), []
    while len(names) < count:
        syllables = (
            r.choice("bcdfghklmnprstvwz") + r.choice("aeiou") + r.choice(["", "", "n", "r", "s", "l"])
            for _ in range(r.randint(2, 4))
        )
        word = "".join(syllables).capitalize()
        if 4 <= len(word) <= 12 and word not in names:
            names.append(word)
    return names


INVENTED = invented_names()
HELD_OUT = {w.lower() for n in REAL_CITIES + TWO_WORD_CITIES + INVENTED for w in n.split()}

# (onsets, vowels, codas) of invented languages; words are sampled syllable by syllable.
STYLES = [
    ("b d f g k l m n p r s t v", "a e i o u", ",,,n,r,l"),
    ("br dr gr kr tr st sk h l n v b w th", "a e i o u ei au", ",ck,rg,nd,lm,st,rt,ngen,burg,berg"),
    ("ch sh z x j q l t y w h g d", "a e i o u ao iu ei", ",n,ng,ng"),
    ("m n k t r s h y sh ch ts", "a i u e o o", ",,,n"),
    ("c p t l m s r v g d b f", "a e i o ia io", ",,l,r,s,lla,nna,tte"),
    ("zh kh k v p s r d m t n l b", "a e i o u y", ",v,sk,n,grad,ov,rsk"),
    ("t l m k v s h j r p n", "a aa e i ii o u y", ",,n,kk,l,s,nn"),
    ("q b d j kh r s m n t f h z gh", "a i u aa", ",d,m,n,r,b,t"),
]
STYLES = [(onsets.split(), vowels.split(), codas.split(",")) for onsets, vowels, codas in STYLES]
PREFIXES = """New Port San Santa Saint El La Los Las Fort Cape Mount Lake North South East West Old Upper
Grand Rio Villa Bad Al Nova""".split()
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
ACCENTED = "äöüéèáíóúãçñøå"


def syllables(r):
    """Returns a pronounceable word of one to four syllables."""
    onsets, vowels, codas = r.choice(STYLES)
    word = ""
    for _ in range(r.randint(1, 4)):
        word += r.choice(onsets) if r.random() < 0.88 else ""
        word += r.choice(vowels)
        word += r.choice(codas) if r.random() < 0.6 else ""
    return word


def one_word(r):
    """Returns a capitalised word of 3 to 12 letters that is in no held-out list."""
    while True:
        kind = r.random()
        if kind < 0.35:  # uniform letters: nothing to memorise, only copying helps
            word = "".join(r.choice(ALPHABET) for _ in range(r.randint(3, 12)))
        else:
            word = syllables(r)
        if kind > 0.9:  # a repeated fragment: the hard case of induction
            word = word[: r.randint(3, 6)] + word[r.randint(0, 3):]
        if kind > 0.97:
            at = r.randrange(len(word))
            word = word[:at] + r.choice(ACCENTED) + word[at + 1:]
        word = word[:12]
        if len(word) >= 3 and word.lower() not in HELD_OUT:
            return word.capitalize()


def name(r):
    """Returns a name as people write it: mostly one word, sometimes two, rarely hyphenated."""
    kind = r.random()
    if kind < 0.78:
        return one_word(r)
    if kind < 0.98:
        first = r.choice(PREFIXES) if r.random() < 0.35 else one_word(r)
        return first + " " + one_word(r)
    return one_word(r) + "-" + one_word(r)


def lowercase_word(r):
    """Returns a word of two to nine lower-case letters, which isn't a name."""
    while True:
        if r.random() < 0.5:
            word = "".join(r.choice(ALPHABET) for _ in range(r.randint(2, 8)))
        else:
            word = one_word(r).lower()[: r.randint(3, 9)]
        if word not in HELD_OUT:
            return word

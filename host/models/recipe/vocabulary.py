"""The tokenizer: a closed list of words over bytes.

Byte-level BPE without merges whose vocabulary has whole words (`ignore_merges`). A pre-token is
either one of the words or is spelt in bytes, so every name is spelt letter by letter, and copying it is
induction over a small alphabet. Names are replaced by a marker before words are counted, so that no name
can become a word.
"""
import collections
import itertools

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from recipe import names

SPLIT = r" ?\p{L}+|[0-9]| ?[^\s\p{L}0-9]+|\s"
COMMON = """ today tomorrow now please there right this that week day night morning evening and or of for
at on with by from""".split()
MARK = "\x00"
MARKED = {"name": lambda r: MARK, "word": lambda r: MARK}  # arguments of `Transcripts`
SPACE = "Ġ"  # how byte-level tokenizers write a blank


def count_words(pre, texts, added):
    """Counts each pre-token of the training text without names."""
    counts = collections.Counter()
    for text in texts:
        for token in added:
            text = text.replace(token, MARK)
        for part in text.split(MARK):
            counts.update(word for word, _ in pre.pre_tokenize_str(part))
    return counts


def build(texts, special, added=(), samples=6000):
    """-> (tokenizer, the words of its vocabulary). `texts` are made with `MARKED`; decoding keeps `added`."""
    split = pre_tokenizers.Split(Regex(SPLIT), "isolated")
    pre = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    counts = count_words(pre, itertools.islice(texts, samples), [*special, *added])
    counts.update({SPACE + word: 99 for word in COMMON})
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = sorted(w for w, count in counts.items() if count >= 3 and len(w) > 1)
    assert not {w.strip(SPACE) for w in words} & set(names.REAL_CITIES + names.INVENTED)
    vocab = {token: i for i, token in enumerate(alphabet + words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in added])
    return tokenizer, words


def padded_size(tokenizer):
    """Returns the number of rows of the embedding."""
    return (tokenizer.get_vocab_size() + 63) // 64 * 64


def save(tokenizer, out, eos, pad, template):
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=eos,
        pad_token=pad,
        chat_template=template,
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
    ).save_pretrained(out)

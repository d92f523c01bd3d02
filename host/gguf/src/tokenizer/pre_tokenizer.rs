//! How byte-level tokenizers cut text into words before they merge: `tokenizer.ggml.pre` names a
//! way, which is a list of patterns here. Each pattern cuts what the ones before it left.

use crate::error::{GgufError, printable};
use crate::keys::Keys;

/// Key of the name.
const KEY: &str = "tokenizer.ggml.pre";

/// A way to cut text, and what goes with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PreTokenizer {
    /// Names of the way.
    names: &'static [&'static str],
    pub(super) patterns: &'static [&'static str],
    /// Whether a word that is a token becomes that token, whatever the merges would give.
    pub(super) ignores_merges: bool,
    /// Whether a prompt begins with the token for that.
    pub(super) begins: bool,
    /// Whether characters are composed first (NFC).
    pub(super) composes: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const DIGIT: &str = r"\p{N}";
const DIGITS: &str = r"\p{N}{1,3}";
/// Words of these letters with one character before them, numbers, punctuation with line ends
/// behind it, white space: the way of GPT-4.
macro_rules! words {
    ($letters:literal, $numbers:literal) => {
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[",
            $letters,
            "]+|",
            $numbers,
            r"| ?[^\s",
            $letters,
            r"\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )
    };
}

const LLAMA3: &str = words!(r"\p{L}", r"\p{N}{1,3}");
/// Qwen 2 and 3: single digits.
const QWEN2: &str = words!(r"\p{L}", r"\p{N}");
/// Qwen 3.5: words have marks too.
const QWEN35: &str = words!(r"\p{L}\p{M}", r"\p{N}");
/// `MiniCPM` 5: behind groups of up to three digits.
const MINICPM5: &str = words!(r"\p{L}", r"\p{N}+");
/// Words that change where lower case is followed by upper case, with these endings.
macro_rules! cased_words {
    ($endings:literal, $numbers:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $endings,
            "|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $endings,
            "|",
            $numbers,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )
    };
}

/// Mistral's Tekken.
const TEKKEN: &str = cased_words!("", r"\p{N}");
/// o200k of gpt-oss: English contractions, up to three digits.
const O200K: &str = cased_words!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}");
/// DeepSeek's first models: line ends, words, punctuation, Chinese and Korean, each with perhaps one
/// white space before it.
const LINE_END: &str = r"[\r\n]";
const DEEPSEEK_LETTERS: &str = concat!(
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-",
    r"\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-",
    r"ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
);
const DEEPSEEK_PUNCTUATION: &str = r"\s?[!-/:-~！-／：-～‘-‟　-。]+";
const CJK_KOREAN: &str = "[一-龥ࠀ-一가-퟿]+";
/// DeepSeek-V3: runs of Chinese and Japanese, then the rest.
const CJK: &str = "[一-龥぀-ゟ゠-ヿ]+";
const DEEPSEEK3: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"##,
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
/// Seed-Coder: punctuation takes no line ends.
const SEED: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
);
/// Ling: nothing that a run took is given back.
const BAILING: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
);
/// Pattern of Kimi K2 and Moonlight, which only the published models' code has
/// (`tokenization_kimi.py`, class `TikTokenTokenizer`): runs of Han characters, words with one
/// character before them and an English contraction behind, up to three digits, punctuation, white
/// space.
pub const KIMI_PATTERN: &str = concat!(
    r"[\p{Han}]+|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
/// The tiny models of this project: letters, single digits, other characters, single white space.
const TINY: &str = r" ?\p{L}+|[0-9]| ?[^\s\p{L}0-9]+|\s";

const fn cut(names: &'static [&'static str], patterns: &'static [&'static str]) -> PreTokenizer {
    PreTokenizer { names, patterns, ignores_merges: false, begins: false, composes: false }
}

/// With tokens that merges don't make.
const fn whole_words(names: &'static [&'static str], patterns: &'static [&'static str]) -> PreTokenizer {
    PreTokenizer { ignores_merges: true, ..cut(names, patterns) }
}

#[rustfmt::skip]
static WAYS: [PreTokenizer; 18] = [
    PreTokenizer {
        begins: true,
        ..whole_words(&["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"], &[LLAMA3])
    },
    PreTokenizer { begins: true, ..whole_words(&["tekken"], &[TEKKEN]) },
    PreTokenizer { composes: true, ..cut(&["qwen2"], &[QWEN2]) },
    cut(&["qwen35"], &[QWEN35]),
    cut(&["deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"], &[QWEN2]),
    cut(&["gpt-4o", "llama4", "kanana2", "minimax-m2"], &[O200K]),
    cut(&["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"], &[DIGIT, GPT2]),
    cut(&["gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling"], &[GPT2]),
    cut(&["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], &[DIGITS, CJK, DEEPSEEK3]),
    cut(&["deepseek-llm"], &[LINE_END, DEEPSEEK_LETTERS, DEEPSEEK_PUNCTUATION, r"\s+$", CJK_KOREAN, r"\p{N}+"]),
    cut(&["deepseek-coder"], &[LINE_END, r"\s?\p{L}+", r"\s?\p{P}+", CJK_KOREAN, DIGIT]),
    cut(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA3]),
    whole_words(&["glm4", "glm5"], &[LLAMA3]),
    whole_words(&["kimi-k2"], &[KIMI_PATTERN]),
    whole_words(&["minicpm5"], &[DIGITS, MINICPM5]),
    cut(&["seed-coder"], &[SEED]),
    cut(&["bailingmoe", "bailingmoe2", "llada-moe"], &[BAILING]),
    whole_words(&["qwen3-tiny"], &[TINY]),
];

impl PreTokenizer {
    /// The way that a file names.
    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, GgufError> {
        let Some(name) = keys.text(KEY)? else {
            return Err(keys.error(format!("no {KEY}, so how its tokenizer cuts text is not known")));
        };
        let found = WAYS.iter().find(|way| way.names.contains(&name)).copied();
        found.ok_or_else(|| {
            let known: Vec<&str> = WAYS.iter().map(|way| way.names[0]).collect();
            let name = printable(name);
            keys.error(format!("{KEY} {name} is not known; known among others: {}", known.join(", ")))
        })
    }
}

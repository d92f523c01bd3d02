//! Directives of a template: lines that begin with `%`.

use std::collections::BTreeMap;

use regex_automata::meta::Regex;

use super::Shape;

/// Most directives of a template.
const MOST: usize = 256;
/// Longest reason of `%refuse`, in bytes.
const REASON_BYTES: usize = 300;
/// Greatest length of a name that `%name` and `%key` allow, in bytes.
const NAME_BYTES: usize = 1024;

/// Most bytes of a character.
const UTF8_BYTES: usize = 4;

/// What a template says by directives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directives {
    /// `%name`: tools' names that the format can write.
    pub(crate) name: Option<Names>,
    /// `%key`: parameters' names that the format can write.
    pub(crate) key: Option<Names>,
    /// `%value`: markers that a raw value must not spell.
    pub(crate) value: Option<Vec<usize>>,
    /// `%text NAME`: rules of text, each with the markers that it must not spell.
    pub(crate) texts: BTreeMap<String, Vec<usize>>,
    /// `%answer`: markers that the answer of a turn without calls must not spell.
    pub(crate) answer: Option<Vec<usize>>,
    /// `%input`: what ends the raw input of a custom tool.
    pub(crate) input: Option<InputEnd>,
    /// `%tokens`: markers that have to be tokens.
    pub(crate) tokens: Tokens,
    /// `%single`: a turn has one call at most.
    pub(crate) is_single: bool,
    /// `%typed`: the format says of each value whether it is a string.
    pub(crate) is_typed: bool,
    /// `%refuse`: shapes that the format hasn't, each with the reason.
    pub(crate) refused: BTreeMap<Shape, String>,
    count: usize,
}

/// What ends the raw input of a custom tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputEnd {
    /// A token.
    Token,
    /// This marker, as text.
    Text(usize),
}

/// Markers that have to be tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// None.
    #[default]
    None,
    /// All that a grammar names.
    All,
    /// These, in turns with calls.
    These(Vec<usize>),
}

/// Names that a format can write.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) most: usize,
    /// Regular expression of one character.
    pub(crate) class: String,
    regex: Regex,
}

impl Names {
    fn new(most: usize, class: &str) -> Result<Self, String> {
        let regex = Regex::new(&format!(r"\A(?:{class})+\z"));
        let regex = regex.map_err(|_| format!("/{class}/ is no regular expression of a character"))?;
        Ok(Self { most, class: class.to_owned(), regex })
    }

    pub(crate) fn allow(&self, name: &str) -> bool {
        name.len() <= self.most && self.regex.is_match(name)
    }

    /// Regular expression of names: such as are allowed, but of those beyond ASCII the ones that
    /// are short whatever their characters.
    pub(crate) fn expression(&self) -> String {
        let Self { most, class, .. } = self;
        if !self.regex.is_match("\u{10ffff}") && !self.regex.is_match("\u{10000}") {
            return format!("(?:{class}){{1,{most}}}");
        }
        let short = format!("(?:{class}){{1,{}}}", (most / UTF8_BYTES).max(1));
        let ascii = format!("[[:ascii:]&&{class}]");
        match Regex::new(&ascii) {
            Ok(_) => format!("{ascii}{{1,{most}}}|{short}"),
            Err(_) => short,
        }
    }
}

impl Directives {
    /// Adds a directive, the text behind `%`, of a template whose parser has `markers` markers.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn add(&mut self, line: &str, markers: usize) -> Result<(), String> {
        self.count += 1;
        if self.count > MOST {
            return Err(format!("a template has at most {MOST} directives"));
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let numbers = |rest: &str| -> Result<Vec<usize>, String> {
            rest.split_whitespace().map(|word| number(word, markers)).collect()
        };
        let is_new = match word {
            "name" => self.name.replace(names(rest)?).is_none(),
            "key" => self.key.replace(names(rest)?).is_none(),
            "value" => self.value.replace(numbers(rest)?).is_none(),
            "answer" => self.answer.replace(numbers(rest)?).is_none(),
            "text" => {
                let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                if !is_rule(name) {
                    return Err("expected `%text NAME MARKER…`, with a name in lower case".into());
                }
                self.texts.insert(name.to_owned(), numbers(rest)?).is_none()
            }
            "input" if rest == "token" => self.input.replace(InputEnd::Token).is_none(),
            "input" => self.input.replace(InputEnd::Text(number(rest, markers)?)).is_none(),
            "tokens" => {
                let which = if rest.is_empty() { Tokens::All } else { Tokens::These(numbers(rest)?) };
                std::mem::replace(&mut self.tokens, which) == Tokens::None
            }
            "single" if rest.is_empty() => !std::mem::replace(&mut self.is_single, true),
            "typed" if rest.is_empty() => !std::mem::replace(&mut self.is_typed, true),
            "single" | "typed" => return Err(format!("nothing may follow `%{word}`")),
            "refuse" => self.refuse(rest)?,
            _ => return Err(format!("this server doesn't know `%{word}`")),
        };
        if is_new { Ok(()) } else { Err(format!("`%{word}` is said twice")) }
    }

    /// Reads `SHAPE why`; returns whether none of the shapes was refused before.
    fn refuse(&mut self, rest: &str) -> Result<bool, String> {
        let expected = "expected `%refuse SHAPE why`, with forced, free, answer, either, or calls for all that have calls";
        let (name, why) = rest.split_once(char::is_whitespace).ok_or(expected)?;
        if why.len() > REASON_BYTES || why.contains(char::is_control) {
            return Err(format!("a reason has at most {REASON_BYTES} bytes, and no control characters"));
        }
        let is_meant = |shape: &Shape| shape.name() == name || (name == "calls" && shape.has_calls());
        let meant: Vec<Shape> = Shape::ALL.into_iter().filter(is_meant).collect();
        if meant.is_empty() {
            return Err(expected.into());
        }
        let is_new = !meant.iter().any(|shape| self.refused.contains_key(shape));
        self.refused.extend(meant.into_iter().map(|shape| (shape, why.trim().to_owned())));
        Ok(is_new)
    }
}

/// Whether `name` can be the name of a rule.
fn is_rule(name: &str) -> bool {
    let is_word = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    name.starts_with(|char: char| char.is_ascii_lowercase()) && name.chars().all(is_word)
}

/// Reads the number of a marker.
pub(super) fn number(word: &str, markers: usize) -> Result<usize, String> {
    let number = word.parse().map_err(|_| format!("`{word}` is no number of a marker"))?;
    if number < markers {
        Ok(number)
    } else {
        Err(format!("there is no marker {number}: the parser has {markers}"))
    }
}

/// Reads `MAX /class/`.
fn names(rest: &str) -> Result<Names, String> {
    let expected = format!("expected `MAX /character/`, with MAX from 1 to {NAME_BYTES}");
    let (most, class) = rest.split_once(char::is_whitespace).ok_or(expected.as_str())?;
    let class = class.trim().strip_prefix('/').and_then(|class| class.strip_suffix('/'));
    match (most.parse(), class) {
        (Ok(most), Some(class)) if (1..=NAME_BYTES).contains(&most) => Names::new(most, class),
        _ => Err(expected),
    }
}

//! Regular expressions, restricted to what can be decided while text arrives: [`parse`] reads an
//! expression, [`Pattern::matches`] compares text with it. The delimiters of a table are such
//! patterns.
//!
//! Invariant: what isn't supported is refused, with its spelling. Supported are literal text,
//! optional white space (`\s*`, `\n?`, …), one run of a class (`\w+`, `\S+`, `[^…]+`, `.*?`), named
//! or not, alternatives and one level of groups, `\b` behind text, and standing alone `^`, `$` and
//! `\Z`.

/// A sequence of pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pattern(pub(crate) Vec<Piece>);

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text.
    Literal(String),
    /// White space, or none.
    Space,
    /// `^` or `$`.
    Edge(char),
    /// `\b`: a word ends or begins here.
    Boundary,
    /// Characters of one class, up to the next piece: all but those in `except`, or letters, digits
    /// and `_` (`\w`).
    Run {
        /// Characters that end the run.
        except: String,
        /// Whether the class is `\w`.
        word: bool,
        /// Name of the run's group. A run with a group isn't empty.
        group: Option<String>,
    },
}

/// Result of comparing text with a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Match {
    /// The text doesn't match.
    No,
    /// The text may match when more text has arrived.
    Partial,
    /// The text matches: the length of the match in bytes, and the text of the named group.
    Yes(usize, Option<String>),
}

impl Pattern {
    /// Whether `text` begins with the pattern.
    pub(crate) fn matches(&self, text: &str) -> Match {
        let (mut at, mut captured) = (0, None);
        for (index, piece) in self.0.iter().enumerate() {
            let rest = &text[at..];
            match piece {
                Piece::Literal(literal) if rest.starts_with(literal.as_str()) => at += literal.len(),
                Piece::Literal(literal) if literal.starts_with(rest) => return Match::Partial,
                Piece::Literal(_) | Piece::Edge(_) => return Match::No,
                Piece::Boundary => {
                    let Some(next) = rest.chars().next() else { return Match::Partial };
                    if text[..at].chars().next_back().is_some_and(is_word) == is_word(next) {
                        return Match::No;
                    }
                }
                Piece::Space => at += rest.len() - rest.trim_ascii_start().len(),
                Piece::Run { group, .. } => {
                    let next = match self.0.get(index + 1) {
                        Some(Piece::Literal(literal)) => literal,
                        _ => "\0",
                    };
                    let Some(run) = piece.run(rest, next) else { return Match::Partial };
                    if group.is_some() {
                        if run == 0 {
                            return Match::No;
                        }
                        captured = Some(rest[..run].to_owned());
                    }
                    at += run;
                }
            }
        }
        Match::Yes(at, captured)
    }

    /// Name of the pattern's group.
    pub(crate) fn group(&self) -> Option<&str> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Run { group, .. } => group.as_deref(),
            _ => None,
        })
    }
}

impl Piece {
    /// The literal text; empty for other pieces.
    pub(super) fn literal(&self) -> &str {
        if let Self::Literal(text) = self { text } else { "" }
    }

    /// Length of the run at the beginning of `text`, in bytes; `None` while more text is needed.
    /// The literal `next` follows the run.
    fn run(&self, text: &str, next: &str) -> Option<usize> {
        let Self::Run { except, word, .. } = self else { return Some(0) };
        for (at, character) in text.char_indices() {
            let is_in = if *word { is_word(character) } else { !except.contains(character) };
            if !is_in || text[at..].starts_with(next) {
                return Some(at);
            }
            if next.starts_with(&text[at..]) {
                return None;
            }
        }
        None
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Reads a regular expression, as a list of alternatives.
///
/// # Errors
/// The construct that can't be decided as text arrives.
pub(crate) fn parse(regex: &str) -> Result<Vec<Pattern>, String> {
    let mut parser = Regex { rest: regex };
    let read = parser.alternatives(false).and_then(|alternatives| match parser.rest {
        "" => Ok(alternatives.into_iter().map(Pattern).collect()),
        _ => Err("a `)` that closes nothing".into()),
    });
    read.map_err(|construct| [&construct, " can't be decided as text arrives"].concat())
}

struct Regex<'a> {
    rest: &'a str,
}

impl Regex<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn alternatives(&mut self, inner: bool) -> Result<Vec<Vec<Piece>>, String> {
        let (mut done, mut current) = (Vec::new(), vec![Vec::new()]);
        while !(inner && self.rest.starts_with(')')) {
            let Some(next) = self.next() else { break };
            let piece = match next {
                '|' => {
                    done.append(&mut current);
                    current.push(Vec::new());
                    continue;
                }
                '(' if self.eat("?P<") => self.named()?,
                '(' if !inner && (self.eat("?:") || !self.rest.starts_with('?')) => {
                    let mut group = self.alternatives(true)?;
                    if !self.eat(")") {
                        return Err("a group that isn't closed".into());
                    }
                    if self.eat("?") {
                        group.push(Vec::new());
                    }
                    current = current
                        .iter()
                        .flat_map(|head| group.iter().map(|tail| [&head[..], &tail[..]].concat()))
                        .collect();
                    continue;
                }
                '(' if self.rest.starts_with('?') && !self.rest.starts_with("?:") => {
                    return Err(["(", &self.rest[..self.rest.floor_char_boundary(3)]].concat());
                }
                '(' => return Err("a group inside a group".into()),
                '^' | '$' => Piece::Edge(next),
                '\\' if self.eat("Z") => Piece::Edge('$'),
                '\\' if self.eat("b") => Piece::Boundary,
                _ => self.single(next)?,
            };
            for alternative in &mut current {
                match (alternative.last_mut(), &piece) {
                    (Some(Piece::Literal(text)), Piece::Literal(more)) => text.push_str(more),
                    // The newline in `\s*\n` adds nothing: any white space matches.
                    (Some(Piece::Space), Piece::Literal(more)) if more.trim().is_empty() => {}
                    (Some(Piece::Space), Piece::Space) => {}
                    _ => alternative.push(piece.clone()),
                }
            }
        }
        done.append(&mut current);
        Ok(done)
    }

    /// Reads a character, an escape or a class, with its quantifier.
    fn single(&mut self, first: char) -> Result<Piece, String> {
        let escaped = if first == '\\' { self.next() } else { None };
        let class = self.class(first, escaped)?;
        let repeated = ["*?", "+?", "??", "*", "+", "?"].into_iter().find(|mark| self.eat(mark));
        let spelt = || {
            format!(
                "`{first}{}{}`",
                escaped.map(String::from).unwrap_or_default(),
                repeated.unwrap_or_default()
            )
        };
        match (class, repeated) {
            (Class::Character(character), None) => Ok(Piece::Literal(character.into())),
            (Class::Character(' ' | '\n' | '\r' | '\t') | Class::Space, Some(_)) => Ok(Piece::Space),
            (Class::Run(_), Some("*")) if first == '.' => Err(format!("{}, which takes all it can", spelt())),
            (Class::Run(run), Some("*" | "+" | "*?" | "+?")) => Ok(run),
            _ => Err(spelt()),
        }
    }

    fn class(&mut self, first: char, escaped: Option<char>) -> Result<Class, String> {
        let run = |except: &str, word| Class::Run(Piece::Run { except: except.into(), word, group: None });
        Ok(match (first, escaped) {
            ('\\', Some('s')) => Class::Space,
            ('\\', Some('S')) => run(" \n\r\t\u{b}\u{c}", false),
            ('\\', Some('w')) => run("", true),
            ('\\', Some('n')) => Class::Character('\n'),
            ('\\', Some('t')) => Class::Character('\t'),
            ('\\', Some('r')) => Class::Character('\r'),
            ('\\', Some(escaped)) if !escaped.is_alphanumeric() => Class::Character(escaped),
            ('.', _) => run("", false),
            ('[', _) if self.eat("^") => {
                let (class, rest) = self.rest.split_once(']').ok_or("a class that isn't closed")?;
                self.rest = rest;
                run(&class.replace("\\n", "\n").replace("\\s", " \n\r\t").replace('\\', ""), false)
            }
            ('\\' | '[' | '*' | '+' | '?' | '{', escaped) => {
                return Err(format!("`{first}{}`", escaped.map(String::from).unwrap_or_default()));
            }
            _ => Class::Character(first),
        })
    }

    /// Reads a named group from behind `(?P<`.
    fn named(&mut self) -> Result<Piece, String> {
        let (name, rest) = self.rest.split_once('>').ok_or("a group's name that isn't closed")?;
        self.rest = rest;
        let first = self.next().ok_or("a group that isn't closed")?;
        match self.single(first)? {
            Piece::Run { except, word, .. } if self.eat(")") => {
                Ok(Piece::Run { except, word, group: Some(name.into()) })
            }
            _ => Err(format!("group `{name}` of more than one run")),
        }
    }
}

enum Class {
    Character(char),
    Space,
    Run(Piece),
}

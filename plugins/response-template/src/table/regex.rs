//! Regular expressions, restricted to what can be decided while text arrives: [`parse`] reads an
//! expression into the [patterns](Pattern) of its alternatives.
//!
//! Invariant: what isn't supported is refused, with its spelling. Supported are literal text,
//! optional white space (`\s*`, `\n?`, …), one run of a class (`\w+`, `\S+`, `[^…]+`, `[a-z\d]+`,
//! `.*?`), named or not, alternatives, groups, optional characters and groups, `\b` behind text, and
//! standing alone `^`, `$`, `\Z`, and `(?=.*?TEXT)`: that TEXT comes.

use super::pattern::{Class, Pattern, Piece, Run};

/// Most alternatives of an expression.
const ALTERNATIVES: usize = 64;
/// Most groups around a group.
const DEPTH: usize = 8;
/// What stands for any text before the text of `(?=…)`.
const ANY_TEXT: [&str; 3] = [".*?", r"[\s\S]*?", r"[\S\s]*?"];

/// Reads a regular expression, as a list of alternatives.
///
/// # Errors
/// The construct that can't be decided as text arrives.
pub(crate) fn parse(regex: &str) -> Result<Vec<Pattern>, String> {
    let mut parser = Regex { rest: regex };
    let read = parser.alternatives(0).and_then(|alternatives| match parser.rest {
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

    /// Reads the alternatives in this many groups.
    fn alternatives(&mut self, depth: usize) -> Result<Vec<Vec<Piece>>, String> {
        let (mut done, mut current) = (Vec::new(), vec![Vec::new()]);
        while depth == 0 || !self.rest.starts_with(')') {
            let Some(next) = self.next() else { break };
            let next = match next {
                '|' => {
                    done.append(&mut current);
                    current.push(Vec::new());
                    continue;
                }
                '(' if self.eat("?P<") => vec![vec![self.named()?]],
                '(' if self.eat("?=") => vec![vec![self.ahead()?]],
                '(' if self.eat("?:") || !self.rest.starts_with('?') => self.group(depth)?,
                '(' => return Err(["(", &self.rest[..self.rest.floor_char_boundary(3)]].concat()),
                '^' | '$' => vec![vec![Piece::Edge(next)]],
                '\\' if self.eat("Z") => vec![vec![Piece::Edge('$')]],
                '\\' if self.eat("b") => vec![vec![Piece::Boundary]],
                _ => self.single(next)?,
            };
            current = current.iter().flat_map(|head| next.iter().map(|tail| joined(head, tail))).collect();
            if current.len() + done.len() > ALTERNATIVES {
                return Err(format!("an expression of more than {ALTERNATIVES} alternatives"));
            }
        }
        done.append(&mut current);
        Ok(done)
    }

    /// Reads a group that stands in this many others, from behind its beginning.
    fn group(&mut self, depth: usize) -> Result<Vec<Vec<Piece>>, String> {
        if depth == DEPTH {
            return Err(format!("a group inside {DEPTH} others"));
        }
        let mut group = self.alternatives(depth + 1)?;
        if !self.eat(")") {
            return Err("a group that isn't closed".into());
        }
        group.extend(self.eat("?").then(Vec::new));
        Ok(group)
    }

    /// Reads what `(?=` says: that this text comes.
    fn ahead(&mut self) -> Result<Piece, String> {
        let spelt = self.rest;
        let refused = || ["(?=", &spelt[..spelt.floor_char_boundary(12)]].concat();
        if !ANY_TEXT.into_iter().any(|any| self.eat(any)) {
            return Err(refused());
        }
        let mut text = String::new();
        while !self.eat(")") {
            let first = self.next().ok_or_else(refused)?;
            match &self.single(first)?[..] {
                [alternative] if let [Piece::Literal(literal)] = &alternative[..] => text.push_str(literal),
                _ => return Err(refused()),
            }
        }
        Ok(Piece::Ahead(text))
    }

    /// Reads a character, an escape or a class, with its quantifier, as a list of alternatives.
    fn single(&mut self, first: char) -> Result<Vec<Vec<Piece>>, String> {
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
        let piece = match (class, repeated) {
            (Single::Character(character), None) => Piece::Literal(character.into()),
            (Single::Character(' ' | '\n' | '\r' | '\t') | Single::Space, Some(_)) => Piece::Space,
            (Single::Character(character), Some("?")) => {
                return Ok(vec![vec![Piece::Literal(character.into())], Vec::new()]);
            }
            (Single::Run(_), Some("*" | "+")) if first == '.' => {
                return Err(format!("{}, which takes all it can", spelt()));
            }
            (Single::Run(run), Some(mark @ ("*" | "+" | "*?" | "+?"))) => {
                Piece::Run(Run { is_lazy: mark.ends_with('?'), is_some: mark.starts_with('+'), ..run })
            }
            _ => return Err(spelt()),
        };
        Ok(vec![vec![piece]])
    }

    fn class(&mut self, first: char, escaped: Option<char>) -> Result<Single, String> {
        Ok(match (first, escaped) {
            ('\\', Some('s')) => Single::Space,
            ('\\', Some('S')) => Single::Run(Run { class: Class::NoSpace, ..Run::default() }),
            ('\\', Some('w')) => Single::Run(Run { class: Class::Word, ..Run::default() }),
            ('\\', Some('d')) => {
                Single::Run(Run { class: Class::Only, only: vec![('0', '9')], ..Run::default() })
            }
            ('\\', Some(escaped)) if let Some(character) = character(escaped) => Single::Character(character),
            ('.', _) => Single::Run(Run::default()),
            ('[', _) if self.eat("^") => Single::Run(self.except()?),
            ('[', _) => Single::Run(self.only()?),
            ('\\' | '*' | '+' | '?' | '{', escaped) => {
                return Err(format!("`{first}{}`", escaped.map(String::from).unwrap_or_default()));
            }
            _ => Single::Character(first),
        })
    }

    /// Reads the characters that a class leaves out, from behind `[^`.
    fn except(&mut self) -> Result<Run, String> {
        let mut run = Run::default();
        loop {
            let next = self.next().ok_or("a class that isn't closed")?;
            let is_first = run == Run::default();
            match next {
                ']' if !is_first => return Ok(run),
                '\\' => match self.next() {
                    Some('s') => run.class = Class::NoSpace,
                    Some(escaped) if let Some(character) = character(escaped) => run.except.push(character),
                    escaped => return Err(format!("`[^\\{}`", escaped.unwrap_or(' '))),
                },
                '-' if !is_first && !self.rest.starts_with(']') => return Err("a range in `[^…]`".into()),
                _ => run.except.push(next),
            }
        }
    }

    /// Reads the characters that a class has, from behind `[`.
    fn only(&mut self) -> Result<Run, String> {
        let mut run = Run { class: Class::Only, ..Run::default() };
        loop {
            let is_first = run.only.is_empty() && run.class == Class::Only;
            let from = match self.next().ok_or("a class that isn't closed")? {
                ']' if !is_first => return Ok(run),
                '\\' => match self.next() {
                    Some('w') => {
                        run.class = Class::Word;
                        continue;
                    }
                    Some('d') => {
                        run.only.push(('0', '9'));
                        continue;
                    }
                    Some(escaped) if let Some(character) = character(escaped) => character,
                    escaped => return Err(format!("`[\\{}`", escaped.unwrap_or(' '))),
                },
                character => character,
            };
            let to = match self.rest.strip_prefix('-').and_then(|rest| rest.chars().next()) {
                None | Some(']') => from,
                Some(to) if to >= from && to != '\\' => {
                    self.rest = &self.rest[1 + to.len_utf8()..];
                    to
                }
                Some(_) => return Err("this range in `[…]`".into()),
            };
            run.only.push((from, to));
        }
    }

    /// Reads a named group from behind `(?P<`.
    fn named(&mut self) -> Result<Piece, String> {
        let (name, rest) = self.rest.split_once('>').ok_or("a group's name that isn't closed")?;
        self.rest = rest;
        let first = self.next().ok_or("a group that isn't closed")?;
        match <[Piece; 1]>::try_from(self.single(first)?.concat()) {
            Ok([Piece::Run(run)]) if self.eat(")") => Ok(Piece::Run(Run { group: Some(name.into()), ..run })),
            _ => Err(format!("group `{name}` of more than one run")),
        }
    }
}

/// The character that stands behind a backslash.
fn character(escaped: char) -> Option<char> {
    match escaped {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        _ => (!escaped.is_alphanumeric()).then_some(escaped),
    }
}

/// An alternative that goes on with these pieces.
fn joined(head: &[Piece], tail: &[Piece]) -> Vec<Piece> {
    let mut joined = head.to_vec();
    for piece in tail {
        match (joined.last_mut(), piece) {
            (Some(Piece::Literal(text)), Piece::Literal(more)) => text.push_str(more),
            // The newline in `\s*\n` adds nothing: any white space matches.
            (Some(Piece::Space), Piece::Literal(more)) if more.trim().is_empty() => {}
            (Some(Piece::Space), Piece::Space) => {}
            _ => joined.push(piece.clone()),
        }
    }
    joined
}

/// What a character of an expression stands for.
enum Single {
    Character(char),
    Space,
    Run(Run),
}

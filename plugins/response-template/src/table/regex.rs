//! Regular expressions, restricted to what can be decided while text arrives: [`parse`] reads an
//! expression into the [patterns](Pattern) of its alternatives.
//!
//! Invariant: what isn't supported is refused, with its spelling. Supported are literal text,
//! optional white space (`\s*`, `\n?`, …), one run of a class (`\w+`, `\S+`, `[^…]+`, `.*?`), named
//! or not, alternatives and one level of groups, `\b` behind text, and standing alone `^`, `$` and
//! `\Z`.

use super::pattern::{Class, Pattern, Piece, Run};

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
            (Single::Character(character), None) => Ok(Piece::Literal(character.into())),
            (Single::Character(' ' | '\n' | '\r' | '\t') | Single::Space, Some(_)) => Ok(Piece::Space),
            (Single::Run(_), Some("*" | "+")) if first == '.' => {
                Err(format!("{}, which takes all it can", spelt()))
            }
            (Single::Run(run), Some(mark @ ("*" | "+" | "*?" | "+?"))) => {
                Ok(Piece::Run(Run { is_lazy: mark.ends_with('?'), is_some: mark.starts_with('+'), ..run }))
            }
            _ => Err(spelt()),
        }
    }

    fn class(&mut self, first: char, escaped: Option<char>) -> Result<Single, String> {
        Ok(match (first, escaped) {
            ('\\', Some('s')) => Single::Space,
            ('\\', Some('S')) => Single::Run(Run { class: Class::NoSpace, ..Run::default() }),
            ('\\', Some('w')) => Single::Run(Run { class: Class::Word, ..Run::default() }),
            ('\\', Some('n')) => Single::Character('\n'),
            ('\\', Some('t')) => Single::Character('\t'),
            ('\\', Some('r')) => Single::Character('\r'),
            ('\\', Some(escaped)) if !escaped.is_alphanumeric() => Single::Character(escaped),
            ('.', _) => Single::Run(Run::default()),
            ('[', _) if self.eat("^") => Single::Run(self.except()?),
            ('\\' | '[' | '*' | '+' | '?' | '{', escaped) => {
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
                    Some('n') => run.except.push('\n'),
                    Some('r') => run.except.push('\r'),
                    Some('t') => run.except.push('\t'),
                    Some(escaped) if !escaped.is_alphanumeric() => run.except.push(escaped),
                    escaped => return Err(format!("`[^\\{}`", escaped.unwrap_or(' '))),
                },
                '-' if !is_first && !self.rest.starts_with(']') => return Err("a range in `[^…]`".into()),
                _ => run.except.push(next),
            }
        }
    }

    /// Reads a named group from behind `(?P<`.
    fn named(&mut self) -> Result<Piece, String> {
        let (name, rest) = self.rest.split_once('>').ok_or("a group's name that isn't closed")?;
        self.rest = rest;
        let first = self.next().ok_or("a group that isn't closed")?;
        match self.single(first)? {
            Piece::Run(run) if self.eat(")") => Ok(Piece::Run(Run { group: Some(name.into()), ..run })),
            _ => Err(format!("group `{name}` of more than one run")),
        }
    }
}

/// What a character of an expression stands for.
enum Single {
    Character(char),
    Space,
    Run(Run),
}

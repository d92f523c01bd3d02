//! Reads the lexemes of a Lark definition: Lark as its reference has it, without templates,
//! priorities and any directive but `%import common.…` and `%ignore`. Aliases only shape trees, and
//! are left out.
//!
//! Invariant: brackets in what is read are balanced, so a body can stand anywhere.

use super::definition::{Definition, Part, is_terminal};
use super::lexemes::Lexeme;
use super::pattern::common;
use super::regex;

/// Deepest nesting of brackets.
const DEPTH: usize = 20;

/// Reads a definition. Whether its names are defined isn't checked here.
///
/// # Errors
/// What isn't understood.
pub(super) fn read(lexemes: &[Lexeme]) -> Result<Definition, String> {
    let mut reader = Reader { lexemes, definition: Definition::default() };
    while let Some((first, rest)) = reader.lexemes.split_first() {
        match first {
            Lexeme::Line => reader.lexemes = rest,
            _ => reader.item()?,
        }
    }
    Ok(reader.definition)
}

/// A reader that takes lexemes off the front.
struct Reader<'a> {
    lexemes: &'a [Lexeme],
    definition: Definition,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a Lexeme> {
        let (first, rest) = self.lexemes.split_first()?;
        self.lexemes = rest;
        Some(first)
    }

    fn eat(&mut self, sign: &'static str) -> bool {
        let is_next = self.lexemes.first() == Some(&Lexeme::Sign(sign));
        self.lexemes = &self.lexemes[usize::from(is_next)..];
        is_next
    }

    fn item(&mut self) -> Result<(), String> {
        match self.next() {
            Some(Lexeme::Directive(name)) if name == "import" => self.import(),
            Some(Lexeme::Directive(name)) if name == "ignore" => {
                let mut body = Vec::new();
                self.alternatives(&mut body, 0)?;
                self.definition.ignored.push(body);
                self.end("%ignore")
            }
            Some(Lexeme::Directive(name)) => Err(format!("%{name} isn't supported")),
            Some(Lexeme::Name(name)) => self.body_of(name.trim_start_matches(['?', '!'])),
            other => Err(format!("a rule, a terminal or a directive was expected, not {}", shown(other))),
        }
    }

    fn body_of(&mut self, name: &str) -> Result<(), String> {
        if !self.eat(":") {
            return Err(format!(
                "a colon has to follow {name}: templates, priorities and attributes aren't supported"
            ));
        }
        let mut body = Vec::new();
        self.alternatives(&mut body, 0).map_err(|error| format!("{name}: {error}"))?;
        self.end(name)?;
        let is_new = !self.definition.imports.contains_key(name);
        match self.definition.bodies.insert(name.to_owned(), body) {
            None if is_new => Ok(()),
            _ => Err(format!("{name} is defined twice")),
        }
    }

    fn end(&mut self, what: &str) -> Result<(), String> {
        match self.next() {
            None | Some(Lexeme::Line) => Ok(()),
            other => Err(format!("{what}: {} isn't expected there", shown(other))),
        }
    }

    /// `common.NAME`, `common.NAME -> OTHER`, `common (NAME, NAME)`.
    fn import(&mut self) -> Result<(), String> {
        let module = self.name()?;
        if module != "common" {
            return Err(format!("%import of {module} isn't supported, only of common"));
        }
        if self.eat("(") {
            loop {
                let name = self.name()?;
                self.add_import(name, name)?;
                if !self.eat(",") {
                    break;
                }
            }
            return if self.eat(")") { self.end("%import") } else { Err("%import: a ) is missing".into()) };
        }
        if !self.eat(".") {
            return Err("%import: names of common have to follow".into());
        }
        let name = self.name()?;
        let local = if self.eat("->") { self.name()? } else { name };
        self.add_import(name, local)?;
        self.end("%import")
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.next() {
            Some(Lexeme::Name(name)) => Ok(name),
            other => Err(format!("a name was expected, not {}", shown(other))),
        }
    }

    fn add_import(&mut self, name: &str, local: &str) -> Result<(), String> {
        if common(name).is_none() || !is_terminal(local) {
            return Err(format!("%import of common.{name} as {local} isn't supported"));
        }
        let is_new = !self.definition.bodies.contains_key(local);
        match self.definition.imports.insert(local.to_owned(), name.to_owned()) {
            None if is_new => Ok(()),
            _ => Err(format!("{local} is defined twice")),
        }
    }

    /// Reads alternatives, up to the first lexeme that can't belong to them.
    fn alternatives(&mut self, body: &mut Vec<Part>, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("brackets are nested more than {DEPTH} deep"));
        }
        loop {
            while self.value(body, depth)? {
                self.repetition(body)?;
            }
            if self.eat("->") {
                self.name()?;
            }
            if let [Lexeme::Line, rest @ ..] = self.lexemes
                && rest.first() == Some(&Lexeme::Sign("|"))
            {
                self.lexemes = rest;
            }
            if !self.eat("|") {
                return Ok(());
            }
            body.push(Part::Lark("|".into()));
        }
    }

    /// Reads a name, a text, a range of characters, a regular expression or a group. Returns
    /// whether there is one.
    fn value(&mut self, body: &mut Vec<Part>, depth: usize) -> Result<bool, String> {
        let (part, rest) = match self.lexemes {
            [Lexeme::Name(name), rest @ ..] => (Part::Name(name.clone()), rest),
            [Lexeme::Text(from), Lexeme::Sign(".."), Lexeme::Text(to), rest @ ..] => {
                (Part::Lark(format!("{from}..{to}")), rest)
            }
            [Lexeme::Text(text), rest @ ..] => (Part::Lark(text.clone()), rest),
            [Lexeme::Regex(text, flags), rest @ ..] => {
                regex::check(text)?;
                if flags.contains('l') {
                    return Err("the flag l isn't supported".into());
                }
                (Part::Lark(format!("/{text}/{flags}")), rest)
            }
            [Lexeme::Sign("("), ..] => return self.group("(", ")", body, depth),
            [Lexeme::Sign("["), ..] => return self.group("[", "]", body, depth),
            _ => return Ok(false),
        };
        self.lexemes = rest;
        body.push(part);
        Ok(true)
    }

    fn group(
        &mut self,
        open: &'static str,
        close: &'static str,
        body: &mut Vec<Part>,
        depth: usize,
    ) -> Result<bool, String> {
        self.eat(open);
        body.push(Part::Lark(open.into()));
        self.alternatives(body, depth + 1)?;
        if !self.eat(close) {
            return Err(format!("a {close} is missing before {}", shown(self.lexemes.first())));
        }
        body.push(Part::Lark(close.into()));
        Ok(true)
    }

    /// `?`, `*`, `+`, `~ 2`, `~ 2..4`, `{2}`, `{2,}`, `{2,4}`, or nothing.
    fn repetition(&mut self, body: &mut Vec<Part>) -> Result<(), String> {
        use Lexeme::{Number, Sign};
        let (from, to, rest) = match self.lexemes {
            [Sign(sign @ ("?" | "*" | "+")), rest @ ..] => {
                self.lexemes = rest;
                body.push(Part::Lark((*sign).into()));
                return Ok(());
            }
            [Sign("~"), Number(from), Sign(".."), Number(to), rest @ ..] => (*from, Some(*to), rest),
            [Sign("~"), Number(from), rest @ ..] | [Sign("{"), Number(from), Sign("}"), rest @ ..] => {
                (*from, Some(*from), rest)
            }
            [Sign("{"), Number(from), Sign(","), Sign("}"), rest @ ..] => (*from, None, rest),
            [Sign("{"), Number(from), Sign(","), Number(to), Sign("}"), rest @ ..] => {
                (*from, Some(*to), rest)
            }
            _ => return Ok(()),
        };
        if to.is_some_and(|to| to < from || to == 0) {
            return Err("a repetition ends before it begins".into());
        }
        self.lexemes = rest;
        let to = to.map_or(String::new(), |to| to.to_string());
        body.push(Part::Lark(format!("{{{from},{to}}}")));
        Ok(())
    }
}

fn shown(lexeme: Option<&Lexeme>) -> String {
    match lexeme {
        None | Some(Lexeme::Line) => "the end of the line".into(),
        Some(Lexeme::Name(word) | Lexeme::Text(word)) => word.clone(),
        Some(Lexeme::Regex(word, _)) => format!("/{word}/"),
        Some(Lexeme::Number(number)) => number.to_string(),
        Some(Lexeme::Directive(name)) => format!("%{name}"),
        Some(Lexeme::Sign(sign)) => format!("`{sign}`"),
    }
}

//! A grammar's definition, read and checked; [`Definition::nested`] and [`Definition::flat`] write
//! it anew.
//!
//! Invariant: every name in a definition is defined, once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::regex;

/// A definition, all of whose names are defined.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    /// Bodies of rules and terminals, by name.
    pub(crate) bodies: BTreeMap<String, Vec<Part>>,
    /// Imported terminals: names in `common`, by local name.
    pub(crate) imports: BTreeMap<String, String>,
    /// Bodies of `%ignore`.
    pub(crate) ignored: Vec<Vec<Part>>,
}

/// Part of a body.
#[derive(Debug)]
pub(crate) enum Part {
    /// Name of a rule or a terminal.
    Name(String),
    /// Any other text, as it is to be written.
    Lark(String),
}

impl Definition {
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of_regex(text: &str) -> Result<Self, String> {
        regex::check(text)?;
        let body = vec![Part::Lark(format!("/{}/", regex::between_slashes(text)))];
        Ok(Self { bodies: BTreeMap::from([("start".into(), body)]), ..Self::default() })
    }

    /// Checks that all names are defined, and that terminals consist of terminals.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.bodies.contains_key("start") {
            return Err("it has no rule start".into());
        }
        let mut all = self.bodies.values().chain(&self.ignored).flat_map(|body| names(body));
        if let Some(name) =
            all.find(|name| !self.bodies.contains_key(*name) && !self.imports.contains_key(*name))
        {
            return Err(format!("{name} isn't defined"));
        }
        let terminals = self.bodies.iter().filter(|(name, _)| is_terminal(name)).map(|(_, body)| body);
        let mut within = terminals.chain(&self.ignored).flat_map(|body| names(body));
        if let Some(rule) = within.find(|name| !is_terminal(name)) {
            return Err(format!("the rule {rule} stands in a terminal"));
        }
        match self.recursive(is_terminal) {
            Some(name) => Err(format!("the terminal {name} is recursive")),
            None => Ok(()),
        }
    }

    /// A name that `counts` and refers to itself through such names, or to a name that does.
    pub(super) fn recursive(&self, counts: fn(&str) -> bool) -> Option<&str> {
        let (mut open, mut users) = (BTreeMap::new(), BTreeMap::<&str, Vec<&str>>::new());
        for (name, body) in self.bodies.iter().filter(|(name, _)| counts(name)) {
            let others = names(body).filter(|other| self.bodies.contains_key(*other));
            open.insert(
                name.as_str(),
                others.inspect(|other| users.entry(other).or_default().push(name)).count(),
            );
        }
        // A name that refers to settled names only is settled; a name that remains refers to a
        // cycle.
        let mut settled: Vec<&str> =
            open.iter().filter(|(_, others)| **others == 0).map(|(name, _)| *name).collect();
        while let Some(name) = settled.pop() {
            open.remove(name);
            for user in users.get(name).into_iter().flatten() {
                let others = open.get_mut(user)?;
                *others -= 1;
                if *others == 0 {
                    settled.push(user);
                }
            }
        }
        open.into_keys().next()
    }

    /// The lines of a nested grammar.
    pub(super) fn nested(&self) -> String {
        let mut lines = String::new();
        for (local, name) in &self.imports {
            let _ = writeln!(lines, "%import common.{name} -> {local}");
        }
        for body in &self.ignored {
            let _ = writeln!(lines, "%ignore {}", written(body, str::to_owned));
        }
        for (name, body) in &self.bodies {
            let _ = writeln!(lines, "{name}: {}", written(body, str::to_owned));
        }
        lines
    }

    /// Lines that write every rule as a terminal; [`flat_name`] of `start` is the terminal of the
    /// whole definition.
    ///
    /// # Errors
    /// The definition is recursive or has `%ignore`.
    pub(super) fn flat(&self, prefix: &str) -> Result<String, String> {
        if let Some(name) = self.recursive(|_| true) {
            return Err(format!(
                "{name} is recursive, which this format can't follow: its values end at text"
            ));
        }
        if !self.ignored.is_empty() {
            return Err("%ignore can't be followed in this format, whose values end at text".into());
        }
        let mut lines = String::new();
        for (local, name) in &self.imports {
            let _ = writeln!(lines, "%import common.{name} -> {}", flat_name(prefix, local));
        }
        for (name, body) in &self.bodies {
            let _ = writeln!(
                lines,
                "{}: {}",
                flat_name(prefix, name),
                written(body, |name| flat_name(prefix, name))
            );
        }
        Ok(lines)
    }
}

/// Name of a rule or terminal when it is written as a terminal, beside those of other definitions.
pub(super) fn flat_name(prefix: &str, name: &str) -> String {
    let kind = if is_terminal(name) { 'T' } else { 'R' };
    format!("{prefix}_{kind}_{}", name.to_ascii_uppercase())
}

/// Whether a name is a terminal's.
pub(crate) fn is_terminal(name: &str) -> bool {
    name.contains(|char: char| char.is_ascii_uppercase())
}

fn names(body: &[Part]) -> impl Iterator<Item = &str> {
    body.iter().filter_map(|part| match part {
        Part::Name(name) => Some(name.as_str()),
        Part::Lark(_) => None,
    })
}

fn written(body: &[Part], name: impl Fn(&str) -> String) -> String {
    let words = body.iter().map(|part| match part {
        Part::Name(local) => name(local),
        Part::Lark(text) => text.clone(),
    });
    words.collect::<Vec<_>>().join(" ")
}

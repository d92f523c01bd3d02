//! What starts would derive, said before one: nothing is kept.
//!
//! Invariant: each template is derived once, and few are, since each takes seconds of CPU.

use std::collections::HashMap;

use model::TemplateFiles;

use super::at_start::ParserMaker;

/// Most templates that are derived.
pub(in crate::cli) const MOST: usize = 4;

/// What a start finds for a template.
#[derive(Clone)]
pub(in crate::cli) enum Foreseen {
    /// A parser, in this way.
    Derived(&'static str),
    /// None, for this reason: one line.
    Refused(String),
    /// Nobody knows: [`MOST`] others were derived.
    Untried,
}

/// What the starts of several models find.
pub(in crate::cli) struct Foresight {
    maker: ParserMaker,
    /// What was derived here, by the key of its table.
    made: HashMap<String, Foreseen>,
}

impl Foresight {
    pub(in crate::cli) fn new(maker: ParserMaker) -> Self {
        Self { maker, made: HashMap::new() }
    }

    /// What a start finds for the template.
    pub(in crate::cli) fn of(&mut self, files: &TemplateFiles) -> Foreseen {
        match self.maker.kept(files) {
            Some(Ok(_)) => return Foreseen::Derived("derived from the chat template at an earlier start"),
            Some(Err(reason)) => return Foreseen::Refused(format!("{reason} (as an earlier start found)")),
            None => {}
        }
        let key = self.maker.key(files);
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        if self.made.len() == MOST {
            return Foreseen::Untried;
        }
        let made = match self.maker.make(files) {
            Ok(_) => Foreseen::Derived("derived from the chat template, and proved, while it serves"),
            Err(refusal) => Foreseen::Refused(refusal.reason),
        };
        self.made.insert(key, made.clone());
        made
    }
}

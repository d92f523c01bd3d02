//! Calls that have an envelope which nobody has asked for. It may not make impossible what the parser
//! reads: so text spells all markers but those that begin something, and where values are raw text
//! that markers end which are text, too, only the head of a call is held.

use std::collections::BTreeSet;

use super::Composer;
use crate::lark::{DemandedTurn, escape, is_terminal};
use crate::template::check::marker;
use crate::template::{GrammarTemplate, Word};

/// Holes for a tool's name.
const NAME: [&str; 2] = ["name", "json_name"];

/// A call whose values are raw text: its parser decides by what follows whether markup in a value
/// ends it.
pub(super) struct OpenCall<'a> {
    /// What stands before the marker that begins the head as text: models leave it out.
    lead: Vec<Word>,
    /// The call up to the values.
    head: Vec<Word>,
    /// The markers that no text can spell, of which one ends the values.
    ends: Vec<&'a str>,
}

impl GrammarTemplate {
    /// The markers that text must not spell: those that begin a call, those around reasoning that has a
    /// bound, and those of a shape of the format's own.
    pub(super) fn openers(&self, turn: &DemandedTurn<'_>) -> BTreeSet<usize> {
        let mut openers = match (self.has_open_turns(turn), turn.bounds_reasoning) {
            (true, false) => BTreeSet::new(),
            (true, true) => self.around(&["before"]),
            (false, _) => self.around(&["before", "free", "more"]),
        };
        if !turn.tools.is_empty() {
            openers.extend(before(&self.head(), &NAME).iter().filter_map(index));
        }
        openers
    }

    /// The markers in these rules, and in those of the template's own.
    fn around(&self, rules: &[&str]) -> BTreeSet<usize> {
        let rules = rules.iter().filter_map(|name| self.rule(name));
        rules.chain(self.own_rules().map(|(_, words)| words)).flatten().filter_map(index).collect()
    }

    /// Whether text and calls may come in any order: the format has no shape of its own for turns that
    /// demand nothing, or, where reasoning has no bound, a marker that begins nothing else begins
    /// calls.
    pub(super) fn has_open_turns(&self, turn: &DemandedTurn<'_>) -> bool {
        let head = self.head();
        let first = head.iter().find(|word| !matches!(word, Word::Other(sign) if sign == "("));
        let others = self.around(&["before", "free"]);
        let is_apart = first.and_then(index).is_some_and(|first| !others.contains(&first));
        self.rule("free").is_none() || (is_apart && !turn.bounds_reasoning)
    }

    /// Whether the shape of turns that demand nothing says how a message may begin.
    pub(super) fn restricts_text(&self, turn: &DemandedTurn<'_>) -> bool {
        let free = self.rule("free").unwrap_or_default();
        let is_terminal = |word: &Word| matches!(word, Word::Name(name) if is_terminal(name));
        !self.has_open_turns(turn) && free.iter().any(is_terminal)
    }

    /// Regular expression of the marker that begins a call, where it is text, and a character behind
    /// it with which no call goes on: there the parser takes the marker for text. `apart` are the
    /// markers with tokens in them.
    pub(super) fn quoted(&self, apart: &BTreeSet<usize>, turn: &DemandedTurn<'_>) -> Option<String> {
        let head = if turn.is_envelope { self.head() } else { Vec::new() };
        let begins = index(head.first()?).filter(|marker| !apart.contains(marker))?;
        let has_gap = head.get(1).is_some_and(|word| word.is_name("gap"));
        let Word::Text(next) = head.get(if has_gap { 3 } else { 1 })? else { return None };
        let first = self.openers(turn).into_iter().filter_map(|marker| self.literals[marker].chars().next());
        let left_out: String = first.chain(next.chars().find(|char| *char != '\\')).map(escape).collect();
        let marker: String = self.literals[begins].chars().map(escape).collect();
        Some(format!(r"{marker}[^\s{left_out}]"))
    }

    /// What stands before a call's arguments, with what stands before all calls.
    fn head(&self) -> Vec<Word> {
        let section = self.rule("section").map(|words| before(words, &["calls"])).unwrap_or_default();
        let call = before(self.rule("call").unwrap_or_default(), &["arguments", "parameters"]);
        [section, call].concat()
    }
}

impl<'a> Composer<'a> {
    /// How a call is held whose values nothing bounds; `None` where the whole call is.
    pub(super) fn open_call(&self) -> Option<OpenCall<'a>> {
        let values = self.template.directives.value.as_deref().unwrap_or_default();
        if !self.turn.is_envelope || values.iter().all(|index| self.apart.contains(index)) {
            return None;
        }
        let mut lead = self.template.head();
        let is_text = |word: &Word| index(word).is_some_and(|index| !self.apart.contains(&index));
        let has_name = |words: &[Word]| before(words, &NAME).len() < words.len();
        let text = lead.iter().position(is_text).filter(|text| !has_name(&lead[..*text]));
        let head = lead.split_off(text.unwrap_or(0));
        if !is_closed(&head) || !is_closed(&lead) || !has_name(&head) {
            return None;
        }
        let behind = self.template.rule("call").into_iter().chain(self.template.rule("section")).flatten();
        let ends = behind.filter(|word| index(word).is_some_and(|index| self.apart.contains(&index)));
        let ends = ends.filter(|word| !lead.contains(word) && !head.contains(word));
        let ends =
            ends.filter_map(|word| if let Word::Name(name) = word { Some(name.as_str()) } else { None });
        Some(OpenCall { ends: ends.collect(), lead, head })
    }

    /// The whole turn, where markers begin calls: text and calls, and between them the markers that
    /// begin none, wherever they come. So reasoning may come again, and be left open, as parsers read
    /// it; unless it has a bound.
    pub(super) fn open_turn(&mut self, has_calls: bool, stops: &[u32]) -> Option<String> {
        if !self.turn.is_envelope || !self.template.has_open_turns(self.turn) {
            return None;
        }
        let mut left_out = self.template.openers(self.turn);
        left_out.extend(stops.iter().filter_map(|stop| usize::try_from(*stop).ok()));
        let others = self.apart.iter().filter(|marker| !left_out.contains(marker));
        let others: Vec<String> = others.map(|marker| self.lark.marker(*marker)).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(" (({}) text)*", others.join(" | ")) };
        self.lark.rule("prose", &format!("text{others}"));
        let before = self.template.rule("before").filter(|_| self.turn.bounds_reasoning);
        let before = before.map(|words| self.grouped(words)).unwrap_or_default();
        let calls = match (has_calls, self.is_single()) {
            (false, _) => String::new(),
            (true, true) => format!("({} prose)?", self.calls_name()),
            (true, false) => format!("({} prose)*", self.calls_name()),
        };
        Some(format!("{before} prose {calls}"))
    }

    /// Defines the rules of such calls. Behind the last one the turn may end at any place.
    pub(super) fn open_calls(&mut self, open: &OpenCall<'_>) -> Result<(), String> {
        let call = self.call(&open.head)?;
        self.lark.rule("call", &call);
        let lead = self.grouped(&open.lead);
        let lead = if lead.is_empty() { lead } else { format!("({lead})?") };
        let ends: Vec<String> = open.ends.iter().map(|name| self.name(name)).collect();
        let end = if ends.is_empty() { String::new() } else { format!("({})?", ends.join(" | ")) };
        self.lark.rule("calls", &format!(r"{lead} call /(?s:.+)/? {end}"));
        if self.template.rule("section").is_some() {
            self.lark.rule("section", "calls");
        }
        Ok(())
    }
}

/// The index of the marker that a word is.
fn index(word: &Word) -> Option<usize> {
    let Word::Name(name) = word else { return None };
    marker(name)?.parse().ok()
}

/// The words before the first of these holes.
fn before(words: &[Word], holes: &[&str]) -> Vec<Word> {
    let is_hole = |word: &Word| holes.iter().any(|hole| word.is_name(hole));
    words[..words.iter().position(is_hole).unwrap_or(words.len())].to_vec()
}

/// Whether words are whole: all brackets in them are closed, and no alternatives stand outside of
/// brackets.
fn is_closed(words: &[Word]) -> bool {
    let mut depth = 0_usize;
    for word in words {
        let Word::Other(sign) = word else { continue };
        match sign.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" | "|" if depth == 0 => return false,
            ")" | "]" => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

//! Grammars: what the grammar of a request allows, the parser reads as what the request demands.
//! Random walks through the grammars that the template gives for some requests are played to the
//! parser.

use std::sync::Arc;

use grammar::{Demand, GrammarTemplate, MarkerTokens};
use parser_kit::Item;
use parser_kit::case::MarkerMode;
use serde_json::{Value, json};

use super::compare::counted;
use super::demanded::satisfies;
use super::nothing_lost;
use super::play::{Ending, Outcome};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::samples::{self, SampleJudge};
use super::subject::{ParserSource, Subject};
use super::walk::{FIRST_MARKER, WalkPiece, Walker};
use contract::{Descriptor, FinishReason};

/// Number of walks through a grammar behind each generation prompt.
const WALKS: u64 = 8;
/// Most changes to a walk's turn after which nothing may be lost.
const CHANGES: usize = 12;
/// Most generation prompts of the cases.
const PROMPTS: usize = 4;

/// Walks through the grammars of the parser of these cases, which all have its options.
pub(super) fn check(recordings: &[&Recording], source: &dyn ParserSource, seed: u64, tally: &mut Tally) {
    let Some(first) = recordings.first() else { return };
    let descriptor = first.subject.descriptor();
    let Some(template) = descriptor.grammar.as_ref() else { return };
    let template = match GrammarTemplate::parse(template, &descriptor.markers) {
        Ok(template) => template,
        Err(error) => return tally.fail(Property::Grammar, "template", error.to_string(), None),
    };
    let mut prompts: Vec<&str> = Vec::new();
    for prompt in recordings.iter().map(|recording| recording.prompt.text()) {
        if prompts.len() < PROMPTS && !prompt.is_empty() && !prompts.contains(&prompt) {
            prompts.push(prompt);
        }
    }
    if prompts.is_empty() {
        prompts.push("");
    }
    let samples = samples::all();
    for mode in [MarkerMode::Id, MarkerMode::Text] {
        let mut turns = Vec::new();
        for (request, demand) in &samples {
            let walks = Walks { source, first, request, demand, mode, seed };
            match walks.walker(&template) {
                Ok(walker) => walks.check(walker, &prompts, &mut turns, tally),
                Err(Refusal::Request) => tally.refused += 1,
                Err(Refusal::Grammar(error)) => {
                    tally.fail(Property::Grammar, &format!("{request}, {}", walks.mode_name()), error, None);
                }
            }
        }
    }
}

/// Cases for a parser that has none, with these options: a turn of text behind a generation prompt,
/// and one of each grammar. What they expect is what the parser makes of them; that this is what the
/// request demands, the property `grammar` says.
///
/// # Errors
/// The parser can't be used with these options. The message has one line.
pub fn walked_cases(
    source: &dyn ParserSource,
    options: &[(String, String)],
    prompt: &str,
    seed: u64,
) -> Result<Vec<Recording>, String> {
    let options: std::collections::BTreeMap<_, _> = options.iter().cloned().collect();
    let text = json!({ "options": options, "generation_prompt": prompt, "chunks": ["A"] });
    let expected = |case: &Recording| Recording::parse(&case.name, &case.raw.to_string(), source);
    let first = Recording::parse("text", &text.to_string(), source)?;
    let mut cases = vec![expected(&first)?];
    let descriptor = first.subject.descriptor();
    let Some(template) = &descriptor.grammar else { return Ok(cases) };
    let template =
        GrammarTemplate::parse(template, &descriptor.markers).map_err(|error| error.to_string())?;
    for mode in [MarkerMode::Id, MarkerMode::Text] {
        for (request, demand) in &samples::all() {
            let walks = Walks { source, first: &first, request, demand, mode, seed };
            let Ok(walker) = walks.walker(&template) else { continue };
            let Some(mut walker) = walker.opened(prompt) else { continue };
            let pieces = walker.walk(seed)?;
            let name = format!("{request} {}", walks.mode_name()).replace(',', "").replace(' ', "_");
            let case = walks.case(&name, prompt, &pieces);
            cases.push(expected(&Recording::parse(&name, &case.to_string(), source)?)?);
        }
    }
    Ok(cases)
}

/// Why a request has no grammar to walk through.
enum Refusal {
    /// The format, or its template, refuses the request.
    Request,
    /// The grammar can't be compiled.
    Grammar(String),
}

/// Walks through the grammar of one request.
struct Walks<'a> {
    source: &'a dyn ParserSource,
    /// A case of the parser, for its options.
    first: &'a Recording,
    request: &'a str,
    demand: &'a Demand,
    mode: MarkerMode,
    seed: u64,
}

impl Walks<'_> {
    fn subject(&self) -> &Arc<Subject> {
        &self.first.subject
    }

    fn descriptor(&self) -> &Descriptor {
        self.subject().descriptor()
    }

    fn mode_name(&self) -> &'static str {
        match self.mode {
            MarkerMode::Id => "markers as tokens",
            MarkerMode::Text => "markers as text",
        }
    }

    /// Whether each marker is a token. Stops always are, or hardly any request could be followed.
    fn tokens(&self) -> Vec<bool> {
        let stops = &self.descriptor().stops;
        let is_token = |index: u32| self.mode == MarkerMode::Id || stops.contains(&index);
        (0..).zip(&self.descriptor().markers).map(|(index, _)| is_token(index)).collect()
    }

    fn walker(&self, template: &GrammarTemplate) -> Result<Walker, Refusal> {
        let Descriptor { markers, stops, .. } = self.descriptor();
        let tokens = self.tokens();
        let ids: Vec<_> =
            (FIRST_MARKER..).zip(&tokens).map(|(id, is_token)| is_token.then_some(id)).collect();
        let composed = template.compose(self.demand, MarkerTokens { ids: &ids, inner: &[], stops });
        let Ok(Some(grammar)) = composed else { return Err(Refusal::Request) };
        Walker::new(&grammar, markers, &tokens)
            .map_err(|error| Refusal::Grammar(format!("its grammar can't be compiled: {error}\n{grammar}")))
    }

    /// Walks behind each of these generation prompts that the grammar has. Walks know the `turns`
    /// before them.
    fn check(
        &self,
        mut walker: Walker,
        prompts: &[&str],
        turns: &mut Vec<Vec<WalkPiece>>,
        tally: &mut Tally,
    ) {
        for turn in &*turns {
            walker.learn(turn);
        }
        for (prompt, mut walker) in prompts.iter().filter_map(|prompt| Some((prompt, walker.opened(prompt)?)))
        {
            for seed in self.seed..self.seed + WALKS {
                let Self { request, .. } = self;
                let name = format!("{request}, {}, prompt {prompt:?}, seed {seed}", self.mode_name());
                tally.count(Property::Grammar);
                let (what, case) = match walker.clone().walk(seed) {
                    Ok(pieces) => {
                        walker.learn(&pieces);
                        let played = self.play(&name, prompt, &pieces, tally);
                        turns.push(pieces);
                        played
                    }
                    Err(error) => (Err(error), None),
                };
                if let Err(what) = what {
                    tally.fail(Property::Grammar, &name, what, case);
                }
            }
        }
    }

    /// Plays a walk in whole and character by character. Returns what is wrong, and the walk as a
    /// case.
    fn play(
        &self,
        name: &str,
        prompt: &str,
        pieces: &[WalkPiece],
        tally: &mut Tally,
    ) -> (Result<(), String>, Option<Value>) {
        let case = self.case(name, prompt, pieces);
        let recording = match Recording::parse(name, &case.to_string(), self.source) {
            Ok(recording) => recording,
            Err(error) => return (Err(error), Some(case)),
        };
        let mut played = |cuts: &[usize]| {
            counted(&recording, &recording.tape, cuts, Ending::Reason(FinishReason::Stop), tally)
        };
        let whole = played(&recording.cuts);
        let apart = played(&recording.tape.avoid_mixed_groups(recording.tape.every(1)));
        nothing_lost::check_some(&recording, self.seed, CHANGES, tally);
        let judged = self.judge(&whole).and_then(|()| {
            let is_same = whole.says_the_same(&apart);
            is_same.then_some(()).ok_or_else(|| "character by character it gives other items".into())
        });
        (judged.map_err(|error| format!("{error}\n  {}", recording.tape.text())), Some(case))
    }

    fn judge(&self, outcome: &Outcome) -> Result<(), String> {
        if let Some(fault) = &outcome.fault {
            return Err(format!("the parser failed: {}", fault.in_full()));
        }
        let items = outcome.items.clone().map_err(|error| format!("its events make no items: {error}"))?;
        let items: Vec<Item> = items.into_iter().map(Item::from).collect();
        satisfies(self.demand, &items, &SampleJudge)
    }

    fn case(&self, name: &str, prompt: &str, pieces: &[WalkPiece]) -> Value {
        let markers = &self.descriptor().markers;
        let chunk = |piece: &WalkPiece| match piece {
            WalkPiece::Text(text) => json!(text),
            WalkPiece::Marker(index) => json!({ "text": markers[*index as usize], "ids": [] }),
        };
        json!({
            "about": format!("A turn that the template's grammar allows: {name}."),
            "tools": samples::case_tools(self.demand),
            "options": self.first.request.options.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "generation_prompt": prompt,
            "chunks": pieces.iter().map(chunk).collect::<Vec<_>>(),
            "markers": if self.mode == MarkerMode::Id { "id" } else { "text" },
        })
    }
}

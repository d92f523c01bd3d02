//! Any stream whatever, put together from fragments that hurt: the frame of every parser's property tests. A parser's test lists its fragments;
//! what must hold of all streams is said here, once.
//!
//! Streams are the same in every run, unless `PARSER_TEST_SEED` of the environment chooses others; one that fails is shown at its shortest (`explore`).

use super::broken_off::{json_calls, play_tokens};
use super::case::by_marker;
use super::explore::{Explorer, Random, without_one};
use super::{agree, check_broken_off, play};
use crate::{FinishReason, Parser, Request};

/// Streams of a parser's test, and the most fragments of one.
const COUNT: u64 = 1_000;
const LONGEST: usize = 40;
/// Characters of a chunk at most, and sizes that a stream is cut in, over and over.
const CHUNK: usize = 29;
const SIZES: usize = 7;
/// Places at which a stream is broken off.
const BREAKS: usize = 8;

/// What streams are made of.
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a> {
    /// What the parser may be told.
    pub requests: &'a [Request],
    /// What a turn may be opened with.
    pub prompts: &'a [&'a str],
    /// What the model may write.
    pub fragments: &'a [&'a str],
    /// How many of them.
    pub count: u64,
    /// Fragments of a stream, at most.
    pub longest: usize,
    /// What never reaches the output: the literals that end the turn.
    pub ends: &'a [&'a str],
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Drawn<'a> {
    /// What the parser is told.
    pub request: &'a Request,
    /// What opens the turn.
    pub prompt: &'a str,
    /// What the model writes.
    pub fragments: Vec<&'a str>,
    /// How it is cut, in characters, over and over.
    pub sizes: Vec<usize>,
    /// Why it ends.
    pub reason: FinishReason,
}

impl Drawn<'_> {
    /// All that the model writes.
    pub fn output(&self) -> String {
        self.fragments.concat()
    }
}

impl<'a> Streams<'a> {
    /// As many as a parser's test needs, of up to 40 fragments each.
    pub fn of(
        requests: &'a [Request],
        prompts: &'a [&'a str],
        fragments: &'a [&'a str],
        ends: &'a [&'a str],
    ) -> Self {
        Self { requests, prompts, fragments, count: COUNT, longest: LONGEST, ends }
    }

    /// Of any stream: any cut, with markers as text and as tokens, gives the same items ([`agree`]); one that breaks off
    /// anywhere begins as the whole does ([`check_broken_off`]); what ends the turn is never shown.
    ///
    /// # Panics
    /// One of them doesn't hold.
    pub fn check<P: Parser>(&self) {
        self.each(|drawn| {
            let output = drawn.output();
            let items = agree::<P>(drawn.request, drawn.prompt, &output, &drawn.sizes, drawn.reason);
            check_broken_off::<P>(drawn.request, drawn.prompt, &output, BREAKS);
            for end in self.ends {
                assert!(items.iter().all(|item| !item.text.contains(end)), "{end:?} is shown in {items:?}");
            }
        });
    }

    /// The same for a parser that writes JSON itself, so that it is always sound: a call's arguments are an object if, and only if, it is
    /// complete; and those of a stream that ends after any marker are how the whole stream's begin, of an incomplete call too.
    ///
    /// # Panics
    /// One of them doesn't hold.
    pub fn check_written_arguments<P: Parser>(&self) {
        self.each(|drawn| {
            let output = drawn.output();
            for call in json_calls(&play::<P>(drawn.request, drawn.prompt, [output.as_str()], drawn.reason)) {
                let object = serde_json::from_str::<serde_json::Value>(&call.text)
                    .is_ok_and(|value| value.is_object());
                assert_eq!(object, call.complete, "{call:?}");
            }
            let pieces = by_marker(&output, &P::describe(&drawn.request.options).expect("describe").markers);
            let items = |count| play_tokens::<P>(drawn.request, drawn.prompt, &pieces[..count]);
            let whole = items(pieces.len());
            for count in 0..pieces.len() {
                for (part, whole) in json_calls(&items(count)).iter().zip(json_calls(&whole)) {
                    assert!(whole.text.starts_with(&part.text), "{whole:?} after {part:?}");
                }
            }
        });
    }

    /// Any property of all streams.
    ///
    /// # Panics
    /// `holds` does; the shortest such stream is shown.
    pub fn each(&self, holds: impl Fn(&Drawn<'a>)) {
        let shorter = |drawn: &Drawn<'a>| {
            let less = without_one(&drawn.fragments);
            less.map(|fragments| Drawn { fragments, ..drawn.clone() }).collect()
        };
        Explorer::new(self.count).each(|random| self.draw(random), shorter, holds);
    }

    fn draw(&self, random: &mut Random) -> Drawn<'a> {
        let count = random.below(self.longest + 1);
        Drawn {
            request: random.of(self.requests),
            prompt: random.of::<&str>(self.prompts),
            fragments: (0..count).map(|_| *random.of(self.fragments)).collect(),
            sizes: random.sizes(SIZES, CHUNK),
            reason: *random.of(&[FinishReason::Stop, FinishReason::Length, FinishReason::Cancelled]),
        }
    }
}

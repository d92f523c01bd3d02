//! Random streams put together from troublesome fragments: the base of every parser's property
//! tests. A parser's test lists its fragments; the properties of all streams are here.
//!
//! Streams are the same in every run, unless `PARSER_TEST_SEED` of the environment chooses others;
//! a stream that fails is shown at its shortest (`explore`).

use super::broken_off::play_tokens;
use super::case::by_marker;
use super::explore::{Explorer, Random, without_one};
use super::items::json_calls;
use super::{agree, check_broken_off, play};
use contract::{FinishReason, Request};
use parser_sdk::Parser;

/// Number of streams of a parser's test, and most fragments of one stream.
const COUNT: u64 = 1_000;
const LONGEST: usize = 40;
/// Most characters of a chunk, and most sizes that a stream is cut in, over and over.
const CHUNK: usize = 29;
const SIZES: usize = 7;
/// Most places at which a stream is broken off.
const BREAKS: usize = 8;

/// What streams are made of.
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a> {
    /// Requests that the parser may be given.
    pub requests: &'a [Request],
    /// Generation prompts that may open a turn.
    pub prompts: &'a [&'a str],
    /// Fragments that the model may write.
    pub fragments: &'a [&'a str],
    /// Number of streams.
    pub count: u64,
    /// Most fragments of one stream.
    pub longest: usize,
    /// Literals that end the turn, which never reach the output.
    pub ends: &'a [&'a str],
}

/// One random stream.
#[derive(Debug, Clone)]
pub struct Drawn<'a> {
    /// The request that the parser is given.
    pub request: &'a Request,
    /// The generation prompt.
    pub prompt: &'a str,
    /// Fragments that the model writes, in order.
    pub fragments: Vec<&'a str>,
    /// Sizes in characters that the stream is cut in, over and over.
    pub sizes: Vec<usize>,
    /// Why the stream ends.
    pub reason: FinishReason,
}

impl Drawn<'_> {
    /// All that the model writes.
    pub fn output(&self) -> String {
        self.fragments.concat()
    }
}

impl<'a> Streams<'a> {
    /// As many streams as a parser's test needs, of up to 40 fragments each.
    pub fn of(
        requests: &'a [Request],
        prompts: &'a [&'a str],
        fragments: &'a [&'a str],
        ends: &'a [&'a str],
    ) -> Self {
        Self { requests, prompts, fragments, count: COUNT, longest: LONGEST, ends }
    }

    /// Checks of any stream: any cut, with markers as text and as tokens, gives the same items
    /// ([`agree`]); one that breaks off anywhere begins as the whole does ([`check_broken_off`]);
    /// what ends the turn is never shown.
    ///
    /// # Panics
    /// One of these properties doesn't hold.
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

    /// Checks of a parser that writes JSON itself: a call's arguments are an object if, and only
    /// if, the call is complete; and the arguments of a stream that ends after any piece are a
    /// prefix of the whole stream's arguments, of an incomplete call too.
    ///
    /// # Panics
    /// One of these properties doesn't hold.
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

    /// Checks any property of all streams.
    ///
    /// # Panics
    /// `holds` panics; the shortest such stream is shown.
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

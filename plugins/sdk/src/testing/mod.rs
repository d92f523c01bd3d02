//! Plays the host for an author's native tests: finds the markers, holds the bytes, applies the steps, builds the items.
//!
//! It panics, saying what was wrong, where a real host would call a fault: bytes routed that aren't held, a cut inside a
//! character, arguments without a call, a name that stands nowhere. Every byte is counted.
//!
//! ```
//! # use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, Route};
//! # struct Plain;
//! # impl Parser for Plain {
//! #     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> { Ok(Descriptor::default()) }
//! #     fn start(_: &Request) -> Result<Self, String> { Ok(Self) }
//! #     fn text(&mut self, _: &str, out: &mut Output) { out.until_marker(Route::Content); }
//! #     fn marker(&mut self, _: usize, out: &mut Output) { out.drop_all(); }
//! # }
//! use parser_sdk::testing::{Item, Player, request};
//!
//! let mut turn = Player::<Plain>::start(&request(&["get_weather"]));
//! turn.feed("Hello, ");
//! turn.feed("world");
//! assert_eq!(turn.finish(FinishReason::Stop), [Item::message("Hello, world")]);
//! ```

mod broken_off;
pub mod case;
mod check;
mod cut;
mod draft;
mod explore;
mod items;
mod markers;
mod parameters;
mod scan;
mod streams;
mod until;
mod written;

pub use broken_off::{check_broken_off, is_left_over};
pub use check::{check_cases, check_cases_with};
pub use cut::{Script, agree, cut};
pub use items::{Head, Item};
pub use parameters::{
    check_array_is_routed, check_long_string, check_many_parameters, check_string_flows, typed_request,
};
pub use scan::check_scan;
pub use streams::{Drawn, Streams};
pub use written::{
    check_asked_once, check_input_flows, check_long_arguments, check_string_parameters, check_turns,
    check_turns_between, steps,
};

use self::items::Items;
use self::markers::{Found, Markers};
use self::until::Until;
use crate::{FinishReason, Op, Parser, Request, Route, Step, Stream, Tool, ToolChoice, ToolKind};

/// The option with which a host lets calls inside reasoning count at once.
const AT_ONCE: [&str; 2] = ["calls-in-reasoning", "at-once"];

/// A request that declares functions of these names.
pub fn request(tools: &[&str]) -> Request {
    let tool = |name: &&str| Tool {
        name: (*name).into(),
        description: String::new(),
        kind: ToolKind::Function,
        parameters_json: r#"{"type":"object"}"#.into(),
        strict: false,
        grammar: None,
    };
    Request {
        tools: tools.iter().map(tool).collect(),
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: true,
        ..Request::default()
    }
}

/// [`request`] with the custom tool `custom` behind the functions.
pub fn request_with_custom(functions: &[&str], custom: &str) -> Request {
    let mut request = request(&[functions, &[custom]].concat());
    request.tools[functions.len()].kind = ToolKind::Custom;
    request
}

/// A host that plays one turn to a parser.
#[derive(Debug)]
pub struct Player<P> {
    stream: Stream<P>,
    markers: Markers,
    /// Bytes that the parser hasn't routed.
    held: String,
    items: Items,
    last: Option<Route>,
    until: Option<Until>,
    ask_always: bool,
    fed: usize,
    stops: Vec<u32>,
    /// Markers that end an open string: stops and tokens.
    string_ends: Vec<u32>,
    in_prompt: bool,
    /// Whether a stop marker came: what follows isn't part of the turn.
    ended: bool,
}

impl<P: Parser> Player<P> {
    /// Starts a parser.
    pub fn start(request: &Request) -> Self {
        let descriptor = P::describe(&request.options).expect("describe");
        let holds_drafts = !request.options.contains(&AT_ONCE.map(String::from).into());
        let declared = request.tools.iter().map(|tool| tool.name.clone()).collect();
        Self {
            stream: Stream::start(request).expect("start"),
            markers: Markers::new(descriptor.markers),
            held: String::new(),
            items: Items::new(descriptor.trim, declared, holds_drafts),
            last: None,
            until: None,
            ask_always: false,
            fed: 0,
            string_ends: [&descriptor.stops[..], &request.token_markers].concat(),
            stops: descriptor.stops,
            in_prompt: false,
            ended: false,
        }
    }

    /// Asks the parser for every chunk, also where it said `until-marker` or `until-byte`: the items must be the same. The parser
    /// can't be asked about JSON that it handed over by `until-json`.
    #[must_use]
    pub fn asking_always(mut self) -> Self {
        self.ask_always = true;
        self
    }

    /// Replays the generation prompt; to be called first.
    pub fn prompt(&mut self, prompt: &str) {
        self.items.begin_prompt(prompt.len());
        self.in_prompt = true;
        self.feed(prompt);
        self.flush();
        self.in_prompt = false;
        self.items.end_prompt();
    }

    /// Feeds what the model writes next, cut anywhere; markers are found by their text.
    pub fn feed(&mut self, chunk: &str) {
        self.markers.push(chunk);
        while let Some(found) = self.markers.next(false) {
            self.hand_over(found);
        }
    }

    /// Feeds a marker that came as a token of its own.
    pub fn marker(&mut self, index: u32) {
        self.flush();
        let literal = self.markers.literal(index).to_owned();
        self.hand_over(Found::Marker(index, literal));
    }

    /// Feeds text of ordinary tokens: a marker spelt in it is text.
    pub fn text(&mut self, text: &str) {
        self.flush();
        if !text.is_empty() {
            self.hand_over(Found::Text(text.to_owned()));
        }
    }

    /// Arguments of the calls so far that carry JSON, as a client has seen them.
    pub(super) fn arguments(&self) -> Vec<String> {
        self.items.arguments()
    }

    /// Ends the turn, and returns its items.
    pub fn finish(mut self, reason: FinishReason) -> Vec<Item> {
        self.flush();
        let reason = if self.ended { FinishReason::Stop } else { reason };
        let step = self.stream.finish(reason);
        self.apply(step);
        let rest = self.held.len();
        self.route(Route::Content, rest);
        assert_eq!(self.items.routed(), self.fed, "every byte is routed once");
        self.items.finish(reason)
    }

    /// Hands over pending text that could still have become a marker.
    fn flush(&mut self) {
        while let Some(found) = self.markers.next(true) {
            self.hand_over(found);
        }
    }

    fn hand_over(&mut self, found: Found) {
        match found {
            _ if self.ended => {}
            Found::Text(text) => {
                self.fed += text.len();
                self.held.push_str(&text);
                let asked = match &mut self.until {
                    Some(until) if !self.ask_always || until.is_json() => {
                        let (route, goes) = (until.route, until.goes(&text));
                        self.route(route, goes);
                        &text[goes..]
                    }
                    _ => &text,
                };
                if !asked.is_empty() {
                    self.until = None;
                    self.items.marker = 0;
                    let step = self.stream.text(asked);
                    self.apply(step);
                }
            }
            Found::Marker(index, literal) => {
                let in_string = self.until.as_ref().is_some_and(Until::in_string);
                if in_string && !self.string_ends.contains(&index) {
                    return self.hand_over(Found::Text(literal));
                }
                self.items.cut |= in_string;
                self.items.marker = literal.len();
                self.fed += literal.len();
                self.held.push_str(&literal);
                self.until = None;
                let step = self.stream.marker(index);
                self.apply(step);
                self.ended = self.stops.contains(&index) && !self.in_prompt;
            }
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Pass => {
                let route = self.last.expect("pass before the first run");
                self.route(route, self.held.len());
            }
            Step::Hold => {}
            Step::Fault(reason) => panic!("the parser gave up: {reason}"),
            Step::Ops(ops) => ops.into_iter().for_each(|op| self.apply_op(op)),
        }
    }

    fn apply_op(&mut self, op: Op) {
        match op {
            Op::Bytes(run) => self.route(run.route, run.bytes as usize),
            Op::UntilMarker(route) => self.begin_until(Until::marker(route)),
            Op::UntilByte(until) => self.begin_until(Until::byte(until)),
            Op::UntilJson(rest) => self.begin_until(Until::json(rest)),
            Op::Message(phase) => self.items.message(phase),
            Op::ToolCall(call) => self.items.tool_call(call, &self.held),
            Op::Close => self.items.close(),
            Op::DerivedArguments(text) => self.items.derived(&text),
            // Items don't say how the turn ends.
            Op::BrokenCall => self.items.resolve_draft(true),
        }
    }

    fn begin_until(&mut self, until: Until) {
        assert!(self.held.is_empty(), "{until:?} with {:?} held", self.held);
        self.items.flow(until.route);
        (self.last, self.until) = (Some(until.route), Some(until));
    }

    fn route(&mut self, route: Route, bytes: usize) {
        assert!(bytes <= self.held.len(), "{bytes} bytes routed with {} held", self.held.len());
        assert!(self.held.is_char_boundary(bytes), "a run ends inside a character");
        self.last = Some(route);
        let text: String = self.held.drain(..bytes).collect();
        self.items.run(route, &text);
    }
}

/// Plays a whole turn: the replayed prompt, then the model's text in these chunks.
pub fn play<'a, P: Parser>(
    request: &Request,
    prompt: &str,
    chunks: impl IntoIterator<Item = &'a str>,
    reason: FinishReason,
) -> Vec<Item> {
    let mut player = Player::<P>::start(request);
    player.prompt(prompt);
    for chunk in chunks {
        player.feed(chunk);
    }
    player.finish(reason)
}

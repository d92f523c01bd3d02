//! Parser for Harmony (gpt-oss): messages in channels, calls by recipient.
//!
//! `<|start|>assistant[ to=RECIPIENT]<|channel|>CHANNEL[ to=RECIPIENT][ <|constrain|>TYPE]<|message|>BODY(<|end|>|<|call|>|<|return|>)`.
//! A message with a recipient is a call, on any channel. Without a recipient, `analysis` is
//! reasoning, `commentary` and `final` are messages of that phase, and another channel is a
//! message. Each message is an item of its own; the host routes its text unchanged, up to the next
//! marker, without calling the parser. Headers are held. Malformed output:
//! - A word of garbage in a header that has its `<|message|>` is dropped with the header. The last
//!   channel and the last tool named count. A sentence there is a message of its own, before the
//!   header's; behind a tool's name it makes the call incomplete, or is prose if the
//!   header begins again behind it.
//! - In a header that another marker ends, or that is too long, the text that can't be a header's
//!   is the message's body. The message is a call only if that body begins with `{`, or `<|call|>`
//!   ends it.
//! - A header that the turn's end cuts off is dropped, as a broken call if it names a tool.
//! - `<|start|>` or `<|channel|>` in a body ends the message, which is complete. Other markers in a
//!   body are dropped.
//! - Inside a string of a call's JSON a marker is text, unless it ends the turn or came as a token:
//!   then the call is incomplete. A call is incomplete, too, if brackets are open at `<|return|>`,
//!   by which models don't end calls.
//! - A call is over with its JSON. Text behind it is read as if a message had ended there: it may
//!   be the next header without its markers.
//! - Text under a role other than the model's (a user's turn, a tool's result) is reasoning: it is
//!   neither the answer nor a call.

mod header;

use parser_sdk::json;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, Route, Tools, Trim, describe};

use header::{Header, Part, TOOL};

/// Markers, without their `<|` and `|>`.
const MARKERS: [&str; 8] = ["start", "end", "message", "channel", "constrain", "return", "call", "endoftext"];
const START: usize = 0;
const END: usize = 1;
const MESSAGE: usize = 2;
const CHANNEL: usize = 3;
const CONSTRAIN: usize = 4;
const RETURN: usize = 5;
const CALL: usize = 6;
const END_OF_TEXT: usize = 7;
/// Most bytes of a header that stay held when another of the header's markers comes; if there are
/// more, all are dropped.
const HELD: usize = 1024;

/// The parser of one stream.
#[derive(Debug)]
pub struct Harmony {
    tools: Tools,
    /// Header that is being read; `None` inside a body.
    header: Option<Header>,
    body: Body,
}

/// Where a message's text goes.
#[derive(Debug)]
enum Body {
    /// Reasoning or content; `Route::Drop` if no message is open.
    Prose(Route),
    Call(json::ArgumentsText),
    /// After the JSON of a call, which is closed.
    Called,
}

impl Parser for Harmony {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            markers: MARKERS.map(|name| format!("<|{name}|>")).into(),
            stops: vec![5, 6, 7],
            reasoning_end: Some("<|end|>".into()),
            trim: Trim::default(),
            ..describe!("harmony", ["gpt_oss"])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), header: header(END), body: Body::Prose(Route::Drop) })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let Some(header) = &mut self.header else { return self.body_text(chunk, 0, out) };
        if let Some(at) = header.push(chunk) {
            let text = header.read(false) + &chunk[at..];
            self.recover(&text, 0, false, out);
        }
        self.look_ahead(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        if let (None, Body::Call(arguments)) = (&self.header, &mut self.body)
            && (arguments.in_string() || (arguments.is_verbatim() && matches!(index, MESSAGE | CONSTRAIN)))
        {
            if !out.ends_strings() {
                return self.body_text(&format!("<|{}|>", MARKERS[index]), 0, out);
            }
            arguments.give_up(out);
            self.body = Body::Called;
        }
        let goes_on = matches!(index, MESSAGE | CHANNEL | CONSTRAIN);
        if let Some(header) = &mut self.header
            && (!goes_on || !header.has_begun())
        {
            let text = header.read(false);
            self.recover(&text, MARKERS[index].len() + 4, index == CALL, out);
            if matches!(index, RETURN | END_OF_TEXT) {
                self.break_off(out);
            }
        }
        match &mut self.header {
            None => self.body.marker(index, out),
            Some(header) if goes_on => {
                if let Some((words, behind)) = header.begin_part(part(index)) {
                    out.drop(out.held() - words - behind - MARKERS[index].len() - 4);
                    out.message("");
                    out.take(if header.is_foreign { Route::Reasoning } else { Route::Content }, words);
                    out.close();
                }
            }
            Some(_) => {}
        }
        if self.header.is_none() || !matches!(index, START | CHANNEL | CONSTRAIN) || out.held() > HELD {
            out.drop_all();
        }
        match &mut self.header {
            Some(_) if goes_on => {
                if index == MESSAGE {
                    self.open("", 0, true, out);
                }
            }
            None if matches!(index, MESSAGE | CONSTRAIN) => self.body_text("", 0, out),
            _ => (self.header, self.body) = (header(index), Body::Prose(Route::Drop)),
        }
        self.look_ahead(out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if let Some(header) = &mut self.header {
            let text = header.read(true);
            self.recover(&text, 0, false, out);
            self.break_off(out);
        }
        self.body.marker(if reason == FinishReason::Stop { END_OF_TEXT } else { CONSTRAIN }, out);
        out.drop_all();
    }
}

impl Harmony {
    /// Tells the host to hold a header up to its next marker. Where no marker of a header has come,
    /// prose is as likely.
    fn look_ahead(&self, out: &mut Output) {
        if self.header.as_ref().is_some_and(Header::has_begun) {
            out.hold_head(b"{");
        }
    }

    /// Opens the message of a header without `<|message|>`, whose body is `text`. The held bytes
    /// end with `text` and a marker of `tail` bytes.
    fn recover(&mut self, text: &str, tail: usize, is_call: bool, out: &mut Output) {
        let calls = is_call && self.header.as_ref().is_some_and(|header| self.callee(header).is_some());
        if calls || !text.is_empty() {
            out.drop(out.held() - text.len() - tail);
            self.open(text, tail, is_call || text.starts_with('{'), out);
        }
    }

    /// Reports a broken call if the turn ends in a header that names a tool.
    fn break_off(&self, out: &mut Output) {
        if self.header.as_ref().is_some_and(|header| self.callee(header).is_some()) {
            out.broken_call(0);
        }
    }

    /// Opens the header's message, whose body begins with `text`. The `keep` youngest held bytes
    /// stand after `text`.
    fn open(&mut self, text: &str, keep: usize, may_call: bool, out: &mut Output) {
        let Some(header) = self.header.take() else { return };
        if let Some((name, payload, mut arguments)) = self.callee(&header).filter(|_| may_call) {
            if header.has_words {
                arguments.mark_incomplete();
            }
            self.body = Body::Call(arguments);
            out.tool_call(name, payload);
        } else if header.is_foreign || header.channel == "analysis" {
            self.body = Body::Prose(Route::Reasoning);
        } else {
            self.body = Body::Prose(Route::Content);
            out.message(match header.channel {
                "commentary" => "commentary",
                "final" => "final",
                _ => "",
            });
        }
        self.body_text(text, keep, out);
    }

    /// Routes text of the body. The `keep` youngest held bytes stand after `text`. Behind the JSON
    /// of a call another header may follow; before a marker that was met already it is an answer.
    fn body_text(&mut self, text: &str, keep: usize, out: &mut Output) {
        let end = match &mut self.body {
            Body::Prose(route) => return out.flow(*route, keep),
            Body::Call(arguments) => arguments.text(text, keep, out),
            Body::Called => Some(0),
        };
        let Some(end) = end else { return };
        self.body = Body::Called;
        let surplus = json::surplus(&text[end..]);
        out.drop(surplus);
        let rest = &text[end + surplus..];
        if keep > 0 && !rest.is_empty() {
            out.message("");
            out.content(rest.len());
            self.body = Body::Prose(Route::Content);
        } else if !rest.is_empty() {
            (self.header, self.body) = (header(END), Body::Prose(Route::Drop));
            self.text(rest, out);
        }
    }

    /// The name and the payload of the tool that a header calls, and the reader of the call's
    /// arguments.
    fn callee(&self, header: &Header) -> Option<(String, Payload, json::ArgumentsText)> {
        let tools = &self.tools;
        if header.is_foreign {
            return None;
        }
        let is_tool = |name: &&String| name.starts_with(TOOL) || tools.contains(name);
        let name = header.recipient.as_ref().or(header.misplaced.as_ref().filter(is_tool))?;
        if name == "python" && !tools.contains(name) {
            return Some((name.clone(), Payload::Text, json::ArgumentsText::raw()));
        }
        let bare = name.strip_prefix(TOOL).filter(|bare| !bare.is_empty() && !tools.contains(name));
        let name = bare.unwrap_or(name);
        let payload = tools.payload(name);
        let is_raw = header.is_raw && payload == Payload::Text;
        Some((
            name.into(),
            payload,
            if is_raw { json::ArgumentsText::raw() } else { json::ArgumentsText::new(payload) },
        ))
    }
}

impl Body {
    /// Handles a marker in the body; the marker's bytes are held.
    fn marker(&mut self, index: usize, out: &mut Output) {
        match (self, index) {
            (Self::Call(arguments), MESSAGE | CONSTRAIN) => {
                arguments.release(out);
                arguments.interrupt();
            }
            (Self::Call(arguments), RETURN) if arguments.is_open() => arguments.release(out),
            (Self::Call(arguments), START | CHANNEL) if arguments.is_verbatim() => arguments.give_up(out),
            (Self::Call(arguments), START | CHANNEL | END) if arguments.is_open() => arguments.give_up(out),
            (Self::Call(arguments), END_OF_TEXT) => arguments.finish(out),
            (Self::Call(arguments), _) => arguments.close(out),
            (Self::Prose(_), MESSAGE | CONSTRAIN) | (Self::Prose(Route::Drop) | Self::Called, _) => {}
            (Self::Prose(_), _) => out.close(),
        }
    }
}

/// The header that begins with this marker, if one does.
fn header(index: usize) -> Option<Header> {
    let begun = matches!(index, START | CHANNEL | END);
    begun.then(|| Header::new(part(index)))
}

/// Part of a header that this marker begins.
fn part(index: usize) -> Part {
    match index {
        START => Part::Role,
        CHANNEL => Part::Channel,
        CONSTRAIN => Part::Type,
        _ => Part::Nothing,
    }
}

parser_sdk::export_parser!(Harmony);

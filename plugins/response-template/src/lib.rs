//! Parser that interprets the `response_template` of a model's `tokenizer_config.json`, the option
//! of that name (`table` reads it).
//!
//! Text goes to the region in which it stands. Text outside all regions goes to the field without
//! `open`, or is a message if the table has no such field. Inside a region of text the region's
//! close counts, a call, behind which the text goes on, and the close of the field without `open`,
//! which ends the turn. Calls are read as in other formats: JSON strings may contain delimiters,
//! names come from the object or from the header, and the tool's schema types parameters. A header
//! counts if its name may be a tool's ([`Tools::accepts`]); without its wrapper, or in a call that
//! is open, if it is a declared tool's, and then that call ends.
//!
//! A delimiter ends a parameter's value only if a key, the end of the call, another call or the end
//! of the turn follows, after white space and ends of elements (`</function>`, where the call
//! closes with `</tool_call>` alone). The end of the call, with the end of a block or without, ends a
//! value without its own end only if another region or the end of the turn follows. Otherwise they
//! are part of the value. Words that belong to nothing make their call incomplete, or are text behind a call
//! that is over. A call that the turn's end cuts off before its name is dropped as a broken call.
//! Empty regions are dropped. If the request declares no tools, calls are text.

mod dialect;
mod head;
mod in_call;
mod lines;
mod python;
mod region;
mod table;
mod values;
mod words;

use std::sync::Arc;

use parser_sdk::json::JsonCalls;
use parser_sdk::params::{Doubt, unquoted};
use parser_sdk::{Descriptor, FinishReason, LastOpening, Output, Parser, Request, Route, Tools};

use head::Head;
use in_call::InCall;
use table::{Found, Meaning, Place, Table, Within, are_ends};
use values::Items;

/// The state of one stream.
#[derive(Debug)]
pub struct ResponseTemplate {
    table: Table,
    tools: Tools,
    /// Index of the open region's field; `None` outside all regions.
    region: Option<usize>,
    /// Index of the field of text in whose region the open call stands.
    around: Option<usize>,
    /// Whether text outside all regions, of no field, has begun.
    in_words: bool,
    /// Held text before that, which may become a special token.
    before_words: String,
    /// Held text that may be a delimiter.
    head: Option<Head>,
    call: InCall,
    opening: LastOpening,
    /// Held close of a call inside a value, and white space behind it, while it is in doubt.
    closed: Option<Doubt>,
    items: Items,
}

impl Parser for ResponseTemplate {
    fn describe(options: &[(String, String)]) -> Result<Descriptor, String> {
        let table = Table::read(options)?;
        Ok(Descriptor {
            name: "response-template".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            grammar: Some(table.template()),
            reasoning_end: table.reasoning_end(),
            markers: table.markers.literals(),
            trim: table.trim,
            ..Descriptor::default()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let table = Table::read(&request.options)?.with_tokens(&request.token_markers);
        let tools = Tools::callable(request);
        Ok(Self {
            region: table.first,
            table,
            tools,
            around: None,
            in_words: false,
            before_words: String::new(),
            head: None,
            call: InCall::No,
            opening: LastOpening::None,
            closed: None,
            items: Items::default(),
        })
    }

    fn stream_descriptor(&self, _: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor { markers: self.table.markers.literals(), ..Descriptor::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        self.chunk(chunk, out);
        self.look_ahead(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        self.meet(index, out.ends_strings(), out);
        self.look_ahead(out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if self.finish_heads(out) {
            return;
        }
        self.release_words(out);
        self.settle_doubt(0, out);
        self.end_call(false, reason == FinishReason::Stop, 0, out);
    }
}

impl ResponseTemplate {
    /// Reads text, behind which nothing is held.
    fn chunk(&mut self, text: &str, out: &mut Output) {
        match self.head.take() {
            Some(mut head) => {
                head.text.push_str(text);
                self.decide(head, out);
            }
            None => self.body(text, out),
        }
    }

    /// Reads a marker, which [ends strings](Output::ends_strings) or doesn't.
    fn meet(&mut self, index: usize, ends_strings: bool, out: &mut Output) {
        let literal = Arc::clone(&self.table.markers.0[index]);
        if let Some(mut head) = self.head.take() {
            let before = head.text.len();
            let ends = self.table.announces(self.place(), index, true);
            head.push(index, &literal, ends_strings);
            let found = self.find(&mut head, false);
            let may_end = match found {
                Found::Delimiter(meaning, bytes, _) => meaning == Meaning::Close || bytes <= before,
                _ => false,
            };
            if !ends || may_end {
                return self.decided(found, head, out);
            }
            // A marker that ends the turn is not part of another delimiter.
            head.pop(before);
            out.hiding(literal.len(), |out| self.give_up(&head, out));
            return self.meet(index, ends_strings, out);
        }
        if ends_strings {
            self.call.end_string(literal.len(), out);
            if self.ends_delimited(index, out) {
                return;
            }
        }
        if self.closed.is_some() && !self.table.announces(self.place(), index, false) {
            out.hiding(literal.len(), |out| self.reopen(out));
        }
        if self.table.announces(self.place(), index, false) {
            out.hiding(literal.len(), |out| self.release_words(out));
            let mut head = Head::new(self.table.search(index));
            head.push(index, &literal, ends_strings);
            self.decide(head, out);
        } else if self.is_surplus_end(index) {
            out.hiding(literal.len(), |out| self.release_words(out));
            out.drop_all();
        } else if matches!(self.call, InCall::Lines(_)) && self.closed.is_none() {
            self.line(&literal, true, out);
        } else {
            self.body(&literal, out);
        }
    }

    /// Ends an open string of a dialect of JSON, and with it the call, at a marker that ends strings
    /// and may close the region. Returns whether it did.
    fn ends_delimited(&mut self, marker: usize, out: &mut Output) -> bool {
        let in_string = matches!(self.place().within, Within::Delimited(_) | Within::String);
        if !in_string || !matches!(self.call, InCall::Dialect(_)) {
            return false;
        }
        let outside = Place { within: Within::Dialect, ..self.place() };
        if !self.table.ends_strings(outside, marker) {
            return false;
        }
        out.drop(out.held());
        out.message("");
        self.leave_region();
        true
    }

    /// Whether a marker that counts for nothing here is the end of a call, where none is open, and
    /// markup.
    fn is_surplus_end(&self, marker: usize) -> bool {
        matches!(self.call, InCall::No)
            && !self.tools.is_empty()
            && self.table.ends_call(marker)
            && self.opening.drops(&self.table.markers.0[marker])
    }

    fn place(&self) -> Place<'_> {
        let within = if self.closed.is_some() { Within::Closed } else { self.call.within() };
        Place { region: self.region, within, tools: &self.tools }
    }

    /// Route of text around calls.
    fn prose(&self) -> Route {
        let field = self.around.or(self.table.implicit).map(|field| &self.table.fields[field]);
        field.map_or(Route::Content, |field| field.kind.route())
    }

    /// Acts on a delimiter, whose text is `written`. The `keep` youngest held bytes stand after the
    /// delimiter.
    fn act(&mut self, meaning: Meaning, group: &str, written: &str, keep: usize, out: &mut Output) {
        match meaning {
            Meaning::Open(_) | Meaning::OpenObject(_) => {
                self.leave_call(written.len() + keep, out);
                match meaning {
                    Meaning::Open(field) => self.open(field, unquoted(group), keep, out),
                    Meaning::OpenObject(field) => self.open_objects(field, keep, out),
                    _ => {}
                }
            }
            Meaning::Markup => out.drop(out.held() - keep),
            Meaning::Close if self.doubt_close(written) => {}
            Meaning::Close | Meaning::TurnEnd => self.close(meaning, written, keep, out),
            Meaning::Key => self.begin_value(group, keep, out),
            Meaning::ValueEnd => self.doubt_end(written, keep, out),
            Meaning::StringOpen(_) | Meaning::StringEnd => {
                if let InCall::Dialect(arguments) = &mut self.call {
                    arguments.delimiter(meaning, written.len(), keep, out);
                }
            }
        }
    }

    /// Routes text of the current region, behind which nothing is held.
    fn body(&mut self, text: &str, out: &mut Output) {
        match &mut self.closed {
            _ if text.is_empty() => {}
            Some(doubt) => {
                if !doubt.goes_on(text) {
                    self.reopen(out);
                }
            }
            None => self.read(text, out),
        }
    }

    /// Reads text of a call's lines, which `is_marker` or not, and behind which nothing is held.
    fn line(&mut self, text: &str, is_marker: bool, out: &mut Output) {
        if let InCall::Lines(arguments) = &mut self.call
            && !arguments.read(text, is_marker, out)
        {
            self.break_off(0, out);
        }
    }

    /// Routes text of the current region, behind which nothing is held.
    fn read(&mut self, text: &str, out: &mut Output) {
        match &mut self.call {
            InCall::No => self.words(text, out),
            InCall::Json(calls) => {
                if !calls.read(text.as_bytes(), &self.tools, out) {
                    out.until_marker(self.prose());
                }
            }
            InCall::Python(calls) => {
                if !calls.read(text, &self.tools, out) {
                    out.until_marker(self.prose());
                }
            }
            InCall::Lines(_) => self.line(text, false, out),
            InCall::Dialect(arguments) => {
                if let Some(read) = arguments.text(text, out) {
                    self.call = InCall::Json(JsonCalls::behind_arguments().in_prose(self.prose()));
                    self.body(&text[read..], out);
                }
            }
            InCall::Broken => out.until_marker(Route::Drop),
            InCall::Parameters(..) => self.before_parameters(text, out),
            InCall::Item(_, item) => {
                item.push(text);
                if item.is_decided() {
                    self.begin_item(0, out);
                }
            }
            InCall::Value(arguments, _) => arguments.text(text, 0, out),
            InCall::Ended(_, doubt) => {
                doubt.push(text);
                if doubt.is_long() || !are_ends(doubt.behind(), true) {
                    self.resume(0, out);
                }
            }
        }
    }

    /// Ends an open call or undecided text before the last `bytes` held bytes: at the region's
    /// close if it `is_closed`, else with the turn, which the model ended `by_itself` or not.
    fn end_call(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        let is_closed = is_closed || (self.closed.take().is_some() && by_itself);
        if is_closed {
            self.begin_item(bytes, out);
        }
        self.call.end(is_closed, by_itself, bytes, out);
    }
}

parser_sdk::export_parser!(ResponseTemplate);

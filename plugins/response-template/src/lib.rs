//! Parser that interprets the `response_template` of a model's `tokenizer_config.json`, the option
//! of that name (`table` reads it).
//!
//! Text goes to the region in which it stands. Text outside all regions goes to the field without
//! `open`, or is dropped if the table has no such field. Inside a region only the region's close
//! counts, and the close of the field without `open`, which ends the turn. Calls are read as in
//! other formats: JSON strings may contain delimiters, names come from the object or from the
//! header, and the tool's schema types parameters. A delimiter ends a parameter's value only if a
//! key, the end of the call or the end of the turn follows, after white space and ends of elements
//! (`</function>`, where the call closes with `</tool_call>` alone), or the end of the call after
//! any text of at most 48 bytes; otherwise the delimiter is part of the value. A call that the
//! turn's end cuts off before its name is dropped as a broken call. Empty regions are dropped. If
//! the request declares no tools, calls are text.

mod dialect;
mod in_call;
mod lines;
mod python;
mod table;
mod values;

use parser_sdk::json::Calls;
use std::sync::Arc;

use parser_sdk::params::ArgumentsWriter;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, Route, Tool, Tools};

use dialect::DialectArguments;
use in_call::InCall;
use lines::LineArguments;
use python::PythonCalls;
use table::{Found, Kind, Meaning, Place, Table, Within, are_ends};
use values::Items;

/// Longest text between the last parameter and the end of the call that is taken for markup, in
/// bytes: it is held meanwhile.
const TRAILING: usize = 48;

/// The state of one stream.
#[derive(Debug)]
pub struct ResponseTemplate {
    table: Table,
    tools: Tools,
    declared: Arc<[Tool]>,
    /// Index of the open region's field; `None` outside all regions.
    region: Option<usize>,
    /// Held text that may be a delimiter.
    head: Option<String>,
    call: InCall,
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
            markers: table.markers.0,
            trim: table.trim,
            ..Descriptor::default()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let table = Table::read(&request.options)?;
        let (tools, declared) = (Tools::callable(request), Arc::clone(&request.tools));
        Ok(Self {
            region: table.first,
            table,
            tools,
            declared,
            head: None,
            call: InCall::No,
            items: Items::default(),
        })
    }

    fn stream_descriptor(&self, _: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor { markers: self.table.markers.0.clone(), ..Descriptor::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match self.head.take() {
            Some(head) => self.decide(head + chunk, out),
            None => self.body(chunk, 0, out),
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = self.table.markers.0[index].clone();
        if self.head.is_none() && out.ends_strings() {
            self.call.end_string(literal.len(), out);
        }
        if self.ends_delimited(index, out) {
            return;
        }
        if let Some(head) = self.head.take() {
            let joined = format!("{head}{literal}");
            let ends = self.table.announces(self.place(), index, true);
            match self.table.find(self.place(), &joined, false) {
                Found::Delimiter(meaning, bytes, group) if bytes <= head.len() => {
                    self.act(meaning, group, &joined[..bytes], joined.len() - bytes, out);
                    self.body(&head[bytes..], literal.len(), out);
                }
                found @ Found::Delimiter(Meaning::Close, ..) => return self.settle(found, &joined, out),
                // A marker that ends the turn is not part of another delimiter.
                _ if ends => self.body(&head, literal.len(), out),
                found @ Found::Delimiter(..) => return self.settle(found, &joined, out),
                Found::Undecided => return self.head = Some(joined),
                Found::Text => self.body(&head, literal.len(), out),
            }
        }
        if self.table.announces(self.place(), index, false) {
            self.decide(literal, out);
        } else {
            self.body(&literal, 0, out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if let Some(head) = self.head.take() {
            let found = self.table.find(self.place(), &head, true);
            if found == Found::Text && self.table.begins_call(self.place(), &head) {
                return out.broken_call(0);
            }
            if let Found::Delimiter(Meaning::Key, ..) = found {
                return self.end_call(false, false, 0, out);
            }
            self.settle(found, &head, out);
        }
        self.settle_doubt(0, out);
        self.end_call(false, reason == FinishReason::Stop, 0, out);
    }
}

impl ResponseTemplate {
    /// Ends an open string between delimiters, and with it the call, at a marker that [ends
    /// strings](Output::ends_strings) and may close the region. Returns whether it did.
    fn ends_delimited(&mut self, marker: usize, out: &mut Output) -> bool {
        let Place { within: Within::Delimited(_), .. } = self.place() else { return false };
        let outside = Place { within: Within::Dialect, ..self.place() };
        if self.head.is_some() || !out.ends_strings() || !self.table.announces(outside, marker, false) {
            return false;
        }
        out.drop(out.held());
        out.message("");
        (self.region, self.call) = (None, InCall::No);
        true
    }

    fn place(&self) -> Place {
        Place { region: self.region, within: self.call.within(), may_call: !self.tools.is_empty() }
    }

    fn decide(&mut self, head: String, out: &mut Output) {
        match self.table.find(self.place(), &head, false) {
            Found::Undecided => self.head = Some(head),
            found => self.settle(found, &head, out),
        }
    }

    /// Acts on the held text `head`, which was found to be `found`.
    fn settle(&mut self, found: Found, head: &str, out: &mut Output) {
        let mut rest = head;
        if let Found::Delimiter(meaning, bytes, group) = found {
            rest = &head[bytes..];
            self.act(meaning, group, &head[..bytes], rest.len(), out);
        }
        self.body(rest, 0, out);
    }

    /// Acts on a delimiter, whose text is `written`. The `keep` youngest held bytes stand after the
    /// delimiter.
    fn act(&mut self, meaning: Meaning, group: String, written: &str, keep: usize, out: &mut Output) {
        match meaning {
            Meaning::Open(field) => self.open(field, group, keep, out),
            Meaning::MessageStart => out.drop(out.held() - keep),
            Meaning::Close | Meaning::TurnEnd => {
                if meaning == Meaning::TurnEnd {
                    self.settle_doubt(written.len() + keep, out);
                }
                let is_text = self.call.is_text();
                self.end_call(meaning == Meaning::Close, true, written.len() + keep, out);
                if is_text && meaning == Meaning::Close {
                    out.content(out.held() - keep);
                }
                out.drop(out.held() - keep);
                if matches!(self.call, InCall::No) {
                    out.close();
                } else if meaning == Meaning::TurnEnd {
                    // The item of a call that is still open ends here, incomplete, so that a later
                    // `close` doesn't complete it.
                    out.message("");
                }
                (self.region, self.call) = (None, InCall::No);
            }
            Meaning::Key => self.begin_value(&group, keep, out),
            Meaning::ValueEnd => self.doubt_end(written, keep, out),
            Meaning::StringOpen(_) | Meaning::StringEnd => {
                if let InCall::Dialect(arguments) = &mut self.call {
                    arguments.delimiter(meaning, written.len(), keep, out);
                }
            }
        }
    }

    fn open(&mut self, field: usize, name: String, keep: usize, out: &mut Output) {
        self.region = Some(field);
        self.items = Items::default();
        match &self.table.fields[field].kind {
            Kind::Content | Kind::Reasoning => {
                out.drop(out.held() - keep);
                out.close();
            }
            _ if self.tools.is_empty() => {
                self.call = InCall::Json(Calls::none());
                out.content(out.held() - keep);
            }
            Kind::Objects { path, name, arguments, .. } => {
                let calls = Calls::objects(out.held() - keep, name, arguments).within(path);
                self.call = InCall::Json(calls);
            }
            Kind::Dialect { bare_keys, .. } => {
                let payload = self.tools.payload(&name);
                self.call = InCall::Dialect(DialectArguments::new(payload, *bare_keys));
                out.drop(out.held() - keep);
                out.tool_call(name, payload);
            }
            Kind::Python => self.call = InCall::Python(PythonCalls::new()),
            Kind::Lines(spelling) => {
                let payload = self.tools.payload(&name);
                let arguments = ArgumentsWriter::new(&self.declared, &name, payload);
                self.call = InCall::Lines(LineArguments::new(arguments, spelling.clone()));
                out.drop(out.held() - keep);
                out.tool_call(name, payload);
            }
            Kind::Named(parameter) => {
                let payload = self.tools.payload(&name);
                self.call = match parameter {
                    None => InCall::Json(Calls::arguments(payload)),
                    Some(_) => InCall::Parameters(ArgumentsWriter::new(&self.declared, &name, payload)),
                };
                out.drop(out.held() - keep);
                out.tool_call(name, payload);
            }
        }
    }

    /// Routes text of the current region. The `keep` youngest held bytes stand after `text`.
    fn body(&mut self, text: &str, keep: usize, out: &mut Output) {
        if !text.is_empty() {
            out.hiding(keep, |out| self.read(text, out));
        }
    }

    /// Routes text of the current region, behind which nothing is held.
    fn read(&mut self, text: &str, out: &mut Output) {
        match &mut self.call {
            InCall::No => {
                let field = self.region.or(self.table.implicit).map(|field| &self.table.fields[field]);
                out.until_marker(field.map_or(Route::Drop, |field| field.kind.route()));
            }
            InCall::Json(calls) => {
                if !calls.read(text.as_bytes(), &self.tools, out) {
                    out.until_marker(Route::Content);
                }
            }
            InCall::Python(calls) => {
                if !calls.read(text, &self.tools, out) {
                    out.until_marker(Route::Content);
                }
            }
            InCall::Lines(arguments) => arguments.read(text, out),
            InCall::Dialect(arguments) => arguments.text(text, out),
            InCall::Parameters(_) => out.until_marker(Route::Drop),
            InCall::Item(_, item) => {
                item.push(text);
                if item.is_decided() {
                    self.begin_item(0, out);
                }
            }
            InCall::Value(arguments) => arguments.text(text, 0, out),
            InCall::Ended(_, doubt) => {
                doubt.push(text);
                let is_trailing = !are_ends(doubt.behind(), true);
                if doubt.is_long() || (is_trailing && doubt.behind().len() > TRAILING) {
                    self.resume(0, out);
                }
            }
        }
    }

    /// Ends an open call or undecided text before the last `bytes` held bytes: at the region's
    /// close if it `is_closed`, else with the turn, which the model ended `by_itself` or not.
    fn end_call(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        if is_closed {
            self.begin_item(bytes, out);
        }
        self.call.end(is_closed, by_itself, bytes, out);
    }
}

parser_sdk::export_parser!(ResponseTemplate);

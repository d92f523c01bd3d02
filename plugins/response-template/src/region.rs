//! The beginning and the end of regions.
//!
//! Invariant: behind a call the text goes on in whose region the call stood.

use parser_sdk::json::JsonCalls;
use parser_sdk::params::{ArgumentsWriter, Doubt};
use parser_sdk::{LastOpening, Output};

use crate::ResponseTemplate;
use crate::dialect::DialectArguments;
use crate::in_call::InCall;
use crate::lines::LineArguments;
use crate::python::PythonCalls;
use crate::table::{Kind, Meaning};
use crate::values::Items;

impl ResponseTemplate {
    /// Closes the region, or ends the turn.
    pub(crate) fn close(&mut self, meaning: Meaning, written: &str, keep: usize, out: &mut Output) {
        let ends_turn = meaning == Meaning::TurnEnd;
        if ends_turn {
            self.settle_doubt(written.len() + keep, out);
        }
        let is_text = self.call.is_text();
        self.end_call(!ends_turn, true, written.len() + keep, out);
        if is_text {
            self.opening = LastOpening::Prose;
        }
        if is_text && !ends_turn {
            out.take(self.prose(), out.held() - keep);
        }
        out.drop(out.held() - keep);
        if matches!(self.call, InCall::No) {
            out.close();
        } else if ends_turn {
            // The item of a call that is still open ends here, incomplete, so that a later `close`
            // doesn't complete it.
            out.message("");
        }
        self.leave_region();
        if ends_turn {
            self.region = None;
        } else if keep == 0
            && let Some(field) = self.region.or(self.table.implicit)
        {
            out.until_marker(self.table.fields[field].kind.route());
        }
    }

    /// Goes on with the text around the region.
    pub(crate) fn leave_region(&mut self) {
        (self.region, self.call, self.in_words) = (self.around.take(), InCall::No, false);
    }

    /// Ends the call that is open before another region, whose opening begins at the last `bytes`
    /// held bytes.
    pub(crate) fn leave_call(&mut self, bytes: usize, out: &mut Output) {
        match self.closed.take() {
            Some(_) => self.end_call(true, true, bytes, out),
            None if matches!(self.call, InCall::No) => return,
            None => self.call.leave(bytes, out),
        }
        self.leave_region();
    }

    pub(crate) fn open(&mut self, field: usize, name: &str, keep: usize, out: &mut Output) {
        self.items = Items::default();
        self.in_words = false;
        let kind = &self.table.fields[field].kind;
        if !kind.is_text() {
            (self.around, self.opening) = (self.region, LastOpening::Call);
        }
        self.region = Some(field);
        let prose = self.prose();
        match kind {
            Kind::Content | Kind::Reasoning => {
                out.drop(out.held() - keep);
                out.close();
            }
            Kind::Objects { path, name, arguments, .. } => {
                let calls = JsonCalls::objects(out.held() - keep, name, arguments).within(path);
                self.call = InCall::Json(calls.in_prose(prose));
            }
            Kind::Python => self.call = InCall::Python(PythonCalls::new(prose)),
            Kind::Dialect { .. } | Kind::Lines(_) | Kind::Named(_) => {
                self.call = self.named(field, name);
                out.drop(out.held() - keep);
                let payload = self.tools.payload(name);
                out.tool_call(name, payload);
            }
        }
    }

    /// The inside of a call whose name stands in its header.
    fn named(&self, field: usize, name: &str) -> InCall {
        let payload = self.tools.payload(name);
        let arguments = || ArgumentsWriter::new(&self.tools, name);
        match &self.table.fields[field].kind {
            Kind::Dialect { bare_keys, .. } => InCall::Dialect(DialectArguments::new(payload, *bare_keys)),
            Kind::Lines(spelling) => InCall::Lines(LineArguments::new(arguments(), spelling.clone())),
            Kind::Named(Some(_)) => InCall::Parameters(arguments(), Doubt::default()),
            _ => InCall::Json(JsonCalls::arguments(payload).in_prose(self.prose())),
        }
    }

    /// Opens a region with an object where a call's name should stand.
    pub(crate) fn open_objects(&mut self, field: usize, keep: usize, out: &mut Output) {
        (self.around, self.region) = (self.region, Some(field));
        self.opening = LastOpening::Call;
        let calls = JsonCalls::objects(out.held() - keep, "name", "arguments");
        self.call = InCall::Json(calls.in_prose(self.prose()));
    }
}

//! Calls that are JSON, between the tags of a call.

use super::{CALL_END, K2Horizon, MARKERS, State, mark};
use parser_sdk::Output;
use parser_sdk::json::JsonCalls;
use parser_sdk::params::CallMark;

impl K2Horizon {
    /// Begins JSON, of which `body` is held.
    pub(super) fn begin_json(&mut self, body: &str, out: &mut Output) {
        let calls = JsonCalls::objects(out.held() - body.len(), "name", "arguments");
        calls.hold_head(out);
        self.state = State::Json(calls.in_prose(self.calls.prose.route()).into());
        self.read_json(body, out);
    }

    /// Reads text of the JSON, or words behind it.
    pub(super) fn read_json(&mut self, text: &str, out: &mut Output) {
        if let State::Json(calls) = &mut self.state
            && !calls.read(text.as_bytes(), &self.calls.tools, out)
        {
            if calls.is_text() {
                self.release_as_prose(0, out);
            }
            self.calls.prose.flow(out);
        }
    }

    /// Whether a marker is part of the JSON, or its end. Another one ends it, too.
    pub(super) fn json_takes(&mut self, index: usize, out: &mut Output) -> bool {
        let State::Json(calls) = &mut self.state else { return false };
        let (is_end, literal) = (index == CALL_END, MARKERS[index]);
        match (calls.in_string(), out.ends_strings()) {
            (true, false) => {
                self.read_json(literal, out);
                return true;
            }
            (true, true) if is_end => calls.end_string(out),
            _ => {}
        }
        self.end_json(is_end, mark(index) == CallMark::Stop, literal.len(), out);
        if is_end {
            self.calls.prose.drop_markup(out);
        } else {
            // The item of the call ends here, complete or not, so that a later `close` doesn't
            // complete it.
            out.message("");
        }
        is_end
    }

    /// Ends the JSON at the call's own end or, unless it `is_closed`, with the turn, which the model
    /// ended `by_itself` or not. The `keep` youngest bytes stay held.
    pub(super) fn end_json(&mut self, is_closed: bool, by_itself: bool, keep: usize, out: &mut Output) {
        if let State::Json(mut calls) = std::mem::replace(&mut self.state, State::Between) {
            calls.end(is_closed, by_itself, keep, out);
            self.calls.prose.called();
            self.enter_block();
        }
    }
}

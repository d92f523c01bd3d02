//! Parser of a small format with all kinds of routes, which routes alike however its text is cut,
//! as a correct parser does.

use super::format::{LITERALS, bytes, call};
use contract::{Fault, FinishReason, HoldUntil, Op, Route, Step, StreamParser, Until};

/// Parser of a small format: `<r>reasoning</r>`, `<c>name:arguments</c>`; the name's first letter
/// decides how arguments are routed. It routes alike however the text is cut. `style` is the form
/// of its answers: 0 in runs, 1 with `pass`, 2 with `until-marker`, 3 with `until-byte`; 2 and 3
/// hold a call's head with `hold-until`.
pub(super) struct Tags {
    style: u8,
    held: String,
    state: State,
    last: Option<Route>,
    prose: Route,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Prose,
    Header,
    Arguments(Route),
}

impl Tags {
    pub(super) fn new(style: u8) -> Self {
        Self { style, held: String::new(), state: State::Prose, last: None, prose: Route::Content }
    }

    fn all(&mut self, route: Route, ops: &mut Vec<Op>) {
        let length = u32::try_from(self.held.len()).expect("a short text");
        self.held.clear();
        self.last = Some(route);
        ops.push(bytes(route, length));
    }

    /// Routes all held text, in the parser's style.
    fn flow(&mut self, route: Route, mut ops: Vec<Op>) -> Step {
        let goes_on = ops.is_empty() && self.last == Some(route) && self.style == 1;
        self.all(route, &mut ops);
        if goes_on {
            return Step::Pass;
        }
        match self.style {
            2 => ops.push(Op::UntilMarker(route)),
            3 => ops.push(Op::UntilByte(Until { route, bytes: "a\"!".into() })),
            _ => {}
        }
        Step::Ops(ops)
    }

    /// Holds what may be the head of a call.
    fn hold(&self) -> Step {
        let hold = HoldUntil { ends: [b':', 0, 0, 0], at_most: 5 };
        match self.style {
            0 | 1 => Step::Hold,
            2 => Step::HoldUntil(hold),
            _ => Step::Ops(vec![Op::HoldUntil(hold)]),
        }
    }

    fn header(&mut self) -> Step {
        let Some(colon) = self.held.find(':') else { return self.hold() };
        let name = self.held[LITERALS[2].len()..colon].to_owned();
        if name.is_empty() {
            self.state = State::Prose;
            return self.flow(self.prose, vec![]);
        }
        let route = match name.as_bytes()[0] {
            b'e' => Route::ArgumentsEscaped,
            b'u' => Route::ArgumentsUnescaped,
            _ => Route::Arguments,
        };
        self.state = State::Arguments(route);
        self.held.drain(..=colon);
        let head = [call(&name), bytes(Route::Drop, u32::try_from(colon + 1).expect("a short text"))];
        self.flow(route, head.into())
    }
}

impl StreamParser for Tags {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        self.held += chunk;
        Ok(match self.state {
            State::Prose => self.flow(self.prose, vec![]),
            State::Header => self.header(),
            State::Arguments(route) => self.flow(route, vec![]),
        })
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        self.held += LITERALS[index as usize];
        let mut ops = vec![];
        match (self.state, index) {
            (State::Arguments(_), 3 | 4) => {
                self.all(Route::Drop, &mut ops);
                ops.push(Op::Close);
                ops.extend((index == 4).then_some(Op::Message("final".into())));
                self.state = State::Prose;
            }
            (State::Arguments(route), 0..=2) => return Ok(self.flow(route, ops)),
            (State::Header, 0..=4) => {
                self.state = State::Prose;
                return Ok(self.flow(self.prose, ops));
            }
            (State::Prose, 2) => {
                self.state = State::Header;
                return Ok(self.hold());
            }
            _ => {
                self.all(Route::Drop, &mut ops);
                ops.extend((index == 1).then_some(Op::Close));
                (self.state, self.prose) =
                    (State::Prose, if index == 0 { Route::Reasoning } else { Route::Content });
            }
        }
        Ok(if ops.is_empty() { Step::Hold } else { Step::Ops(ops) })
    }

    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }
}

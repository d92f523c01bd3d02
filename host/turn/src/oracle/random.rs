//! Parsers that answer at random: one within the contract, one that ignores it.

use std::sync::{Arc, Mutex};

use seeded::SplitMix64;

use super::format::{LITERALS, bytes, call};
use contract::{
    Fault, FinishReason, HoldUntil, InString, JsonRest, Note, Op, ParameterValue, Reading, Route, Segment,
    Step, StreamParser, Until,
};

/// Parser that routes what it holds at random, always within the contract, and notes the text that
/// must come out.
pub(super) struct ConformingParser {
    choices: SplitMix64,
    held: String,
    call: bool,
    expected: Arc<Mutex<String>>,
}

impl ConformingParser {
    pub(super) fn new(seed: u64, expected: Arc<Mutex<String>>) -> Self {
        Self { choices: SplitMix64::new(seed), held: String::new(), call: false, expected }
    }

    fn step(&mut self, chunk: &str) -> Step {
        self.held += chunk;
        let ops: Vec<Op> = (0..self.choices.below(6)).map(|_| self.op()).collect();
        Step::Ops(ops)
    }

    fn op(&mut self) -> Op {
        match self.choices.below(12) {
            0 => {
                self.call = true;
                call("weather")
            }
            1 => {
                self.call = false;
                Op::Close
            }
            2 => {
                self.call = false;
                Op::Message("commentary".into())
            }
            3 if self.call => {
                self.expected.lock().expect("nothing panics with it").push('~');
                Op::DerivedArguments("~".into())
            }
            choice => self.run(choice),
        }
    }

    fn run(&mut self, choice: usize) -> Op {
        let end = self.choices.below(self.held.len() + 1);
        let taken: String = self.held.drain(..self.held.floor_char_boundary(end)).collect();
        let route = match choice % 4 {
            0 => Route::Drop,
            1 => Route::Reasoning,
            2 if self.call => Route::Arguments,
            _ => Route::Content,
        };
        if route != Route::Drop {
            self.expected.lock().expect("nothing panics with it").push_str(&taken);
            self.call &= route == Route::Arguments || taken.is_empty();
        }
        bytes(route, u32::try_from(taken.len()).expect("a short text"))
    }
}

impl StreamParser for ConformingParser {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        Ok(self.step(chunk))
    }
    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        Ok(self.step(LITERALS[index as usize]))
    }
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        let step = self.step("");
        self.expected.lock().expect("nothing panics with it").push_str(&self.held);
        Ok(step)
    }
}

/// Parser that answers anything at all.
pub(super) struct ArbitraryParser(pub(super) SplitMix64);

impl ArbitraryParser {
    fn step(&mut self) -> Result<Step, Fault> {
        Ok(match self.0.below(24) {
            0 => Step::Fault("enough".into()),
            1 => return Err(Fault::new("arbitrary", "trapped")),
            2..6 => Step::Pass,
            6..8 => Step::Hold,
            8 => Step::HoldUntil(self.hold()),
            _ => Step::Ops((0..self.0.below(5)).map(|_| self.op()).collect()),
        })
    }

    fn op(&mut self) -> Op {
        let name = ["", "a", "weather", "weather", "weather"][self.0.below(5)];
        match self.0.below(24) {
            0 => Op::Close,
            1 => Op::Message("final".into()),
            2 => Op::BrokenCall,
            3 => call(name),
            4 => Op::DerivedArguments("~".repeat(self.0.below(300))),
            5 | 6 => Op::UntilMarker(self.route()),
            7 => {
                let bytes = ["a:", "\"\\", "", "é", " <>!\n"][self.0.below(5)].to_owned();
                Op::UntilByte(Until { route: self.route(), bytes: bytes.into() })
            }
            8 => {
                use InString::{AfterBackslash, No, Yes};
                let in_string = [No, Yes, AfterBackslash][self.0.below(3)];
                let depth = [0, 1, 2][self.0.below(3)];
                Op::UntilJson(JsonRest { route: self.route(), depth, in_string })
            }
            9 => Op::HoldUntil(self.hold()),
            10..14 => Op::Parameter(self.parameter()),
            14 => Op::ParameterEnd,
            15 => Op::Note(Note { name: ["", "note"][self.0.below(2)].into(), data: name.into() }),
            _ => bytes(self.route(), u32::try_from(self.0.below(5)).expect("below 5")),
        }
    }

    fn hold(&mut self) -> HoldUntil {
        let ends = [[0; 4], [b':', 0, 0, 0], [b'<', b'>', b'a', 0], [0, 0x80, 0, 0]][self.0.below(4)];
        HoldUntil { ends, at_most: [0, 1, 4, 512, 513][self.0.below(5)] }
    }

    fn parameter(&mut self) -> ParameterValue {
        let reading = [Reading::Declared, Reading::Text, Reading::Json][self.0.below(3)];
        ParameterValue { path: (0..self.0.below(4)).map(|_| self.segment()).collect(), reading }
    }

    fn segment(&mut self) -> Segment {
        let name = ["a", "", "\"é"][self.0.below(3)].to_owned();
        let index = u32::try_from(self.0.below(3)).expect("below 3");
        match self.0.below(3) {
            0 => Segment::Key(name),
            1 => Segment::Item(index),
            _ => Segment::Element { name, index },
        }
    }

    fn route(&mut self) -> Route {
        use Route::{Arguments, ArgumentsEscaped, ArgumentsUnescaped, Content, Drop, Reasoning, Value};
        let arguments = [Arguments, ArgumentsEscaped, ArgumentsUnescaped, Value, Value][self.0.below(5)];
        [Content, Reasoning, Drop, arguments, arguments][self.0.below(5)]
    }
}

impl StreamParser for ArbitraryParser {
    fn text(&mut self, _: &str) -> Result<Step, Fault> {
        self.step()
    }
    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        self.step()
    }
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        self.step()
    }
}

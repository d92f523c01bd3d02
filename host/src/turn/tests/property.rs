//! Properties of whole turns: no cutting of the stream changes the items, and no parser breaks them.

use super::*;
use proptest::prelude::*;
use std::sync::Mutex;

/// A small format: `<r>reasoning</r>`, `<c>name:arguments</c>`; the name's first letter says how arguments are routed.
/// It answers alike however the text is cut; `style` is how it says so: 0 in runs, 1 with `pass`, 2 with `until-marker`.
struct Tags {
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
    fn new(style: u8) -> Self {
        Self { style, held: String::new(), state: State::Prose, last: None, prose: Route::Content }
    }

    fn all(&mut self, route: Route, ops: &mut Vec<Op>) {
        let length = u32::try_from(self.held.len()).unwrap();
        self.held.clear();
        self.last = Some(route);
        ops.push(bytes(route, length));
    }

    /// Routes all that is held, in the parser's style.
    fn flow(&mut self, route: Route, mut ops: Vec<Op>) -> Step {
        let goes_on = ops.is_empty() && self.last == Some(route) && self.style == 1;
        self.all(route, &mut ops);
        if goes_on {
            return Step::Pass;
        }
        if self.style == 2 {
            ops.push(Op::UntilMarker(route));
        }
        Step::Ops(ops)
    }

    fn header(&mut self) -> Step {
        let Some(colon) = self.held.find(':') else { return Step::Hold };
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
        let head = [call(&name), bytes(Route::Drop, u32::try_from(colon + 1).unwrap())];
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
                ops.extend((index == 4).then_some(Op::Message(Phase::Final)));
                self.state = State::Prose;
            }
            (State::Arguments(route), 0..=2) => return Ok(self.flow(route, ops)),
            (State::Header, 0..=4) => {
                self.state = State::Prose;
                return Ok(self.flow(self.prose, ops));
            }
            (State::Prose, 2) => self.state = State::Header,
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

const FRAGMENTS: [&str; 28] = [
    "<r>", "</r>", "<c>", "</c>", "</c>!", "<end>", "<", "</", "<c", "r>", "!", ">", " ", "\n", "é", "😀",
    "\u{2003}", "a", "v:", "e:", "u:", "\\", "\"", "\\u00", "e9", "weather:", ":", "{}",
];

fn stream() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 0..24)
        .prop_map(|fragments| fragments.concat())
}

/// Sizes to cut by, used in turn.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..6, 1..5)
}

/// Cuts at any byte. As from a detokenizer, a character comes with its last byte.
fn cut<'a>(text: &'a str, sizes: &[usize]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut end, mut told) = (0, 0);
    for size in sizes.iter().cycle() {
        if told == text.len() {
            return pieces;
        }
        end = text.len().min(end + size);
        let whole = text.floor_char_boundary(end);
        pieces.push(Piece { id: Some(1), text: &text[told..whole] });
        told = whole;
    }
    pieces
}

/// The same text as tokens of which markers are one each.
fn tokenized<'a>(text: &'a str, sizes: &[usize]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut told, mut at) = (0, 0);
    while at < text.len() {
        let longest = LITERALS
            .iter()
            .filter(|literal| text[at..].starts_with(**literal))
            .max_by_key(|found| found.len());
        let Some(literal) = longest else {
            at = text.ceil_char_boundary(at + 1);
            continue;
        };
        pieces.extend(cut(&text[told..at], sizes));
        pieces.push(Piece { id: ids(literal), text: literal });
        at += literal.len();
        told = at;
    }
    pieces.extend(cut(&text[told..], sizes));
    pieces
}

/// Replays `prompt`, then feeds `pieces` in groups; asserts that nothing went wrong in the turn itself.
fn driven(
    mut turn: Turn,
    prompt: &[Piece<'_>],
    pieces: &[Piece<'_>],
    groups: &[usize],
) -> (Vec<Item>, TurnEnd, Turn) {
    let mut out = Vec::new();
    let mut all = Vec::new();
    let mut rest = pieces;
    let _ = turn.replay(prompt, &mut out);
    for size in groups.iter().cycle() {
        let (step, later) = rest.split_at((*size).min(rest.len()));
        let _ = turn.step(step, &mut out);
        all.append(&mut out);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let end = turn.finish(FinishReason::Stop, None, &mut all);
    let tokens = turn.tokens();
    let counted = tokens.reasoning + tokens.content + tokens.arguments + tokens.dropped;
    assert_eq!(counted as usize, pieces.iter().filter(|piece| piece.id.is_some()).count());
    assert!(turn.fault().is_some() || failure_code(&end) != "server_error", "{end:?}");
    (fold(all).unwrap(), end, turn)
}

fn tags(style: u8, by_id: bool, trim: bool) -> Turn {
    let settings = if trim { trimming() } else { settings() };
    let table = MarkerTable::new(&literals(&LITERALS), |literal| by_id.then(|| ids(literal))?).unwrap();
    Turn::new(TurnSettings { markers: Arc::new(table), ..settings }, Box::new(Tags::new(style)))
}

/// A source of choices that a seed determines (xorshift).
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Routes what it holds at random, always within the contract, and notes the text that must come out.
struct Lawful {
    choices: Choices,
    held: String,
    call: bool,
    said: Arc<Mutex<String>>,
}

impl Lawful {
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
                Op::Message(Phase::Commentary)
            }
            3 if self.call => {
                self.said.lock().unwrap().push('~');
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
            self.said.lock().unwrap().push_str(&taken);
            self.call &= route == Route::Arguments || taken.is_empty();
        }
        bytes(route, u32::try_from(taken.len()).unwrap())
    }
}

impl StreamParser for Lawful {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        Ok(self.step(chunk))
    }
    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        Ok(self.step(LITERALS[index as usize]))
    }
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        let step = self.step("");
        self.said.lock().unwrap().push_str(&self.held);
        Ok(step)
    }
}

/// Answers anything at all.
struct Lawless(Choices);

impl Lawless {
    fn step(&mut self) -> Result<Step, Fault> {
        Ok(match self.0.below(24) {
            0 => Step::Fault("enough".into()),
            1 => return Err(Fault { parser: "lawless".into(), reason: "trapped".into() }),
            2..6 => Step::Pass,
            6..9 => Step::Hold,
            _ => Step::Ops((0..self.0.below(5)).map(|_| self.op()).collect()),
        })
    }

    fn op(&mut self) -> Op {
        let name = ["", "a", "weather", "weather", "weather"][self.0.below(5)];
        match self.0.below(16) {
            0 => Op::Close,
            1 => Op::Message(Phase::Final),
            2 | 3 => call(name),
            4 => Op::DerivedArguments("~".repeat(self.0.below(300))),
            5 | 6 => Op::UntilMarker(self.route()),
            _ => bytes(self.route(), u32::try_from(self.0.below(5)).unwrap()),
        }
    }

    fn route(&mut self) -> Route {
        use Route::{Arguments, ArgumentsEscaped, ArgumentsUnescaped, Content, Drop, Reasoning};
        [Content, Content, Reasoning, Reasoning, Drop, Drop, Arguments, ArgumentsEscaped, ArgumentsUnescaped]
            [self.0.below(9)]
    }
}

impl StreamParser for Lawless {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cutting_any_grouping_and_markers_by_id_or_text_give_the_same_items(
        prompt in stream(), text in stream(), (a, b, groups) in (sizes(), sizes(), sizes()),
        style in 0_u8..3, trim in any::<bool>(),
    ) {
        let prompt = prompt + "\n";
        let whole = |text| [Piece { id: None, text }];
        let (items, end, _) = driven(tags(0, false, trim), &whole(&prompt), &whole(&text), &[1]);
        let by_text = driven(tags(style, false, trim), &cut(&prompt, &a), &cut(&text, &b), &groups);
        prop_assert_eq!((&by_text.0, &by_text.1), (&items, &end));
        prop_assert_eq!(by_text.2.fault(), None);
        let by_id = driven(tags(style, true, trim), &tokenized(&prompt, &a), &tokenized(&text, &b), &groups);
        prop_assert_eq!((&by_id.0, &by_id.1), (&items, &end));
        prop_assert_eq!(by_id.2.fault(), None);
    }

    #[test]
    fn all_that_a_lawful_parser_does_not_drop_comes_out_once_and_in_order(
        text in stream(), (a, groups) in (sizes(), sizes()), seed in 1_u64..,
    ) {
        let said = Arc::new(Mutex::new(String::new()));
        let parser = Lawful { choices: Choices(seed), held: String::new(), call: false, said: said.clone() };
        let (items, _, turn) = driven(Turn::new(settings(), Box::new(parser)), &[], &cut(&text, &a), &groups);
        prop_assert_eq!(turn.fault(), None);
        let told: String = items.into_iter().map(|item| item.text).collect();
        prop_assert_eq!(&told, &*said.lock().unwrap());
    }

    #[test]
    fn whatever_a_parser_answers_the_turn_is_well_formed(
        prompt in stream(), text in stream(), (a, groups) in (sizes(), sizes()), seed in 1_u64..,
        trim in any::<bool>(), fail in any::<bool>(),
    ) {
        let settings = TurnSettings {
            fault_policy: if fail { FaultPolicy::Fail } else { FaultPolicy::Continue },
            held_bytes: 16,
            ..if trim { trimming() } else { settings() }
        };
        let turn = Turn::new(settings, Box::new(Lawless(Choices(seed))));
        let (items, end, turn) = driven(turn, &cut(&prompt, &a), &cut(&text, &a), &groups);
        let failed = failure_code(&end);
        prop_assert!(failed != "server_error" || turn.fault().is_some());
        let whole = |item: &Item| item.status == ItemStatus::Completed;
        let cut_off = items.iter().filter(|item| !whole(item) && !matches!(item.head, ItemHead::ToolCall { .. }));
        prop_assert!(!failed.is_empty() || cut_off.count() == 0);
    }
}

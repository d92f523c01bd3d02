//! Schemas and grammars that are made to be expensive: each is refused with a reason, or its masks
//! stay within llguidance's limits.
//!
//! Grammars are compiled and masks are computed as in the server, over the embedded model's
//! vocabulary or another (`SLUICE_TOKENIZER`). The times are printed; no test depends on them.
#![expect(clippy::print_stdout, reason = "what it took is worth knowing")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::ToolKind;
use engine::{MaskError, TokenMask};
use grammar::{CallForm, Demand, MarkerTokens, TextGrammar, ToolDefinition};
use mask::{Grammars, MaskStart};
use prompt::Tokenizer;
use seeded::SplitMix64;
use serde_json::{Map, Value, json};
use tests::grammars::{compile, grammars};

use super::format;

const EMBEDDED: &[u8] = include_bytes!("../../../host/models/qwen3-tiny/tokenizer.json");
/// Variable that names the file of another tokenizer.
const TOKENIZER: &str = "SLUICE_TOKENIZER";
/// Maximum number of tokens in a walk.
const STEPS: usize = 120;

/// Result of a request's constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Refused(String),
    Followed,
    /// A mask fails during the walk, at a limit.
    Stopped,
}

struct Server {
    tokenizer: Arc<Tokenizer>,
    grammars: Grammars,
}

impl Server {
    fn new() -> Self {
        let json = std::env::var_os(TOKENIZER).map(|file| std::fs::read(file).expect("a tokenizer"));
        let tokenizer =
            Arc::new(Tokenizer::from_json(json.as_deref().unwrap_or(EMBEDDED)).expect("a tokenizer"));
        Self { grammars: grammars(&tokenizer), tokenizer }
    }

    /// Compiles the request's grammar; the error is the reason why it is refused.
    fn start(&self, request: &Demand) -> Result<MaskStart, String> {
        let qwen3 = format("qwen3");
        let descriptor = qwen3.descriptor();
        let ids: Vec<_> = descriptor.markers.iter().map(|text| self.tokenizer.token_id(text)).collect();
        let tokens = MarkerTokens { ids: &ids, inner: &[], stops: &descriptor.stops };
        let grammar = qwen3.template().compose(request, tokens).map_err(|error| error.to_string())?;
        let grammar = grammar.expect("a demand has a grammar");
        let stops = Arc::from([self.tokenizer.token_id("<|im_end|>").expect("a stop")]);
        let compiled = compile(&self.grammars, &grammar).map_err(|error| error.to_string())?;
        compiled.start(&[], &stops).map_err(|error| error.to_string())
    }

    /// Walks at random, taking markers only where nothing else is allowed. Returns the result and
    /// the time of the slowest mask.
    fn walk(&self, start: &MaskStart, seed: u64) -> (Outcome, Duration) {
        let (mut mask, mut random, mut slowest) = (start.mask(), SplitMix64::new(seed), Duration::ZERO);
        for _ in 0..STEPS {
            let mut allowed = vec![u32::MAX; self.tokenizer.vocab_size().div_ceil(32)];
            let began = Instant::now();
            let applied = mask.apply(&mut allowed);
            slowest = slowest.max(began.elapsed());
            if let Err(error) = applied {
                return (stopped(&error), slowest);
            }
            let ids: Vec<u32> =
                (0..).take(self.tokenizer.vocab_size()).filter(|id| has(&allowed, *id)).collect();
            assert!(!ids.is_empty(), "a dead end");
            let text: Vec<u32> =
                ids.iter().copied().filter(|id| self.tokenizer.added_token(*id).is_none()).collect();
            let among = if text.is_empty() { &ids } else { &text };
            let id = among[random.below(among.len())];
            let began = Instant::now();
            let advanced = mask.advance(id);
            slowest = slowest.max(began.elapsed());
            if let Err(error) = advanced {
                return (stopped(&error), slowest);
            }
            if self.tokenizer.added_token(id).is_some() {
                break;
            }
        }
        (Outcome::Followed, slowest)
    }

    /// Compiles the request's grammar and walks through it several times.
    fn outcome(&self, name: &str, request: &Demand) -> Outcome {
        let began = Instant::now();
        let start = self.start(request);
        let compiled = began.elapsed();
        let start = match start {
            Ok(start) => start,
            Err(reason) => {
                assert!(!reason.trim().is_empty() && reason.lines().count() == 1, "{name}: {reason:?}");
                println!("{name:<40}{compiled:>10.1?}  refused: {reason:.90}");
                return Outcome::Refused(reason);
            }
        };
        let walks = (0..4).map(|seed| self.walk(&start, seed));
        let (outcome, slowest) =
            walks.fold((Outcome::Followed, Duration::ZERO), |(so_far, slowest), (outcome, mask)| {
                (if outcome == Outcome::Stopped { outcome } else { so_far }, slowest.max(mask))
            });
        println!("{name:<40}{compiled:>10.1?}{slowest:>10.1?}  {outcome:?}");
        outcome
    }
}

fn has(mask: &[u32], id: u32) -> bool {
    mask[id as usize / 32] & 1 << (id % 32) != 0
}

/// Checks that a mask failed at one of llguidance's limits, for which alone it may fail during a
/// walk.
fn stopped(error: &MaskError) -> Outcome {
    assert!(matches!(error, MaskError::TooComplex(_)), "{error}");
    Outcome::Stopped
}

fn schema(schema: &Value) -> Demand {
    Demand { response_schema: Some(schema.to_string()), ..Demand::default() }
}

fn pattern(pattern: &str) -> Demand {
    schema(&json!({"type": "string", "pattern": pattern}))
}

fn grammar(syntax: &str, definition: impl Into<String>) -> Demand {
    let grammar = TextGrammar { syntax: syntax.to_owned(), definition: definition.into() };
    Demand { response_grammar: Some(grammar), ..Demand::default() }
}

fn nested(levels: usize, leaf: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(leaf, |inner, _| wrap(inner))
}

fn object(properties: impl Iterator<Item = (String, Value)>) -> Value {
    json!({"type": "object", "properties": properties.collect::<Map<_, _>>(), "additionalProperties": false})
}

fn schemas() -> Vec<(&'static str, Demand)> {
    let word = |at: usize| format!("value {at} {}", "x".repeat(at % 7));
    let integer = || json!({"type": "integer"});
    let part = |at: usize| {
        object([(format!("kind_{at}"), json!({"const": at})), ("v".into(), integer())].into_iter())
    };
    let list = |inner| json!({"type": "array", "items": inner});
    let own = |inner| object([("a".to_owned(), inner)].into_iter());
    let either = |inner: Value| json!({"anyOf": [inner.clone(), {"type": "array", "items": inner}]});
    vec![
        ("an enumeration of 12,000", schema(&json!({"enum": (0..12_000).map(word).collect::<Vec<_>>()}))),
        (
            "an enumeration beyond the bytes",
            schema(&json!({"enum": (0..40_000).map(word).collect::<Vec<_>>()})),
        ),
        ("1,500 optional properties", schema(&object((0..1500).map(|at| (word(at), integer()))))),
        ("2,000 alternatives", schema(&json!({"anyOf": (0..2000).map(part).collect::<Vec<_>>()}))),
        ("arrays in arrays, 20 deep", schema(&nested(20, integer(), list))),
        ("objects in objects, 20 deep", schema(&nested(20, integer(), own))),
        ("arrays in arrays, 200 deep", schema(&nested(200, integer(), list))),
        ("alternatives doubled 10 times", schema(&nested(10, integer(), either))),
        (
            "a list of 100,000",
            schema(&json!({"type": "array", "items": integer(), "minItems": 100_000, "maxItems": 100_000})),
        ),
        (
            "a string of 100,000",
            schema(&json!({"type": "string", "minLength": 100_000, "maxLength": 100_000})),
        ),
        (
            "a number between long numbers",
            schema(&json!({"type": "number", "minimum": 1e-300, "maximum": 1.234_567_890_123_456e300})),
        ),
        ("multiples of a large prime", schema(&json!({"type": "integer", "multipleOf": 9973}))),
        (
            "a definition that means itself 50 times",
            schema(&json!({"$defs": {"a": {"anyOf": (0..50).map(|at| json!({"type": "array",
            "items": {"$ref": "#/$defs/a"}, "minItems": at})).collect::<Vec<_>>()}}, "$ref": "#/$defs/a"})),
        ),
    ]
}

fn patterns() -> Vec<(&'static str, Demand)> {
    let all_of = |count: usize| {
        let part = |at: usize| json!({"pattern": format!("x{{{at}}}[a-y]*z{{{}}}", count - at)});
        json!({"type": "string", "allOf": (0..count).map(part).collect::<Vec<_>>()})
    };
    vec![
        ("(a?){30}a{30}", pattern("^(a?){30}a{30}$")),
        ("(a?){3000}a{3000}", pattern("^(a?){3000}a{3000}$")),
        ("(x+x+)+y", pattern("^(x+x+)+y$")),
        ("((a{1,100}){1,100}){1,100}", pattern("^((a{1,100}){1,100}){1,100}$")),
        (".*a.{20}", pattern(".*a.{20}$")),
        (".*a.{200}b.{200}", pattern("^.*a.{200}b.{200}$")),
        ("[a-z]{1000,200000}", pattern("^[a-z]{1000,200000}$")),
        ("\\p{L}{1,500}\\p{N}{1,500}", pattern("^\\p{L}{1,500}\\p{N}{1,500}$")),
        (
            "(a|b|ab)*c, 2,000 ways",
            pattern(&format!(
                "^({})*c$",
                (0..2000).map(|at| format!("a{at}b")).collect::<Vec<_>>().join("|")
            )),
        ),
        ("eight patterns at once", schema(&all_of(8))),
        (
            "a pattern for each of 300 properties",
            schema(&object((0..300).map(|at| {
                (
                    format!("p{at}"),
                    json!({"type": "string", "pattern": format!("^[a-z]{{{at}}}(x|y{{1,{}}})*$", at + 1)}),
                )
            }))),
        ),
    ]
}

fn larks() -> Vec<(&'static str, Demand)> {
    let choice = |count: usize| (0..count).map(|at| format!("\"a\" r{at}")).collect::<Vec<_>>().join(" | ");
    let rules: String = (0..900)
        .map(|at| format!("r{at}: \"a\" r{} | \"a\" start | \"b\"\n", (at * 7 + 1) % 900))
        .collect::<Vec<_>>()
        .concat();
    vec![
        ("e: e e | \"a\"", grammar("lark", "start: e\ne: e e | \"a\"\n")),
        ("e: e e e | e e | \"a\"?", grammar("lark", "start: e\ne: e e e | e e | \"a\"?\n")),
        ("900 rules that begin alike", grammar("lark", format!("start: {}\n{rules}", choice(900)))),
        (
            "a palindrome of anything",
            grammar("lark", "start: e\ne: \"a\" e \"a\" | \"b\" e \"b\" | \"a\" | \"b\" |\n"),
        ),
        (
            "almost 64 KiB of one choice",
            grammar("lark", format!("start: {}\n", vec!["\"a\"+"; 9000].join(" | "))),
        ),
        ("more than 64 KiB", grammar("lark", format!("start: {}\n", vec!["\"a\"+"; 20_000].join(" | ")))),
        (
            "counted repetitions of repetitions",
            grammar("lark", "start: (((\"a\" ~ 1..50) ~ 1..50) ~ 1..50) ~ 1..50\n"),
        ),
        ("a long regular expression", grammar("regex", "(a|b)?".repeat(8000))),
        (
            "many terminals that are alike",
            grammar(
                "lark",
                format!(
                    "start: ({})*\n{}",
                    (0..300).map(|at| format!("T{at}")).collect::<Vec<_>>().join(" | "),
                    (0..300).map(|at| format!("T{at}: /[a-z]*{at}[a-z]*/\n")).collect::<Vec<_>>().concat()
                ),
            ),
        ),
    ]
}

/// Plain tools, which a request has by the hundred without asking for anything.
fn envelopes() -> Vec<(&'static str, Demand)> {
    let tools = |count: usize, name: &dyn Fn(usize) -> String, schema: &Value| {
        let tool = |at| ToolDefinition {
            name: name(at),
            kind: ToolKind::Function,
            schema: schema.to_string(),
            strict: false,
            grammar: None,
        };
        Demand {
            tools: (0..count).map(tool).collect(),
            parallel_tool_calls: true,
            call_form: CallForm::Envelope,
            ..Demand::default()
        }
    };
    let any = json!({"type": "object"});
    let wide = object((0..64).map(|at| (format!("key_{at}"), json!({}))));
    let alike = |at: usize| format!("{}{at:04}", "n".repeat(250));
    let unlike = |at: usize| format!("{at:04}{}", "n".repeat(250));
    let long = |at: usize| format!("{at:04}{}", "n".repeat(1020));
    vec![
        ("40 tools", tools(40, &|at| format!("tool_{at}"), &any)),
        ("512 tools of 64 keys", tools(512, &|at| format!("tool_{at}"), &wide)),
        ("1,024 names of 254 bytes that begin alike", tools(1024, &alike, &any)),
        ("1,024 names of 254 bytes that end alike", tools(1024, &unlike, &any)),
        ("1,024 names of 1,024 bytes", tools(1024, &long, &any)),
    ]
}

/// Tries all requests: those in neither list must be followed. With another vocabulary than the
/// embedded one the results may differ, so they aren't checked.
fn check_all(requests: Vec<(&'static str, Demand)>, refused: &[(&str, &str)], stopped: &[&str]) {
    let server = Server::new();
    let is_embedded = std::env::var_os(TOKENIZER).is_none();
    if !is_embedded {
        tests::skip(&format!("the results of {} hostile requests: {TOKENIZER} is set", requests.len()));
    }
    for (name, request) in requests {
        let outcome = server.outcome(name, &request);
        if !is_embedded {
            continue;
        }
        let reasons = refused.iter().find(|(of, _)| *of == name).map(|(_, reasons)| reasons.split(" | "));
        let is_right = match (&outcome, reasons) {
            (Outcome::Refused(said), Some(mut reasons)) => reasons.any(|reason| said.contains(reason)),
            (Outcome::Stopped, None) => stopped.contains(&name),
            (Outcome::Followed, None) => !stopped.contains(&name),
            _ => false,
        };
        assert!(is_right, "{name}: {outcome:?}");
    }
}

#[test]
fn hostile_schemas_are_bounded() {
    let refused = [
        ("an enumeration beyond the bytes", "at most 262144 are allowed"),
        ("arrays in arrays, 200 deep", "nested more than 64 deep"),
        ("a number between long numbers", "float range"),
        ("1,500 optional properties", "compiling it takes too long"),
    ];
    check_all(schemas(), &refused, &["2,000 alternatives"]);
}

#[test]
fn hostile_patterns_are_bounded() {
    check_all(patterns(), &[("eight patterns at once", "Unable to determine if")], &["(a?){3000}a{3000}"]);
}

#[test]
fn hostile_grammars_are_bounded() {
    let refused = [
        ("almost 64 KiB of one choice", "Too many items | compiling it takes"),
        ("more than 64 KiB", "it has more than 65536 bytes"),
        ("a long regular expression", "compiling it takes too much memory"),
    ];
    check_all(larks(), &refused, &["900 rules that begin alike"]);
}

#[test]
fn hostile_envelopes_are_bounded() {
    let refused = [
        ("512 tools of 64 keys", "compiling it takes too long"),
        ("1,024 names of 1,024 bytes", "has to have 1 to 256 bytes"),
    ];
    check_all(envelopes(), &refused, &[]);
}

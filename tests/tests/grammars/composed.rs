//! Grammars composed from templates mean what the parsers' own `constrain` means: the same masks along walks, and the same refusals.
//!
//! For as long as parsers have both. Afterwards the walks stay, with the masks that are recorded in `masks.txt` (`UPDATE_MASKS=1` writes them).

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use grammar::{Grammar, MarkerTokens, Template};
use parser_sdk::{Request, ToolChoice};

use super::oracle::Format;
use super::requests::{of, requests, tool};
use super::walk::{Markers, Walker};
use super::{inputs, tables};

/// Number of walks through each grammar, after each prompt.
const SEEDS: u64 = 1;
const MASKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grammars/masks.txt");

/// Recorded lines by format.
static RECORDED: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(MASKS).unwrap_or_default();
    let by_name = |line: &str| Some((line.split_once(':')?.0.to_owned(), line.to_owned()));
    Mutex::new(text.lines().filter_map(by_name).collect())
});

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    grammars: usize,
    masks: usize,
    free: usize,
    refusals: usize,
    /// Hash of all masks.
    hash: u64,
}

/// A grammar of a walker's vocabulary.
fn composed(
    format: &Format,
    template: &Template,
    request: &Request,
    markers: Markers,
) -> Result<Option<Grammar>, String> {
    let (ids, stops) = format.ids(request, markers);
    let made = template.compose(request, MarkerTokens { ids: &ids, stops: &stops });
    made.map_err(|error| error.to_string())
}

/// The grammar that the parser makes by itself.
fn constrained(format: &Format, request: &Request, markers: Markers) -> Result<Option<Grammar>, String> {
    let Some(lark) = (format.constrain)(request)? else { return Ok(None) };
    let (ids, stops) = format.ids(request, markers);
    let literals = (format.describe)(&request.options)?.markers;
    let markers: Vec<_> = literals.iter().map(String::as_str).zip(ids).collect();
    Grammar::completed(&lark, &markers, &stops).map(Some).map_err(|error| error.to_string())
}

/// Compares the two grammars of each request; the error is the first difference.
fn compare(format: &Format, template: impl Fn(&Request) -> Template) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for (name, mut request, _) in requests().into_iter().chain(inputs::requests(format.inputs)) {
        request.options = format.options();
        for markers in [Markers::Tokens, Markers::Text] {
            request.token_markers = format.token_markers(&request, markers);
            let old = constrained(format, &request, markers);
            let new = composed(format, &template(&request), &request, markers);
            let tell = |what: String| format!("{name}, {markers:?}: {what}");
            match (old, new) {
                (Ok(None), Ok(None)) => tally.free += 1,
                (Err(old), Err(new)) if old == new => tally.refusals += 1,
                (Ok(Some(old)), Ok(Some(new))) if old.reasoning_end == new.reasoning_end => {
                    tally.grammars += 1;
                    let both = [&old, &new];
                    walks(format, both, &request, markers, &mut tally).map_err(|error| {
                        tell(format!("{error}\n{}\n--- composed:\n{}", old.lark, new.lark))
                    })?;
                }
                (old, new) => return Err(tell(format!("{old:?}\n--- composed: {new:?}"))),
            }
        }
    }
    Ok(tally)
}

/// Walks through the composed grammar and follows with the other.
fn walks(
    format: &Format,
    [old, new]: [&Grammar; 2],
    request: &Request,
    markers: Markers,
    tally: &mut Tally,
) -> Result<(), String> {
    let fresh = |grammar: &Grammar| format.walker(request, &grammar.lark, markers);
    let (old, new) = (fresh(old)?, fresh(new)?);
    for seed in 0..SEEDS {
        for prompt in format.prompts {
            let [mut old, mut new] = [&old, &new].map(Walker::clone);
            old.replay(prompt);
            new.replay(prompt);
            let steps = new.steps(seed)?;
            tally.masks += steps.len();
            tally.hash = steps.iter().fold(tally.hash, |hash, step| step.hashed(hash));
            old.follow(&steps).map_err(|error| format!("seed {seed}, prompt {prompt:?}: {error}"))?;
        }
    }
    Ok(())
}

/// Compares the two grammars of each request, and the masks with the recorded ones.
fn same(name: &str, format: &Format) {
    let compared = compare(format, |request| format.template(request));
    let Tally { grammars, masks, free, refusals, hash } =
        compared.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        grammars > 20 && masks > 500 && free > 0,
        "{name}: {grammars} grammars, {masks} masks, {free} free"
    );
    let line =
        format!("{name}: {grammars} grammars, {masks} masks, {free} free, {refusals} refusals, {hash:016x}");
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    if std::env::var_os("UPDATE_MASKS").is_some() {
        recorded.insert(name.to_owned(), line);
        let lines: Vec<&str> = recorded.values().map(String::as_str).collect();
        return std::fs::write(MASKS, lines.join("\n") + "\n").expect("it can be written");
    }
    assert_eq!(recorded.get(name), Some(&line), "the masks of {name} have changed");
}

macro_rules! formats {
    ($($name:ident: $format:expr,)*) => {
        $(#[test]
        fn $name() {
            same(stringify!($name), &$format);
        })*
    };
}

formats! {
    qwen3: super::QWEN3,
    qwen3_coder: super::QWEN3_CODER,
    glm: super::GLM,
    kimi_k2: super::KIMI_K2,
    deepseek_v3: super::DEEPSEEK_V3,
    harmony: super::HARMONY,
    llama3: super::LLAMA3,
    mistral: super::MISTRAL,
    minimax_m2: super::MINIMAX_M2,
}

#[test]
fn tables() {
    for (name, format) in tables::ALL {
        same(&format!("table {name}"), &format);
    }
}

#[test]
fn a_template_that_means_something_else_is_noticed() {
    let format = super::QWEN3_CODER;
    for (right, wrong) in [
        ("value marker_9 gap?", "value marker_9"),
        ("%value 2 3 6 7 8 9 5", "%value 2 3 6 7 8 5"),
        ("\">\" gap? parameters", "\">\" parameters"),
        ("%name 256 /[^\\s<>]/", "%name 256 /[^<>]/"),
        ("(gap? marker_0 text marker_1)?", "(gap? marker_0 text marker_1)*"),
    ] {
        assert!(format.template.contains(right), "{right}");
        let sabotaged = format.template.replacen(right, wrong, 1);
        let markers = (format.describe)(&[]).expect("it describes itself").markers;
        let template = |_: &Request| Template::parse(&sabotaged, &markers).expect("a template");
        assert!(compare(&format, template).is_err(), "{wrong}");
    }
}

#[test]
fn keys_that_no_schema_declares_end_where_the_format_ends_them() {
    let request = of(vec![tool("f", r#"{"allOf":[{}]}"#)], ToolChoice::Required);
    for (format, call) in [
        (
            super::QWEN3_CODER,
            "<tool_call>\n<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        ),
        (super::GLM, "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"),
        (
            super::MINIMAX_M2,
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
    ] {
        for markers in [Markers::Tokens, Markers::Text] {
            let request =
                Request { token_markers: format.token_markers(&request, markers), ..request.clone() };
            let grammar = format.grammar(&request, markers);
            let lark = grammar.expect("it can be followed").expect("it is demanded");
            let walker = format.walker(&request, &lark, markers).expect("a grammar");
            assert!(walker.accepts(&[(true, call.to_owned())]).is_some(), "{call}, {markers:?}");
        }
    }
}

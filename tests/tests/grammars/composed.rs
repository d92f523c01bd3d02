//! Grammars of the formats' templates mean today what they meant when `masks.txt` was written: the
//! same masks along walks, and as many refusals (`UPDATE_MASKS=1` writes the file).

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use grammar::{CallForm, Demand, GrammarTemplate, ToolChoice};

use super::oracle::{Format, Markers};
use super::requests::{of, tool};
use super::{demands, format, tables};

/// Number of walks through each grammar, after each prompt.
const SEEDS: u64 = 1;
const MASKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grammars/masks.txt");

/// Recorded lines by format.
static RECORDED: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(MASKS).unwrap_or_default();
    let by_name = |line: &str| Some((line.split_once(':')?.0.to_owned(), line.to_owned()));
    Mutex::new(text.lines().filter_map(by_name).collect())
});

/// What was composed.
#[derive(Debug, Default)]
struct Tally {
    grammars: usize,
    masks: usize,
    free: usize,
    refusals: usize,
    /// Hash of all masks.
    hash: u64,
}

impl Tally {
    /// Composes the grammar of each request by `template`, and walks through it.
    fn of(format: &Format, template: &GrammarTemplate) -> Result<Self, String> {
        let mut tally = Self::default();
        for (name, request, _) in demands(format) {
            for markers in [Markers::Tokens, Markers::Text] {
                match format.composed(template, &request, markers) {
                    Ok(None) => tally.free += 1,
                    Err(_) => tally.refusals += 1,
                    Ok(Some(lark)) => {
                        tally.grammars += 1;
                        let walked = tally.walk(format, &lark, markers);
                        walked.map_err(|error| format!("{name}, {markers:?}: {error}\n{lark}"))?;
                    }
                }
            }
        }
        Ok(tally)
    }

    /// Adds the masks of walks through a grammar.
    fn walk(&mut self, format: &Format, lark: &str, markers: Markers) -> Result<(), String> {
        let fresh = format.walker(lark, markers)?;
        for seed in 0..SEEDS {
            for prompt in format.prompts {
                let mut walker = fresh.opened(prompt).expect("the prompt is part of the grammar");
                let steps =
                    walker.steps(seed).map_err(|error| format!("seed {seed}, prompt {prompt:?}: {error}"))?;
                self.masks += steps.len();
                self.hash = steps.iter().fold(self.hash, |hash, step| step.hashed(hash));
            }
        }
        Ok(())
    }

    /// The line of `masks.txt`.
    fn line(&self, name: &str) -> String {
        let Self { grammars, masks, free, refusals, hash } = self;
        format!("{name}: {grammars} grammars, {masks} masks, {free} free, {refusals} refusals, {hash:016x}")
    }
}

/// Compares the masks of each request's grammar with the recorded ones.
fn same(name: &str, format: &Format) {
    let tally = Tally::of(format, &format.template()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(tally.grammars > 20 && tally.masks > 500, "{name}: {tally:?}");
    assert!(tally.free > 0 || format.traits.nests, "{name}: {tally:?}");
    let line = tally.line(name);
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    if std::env::var_os("UPDATE_MASKS").is_some() {
        recorded.insert(name.to_owned(), line);
        let lines: Vec<&str> = recorded.values().map(String::as_str).collect();
        return std::fs::write(MASKS, lines.join("\n") + "\n").expect("it can be written");
    }
    assert_eq!(recorded.get(name), Some(&line), "the masks of {name} have changed");
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        $(#[test]
        fn $module() {
            same(stringify!($module), &format($name));
        })*
    };
}
registry::with_formats!(formats);

#[test]
fn tables() {
    for (name, format) in tables::ALL {
        same(&format!("table {name}"), format);
    }
}

#[test]
fn a_template_that_means_something_else_is_noticed() {
    let qwen3_coder = format("qwen3-coder");
    for (right, wrong) in [
        ("value marker_9 gap?", "value marker_9"),
        ("%value 2 3 6 7 8 9 5", "%value 2 3 6 7 8 5"),
        ("\">\" gap? parameters", "\">\" parameters"),
        ("%name 256 /[^\\s<>]/", "%name 10 /[^\\s<>]/"),
        ("(gap? marker_0 text marker_1)?", "(gap? marker_0 text marker_1)*"),
    ] {
        let descriptor = qwen3_coder.descriptor();
        let text = descriptor.grammar.expect("it has a template");
        assert!(text.contains(right), "{right}");
        let sabotaged = GrammarTemplate::parse(&text.replacen(right, wrong, 1), &descriptor.markers);
        let tally = Tally::of(&qwen3_coder, &sabotaged.expect("a template"));
        let recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
        assert_ne!(
            tally.ok().map(|tally| tally.line("qwen3_coder")).as_ref(),
            recorded.get("qwen3_coder"),
            "{wrong}"
        );
    }
}

#[test]
fn undeclared_keys_end_where_the_format_ends_them() {
    let request = of(vec![tool("f", r#"{"allOf":[{}]}"#)], ToolChoice::Required);
    for (format, call) in [
        (
            format("qwen3-coder"),
            "<tool_call>\n<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        ),
        (format("glm"), "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"),
        (
            format("minimax-m2"),
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
    ] {
        for markers in [Markers::Tokens, Markers::Text] {
            let grammar = format.grammar(&request, markers);
            let lark = grammar.expect("it can be followed").expect("it is demanded");
            let walker = format.walker(&lark, markers).expect("a grammar");
            assert!(walker.accepts(&[(true, call.to_owned())]).is_some(), "{call}, {markers:?}");
        }
    }
}

#[test]
fn an_envelope_allows_what_is_quoted_and_what_values_hold() {
    let tools = vec![tool("f", r#"{"type":"object","properties":{"path":{}},"additionalProperties":false}"#)];
    let request = Demand { call_form: CallForm::Envelope, ..of(tools, ToolChoice::Auto) };
    let xml =
        "<parameter=path>\n<function=g>\n</parameter>\n  <x/>\n</function>\n</parameter>\n</function>\n";
    for (name, markers, pieces) in [
        ("qwen3", Markers::Text, vec![(false, "Calls begin with `<tool_call>`.".to_owned())]),
        ("qwen3", Markers::Tokens, vec![(false, "<tool_call> is spelled out.".to_owned())]),
        (
            "qwen3-coder",
            Markers::Tokens,
            vec![
                (true, "<tool_call>".to_owned()),
                (false, format!("\n<function=f>\n{xml}")),
                (true, "</tool_call>".to_owned()),
            ],
        ),
        ("qwen3-coder", Markers::Tokens, vec![(false, format!("<function=f>\n{xml}"))]),
    ] {
        let format = format(name);
        let lark =
            format.grammar(&request, markers).expect("it can be followed").expect("it has an envelope");
        let walker = format.walker(&lark, markers).expect("a grammar");
        assert!(walker.accepts(&pieces).is_some(), "{name}, {markers:?}: {pieces:?}\n{lark}");
    }
    let undeclared = [(false, "<function=g>\n</function>".to_owned())];
    let format = format("qwen3-coder");
    let lark =
        format.grammar(&request, Markers::Tokens).expect("it can be followed").expect("it has an envelope");
    assert!(format.walker(&lark, Markers::Tokens).expect("a grammar").accepts(&undeclared).is_none());
}

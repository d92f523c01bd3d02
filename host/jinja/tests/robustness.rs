//! No template panics or overflows a stack of two megabytes; every run ends within its bounds; and
//! what counts as the template's own text doesn't depend on what the request wrote.

use std::cell::Cell;
use std::collections::HashMap;

use jinja::{Error, ErrorKind, Limits, Origin, Rendering, Template, Value};
use seeded::SplitMix64;
use serde::Deserialize;
use serde_json::value::RawValue;

const TEXT_BYTES: usize = 1 << 20;
/// Questions whether the time is used up until the answer is yes: two million steps.
const CHECKS: u32 = 500;
/// Stack of the threads that render.
const STACK: usize = 2 << 20;

fn on_small_stack<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread");
    thread.join().expect("no panic")
}

fn render(source: &str, variables: Vec<(&str, Value)>) -> Result<Rendering, Error> {
    let asked = Cell::new(0);
    let is_exhausted = || {
        asked.set(asked.get() + 1);
        asked.get() > CHECKS
    };
    Template::parse(source)?
        .render(variables, &Limits { text_bytes: TEXT_BYTES, is_exhausted: &is_exhausted })
}

#[derive(Deserialize)]
struct Twin {
    template: String,
    variables: HashMap<String, Box<RawValue>>,
}

/// Cuts, doubles, moves or deletes a part of a template, which begins and ends anywhere or at tags.
fn mutated(template: &str, random: &mut SplitMix64) -> String {
    let ends: Vec<usize> = if random.below(2) == 0 {
        template.char_indices().map(|(at, _)| at).collect()
    } else {
        template.match_indices(['{', '}', '%', '(', ')', '|', '.', ' ']).map(|(at, _)| at).collect()
    };
    let first = random.below(ends.len().max(1));
    let [a, b, c] = [0, random.below(8), 8 + random.below(8)]
        .map(|more| ends.get(first + more).copied().unwrap_or(template.len()));
    let (first, second, third, fourth) = (&template[..a], &template[a..b], &template[b..c], &template[c..]);
    match random.below(5) {
        0 => [first, second].concat(),
        1 => [first, second, second, third, fourth].concat(),
        2 => [first, third, second, fourth].concat(),
        3 => [first, third, fourth].concat(),
        _ => {
            [first, *random.choice(&["{{", "}}", "{%", "%}", "-", "(", ")", "[", "'", "~", "|", "*"]), second]
                .concat()
        }
    }
}

#[test]
fn mutated_templates_never_panic() {
    let (parsed, rendered) = on_small_stack(|| {
        let mut random = SplitMix64::new(1);
        let (mut parsed, mut rendered) = (0, 0);
        for line in include_str!("data/twins.jsonl").lines() {
            let Twin { template, variables } = serde_json::from_str(line).expect("a twin");
            let json = |json: &RawValue| Value::from_json(json.get(), Origin::Request).expect("JSON");
            let variables: Vec<_> = variables.iter().map(|(name, value)| (&**name, json(value))).collect();
            for _ in 0..12 {
                let mutated = mutated(&template, &mut random);
                parsed += usize::from(Template::parse(&mutated).is_ok());
                rendered += usize::from(render(&mutated, variables.clone()).is_ok());
            }
        }
        (parsed, rendered)
    });
    assert!(parsed > 1000 && rendered > 300, "{parsed} parsed, {rendered} rendered");
}

/// Templates that work without an end, or make much of little.
const BOMBS: &str = include_str!("data/bombs.txt");

#[test]
fn every_run_ends_within_its_bounds() {
    for bomb in BOMBS.lines() {
        let kind = on_small_stack(move || render(bomb, Vec::new()).map(|_| ()).map_err(|error| error.kind));
        let bounds = [ErrorKind::Exhausted, ErrorKind::TooLarge, ErrorKind::Runtime];
        assert!(kind.is_err_and(|kind| bounds.contains(&kind)), "{bomb}: {kind:?}");
    }
    assert_memory_stays_small();
}

/// Checks that this process, whose tests each make little, never took more than 256 MiB.
fn assert_memory_stays_small() {
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<usize>().ok());
        assert!(kilobytes.is_some_and(|kilobytes| kilobytes < 256 << 10), "{kilobytes:?} kB");
    }
}

/// As published templates do it for each message: a loop over all messages that ends early. Ended
/// loops keep none of their items.
#[test]
fn loops_within_loops_keep_no_items() {
    let source = "{% for i in all %}{% for j in all %}{% break %}{% endfor %}{% endfor %}{{ all|length }}";
    let limits = Limits { text_bytes: 64 << 20, is_exhausted: &|| false };
    let all = Value::list(vec![Value::None; 5000]).unwrap();
    let output = Template::parse(source).and_then(|template| template.render(vec![("all", all)], &limits));
    assert_eq!(output.map(|output| output.text.as_str().to_owned()), Ok("5000".to_owned()));
    assert_memory_stays_small();
}

#[test]
fn thousands_of_messages_are_collected_one_by_one() {
    let source = "{% set ns = namespace(all=[], text='') %}{% for i in range(4000) %}{% set ns.all = ns.all + [text] %}\
        {% set ns.text = ns.text ~ 'message' %}{% endfor %}{{ ns.all|length }} {{ ns.text|length }}";
    let limits = Limits { text_bytes: 64 << 20, is_exhausted: &|| false };
    let text = Value::text(Origin::Request, "a".repeat(1 << 16));
    let output = Template::parse(source).and_then(|template| template.render(vec![("text", text)], &limits));
    assert_eq!(output.map(|output| output.text.as_str().to_owned()), Ok("4000 28000".to_owned()));
}

#[test]
fn deep_expressions_and_statements_fail_at_parse() {
    for (begin, middle, end) in [
        ("{{ ", "(", ""),
        ("{{ a", ".b", " }}"),
        ("{{ a", " + a", " }}"),
        ("{{ a", "|upper", " }}"),
        ("{{ a", " or a", " }}"),
        ("{{ a", " if a", " }}"),
        ("{{ a", "(1)", " }}"),
        ("{{ ", "not ", "a }}"),
        ("{{ ", "- ", "a }}"),
        ("{{ ", "[", ""),
        ("{{ ", "{1:", ""),
        ("", "{% if a %}", ""),
        ("", "{% for a in b %}", ""),
        ("{% for ", "(", ""),
    ] {
        let source = [begin, &middle.repeat(50_000), end].concat();
        let refused = on_small_stack(move || Template::parse(&source).map(|_| ()));
        assert_eq!(refused.map_err(|error| error.kind), Err(ErrorKind::Syntax), "{middle}");
    }
}

#[test]
fn macros_render_schemas_that_are_nested_deeply() {
    let source = "{% macro show(schema, indent) %}{% if schema is mapping %}{% for key, value in schema|items %}\
        {% with name = key %}{% if value is mapping or value is sequence %}{% set shown %}\
        {{ show(value, indent + '  ')|trim }}{% endset %}{{ indent ~ name ~ ': ' ~ (shown if shown else '-') }}\
        {% else %}{{ name }}{% endif %}{% endwith %}{% endfor %}{% endif %}{% endmacro %}{{ show(schema, '') }}";
    let schema = ["{\"a\":".repeat(64), "1".to_owned(), "}".repeat(64)].concat();
    let shown = on_small_stack(move || {
        let schema = Value::from_json(&schema, Origin::Request).expect("JSON");
        render(source, vec![("schema", schema)]).map(|output| output.text.as_str().matches("a: ").count())
    });
    assert_eq!(shown, Ok(63));
}

/// Operations on the string `V` that give a string. None chooses by the order or the equality of
/// characters, since escapes such as `\u03b1` spell one alphabet's letters otherwise than
/// another's.
const ON_TEXTS: &str = include_str!("data/operations.txt");
/// Operations on the string `V` that give a list, and on the list `V` that give a string.
const TO_LISTS: [&str; 13] = [
    "V.split()",
    "V.split('x')",
    "V.rsplit('Z', 1)",
    "V.splitlines()",
    "V.splitlines(true)",
    "V.partition('x')",
    "V.rpartition('Z')",
    "V|list",
    "[V, 'Z', V]",
    "V|batch(2, 'Z')|map('join')",
    "V|slice(2)|map('join', 'x')",
    "V|map('upper')",
    "{V: 'x', 'Z': V}",
];
const FROM_LISTS: [&str; 8] = [
    "V|join",
    "V|join('Z')",
    "'x'.join(V)",
    "V|string",
    "V|map('replace', 'Z', 'x')|join",
    "V|first",
    "V|select|list|last",
    "V|list|tojson",
];

/// A random sequence of operations on the variable `request`.
fn sequence(random: &mut SplitMix64) -> String {
    let mut expression = "request".to_owned();
    for _ in 0..=random.below(5) {
        let steps = if random.below(3) == 0 {
            vec![*random.choice(&TO_LISTS), *random.choice(&FROM_LISTS)]
        } else {
            vec![*random.choice(&ON_TEXTS.lines().collect::<Vec<_>>())]
        };
        for step in steps {
            expression = format!("({})", step.replace('V', &expression));
        }
    }
    format!("x{{{{ {expression} }}}}Z")
}

/// Parts of the output that are the template's, by their distance from the text before.
fn own_parts(output: &Rendering) -> Vec<(usize, String)> {
    let mut between = 0;
    let mut parts = Vec::new();
    for (origin, part) in output.text.runs() {
        match origin {
            Origin::Template => parts.push((std::mem::take(&mut between), part.to_owned())),
            _ => between += part.len(),
        }
    }
    parts
}

/// A request's letters are Greek, then Cyrillic: alphabets of the same order, case and length that
/// no template uses. Which parts are the template's, what stands in them, and how much stands
/// between them, stays the same. Brackets, which only the request writes, never are the template's.
#[test]
fn templates_own_text_does_not_depend_on_requests() {
    let mut random = SplitMix64::new(2);
    let mut rendered = 0;
    for _ in 0..4000 {
        let source = sequence(&mut random);
        let letters: Vec<u32> =
            (0..=random.below(8)).map(|_| u32::try_from(random.below(40)).unwrap_or(0)).collect();
        let run = |alphabet: u32| {
            // Some characters are white space, and those that escapes and markup change.
            let letter = |at: &u32| match at {
                0..30 => char::from_u32(alphabet + at % 15 + 32 * (at / 15)),
                _ => "\n\t <&\"'%{}".chars().nth(*at as usize - 30),
            };
            let text: String = letters.iter().filter_map(letter).collect();
            render(&source, vec![("request", Value::text(Origin::Request, text))])
        };
        match (run(0x391), run(0x410)) {
            (Ok(greek), Ok(cyrillic)) => {
                rendered += 1;
                assert_eq!(own_parts(&greek), own_parts(&cyrillic), "{source}");
                let own: String = own_parts(&greek).into_iter().map(|(_, part)| part).collect();
                assert_eq!(own.find(['<', '{', '}', '\t', '\'']), None, "{own:?} of {source}");
            }
            (greek, cyrillic) => {
                assert_eq!(
                    greek.map_err(|error| error.kind).err(),
                    cyrillic.map_err(|error| error.kind).err(),
                    "{source}"
                );
            }
        }
    }
    assert!(rendered > 2000, "{rendered} rendered");
}

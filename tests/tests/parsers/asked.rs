//! Small calls of each format: how often the parser is asked in one, since each time costs more than
//! a hundred bytes that the host routes by itself; and whether it is read where one tool stands for
//! all.

use std::path::Path;
use std::sync::LazyLock;

use contract::FinishReason;
use parsers::{ParserLimits, Runtime};
use tests::formats::FORMATS;
use tests::sandbox::{SHIPPED, Sandbox, source};
use turn::{ItemHead, TurnEvents, fold, values};

/// How often the parser of tables is asked.
const TABLES: [(&str, usize); 2] = [("phi4-mini", 6), ("seed-oss", 11)];

/// Format whose calls are told from text by their tools' names.
const BY_NAME: &str = "glm4";

static SANDBOXES: LazyLock<Vec<Sandbox>> = LazyLock::new(|| {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let sandbox = |format| Sandbox::new(&runtime, format, source(format.name, Path::new(SHIPPED)));
    FORMATS.iter().map(sandbox).collect()
});

#[test]
fn small_calls_ask_as_rarely_as_they_did() {
    let asked = SANDBOXES.iter().map(|sandbox| (sandbox.format.name, sandbox.asked()));
    let recorded = registry::FORMATS.iter().map(|format| (format.name, format.profile.asked)).chain(TABLES);
    let recorded: Vec<_> = recorded.collect();
    assert_eq!(asked.collect::<Vec<_>>(), recorded, "fewer is better: then the profile says so");
}

#[test]
fn marked_calls_are_read_without_their_tools() {
    let any = [values::any_tool()].into();
    let is_lost = |sandbox: &&Sandbox| {
        let (mut turn, mut events) = (sandbox.turn_with(&any), TurnEvents::default());
        let _ = turn.step(&sandbox.pieces(&sandbox.format.warm_up()), &mut events);
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        let items = fold(events).expect("well-formed events");
        !items.iter().any(|item| matches!(&item.head, ItemHead::ToolCall { name, .. } if name == "tool"))
    };
    let lost: Vec<&str> = SANDBOXES.iter().filter(is_lost).map(|sandbox| sandbox.format.name).collect();
    assert_eq!(lost, [BY_NAME]);
}

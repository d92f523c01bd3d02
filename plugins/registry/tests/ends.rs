//! Ends of calls where no call is open, in every parser and table. In prose a special token is dropped,
//! and a tag, which prose may quote, is text; behind a call both are dropped.

use std::collections::BTreeSet;
use std::path::Path;

use parser_kit::{Head, Item, play, request};
use parser_sdk::{Descriptor, FinishReason, Parser, Request};
use registry::{Call, Format};
use serde_json::Value;

/// The markers in `text`, the longest where several begin.
fn markers_in<'a>(text: &str, descriptor: &'a Descriptor) -> BTreeSet<&'a str> {
    let (mut found, mut rest) = (BTreeSet::new(), text);
    while let Some(first) = rest.chars().next() {
        let fitting = descriptor.markers.iter().filter(|marker| rest.starts_with(marker.as_str()));
        let longest = fitting.max_by_key(|marker| marker.len());
        found.extend(longest.map(String::as_str));
        rest = &rest[longest.map_or(first.len_utf8(), String::len)..];
    }
    found
}

/// Whether prose may quote this end: it is a tag, without the bars that special tokens have.
fn is_tag(end: &str) -> bool {
    end.trim_start().starts_with("</") && !end.contains(['|', '｜'])
}

/// Checks ends in prose, behind `prompt`.
fn check_in_prose<P: Parser>(request: &Request, prompt: &str, ends: &BTreeSet<&str>) {
    for end in ends {
        let text = ["One.", end, " Two."].concat();
        let shown = if is_tag(end) { &text } else { "One. Two." };
        let items = play::<P>(request, prompt, [text.as_str()], FinishReason::Stop);
        assert_eq!(items, [Item::message(shown)], "{end:?}");
    }
}

/// Markup before and behind a call.
fn around(call: Call) -> [&'static str; 2] {
    match call {
        Call::Json(around)
        | Call::Bare(around)
        | Call::Elements(around)
        | Call::Python(around)
        | Call::Parameters(around, _)
        | Call::Typed(around, _) => around,
    }
}

/// Markup behind a value.
fn behind_value(call: Call) -> &'static str {
    match call {
        Call::Parameters(_, [.., value]) | Call::Typed(_, [.., value]) => value,
        _ => "",
    }
}

fn check<P: Parser>(format: &Format) {
    let descriptor = P::describe(&[]).expect("a descriptor");
    let writing = format.profile.writing;
    let ends: BTreeSet<&str> = match writing.call {
        // The format has one marker, before each tag.
        Call::Elements([_, behind]) => behind.lines().collect(),
        call => markers_in(&[around(call)[1], behind_value(call)].concat(), &descriptor),
    };
    let others = markers_in(&[writing.answer[1], "</answer>"].concat(), &descriptor);
    let ends = &ends - &others;
    let request = request(&["f"]);
    check_in_prose::<P>(&request, writing.prompt, &ends);
    let [begin, end] = around(writing.call);
    let arguments = if matches!(writing.call, Call::Json(_)) { "{}" } else { "" };
    let call = [begin, arguments, end].concat();
    let said = |text: &str| play::<P>(&request, writing.prompt, [text], FinishReason::Stop);
    let items = said(&call);
    assert!(matches!(items.last(), Some(Item { head: Head::ToolCall(_), complete: true, .. })), "{items:?}");
    for again in ends.iter().filter(|last| end.ends_with(**last)) {
        assert_eq!(said(&[&call, *again].concat()), items, "{again:?}");
    }
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        $(#[test]
        fn $module() {
            check::<registry::$module::Parser>(&registry::$module::FORMAT);
        })*
    };
}
registry::with_formats!(formats);

#[test]
fn tables() {
    for name in registry::TABLES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tables").join(format!("{name}.json"));
        let table: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).expect("a table")).expect("JSON");
        let fields = &table["response_template"]["fields"];
        let close = |field: &str| {
            let of = |key: &str| fields[field][key].as_str().unwrap_or_default().replace('\\', "");
            [of("close"), of("close_pattern")].concat()
        };
        let options = vec![("response_template".to_owned(), table["response_template"].to_string())];
        let descriptor = registry::response_template::Parser::describe(&options).expect("a descriptor");
        let message = markers_in(&close("content"), &descriptor);
        let ends = markers_in(&close("tool_calls"), &descriptor);
        let ends = ends.into_iter().filter(|end| !message.contains(end) && end.len() > 1).collect();
        let request = Request { options, ..request(&["f"]) };
        check_in_prose::<registry::response_template::Parser>(&request, "", &ends);
    }
}

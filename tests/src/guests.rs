//! Hostile guests: parser components that misbehave in one way each, written by hand in
//! `tests/guests/*.wat`.
//!
//! A file there is either a whole component or module, or only the core functions in which a guest
//! differs from the healthy one; [`guest`] puts those into `skeleton.wat`. Used by the parser
//! room's tests and by the end-to-end ones.

const SKELETON: &str = include_str!("../guests/skeleton.wat");

/// Definitions that are added to a guest whose file lacks them: how each begins, by which the file
/// is searched, and its whole text.
const HEALTHY: [(&str, &str); 6] = [
    ("(memory (export", "(memory (export \"memory\") 5)"),
    ("(func $describe ", "(func $describe (result i32) (i32.const 128))"),
    ("(func $start ", "(func $start (result i32) (i32.const 0))"),
    (
        "(func $text ",
        "(func $text (param $chunk i32) (param $bytes i32) (result i32) (call $run (i32.const 0) (local.get $bytes)))",
    ),
    (
        "(func $marker ",
        "(func $marker (param $index i32) (result i32) (call $run (i32.const 6) (i32.const 3)))",
    ),
    ("(func $finish ", "(func $finish (result i32) (i32.const 0))"),
];

/// Names of all guests, for [`guest`].
pub const NAMES: [&str; GUESTS.len()] = {
    let mut names = [""; GUESTS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = GUESTS[index].0;
        index += 1;
    }
    names
};

/// Name of each guest, and the text of its file.
const GUESTS: &[(&str, &str)] = &[
    ("arguments_without_call", include_str!("../guests/arguments_without_call.wat")),
    ("bad_op", include_str!("../guests/bad_op.wat")),
    ("bad_pointer", include_str!("../guests/bad_pointer.wat")),
    ("bad_route", include_str!("../guests/bad_route.wat")),
    ("bad_step", include_str!("../guests/bad_step.wat")),
    ("bad_utf8", include_str!("../guests/bad_utf8.wat")),
    ("busy_in_text", include_str!("../guests/busy_in_text.wat")),
    ("bytes_beyond_held", include_str!("../guests/bytes_beyond_held.wat")),
    ("claims_qwen3", include_str!("../guests/claims_qwen3.wat")),
    ("close_nothing", include_str!("../guests/close_nothing.wat")),
    ("core_module", include_str!("../guests/core_module.wat")),
    ("deep_paths", include_str!("../guests/deep_paths.wat")),
    ("deep_recursion", include_str!("../guests/deep_recursion.wat")),
    ("derived_flood", include_str!("../guests/derived_flood.wat")),
    ("empty_strings", include_str!("../guests/empty_strings.wat")),
    ("fault_in_text", include_str!("../guests/fault_in_text.wat")),
    ("giant_string", include_str!("../guests/giant_string.wat")),
    ("grammar_circle", include_str!("../guests/grammar_circle.wat")),
    ("grammar_giant", include_str!("../guests/grammar_giant.wat")),
    ("grammar_unknown_hole", include_str!("../guests/grammar_unknown_hole.wat")),
    ("healthy", include_str!("../guests/healthy.wat")),
    ("hold_everything", include_str!("../guests/hold_everything.wat")),
    ("imports", include_str!("../guests/imports.wat")),
    ("invented_call", include_str!("../guests/invented_call.wat")),
    ("load_beyond_memory", include_str!("../guests/load_beyond_memory.wat")),
    ("loop_in_describe", include_str!("../guests/loop_in_describe.wat")),
    ("loop_in_init", include_str!("../guests/loop_in_init.wat")),
    ("loop_in_start", include_str!("../guests/loop_in_start.wat")),
    ("loop_in_text", include_str!("../guests/loop_in_text.wat")),
    ("marker_empty", include_str!("../guests/marker_empty.wat")),
    ("marker_flood", include_str!("../guests/marker_flood.wat")),
    ("marker_twice", include_str!("../guests/marker_twice.wat")),
    ("memory_at_once", include_str!("../guests/memory_at_once.wat")),
    ("memory_bomb", include_str!("../guests/memory_bomb.wat")),
    ("missing_function", include_str!("../guests/missing_function.wat")),
    ("name_empty", include_str!("../guests/name_empty.wat")),
    ("needs_unknown", include_str!("../guests/needs_unknown.wat")),
    ("no_parser", include_str!("../guests/no_parser.wat")),
    ("note_flood", include_str!("../guests/note_flood.wat")),
    ("op_flood", include_str!("../guests/op_flood.wat")),
    ("pass_first", include_str!("../guests/pass_first.wat")),
    ("reasoning_end_control", include_str!("../guests/reasoning_end_control.wat")),
    ("reasoning_end_giant", include_str!("../guests/reasoning_end_giant.wat")),
    ("refuse_in_describe", include_str!("../guests/refuse_in_describe.wat")),
    ("refuse_in_start", include_str!("../guests/refuse_in_start.wat")),
    ("response_template", include_str!("../guests/response_template.wat")),
    ("split_character", include_str!("../guests/split_character.wat")),
    ("stop_unknown", include_str!("../guests/stop_unknown.wat")),
    ("table_bomb", include_str!("../guests/table_bomb.wat")),
    ("to_reasoning", include_str!("../guests/to_reasoning.wat")),
    ("trap_in_call", include_str!("../guests/trap_in_call.wat")),
    ("trap_in_describe", include_str!("../guests/trap_in_describe.wat")),
    ("trap_in_finish", include_str!("../guests/trap_in_finish.wat")),
    ("trap_in_init", include_str!("../guests/trap_in_init.wat")),
    ("trap_in_marker", include_str!("../guests/trap_in_marker.wat")),
    ("trap_in_start", include_str!("../guests/trap_in_start.wat")),
    ("trap_in_text", include_str!("../guests/trap_in_text.wat")),
    ("trap_later", include_str!("../guests/trap_later.wat")),
    ("until_marker_held", include_str!("../guests/until_marker_held.wat")),
    ("wrong_types", include_str!("../guests/wrong_types.wat")),
    ("wrong_version", include_str!("../guests/wrong_version.wat")),
];

/// Interface that a component exports: the guest behind it, its version, and how the skeleton's
/// text differs there.
pub struct Export<'a> {
    /// One of [`NAMES`], or [`CALL_WITH_ID`].
    pub guest: &'a str,
    /// Version of the contract, `0.1.0`.
    pub version: &'a str,
    /// Each text that is replaced, and by what.
    pub edits: &'a [(&'a str, &'a str)],
}

/// Name of the guest of the draft of contract 0.2.
pub const CALL_WITH_ID: &str = "call_with_id";

/// What a tool call of that draft has, as an edit of the skeleton.
pub const CALL_ID: (&str, &str) =
    ("(field \"payload\" $payload)))", "(field \"payload\" $payload) (field \"id\" (option string))))");

/// That guest, as an export.
pub const DRAFT: Export<'static> = Export { guest: CALL_WITH_ID, version: "0.2.0-draft", edits: &[CALL_ID] };

/// Returns a component that exports the parser's interface in several versions, each with code of
/// its own.
///
/// # Panics
/// There is no such guest, or an edit's text isn't in the skeleton.
pub fn exporting(exports: &[Export<'_>]) -> Vec<u8> {
    let (_, body) = SKELETON.split_once("(component\n").expect("the skeleton is a component");
    let (parser, _) = body.split_once("  (instance $parser").expect("it has one parser");
    let interface = |(index, export): (usize, &Export<'_>)| {
        let Export { guest, version, edits } = export;
        let mut parser = parser.replace("(;guest;)", &with_healthy(code(guest)));
        for (from, to) in *edits {
            assert!(parser.contains(from), "{from} isn't in the skeleton");
            parser = parser.replace(from, to);
        }
        let parser = parser.replacen("$parser", &format!("$parser{index}"), 1);
        let instance = format!("(instance $exported{index} (instantiate $parser{index}))");
        format!(
            "{parser}{instance} (export \"sluice:parser/parser@{version}\" (instance $exported{index}))\n"
        )
    };
    let text: String = exports.iter().enumerate().map(interface).collect();
    wat::parse_str(format!("(component\n{text})")).expect("the component's text is well-formed")
}

fn code(name: &str) -> &'static str {
    if name == CALL_WITH_ID {
        return include_str!("../guests/call_with_id.wat");
    }
    GUESTS.iter().find(|(known, _)| *known == name).expect("a guest of tests/guests").1
}

/// Returns the guest `name` (one of [`NAMES`]) as the bytes of a `.wasm` file.
///
/// # Panics
/// There is no such guest, or its text isn't well-formed.
pub fn guest(name: &str) -> Vec<u8> {
    wat::parse_str(assemble(code(name))).expect("the guest's text is well-formed")
}

/// Appends a custom section to a component.
pub fn with_section(mut component: Vec<u8>, name: &str, contents: impl AsRef<[u8]>) -> Vec<u8> {
    let contents = contents.as_ref();
    let mut section = Vec::new();
    leb128(name.len(), &mut section);
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(contents);
    component.push(0);
    leb128(section.len(), &mut component);
    component.extend_from_slice(&section);
    component
}

fn leb128(mut value: usize, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(0x80 | u8::try_from(value & 0x7f).expect("seven bits"));
        value >>= 7;
    }
    into.push(u8::try_from(value).expect("seven bits"));
}

fn assemble(text: &str) -> String {
    if text.contains("\n(component") || text.contains("\n(module") {
        return text.to_owned();
    }
    SKELETON.replace("(;guest;)", &with_healthy(text))
}

/// A guest's code, with the healthy functions that it doesn't define.
fn with_healthy(text: &str) -> String {
    let mut code = text.to_owned();
    for (beginning, definition) in HEALTHY {
        if !text.contains(beginning) {
            code.push_str(definition);
        }
    }
    code
}

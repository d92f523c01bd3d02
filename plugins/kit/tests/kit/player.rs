//! The test kit plays the host faithfully: markers, trimming, the prompt, and a panic wherever a
//! host would report a fault.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parser_kit::{Head, Item, Phase, Player, check_cases, play, request};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, Route, ToolCall, Trim};

/// A format with a letter for each route or op: `<r>` reasoning, `<c>` content, `<f>` a call with
/// the text after it as its input, `<f>f` commentary, `<x>` arguments even without a call, `<n>` a
/// call whose name nobody wrote, `<b>` one byte alone.
struct Letters(Route);

const MARKERS: [&str; 7] = ["<r>", "<c>", "<f>", "<f>f", "<x>", "<n>", "<b>"];

impl Parser for Letters {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let markers = MARKERS.map(String::from).into();
        Ok(Descriptor { markers, trim: Trim { reasoning: true, content: false }, ..Descriptor::default() })
    }

    fn start(_: &Request) -> Result<Self, String> {
        Ok(Self(Route::Content))
    }

    fn text(&mut self, _: &str, out: &mut Output) {
        if self.0 == Route::Drop { out.content(1) } else { out.until_marker(self.0) }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        out.drop_all();
        self.0 = match index {
            0 => Route::Reasoning,
            1 => Route::Content,
            2 => {
                out.tool_call("f", Payload::Text);
                Route::ArgumentsEscaped
            }
            3 => {
                out.message("commentary");
                Route::Content
            }
            5 => {
                out.tool_call("nobody", Payload::Text);
                Route::ArgumentsUnescaped
            }
            6 => Route::Drop,
            _ => Route::Arguments,
        };
    }
}

fn letters(prompt: &str, chunks: &[&str]) -> Vec<Item> {
    play::<Letters>(&request(&["f"]), prompt, chunks.iter().copied(), FinishReason::Stop)
}

fn fails(chunks: &[&str]) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| letters("", chunks))).expect_err("it must fail");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast_ref::<&str>().map(|message| (*message).to_owned()).unwrap_or_default(),
    }
}

fn commentary(text: &str) -> Item {
    Item { head: Head::Message(Phase::Commentary), ..Item::message(text) }
}

#[test]
fn markers_are_found_across_chunks_and_longest_wins() {
    assert_eq!(
        letters("", &["a<", "r", ">b<r", "<c>c<f>", "fd"]),
        [Item::message("a"), Item::reasoning("b<r"), Item::message("c"), commentary("d"),]
    );
}

#[test]
fn only_items_to_be_trimmed_are_trimmed() {
    assert_eq!(
        letters("", &[" a <r> b\n <c>\n<r> \n"]),
        [Item::message(" a "), Item::reasoning("b"), Item::message("\n")]
    );
}

#[test]
fn escaped_arguments_become_the_inside_of_a_string() {
    let head = Head::ToolCall(ToolCall::new("f", Payload::Text));
    let call = Item { head, text: "say \\\"hi\\\"\\n\\u0001".into(), complete: false };
    assert_eq!(letters("", &["<f>say \"hi\"\n\u{1}"]), [call]);
}

#[test]
fn prompt_is_discarded_and_what_it_left_open_goes_on() {
    assert_eq!(letters("a<r>b", &["c<c>d"]), [Item::reasoning("c"), Item::message("d")]);
    assert_eq!(letters("a<r>b<c>", &["d"]), [Item::message("d")]);
    assert_eq!(letters("<f>f", &["d"]), [commentary("d")]);
}

#[test]
fn markers_by_token_leave_look_alikes_alone() {
    let mut player = Player::<Letters>::by_tokens(&request(&["f"]));
    player.feed("a<r>");
    player.marker(0);
    player.feed("b");
    assert_eq!(player.finish(FinishReason::Stop), [Item::message("a<r>"), Item::reasoning("b")]);
}

#[test]
fn turn_cut_off_leaves_its_last_item_incomplete() {
    let items = play::<Letters>(&request(&[]), "", ["a<r>b"], FinishReason::Length);
    assert_eq!(items, [Item::message("a"), Item::reasoning("b").incomplete()]);
}

#[test]
fn what_a_host_would_call_a_fault_fails_the_test() {
    assert!(fails(&["<x>1"]).contains("while no tool call was open"));
    assert!(fails(&["<n>1"]).contains("neither declared nor"));
    assert!(fails(&["<b>ü"]).contains("inside a character"));
}

#[test]
fn case_without_expect_fails_with_what_to_write() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("case-without-expect");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |case: String| std::fs::write(folder.join("case.json"), case).expect("a file");
    write(r#"{"chunks": ["<r>thought", "<c>said"]}"#.to_owned());
    let panic = catch_unwind(|| check_cases::<Letters>(&folder)).expect_err("it says nothing");
    let report = panic.downcast_ref::<String>().expect("a text");
    assert!(report.contains("case.json: the case has no `expect`; if what it comes to is right"), "{report}");
    let (_, expect) = report.split_once("\"expect\": ").expect("what to write");
    let expect = expect.lines().next().unwrap_or_default();
    assert!(expect.contains("thought") && expect.contains("said"), "{expect}");
    write(format!(r#"{{"chunks": ["<r>thought", "<c>said"], "expect": {expect}}}"#));
    assert_eq!(check_cases::<Letters>(&folder), 1);
}

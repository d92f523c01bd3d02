//! Property tests on random streams notice a property that doesn't hold, and show the shortest
//! stream that fails.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use parser_kit::{Streams, request};
use parser_sdk::{Descriptor, Output, Parser, Payload, Request, Route};

/// Drops chunks that contain `ab`, and closes a call with broken JSON at `<j>`.
struct Forgetful;

impl Parser for Forgetful {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor { markers: vec!["<j>".into()], ..Descriptor::default() })
    }

    fn start(_: &Request) -> Result<Self, String> {
        Ok(Self)
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        out.take(if chunk.contains("ab") { Route::Drop } else { Route::Content }, chunk.len());
    }

    fn marker(&mut self, _: usize, out: &mut Output) {
        out.drop_all();
        out.tool_call("f", Payload::Json);
        out.derive("{");
        out.close();
    }
}

fn of<'a>(requests: &'a [Request], fragments: &'a [&'a str], ends: &'a [&'a str]) -> Streams<'a> {
    Streams { requests, prompts: &[""], fragments, count: 100, longest: 10, ends }
}

fn fails(check: impl Fn()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

#[test]
fn a_cut_that_matters_is_noticed() {
    let requests = [request(&["f"])];
    assert!(fails(|| of(&requests, &["a", "b", "c"], &[]).check::<Forgetful>()));
    of(&requests, &["a", "c"], &[]).check::<Forgetful>();
}

#[test]
fn what_ends_the_turn_is_noticed_in_the_output() {
    let requests = [request(&["f"])];
    assert!(fails(|| of(&requests, &["a", "<e>"], &["<e>"]).check::<Forgetful>()));
}

#[test]
fn arguments_that_are_no_object_are_noticed() {
    let requests = [request(&["f"])];
    assert!(fails(|| of(&requests, &["a", "<j>"], &[]).check_written_arguments::<Forgetful>()));
}

#[test]
fn a_failure_is_shown_with_the_shortest_stream() {
    let (requests, last) = ([request(&["f"])], RefCell::new(Vec::new()));
    let failed = fails(|| {
        of(&requests, &["a", "b", "c"], &[]).each(|drawn| {
            if drawn.output().contains("ab") {
                *last.borrow_mut() = drawn.fragments.iter().map(ToString::to_string).collect();
                panic!("ab");
            }
        });
    });
    assert!(failed);
    assert_eq!(*last.borrow(), ["a", "b"]);
}

/// What is drawn in a process with this seed: the output of the next test.
fn drawn(seed: Option<&str>) -> String {
    let mut process = Command::new(std::env::current_exe().expect("the path"));
    process.args(["--exact", "streams::streams_are_drawn", "--nocapture"]);
    match seed {
        Some(seed) => process.env("PARSER_TEST_SEED", seed),
        None => process.env_remove("PARSER_TEST_SEED"),
    };
    let output = process.output().expect("it runs");
    assert!(output.status.success() || seed == Some("x"), "{output:?}");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    said.lines().filter(|line| !line.starts_with("test result")).collect::<Vec<_>>().join("\n")
}

#[test]
fn streams_are_drawn() {
    let requests = [request(&["f"])];
    of(&requests, &["a", "b", "c"], &[]).each(|drawn| println!("{}", drawn.output()));
}

#[test]
fn the_environment_chooses_the_streams() {
    assert_eq!(drawn(None), drawn(Some("0")));
    assert_eq!(drawn(Some("7")), drawn(Some("7")));
    assert_ne!(drawn(Some("7")), drawn(None));
    assert_ne!(drawn(Some("random")), drawn(Some("random")));
    assert!(drawn(Some("x")).contains("PARSER_TEST_SEED is a number, or `random`"));
}

#[test]
fn a_failure_says_how_to_repeat_it() {
    let mut process = Command::new(std::env::current_exe().expect("the path"));
    process.args(["--exact", "streams::a_failure_is_shown_with_the_shortest_stream", "--nocapture"]);
    let output = process.env("PARSER_TEST_SEED", "7").output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("with PARSER_TEST_SEED=7 fails"), "{output:?}");
}

//! The frame of property tests notices what doesn't hold, and shows the shortest stream of which it doesn't.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parser_sdk::testing::{Streams, request};
use parser_sdk::{Descriptor, Output, Parser, Payload, Request, Route};

/// Drops what stands between an `a` and a `b` of one chunk, and `<j>` opens a call.
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

//! A process that is forked after a parser was loaded, as Python's `os.fork` does: its guests are
//! stopped there, too, in new streams and in those that go on. A process of its own, since a child
//! has its other threads' locks as they were.
#![allow(unsafe_code, reason = "fork, and what its child may call")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use contract::{Fault, Request, Step};
use parsers::{ParserLimits, Plugin, PluginSource, Runtime};

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

/// Seconds after which a child is killed whose guest isn't stopped.
const PATIENCE: u32 = 60;

fn is_stopped(answer: &Result<Step, Fault>) -> bool {
    matches!(answer, Err(fault) if &*fault.reason == "used more than 5 ms of CPU")
}

/// Exit status of a forked child that does this; a signal's number if one ended it.
fn in_a_child(act: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls `act`, which allocates and starts a thread, as glibc allows after a
    // fork, and ends without running what this process has registered for its end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a system call without pointers.
        unsafe { libc::alarm(PATIENCE) };
        let status = catch_unwind(AssertUnwindSafe(act)).unwrap_or(101);
        // SAFETY: it doesn't return.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `status` has room for what is written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { libc::WTERMSIG(status) }
}

fn new_stream_is_stopped(plugin: &Plugin) -> bool {
    let stream = plugin.start(&Request::default());
    stream.is_ok_and(|mut parser| is_stopped(&parser.text("x")))
}

#[test]
fn guests_that_loop_are_stopped_in_forked_processes_too() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let bytes = guests::guest("loop_in_text").into();
    let plugin = runtime.load(&PluginSource::Bytes { name: "loop".to_owned(), bytes }, &[]).expect("loaded");
    let mut begun = plugin.start(&Request::default()).expect("started");
    let status = in_a_child(|| {
        if !is_stopped(&begun.text("x")) {
            return 1;
        }
        if !new_stream_is_stopped(&plugin) {
            return 2;
        }
        // A child's child, which the thread of its parent doesn't help.
        in_a_child(|| if new_stream_is_stopped(&plugin) { 0 } else { 3 })
    });
    assert_eq!(status, 0);
    assert!(is_stopped(&begun.text("x")), "nor did the parent lose its thread");
}

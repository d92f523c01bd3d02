//! A process whose signal handlers are somebody else's, as Python's are after
//! `faulthandler.enable()`: faults of guests raise no signal there. A process of its own, since
//! handlers belong to the process.
#![allow(unsafe_code, reason = "handlers of signals")]

use contract::Request;
use parsers::{ParserLimits, PluginSource, Runtime};

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

/// Exit status of a process that a signal reached.
const SIGNALLED: i32 = 99;

extern "C" fn end(_: libc::c_int) {
    // SAFETY: it doesn't return, and may be called by handlers.
    unsafe { libc::_exit(SIGNALLED) };
}

/// Takes the signals that processors raise.
fn take_signals() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
        // SAFETY: the handler's type is the one that `signal` takes.
        unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) };
    }
}

#[test]
fn faults_of_guests_raise_no_signals() {
    let runtime = Runtime::without_signals(&ParserLimits::default()).expect("a sandbox");
    let load = |name: &str| {
        let source = PluginSource::Bytes { name: name.to_owned(), bytes: guests::guest(name).into() };
        runtime.load(&source, &[]).expect("loaded")
    };
    let loaded = ["trap_in_text", "deep_recursion", "load_beyond_memory", "memory_bomb"]
        .map(|name| (name, load(name)));
    take_signals();
    let reasons = loaded.map(|(name, plugin)| {
        let mut parser = plugin.start(&Request::default()).expect("started");
        (name, parser.text("x").expect_err(name).reason.to_string())
    });
    let expected = [
        ("trap_in_text", "wasm trap: unreachable"),
        ("deep_recursion", "wasm trap: stack limit"),
        ("load_beyond_memory", "wasm trap: out of bounds memory access"),
        ("memory_bomb", "memory limit 16 MiB"),
    ];
    assert_eq!(reasons, expected.map(|(name, reason)| (name, reason.to_owned())));
}

//! The parser room at its boundary: hostile plugins of `tests/guests`, the errors when they are
//! loaded or called, and that other instances aren't affected.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    Fault, FinishReason, Op, Parameter, Request, Route, Run, Step, StreamParser, Tool, ToolCall, ToolKind,
    Types,
};
use parsers::ParserLimits;
use parsers::{LoadProblem, Plugin, PluginSource, Runtime};

use crate::guests::{guest, with_section};

fn runtime() -> Runtime {
    Runtime::new(&ParserLimits::default()).expect("wasmtime works here")
}

fn source(name: &str, bytes: Vec<u8>) -> PluginSource {
    PluginSource::Bytes { name: name.to_owned(), bytes: Cow::Owned(bytes) }
}

fn load(runtime: &Runtime, name: &str) -> Arc<Plugin> {
    runtime.load(&source(name, guest(name)), &[]).expect("the guest loads")
}

/// Error of loading the guest.
fn load_error(name: &str) -> String {
    let Err(error) = runtime().load(&source(name, guest(name)), &[]) else { panic!("{name} loads") };
    let line = error.to_string();
    line.strip_prefix(&format!("parser {name}: ")).expect("the error names the plugin").to_owned()
}

fn request() -> Request {
    Request::default()
}

fn content(bytes: u32) -> Step {
    Step::Ops(vec![Op::Bytes(Run { route: Route::Content, bytes })])
}

/// Checks with a text and a marker that a stream of a healthy guest still works.
fn assert_healthy(parser: &mut dyn StreamParser) {
    assert_eq!(parser.text("hello"), Ok(content(5)));
    assert_eq!(parser.marker(0), Ok(Step::Ops(vec![Op::Bytes(Run { route: Route::Drop, bytes: 3 })])));
}

/// Makes the guest `name` fail by `call`; checks that it isn't called again and that its neighbour
/// isn't affected. Returns the reason.
fn fault_of(name: &str, call: impl Fn(&mut dyn StreamParser) -> Result<Step, Fault>) -> String {
    let runtime = runtime();
    let mut neighbour = load(&runtime, "healthy").start(&request()).expect("a healthy guest starts");
    assert_healthy(&mut *neighbour);
    let plugin = load(&runtime, name);
    let mut parser = plugin.start(&request()).expect("the guest starts");
    let fault = call(&mut *parser).expect_err("the guest fails");
    assert_eq!(&*fault.parser, "guest");
    for again in [parser.text("x"), parser.marker(0), parser.finish(FinishReason::Stop)] {
        assert_eq!(&*again.expect_err("it has ended").reason, "called after its end");
    }
    assert_healthy(&mut *neighbour);
    // The next stream of the same plugin gets a new instance, which fails in the same way.
    let mut second = plugin.start(&request()).expect("the guest starts again");
    assert_eq!(call(&mut *second).expect_err("the guest fails again"), fault);
    assert!(!fault.reason.contains('\n') && !fault.reason.contains("0x"), "{}", fault.reason);
    fault.in_full()
}

fn text_fault(name: &str) -> String {
    fault_of(name, |parser| parser.text("hello"))
}

fn start_fault(name: &str) -> String {
    let runtime = runtime();
    let mut neighbour = load(&runtime, "healthy").start(&request()).expect("a healthy guest starts");
    let Err(fault) = load(&runtime, name).start(&request()) else { panic!("{name} starts") };
    assert_healthy(&mut *neighbour);
    assert_eq!(&*fault.parser, "guest");
    fault.in_full()
}

#[test]
fn healthy_guest_is_described_started_and_finished() {
    let runtime = runtime();
    let bytes = guest("healthy");
    let plugin = load(&runtime, "healthy");
    assert_eq!(plugin.descriptor().name, "guest");
    assert_eq!(plugin.descriptor().version, "1.0.0");
    assert_eq!(plugin.descriptor().markers, ["<x>"]);
    assert_eq!((plugin.size(), plugin.digest().len()), (bytes.len(), 64));
    let mut parser = plugin.start(&request()).unwrap();
    assert_healthy(&mut *parser);
    assert_eq!(parser.text("é"), Ok(content(2)));
    assert_eq!(parser.finish(FinishReason::Length), Ok(Step::Pass));
    assert_eq!(parser.text("x").unwrap_err().to_string(), "parser guest: called after its end");
}

#[test]
fn a_request_with_everything_in_it_reaches_the_guest() {
    let parameter = |index: u8| Parameter { name: format!("p{index}"), types: Types::from_bits(index) };
    let tool = |kind| Tool {
        name: "get_weather".to_owned(),
        kind,
        parameters: (0..128).map(parameter).collect(),
        others: Types::ANY,
        schema: "d".repeat(100_000),
    };
    let request = Request {
        tools: [tool(ToolKind::Function), tool(ToolKind::Custom)].into(),
        token_markers: vec![0, 2],
        options: vec![("enable_thinking".to_owned(), "false".to_owned())],
    };
    let mut parser = load(&runtime(), "healthy").start(&request).unwrap();
    assert_healthy(&mut *parser);
}

#[test]
fn a_trap_is_a_fault_of_one_line_wherever_it_happens() {
    assert_eq!(text_fault("trap_in_text"), "wasm trap: unreachable");
    assert_eq!(fault_of("trap_in_marker", |p| p.marker(0)), "wasm trap: unreachable");
    assert_eq!(fault_of("trap_in_finish", |p| p.finish(FinishReason::Stop)), "wasm trap: unreachable");
    assert_eq!(start_fault("trap_in_start"), "wasm trap: unreachable");
    assert_eq!(load_error("trap_in_describe"), "failed in `describe`: wasm trap: unreachable");
    assert_eq!(load_error("trap_in_init"), "can't be instantiated: wasm trap: unreachable");
}

#[test]
fn a_guest_may_trap_late() {
    let mut parser = load(&runtime(), "trap_later").start(&request()).unwrap();
    for _ in 0..3 {
        assert_eq!(parser.text("hello"), Ok(content(5)));
    }
    assert_eq!(&*parser.text("hello").unwrap_err().reason, "wasm trap: unreachable");
}

#[test]
fn a_loop_is_ended_wherever_it_runs() {
    let begin = Instant::now();
    assert_eq!(text_fault("loop_in_text"), "used more than 5 ms of CPU");
    assert_eq!(start_fault("loop_in_start"), "used more than 5 ms of CPU");
    assert_eq!(load_error("loop_in_describe"), "failed in `describe`: used more than 5 ms of CPU");
    assert_eq!(load_error("loop_in_init"), "can't be instantiated: used more than 5 ms of CPU");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn ever_busy_guest_uses_up_its_streams_share() {
    let mut parser = load(&runtime(), "busy_in_text").start(&request()).unwrap();
    let fault = (0..1_000_000).find_map(|_| parser.text("hello").err()).expect("it is stopped");
    assert_eq!(&*fault.reason, "used more than 5 % of its stream's time");
    assert_eq!(&*parser.text("hello").unwrap_err().reason, "called after its end");
}

#[test]
fn memory_tables_and_stack_have_their_limits() {
    assert_eq!(text_fault("memory_bomb"), "memory limit 16 MiB");
    assert_eq!(load_error("memory_at_once"), "can't be instantiated: memory limit 16 MiB");
    assert_eq!(load_error("table_bomb"), "can't be instantiated: table limit 16384 elements");
    assert_eq!(text_fault("deep_recursion"), "wasm trap: stack limit");
}

#[test]
fn answers_have_a_limit_in_ops_and_in_bytes() {
    assert_eq!(text_fault("op_flood"), "5000 ops in one step, at most 4096 are allowed");
    let too_much = "too much data is being copied between the host and the guest";
    for name in ["giant_string", "empty_strings", "deep_paths"] {
        let reason = text_fault(name);
        assert!(reason.starts_with(too_much), "{name}: {reason}");
    }
    let error = load_error("marker_flood");
    assert!(error.starts_with(&format!("failed in `describe`: {too_much}")), "{error}");
}

#[test]
fn answers_that_break_the_canonical_abi_are_faults() {
    let faults = ["bad_step", "bad_op", "bad_route", "bad_pointer", "bad_utf8"].map(text_fault);
    assert_eq!(
        faults,
        [
            "unexpected discriminant: 9",
            "unexpected discriminant: 77",
            "unexpected discriminant: 200",
            "list pointer/length out of bounds of memory",
            "invalid utf-8 sequence of 1 bytes from index 0",
        ]
    );
}

#[test]
fn what_only_the_turn_can_judge_passes_as_it_is() {
    let runtime = runtime();
    let said = |name: &str| load(&runtime, name).start(&request()).unwrap().text("hello").unwrap();
    assert_eq!(said("bytes_beyond_held"), content(1005));
    assert_eq!(said("split_character"), content(4));
    let arguments = Op::Bytes(Run { route: Route::Arguments, bytes: 5 });
    assert_eq!(said("arguments_without_call"), Step::Ops(vec![arguments]));
    assert!(
        matches!(said("invented_call"), Step::Ops(ops) if matches!(&ops[..], [Op::ToolCall(ToolCall { name, .. })] if name == "guest"))
    );
    assert_eq!(said("hold_everything"), Step::Hold);
}

#[test]
fn a_guest_that_gives_up_is_not_asked_again() {
    let mut parser = load(&runtime(), "fault_in_text").start(&request()).unwrap();
    assert_eq!(parser.text("hello"), Ok(Step::Fault("no idea what this is".to_owned())));
    assert_eq!(&*parser.finish(FinishReason::Stop).unwrap_err().reason, "called after its end");
}

#[test]
fn refusals_are_repeated_without_control_characters() {
    let refusal = "it refuses the request with a message of 8 bytes: not here";
    assert_eq!(start_fault("refuse_in_start"), refusal);
    assert_eq!(load_error("refuse_in_describe"), "refuses its options: no [31mred");
}

#[test]
fn descriptors_that_break_a_rule_are_not_loaded() {
    assert_eq!(load_error("marker_twice"), "describes itself badly: marker 1 (<x>) stands twice");
    assert_eq!(load_error("marker_empty"), "describes itself badly: marker 0 is empty");
    assert_eq!(load_error("stop_unknown"), "describes itself badly: stop 7 is not one of its 1 markers");
    assert_eq!(
        load_error("reasoning_end_control"),
        "describes itself badly: its end of reasoning is empty or has control characters"
    );
    assert_eq!(
        load_error("reasoning_end_giant"),
        "describes itself badly: its end of reasoning has 262144 bytes, at most 256 are allowed"
    );
    assert_eq!(
        load_error("needs_unknown"),
        "needs `tensors`, which this host doesn't know: update the host, or take a build of the parser for it"
    );
}

#[test]
fn templates_of_grammars_that_are_none_are_not_loaded() {
    assert_eq!(
        load_error("grammar_giant"),
        "describes itself badly: its grammar has 65537 bytes, at most 65536 are allowed"
    );
    let unknown = load_error("grammar_unknown_hole");
    assert!(unknown.contains("nothing defines `secrets`, which this server doesn't know"), "{unknown}");
    let circle = load_error("grammar_circle");
    assert!(circle.contains("it leads to itself"), "{circle}");
}

#[test]
fn a_flood_that_fits_a_step_is_left_to_the_turn() {
    let step = load(&runtime(), "note_flood").start(&request()).unwrap().text("hello");
    assert!(matches!(&step, Ok(Step::Ops(ops)) if ops.len() == 2000), "{step:?}");
}

#[test]
fn files_that_are_no_parser_say_what_they_are() {
    assert_eq!(
        load_error("core_module"),
        "a WebAssembly core module, not a component: link it with wasm-component-ld, or convert it with \
         `wasm-tools component new`"
    );
    let imports = "imports wasi:cli/environment@0.2.6, wasi:clocks/monotonic-clock@0.2.6, but a parser may import nothing: build";
    assert!(load_error("imports").starts_with(imports));
    assert_eq!(
        load_error("wrong_version"),
        "exports sluice:parser/parser@0.2.0, this host serves 0.1: update the host, or take the parser's build for 0.1"
    );
    assert!(
        load_error("no_parser")
            .starts_with("exports no sluice:parser/parser, only wasi:cli/run@0.2.0: build")
    );
    for name in ["wrong_types", "missing_function"] {
        let error = load_error(name);
        assert!(
            error.starts_with("its sluice:parser/parser@0.1.0 isn't contract 0.1: ") && !error.contains('\n'),
            "{error}"
        );
    }
}

#[test]
fn files_that_are_no_component_at_all_say_so() {
    let runtime = runtime();
    let problem = |bytes: Vec<u8>| {
        let Err(error) = runtime.load(&source("p", bytes), &[]) else { panic!("loads") };
        error.problem
    };
    assert!(matches!(problem(vec![]), LoadProblem::Empty));
    assert!(matches!(problem(b"#!/bin/sh".to_vec()), LoadProblem::NotWasm));
    assert!(matches!(problem(b"\0asm".to_vec()), LoadProblem::Invalid(_)));
    assert!(matches!(problem(b"\0asm\x0d\0\x01\0garbage".to_vec()), LoadProblem::Invalid(_)));
    let mut cut = guest("healthy");
    cut.truncate(cut.len() / 2);
    assert!(matches!(problem(cut), LoadProblem::Invalid(_)));
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let limits = ParserLimits { file_bytes: 1000, ..ParserLimits::default() };
    let small = Runtime::new(&limits).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.wasm");
    std::fs::write(&path, guest("healthy")).unwrap();
    let Err(error) = small.load(&PluginSource::File(path.clone()), &[]) else { panic!("loads") };
    assert_eq!(
        error.to_string(),
        format!(
            "parser {}: the file has more than 1000 bytes, the most that a parser may have",
            path.display()
        )
    );
    assert!(runtime().load(&PluginSource::File(path), &[]).is_ok());
}

/// Number of bytes that this thread has read from files.
fn bytes_read() -> u64 {
    let counters = std::fs::read_to_string("/proc/thread-self/io").expect("Linux");
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("rchar");
    line.parse().expect("a number")
}

#[test]
fn a_file_of_100_mb_is_refused_unread() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(100 << 20).unwrap();
    let runtime = runtime();
    let before = bytes_read();
    let Err(error) = runtime.load(&PluginSource::File(file.path().to_owned()), &[]) else { panic!("loads") };
    assert!(matches!(error.problem, LoadProblem::TooLarge { .. }), "{error}");
    let read = bytes_read() - before;
    assert!(read < 64 << 10, "{read} bytes were read");
}

#[test]
fn the_shipped_parser_loads_and_serves_a_stream() {
    let bytes = include_bytes!("../../../plugins/qwen3.wasm");
    let source = PluginSource::Bytes { name: "qwen3".to_owned(), bytes: Cow::Borrowed(bytes) };
    let plugin = runtime().load(&source, &[]).unwrap();
    assert_eq!(plugin.descriptor().name, "qwen3");
    let end = plugin.descriptor().markers.iter().position(|marker| marker == "<|im_end|>").unwrap();
    assert!(plugin.descriptor().stops.contains(&u32::try_from(end).unwrap()));
    let mut parser = plugin.start(&request()).unwrap();
    let routed = Op::Bytes(Run { route: Route::Content, bytes: 5 });
    assert!(matches!(parser.text("Hello"), Ok(Step::Ops(ops)) if ops[0] == routed));
    assert!(!matches!(parser.finish(FinishReason::Stop).unwrap(), Step::Fault(_)));
}

/// The healthy guest with this descriptor section.
fn described(section: &str) -> PluginSource {
    source("described", with_section(guest("healthy"), "sluice-descriptor", section))
}

const HEALTHY: &str = r#"{"Ok":{"name":"guest","version":"1.0.0","models":[],"markers":["<x>"],"stops":[],"trim":{},"history_call_ids":null}}"#;

#[test]
fn section_says_what_the_parser_is_before_compiling() {
    let said = runtime().describe(&described(HEALTHY)).unwrap().descriptor.unwrap();
    let plugin = runtime().load(&described(HEALTHY), &[]).unwrap();
    assert_eq!(&said, plugin.descriptor());
    assert_eq!(runtime().describe(&source("plain", guest("healthy"))).unwrap().descriptor, None);
    let needs = runtime().describe(&described(r#"{"Err":"which\ntable?"}"#)).unwrap_err();
    assert_eq!(needs.to_string(), "parser described: refuses its options: which table?");
    let bad = runtime().describe(&described(&HEALTHY.replace("guest", ""))).unwrap_err();
    assert_eq!(bad.to_string(), "parser described: describes itself badly: its name is empty");
}

#[test]
fn section_unfit_for_its_component_is_a_load_error() {
    let refusal = |section: &str, options: &[(String, String)]| {
        let error = runtime().load(&described(section), options).unwrap_err().to_string();
        let line = error.strip_prefix("parser described: its section sluice-descriptor ").unwrap();
        line.strip_suffix("; build the component again").unwrap().to_owned()
    };
    for (from, to, field) in [
        ("guest", "other", "name"),
        ("1.0.0", "1.0.1", "version"),
        (r#""models":[]"#, r#""models":["qwen3"]"#, "models"),
        ("<x>", "<y>", "markers"),
        (r#""stops":[]"#, r#""stops":[0]"#, "stops"),
        (r#""trim":{}"#, r#""trim":{"content":true}"#, "trim"),
        ("null", r#""{name}""#, "history-call-ids"),
    ] {
        let wanted = format!("doesn't fit the component: it has another `{field}`");
        let section = HEALTHY.replace(from, to);
        assert_eq!(refusal(&section, &[]), wanted);
        assert_eq!(refusal(&section, &[("a".to_owned(), "b".to_owned())]), wanted);
    }
    let needs = refusal(r#"{"Err":"options"}"#, &[]);
    assert_eq!(needs, "doesn't fit the component: it says that it needs options");
    assert!(refusal("{}", &[]).starts_with("can't be read: "));
}

#[test]
fn shipped_parsers_say_what_they_are_before_compiling() {
    for source in model::shipped_parsers() {
        match runtime().describe(&source) {
            Ok(said) => {
                assert_eq!(said.descriptor.expect("plugins/build.sh writes the section").name, source.name());
            }
            Err(error) => {
                assert_eq!(source.name(), "response-template", "{error}");
                assert!(matches!(error.problem, LoadProblem::Options(_)), "{error}");
            }
        }
    }
}

#[test]
fn none_loads_from_nothing() {
    let plugin = runtime().load(&PluginSource::None, &[]).unwrap();
    assert_eq!(plugin.descriptor().name, "none");
    assert!(plugin.start(&request()).is_ok());
}

#[test]
fn neighbours_on_other_threads_work_beside_a_loop() {
    let runtime = runtime();
    let (healthy, looping) = (load(&runtime, "healthy"), load(&runtime, "loop_in_text"));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut parser = healthy.start(&request()).unwrap();
                for _ in 0..20_000 {
                    assert_eq!(parser.text("hello"), Ok(content(5)));
                }
            });
        }
        for _ in 0..5 {
            let mut parser = looping.start(&request()).unwrap();
            assert_eq!(&*parser.text("hello").unwrap_err().reason, "used more than 5 ms of CPU");
        }
    });
}

#[test]
fn plugin_outlives_its_runtime_and_stream_its_plugin() {
    let mut parser = load(&runtime(), "healthy").start(&request()).unwrap();
    assert_healthy(&mut *parser);
    let mut looping = load(&runtime(), "loop_in_text").start(&request()).unwrap();
    assert_eq!(&*looping.text("x").unwrap_err().reason, "used more than 5 ms of CPU");
}

//! `host parser test`, `run`, `trace` and `list`, as a shell uses them: their output, exit status,
//! and one line for each error.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn plugin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/qwen3.wasm")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.arg("parser").args(arguments).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn parser(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary runs")
}

fn printed(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Runs a command that must fail, and returns its only line.
fn refusal(arguments: &[&str]) -> String {
    let output = parser(arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(error.starts_with("error: ") && error.trim_end().lines().count() == 1, "{error}");
    error
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

const CASE: &str = r#"{"tools": ["add"], "chunks": ["Hi.<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call><|im_end|>"],
 "expect": {"items": [{"type": "message", "text": "Hi."}, {"type": "tool_call", "name": "add", "arguments": "{\"a\": 1}"}], "end": "completed"}}"#;

/// Makes a folder with a case that passes and, if `broken`, one that fails.
fn cases(broken: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("holds.json"), CASE).expect("written");
    if broken {
        std::fs::write(folder.path().join("broken.json"), CASE.replace("Hi.\"}", "Ho.\"}")).expect("written");
    }
    folder
}

#[test]
fn sound_parser_passes_with_a_table_and_as_json() {
    let folder = cases(false);
    let plugin = plugin();
    let arguments = ["test", path(&plugin), "--cases", path(folder.path())];
    let table = parser(&arguments);
    assert_eq!(table.status.code(), Some(0), "{table:?}");
    let table = printed(&table);
    assert!(
        table.contains("split invariance") && !table.contains("FAILED") && !table.contains('\u{1b}'),
        "{table}"
    );
    let json = parser(&[&arguments[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&printed(&json)).expect("JSON");
    assert_eq!((report["passed"].as_bool(), report["cases"].as_u64()), (Some(true), Some(1)), "{report}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(parsers::conformance::Property::ALL.len()));
}

#[test]
fn a_case_that_does_not_hold_fails_and_is_named() {
    let folder = cases(true);
    let plugin = plugin();
    let arguments = ["test", path(&plugin), "--cases", path(folder.path())];
    let failed = parser(&arguments);
    assert_eq!(failed.status.code(), Some(1));
    let table = printed(&failed);
    assert!(table.contains("FAILED items: broken") && table.contains("\"Ho.\""), "{table}");
    let chosen = parser(&[&arguments[..], &["--case", "holds"]].concat());
    assert_eq!(chosen.status.code(), Some(0), "{chosen:?}");
    assert!(refusal(&[&arguments[..], &["--case", "absent"]].concat()).contains("absent"));
}

#[test]
fn a_case_is_shown_as_both_protocols_streams() {
    let folder = cases(false);
    let output = parser(&["test", path(&plugin()), "--cases", path(folder.path()), "--show", "holds"]);
    let text = printed(&output);
    assert!(text.contains("response.completed") && text.contains("chat.completion.chunk"), "{text}");
}

#[test]
fn files_that_cannot_be_used_are_named_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = plugin();
    assert!(refusal(&["test", path(&plugin), "--cases", path(folder.path())]).contains("no case files"));
    std::fs::write(folder.path().join("bad.json"), r#"{"chunk": []}"#).expect("written");
    assert!(
        refusal(&["test", path(&plugin), "--cases", path(folder.path())]).contains("bad.json: unknown field")
    );
    let copy = folder.path().join("alone.wasm");
    std::fs::copy(&plugin, &copy).expect("copied");
    assert!(refusal(&["test", path(&copy)]).contains("--cases"));
    assert!(
        refusal(&["run", "nobody", "--case", "x.json", "--plugins", path(folder.path())]).contains("nobody")
    );
    assert!(refusal(&["run", path(&plugin), "--case", "absent.json"]).contains("absent.json"));
    assert!(refusal(&["trace", path(&plugin), "--input", "absent.txt"]).contains("absent.txt"));
}

#[test]
fn case_is_printed_in_the_words_of_its_format() {
    let folder = cases(false);
    let file = folder.path().join("holds.json");
    let output = parser(&["run", path(&plugin()), "--case", path(&file), "--events", "responses"]);
    let printed: Value = serde_json::from_str(&printed(&output)).expect("JSON");
    let case: Value = serde_json::from_str(CASE).expect("JSON");
    assert_eq!(printed["items"], case["expect"]["items"]);
    assert_eq!(printed["end"], "completed");
    assert_eq!(
        printed["events"].as_array().and_then(|all| all.last()).expect("events")["type"],
        "response.completed"
    );
}

#[test]
fn case_without_expect_is_tested_for_all_but_items() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, plugin) = (folder.path().join("open.json"), plugin());
    std::fs::write(&file, r#"{"chunks": ["Hi."]}"#).expect("written");
    let output = parser(&["run", path(&plugin), "--case", path(&file)]);
    let shown: Value = serde_json::from_str(&printed(&output)).expect("JSON");
    assert_eq!((&shown["items"][0]["text"], &shown["why"]), (&Value::from("Hi."), &Value::Null));
    let traced = printed(&parser(&["trace", path(&plugin), "--case", path(&file)]));
    assert!(traced.contains("+ «Hi.»"), "{traced}");
    let streams =
        printed(&parser(&["test", path(&plugin), "--cases", path(folder.path()), "--show", "open"]));
    assert!(streams.contains("chat.completion.chunk"), "{streams}");
    let tested = parser(&["test", path(&plugin), "--cases", path(folder.path()), "--json"]);
    assert_eq!(tested.status.code(), Some(1));
    let report: Value = serde_json::from_str(&printed(&tested)).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let failed: Vec<&Value> = findings.iter().filter(|of| of["passed"] == false).collect();
    let [items] = &failed[..] else { panic!("{report}") };
    let what = items["failures"][0]["what"].as_str().expect("words");
    let expect = r#""expect": {"items":[{"type":"message","text":"Hi."}],"end":"completed"}"#;
    assert!(items["property"] == "items" && what.contains(expect), "{what}");
}

#[test]
fn why_a_call_failed_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, plugin) = (folder.path().join("broken.json"), plugin());
    let call = r#"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": "#;
    std::fs::write(&file, format!(r#"{{"tools": ["add"], "chunks": ["{call}"]}}"#)).expect("written");
    let shown: Value =
        serde_json::from_str(&printed(&parser(&["run", path(&plugin), "--case", path(&file)])))
            .expect("JSON");
    assert_eq!(shown["end"], "failed");
    let why: Vec<&str> = shown["why"].as_array().expect("reasons").iter().filter_map(Value::as_str).collect();
    let expected = [
        "the response fails: The model broke off a call of \"add\"",
        "item 0: the call of \"add\" was broken off, its arguments are no whole JSON: EOF while parsing a value at line 1",
    ];
    assert_eq!(why.len(), expected.len(), "{why:?}");
    assert!(why.iter().zip(expected).all(|(why, start)| why.starts_with(start)), "{why:?}");
    let traced = printed(&parser(&["trace", path(&plugin), "--case", path(&file)]));
    assert!(expected.iter().all(|part| traced.contains(part)), "{traced}");
}

#[test]
fn cases_print_one_a_line_and_bad_ones_stop_no_other() {
    let folder = cases(true);
    let [holds, broken, absent] =
        ["holds", "broken", "absent"].map(|name| folder.path().join(format!("{name}.json")));
    let plugin = plugin();
    let both = parser(&["run", path(&plugin), "--case", path(&holds), path(&broken)]);
    assert_eq!(both.status.code(), Some(0));
    let lines = |output: &Output| -> Vec<Value> {
        printed(output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let played = lines(&both);
    assert_eq!(played.len(), 2);
    assert_eq!((&played[0]["case"], &played[1]["case"]), (&path(&holds).into(), &path(&broken).into()));
    assert_eq!(played[0]["items"], played[1]["items"]);
    let repeated = ["run", path(&plugin), "--case", path(&absent), "--case", path(&holds)];
    let one_absent = parser(&repeated);
    assert_eq!(one_absent.status.code(), Some(1));
    let played = lines(&one_absent);
    assert!(played[0]["error"].as_str().is_some_and(|error| error.contains("absent.json")), "{played:?}");
    assert_eq!(played[1]["end"], "completed");
}

/// Compiled parsers in a cache: file, inode, time of the last use in seconds.
fn entries(cache: &Path) -> Vec<(PathBuf, u64, i64)> {
    let paths = cache.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    let compiled = paths.filter(|path| path.extension().is_some_and(|ending| ending == "compiled"));
    let mut entries: Vec<_> = compiled
        .map(|path| {
            let metadata = path.metadata().expect("metadata");
            (path, metadata.ino(), metadata.mtime())
        })
        .collect();
    entries.sort();
    entries
}

#[test]
fn run_and_inspect_compile_once_then_use_the_cache() {
    let folder = cases(false);
    let (cache, file) = (folder.path().join("cache"), folder.path().join("holds.json"));
    let plugins = folder.path().join("plugins");
    std::fs::create_dir(&plugins).expect("made");
    let plugin = plugins.join("mine.wasm");
    std::fs::copy(self::plugin(), &plugin).expect("copied");
    let in_cache = ["--parser-cache", path(&cache), "--plugins", path(&plugins)];
    let run = |command: &[&str]| printed(&parser(&[command, &in_cache].concat()));
    run(&["run", path(&plugin), "--case", path(&file)]);
    let [(entry, inode, _)] = &entries(&cache)[..] else { panic!("one entry: {:?}", entries(&cache)) };
    let used_long_ago = || {
        let file = std::fs::File::options().write(true).open(entry).expect("opened");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    };
    for command in [&["run", path(&plugin), "--case", path(&file)][..], &["inspect", path(&plugin)]] {
        used_long_ago();
        run(command);
        let of_plugin = entries(&cache).into_iter().find(|(path, ..)| path == entry).expect("it is there");
        assert_eq!(of_plugin.1, *inode, "{command:?} wrote it anew");
        assert!(of_plugin.2 > 0, "{command:?} didn't read it");
    }
}

#[test]
fn a_test_compiles_the_parser_once() {
    let folder = cases(false);
    let cache = folder.path().join("cache");
    let plugin = plugin();
    printed(&parser(&[
        "test",
        path(&plugin),
        "--cases",
        path(folder.path()),
        "--parser-cache",
        path(&cache),
    ]));
    assert_eq!(entries(&cache).len(), 1);
}

#[test]
fn list_compiles_only_files_not_describing_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cache, plugins) = (folder.path().join("cache"), folder.path().join("plugins"));
    std::fs::create_dir(&plugins).expect("made");
    std::fs::copy(plugin(), plugins.join("describes.wasm")).expect("copied");
    let list = || {
        let arguments = ["list", "--json", "--parser-cache", path(&cache), "--plugins", path(&plugins)];
        serde_json::from_str::<Vec<Value>>(&printed(&parser(&arguments))).expect("JSON")
    };
    let row = list().remove(0);
    assert_eq!((row["name"].as_str(), row["sha256"].as_str().map(str::len)), (Some("qwen3"), Some(64)));
    assert_eq!(entries(&cache), []);
    let mut bytes = std::fs::read(plugin()).expect("read");
    let section = b"sluice-descriptor";
    let at = bytes.windows(section.len()).position(|part| part == section).expect("a section");
    bytes[at] = b'S';
    std::fs::write(plugins.join("silent.wasm"), bytes).expect("written");
    let row = list().remove(1);
    assert_eq!(
        (row["name"].as_str(), row["markers"].as_array().map(Vec::is_empty)),
        (Some("qwen3"), Some(false))
    );
    assert_eq!(entries(&cache).len(), 1);
}

#[test]
fn parser_needing_options_is_listed_and_not_refused() {
    let nowhere = ["list", "--plugins", "/nowhere"];
    let listed = printed(&parser(&nowhere));
    let line = listed.lines().find(|line| line.starts_with("response-template ")).expect("it is shipped");
    assert!(line.contains("needs a model's table") && !line.contains("refuse"), "{line}");
    let json = printed(&parser(&[&nowhere[..], &["--json"]].concat()));
    let rows: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    let row = rows.iter().find(|row| row["file"] == "response-template").expect("it is there");
    assert!(row["needs_options"].is_string() && row["error"].is_null(), "{row}");
}

#[test]
fn nobody_who_reads_is_no_error_of_what_prints() {
    let folder = cases(false);
    let file = folder.path().join("holds.json");
    let (plugin, folder, file) = (plugin(), path(folder.path()), path(&file));
    for arguments in [
        &["list"][..],
        &["inspect", path(&plugin)],
        &["test", path(&plugin), "--cases", folder],
        &["test", path(&plugin), "--cases", folder, "--json"],
        &["run", path(&plugin), "--case", file],
        &["trace", path(&plugin), "--case", file],
        &["bench", path(&plugin), "--cases", folder],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(arguments).stdout(writer).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(141), ""), "{arguments:?}");
    }
}

#[test]
fn what_is_no_file_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo.wasm");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    for (given, what) in
        [(folder.path(), "a directory"), (&fifo, "a FIFO"), (Path::new("/dev/null"), "a device")]
    {
        let error = refusal(&["inspect", path(given)]);
        assert_eq!(error, format!("error: parser {}: is {what}, not a parser file\n", given.display()));
    }
    let listed = printed(&parser(&["list", "--plugins", path(folder.path())]));
    assert!(listed.contains("is a FIFO, not a parser file"), "{listed}");
}

#[test]
fn turn_is_traced_by_step_without_colours_in_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, tools) = (folder.path().join("raw.txt"), folder.path().join("tools.json"));
    std::fs::write(&input, "<think>Hm.</think><tool_call>{\"name\": \"add\"}</tool_call>").expect("written");
    std::fs::write(&tools, r#"["add"]"#).expect("written");
    let plugin = plugin();
    let arguments = ["trace", path(&plugin), "--input", path(&input), "--tools", path(&tools)];
    let output = parser(&[&arguments[..], &["--step", "8", "--events", "chat"]].concat());
    let text = printed(&output);
    for part in [
        "marker 0 «<think>»",
        "until the next marker to Reasoning",
        "call of \"add\"",
        "ends Completed",
        "finish Stop",
        "chat.completion.chunk",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// The component with a custom section, which makes it as large as one that holds an interpreter.
fn enlarged(component: &[u8]) -> Vec<u8> {
    const PADDING: u32 = 4 << 20;
    let mut section = vec![0, 1, b'x'];
    section.resize(section.len() + PADDING as usize, 0);
    // Its length behind its id, in LEB128 of four bytes.
    let length = PADDING + 2;
    let leb: Vec<u8> =
        (0..4).map(|at| ((length >> (7 * at)) & 0x7f) as u8 | if at < 3 { 0x80 } else { 0 }).collect();
    [component, &section[..1], &leb, &section[1..]].concat()
}

#[test]
fn interpreter_is_compiled_once_for_try_and_all_tests() {
    let (folder, cases) = (tempfile::tempdir().expect("a folder"), cases(false));
    let (small, large) = (plugin(), folder.path().join("large.wasm"));
    std::fs::write(&large, enlarged(&std::fs::read(&small).expect("the parser"))).expect("written");
    for (plugin, compiled) in [(&small, 2), (&large, 1)] {
        let cache = folder.path().join(format!("{compiled}"));
        let case = cases.path().join("holds.json");
        let tail = ["--parser-cache", path(&cache)];
        printed(&parser(&[&["run", path(plugin), "--case", path(&case)], &tail[..]].concat()));
        printed(&parser(&[&["trace", path(plugin), "--case", path(&case)], &tail[..]].concat()));
        printed(&parser(&[&["test", path(plugin), "--cases", path(cases.path())], &tail[..]].concat()));
        let files = cache.read_dir().expect("the cache").map(|file| file.expect("a file").path());
        let entries = files.filter(|file| file.extension().is_some_and(|extension| extension == "compiled"));
        assert_eq!(entries.count(), compiled, "{}", plugin.display());
    }
}

/// `--input /dev/zero` took all memory.
#[test]
fn files_that_commands_read_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("raw.txt");
    std::fs::write(&file, "Hi").expect("written");
    let large = folder.path().join("large.json");
    std::fs::File::create(&large).expect("made").set_len(1 << 40).expect("sparse");
    let plugin = plugin();
    let trace = |arguments: &[&str]| refusal(&[&["trace", path(&plugin)], arguments].concat());
    for (error, says) in [
        (trace(&["--input", "/dev/zero"]), "--input /dev/zero: it has more than 4194304 bytes"),
        (trace(&["--input", path(&file), "--tools", path(&large)]), "it has more than 4194304 bytes"),
        (trace(&["--case", "/dev/zero"]), "/dev/zero: no regular file"),
        (trace(&["--case", path(&large)]), "it has more than 4194304 bytes"),
    ] {
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_panic_is_said_with_the_way_to_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plugin, case) = (folder.path().join("p.wasm"), folder.path().join("cases/hello.json"));
    std::fs::write(&plugin, crate::guests::guest("trap_in_text")).expect("written");
    std::fs::create_dir(folder.path().join("cases")).expect("made");
    let hello = r#"{"chunks": ["Hello."], "expect": {"items": [{"type": "message", "text": "Hello."}], "end": "completed"}}"#;
    std::fs::write(&case, hello).expect("written");
    let output = parser(&["test", path(&plugin), "--cases", path(&folder.path().join("cases"))]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = printed(&output);
    assert!(
        said.contains("wasm trap: unreachable") && said.contains("`cargo test` plays the same cases"),
        "{said}"
    );
    assert!(said.contains("no template: forced and strict calls will be refused"), "{said}");
}

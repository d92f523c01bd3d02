//! Records that are cut off, changed, of another version, or never were records: one line each.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Recorded, Records, errors_of, host, lines, replay, text_of, write};

/// A record of a streamed answer.
fn record() -> (Records, PathBuf) {
    let server = Recorded::start("qwen3-tiny", &[]);
    let body = json!({"model": "qwen3-tiny", "input": "Hello!", "max_output_tokens": 12, "stream": true});
    server.post("/v1/responses", &body);
    let records = server.stop();
    let file = records.files().remove(0);
    (records, file)
}

/// Replays a file that can't be; returns the only line on stderr.
fn refusal(file: &Path) -> String {
    let output = replay(&[file.to_owned()], &[]);
    let error = errors_of(&output);
    assert_eq!(output.status.code(), Some(1), "{error}{}", text_of(&output.stdout));
    assert_eq!((error.lines().count(), output.stdout.len()), (1, 0), "{error}");
    error
}

#[test]
fn records_that_were_cut_off_replay_as_far_as_they_go() {
    let (records, file) = record();
    let all = lines(&file);
    let cut = records.0.path().join("cut.slrec");
    for count in 1..=all.len() {
        write(&cut, &all[..count]);
        let output = replay(std::slice::from_ref(&cut), &[]);
        let error = text_of(&output.stderr);
        let begins = all[..count].iter().any(|line| line.get("prompt").is_some());
        assert_eq!(output.status.success(), begins, "{count}: {}{error}", text_of(&output.stdout));
        assert!(begins || error.contains("cut off before its first turn"), "{count}: {error}");
    }
    let bytes = std::fs::read(&file).unwrap();
    for size in [0, 3, 20, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&cut, &bytes[..size]).unwrap();
        let output = replay(std::slice::from_ref(&cut), &[]);
        let error = errors_of(&output);
        assert!(output.status.success() || error.lines().count() == 1, "{size}: {error}");
    }
}

#[test]
fn the_first_event_that_differs_is_shown() {
    let (records, file) = record();
    let mut all = lines(&file);
    let changed = records.0.path().join("changed.slrec");
    let text = all.iter_mut().filter_map(|line| line.get_mut("events")).flat_map(|events| {
        events
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .filter(|event| event["type"] == "response.output_item.added")
    });
    let event = text.into_iter().next().unwrap();
    let number = event["sequence_number"].clone();
    event["item"]["role"] = json!("robot");
    write(&changed, &all);
    let output = replay(&[changed], &[]);
    let out = text_of(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].ends_with(&format!("event {number} differs")), "{out}");
    assert!(lines[1].starts_with("expected: {") && lines[1].contains("robot"), "{out}");
    assert!(lines[2].starts_with("got:      {") && !lines[2].contains("robot"), "{out}");
}

#[test]
fn what_is_no_record_of_this_version_is_refused() {
    let (records, file) = record();
    let all = lines(&file);
    let path = records.0.path().join("wrong.slrec");
    let head = |change: &dyn Fn(&mut Value)| {
        let mut lines = all.clone();
        change(&mut lines[0]["head"]);
        write(&path, &lines);
        refusal(&path)
    };
    assert!(head(&|head| head["format"] = json!(2)).contains("it has format 2"));
    assert!(head(&|head| head["format"] = json!("x")).contains("its first line is no head"));
    assert!(head(&|head| head["model"]["tokenizer"] = json!("00")).contains("had another tokenizer"));
    assert!(head(&|head| head["id_seed"] = json!("00")).contains("its seed is no seed"));
    assert!(head(&|head| head["protocol"] = json!("gopher")).contains("its protocol is unknown"));
    assert!(head(&|head| head["body"] = json!("{")).contains("not valid JSON"));
    for switch in ["--cuda-libs=/tmp", "--listen=0.0.0.0:1", "--engine=http://a:1", "x", "--record=/tmp/x"] {
        assert!(head(&|head| head["switches"] = json!([switch])).contains("no switch of a record"));
    }
    let other = |lines: &[Value]| {
        write(&path, lines);
        refusal(&path)
    };
    assert!(other(&all[1..]).contains("its first line is no head"));
    assert!(other(&[&all[..1], &[json!({"riddle": 1})]].concat()).contains("line 2: unknown variant"));
    assert!(other(&[&all[..1], &all[..1]].concat()).contains("line 2: there is a second head"));
    for (generation, dropped, why) in [(7, 1, "drops tokens of no step"), (0, 99, "drops more tokens than")] {
        let step = json!({"step": {"ms": 0, "generation": generation, "ids": [], "dropped": dropped}});
        assert!(other(&[&all[..all.len() - 1], &[step]].concat()).contains(why));
    }
    for bytes in [&b"{}\n"[..], b"\x28\xb5\x2f\xfdxxxxxxxx", &[0; 100]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(refusal(&path).contains("wrong.slrec: it "), "{bytes:?}");
    }
    assert!(refusal(&records.0.path().join("none.slrec")).contains("No such file"));
}

/// Paths of all values inside a value.
fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
    all.push(path.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| paths(inner, &format!("{path}/{name}"), all));
        }
        Value::Array(list) => {
            list.iter().take(1).for_each(|inner| paths(inner, &format!("{path}/0"), all));
        }
        _ => {}
    }
}

#[test]
fn a_record_with_any_lie_ends_in_words() {
    let (records, file) = record();
    let all = lines(&file);
    let kind = |line: &Value| line.as_object().unwrap().keys().next().unwrap().clone();
    let (mut known, mut files) = (Vec::new(), Vec::new());
    for (number, line) in all.iter().enumerate() {
        if known.contains(&kind(line)) {
            continue;
        }
        known.push(kind(line));
        let mut places = Vec::new();
        paths(&line[kind(line)], &format!("/{}", kind(line)), &mut places);
        for place in places {
            for lie in [json!(u64::MAX), json!(null), json!("\u{0}\u{1b}[2J"), json!([[]])] {
                let mut lines = all.clone();
                *lines[number].pointer_mut(&place).unwrap() = lie;
                let path = records.0.path().join(format!("lie-{}.slrec", files.len()));
                write(&path, &lines);
                files.push(path);
            }
        }
    }
    assert!(known.len() >= 6 && files.len() > 200, "{known:?} {}", files.len());
    let output = replay(&files, &[]);
    let (out, error) = (text_of(&output.stdout), errors_of(&output));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(!error.contains("panicked") && !error.contains('\u{1b}'), "{error}");
    let of_files = |text: &str, start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    let folder = records.0.path().display();
    let refused = of_files(&error, &format!("error: record {folder}/lie-"));
    let replayed = of_files(&out, &format!("{folder}/lie-"));
    assert_eq!((refused + replayed, error.lines().count()), (files.len(), refused), "{error}");
}

/// `format-1.slrec` was written by version 0.1.0, before records named a prompt's authors, and isn't written
/// anew unless the embedded model gets another tokenizer: then by that build with the new model's files. A format that grows
/// gets a file of its own beside it, and what reads records reads both or refuses by the format's
/// number.
#[test]
fn a_record_of_an_older_build_is_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/records/format-1.slrec");
    let case = host().args(["parser", "case"]).arg(&file).output().expect("the binary runs");
    let case: Value = serde_json::from_slice(&case.stdout).expect("JSON");
    assert_eq!(case["expect"]["items"][1]["text"], "I cannot do that, because I have no tool for it.");
    // Events may be others by now; the record is none that can't be replayed.
    let output = replay(std::slice::from_ref(&file), &[]);
    let (out, error) = (text_of(&output.stdout), text_of(&output.stderr));
    assert!(out.starts_with(&format!("{}: e", file.display())) && error.is_empty(), "{out}{error}");
}

/// A small file: the head of a record, with these bytes behind it.
fn swelling<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Records, PathBuf) {
    let (records, file) = record();
    let path = records.0.path().join("swelling.slrec");
    let mut encoder = zstd::Encoder::new(std::fs::File::create(&path).expect("created"), 3).expect("a frame");
    encoder.write_all(format!("{}\n", lines(&file)[0]).as_bytes()).expect("written");
    for piece in pieces {
        encoder.write_all(piece).expect("written");
    }
    encoder.finish().expect("written");
    assert!(std::fs::metadata(&path).expect("it is there").len() < 1 << 20);
    (records, path)
}

#[test]
fn a_record_that_swells_is_refused_in_bounded_memory() {
    let blank = vec![b' '; 1 << 20];
    let (_records, path) = swelling(std::iter::repeat_n(&*blank, 1024));
    assert!(refusal(&path).contains("line 2 has more than 16 MiB"));
}

/// Two bytes of a line become a hundred once it is read.
#[test]
fn a_record_of_many_small_values_is_refused_before_they_are_read() {
    let tools = "[0],".repeat(15 << 18);
    let line = format!("{{\"listed\":{{\"ms\":1,\"server\":0,\"tools\":[{tools}0]}}}}\n");
    let (_records, path) = swelling([line.as_bytes()]);
    assert!(refusal(&path).contains("its lines take more than 2048 MiB of memory"));
    assert!(refusal(std::path::Path::new("/dev/zero")).contains("no regular file"));
}

/// A record may come from anybody, and a device has no end.
#[test]
fn files_that_a_record_names_are_shown_regular_and_bounded() {
    let (records, file) = record();
    let all = lines(&file);
    let path = records.0.path().join("foreign.slrec");
    let with = |switch: &str| {
        let mut lines = all.clone();
        lines[0]["head"]["switches"].as_array_mut().unwrap().push(json!(switch));
        write(&path, &lines);
    };
    for switch in
        ["--chat-template=/dev/zero", "--chat-template=m=/dev/zero", "--mcp=/dev/zero", "--model=/dev/null"]
    {
        with(switch);
        let error = refusal(&path);
        assert!(error.contains(&format!("it names {switch:?}, which is no file and no folder")), "{error}");
    }
    let large = records.0.path().join("large.jinja");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let switch = format!("--chat-template={}", large.display());
    with(&switch);
    let output = replay(std::slice::from_ref(&path), &[]);
    let error = text_of(&output.stderr);
    assert!(error.lines().any(|line| line.starts_with("note: ") && line.ends_with(&switch)), "{error}");
    assert!(error.lines().last().unwrap().contains("it has more than 4194304 bytes"), "{error}");
}

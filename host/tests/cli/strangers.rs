//! Model files that strangers made: a server doesn't start with them, and says why in one line,
//! whatever a library does with them.

use serde_json::{Value, json};

use crate::commands::model;
use crate::run::host;
use crate::serve_switches::text;

/// Starts a server with a changed tokenizer, and a template; returns what stderr has.
fn refused(alter: impl Fn(&mut Value), template: Option<&str>) -> String {
    let folder = model("model.safetensors");
    let file = folder.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&std::fs::read(&file).expect("read")).expect("JSON");
    alter(&mut tokenizer);
    std::fs::remove_file(&file).expect("removed");
    std::fs::write(&file, tokenizer.to_string()).expect("written");
    let mut command =
        host(&["serve", "--store", "none", "--engine", "replay:nowhere", "--model", text(folder.path())]);
    if let Some(template) = template {
        let file = folder.path().join("own.jinja");
        std::fs::write(&file, template).expect("written");
        command.args(["--template-time", "100", "--chat-template", text(&file)]);
    }
    command.env_remove("RUST_LOG");
    let (error, status) = crate::serving::refused(command);
    assert_eq!(status, 1, "{error}");
    error.replace(text(folder.path()), "m")
}

/// A map of characters whose trie leads out of itself.
const BROKEN_MAP: &str = "BAAAAP////8A";
/// A map whose trie has more bytes than the map.
const LYING_MAP: &str = "/P///wAAAAA=";

#[test]
fn faults_of_a_strangers_tokenizer_are_one_line() {
    let growing = |steps: usize| {
        let step = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"});
        json!({"type": "Sequence", "normalizers": vec![step; steps]})
    };
    let map = |map: &str| json!({"type": "Precompiled", "precompiled_charsmap": map});
    for (normalizer, reason) in [
        (growing(12), "its normalizer may make more than 16384 bytes of one"),
        (growing(2), "it makes more than 16 bytes of each of a text of 1 bytes"),
        (map(BROKEN_MAP), "it fails on a text of 1 bytes"),
        (map(LYING_MAP), "its normalizer has a broken map of characters"),
    ] {
        let error = refused(|file| file["normalizer"] = normalizer.clone(), None);
        assert_eq!(error, format!("error: m/tokenizer.json: {reason}; fetch the file again\n"));
    }
    let split = json!({"type": "Split", "pattern": {"Regex": "(a|aa)+(?=[bc])"}, "behavior": "Isolated", "invert": false});
    let error = refused(|file| file["pre_tokenizer"] = split.clone(), None);
    assert!(error.starts_with("error: m/tokenizer.json: it ") && error.contains(" a text of "), "{error}");
}

/// An id beyond the embedding made each request that spells its text fail. Added tokens beyond it
/// are tolerated, as transformers does: Gemma 3 1B has one for images.
#[test]
fn a_tokenizer_with_more_tokens_than_rows_is_refused() {
    let checked = |place: &str| {
        let folder = model("model.safetensors");
        let (file, config) = (folder.path().join("tokenizer.json"), folder.path().join("config.json"));
        let read =
            |file| -> Value { serde_json::from_slice(&std::fs::read(file).expect("read")).expect("JSON") };
        let rows = read(&config)["vocab_size"].as_u64().expect("a number");
        let mut tokenizer = read(&file);
        if place == "added" {
            let token = json!({"id": rows, "content": "<image>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
            tokenizer["added_tokens"].as_array_mut().expect("a list").push(token);
        } else {
            tokenizer["model"]["vocab"]["zqzq"] = json!(rows);
        }
        std::fs::remove_file(&file).expect("removed");
        std::fs::write(&file, tokenizer.to_string()).expect("written");
        let output = host(&["doctor", "--json", "--store", "none", "--model", text(folder.path())]).output();
        let shown = String::from_utf8(output.expect("the binary runs").stdout).expect("UTF-8");
        let says = format!("it has token {rows}, and the model's embedding has {rows} rows (vocab_size)");
        let refusal =
            host(&["serve", "--listen", "127.0.0.1:0", "--store", "none", "--model", text(folder.path())]);
        (shown.contains(&says), says, refusal, folder)
    };
    let (is_refused, says, mut command, _folder) = checked("vocab");
    let output = command.env_remove("RUST_LOG").output().expect("the binary runs");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((is_refused, output.status.code(), error.lines().count()), (true, Some(1), 1), "{error}");
    assert!(error.contains(&says) && error.ends_with("config.json of one model\n"), "{error}");
    assert!(!checked("added").0);
}

/// A pipe would be waited for, and a device would never end.
#[test]
fn files_that_are_no_files_are_refused() {
    for name in ["tokenizer.json", "config.json", "chat_template.jinja"] {
        let folder = model("model.safetensors");
        let file = folder.path().join(name);
        std::fs::remove_file(&file).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &file).expect("linked");
        let mut command =
            host(&["serve", "--store", "none", "--engine", "replay:nowhere", "--model", text(folder.path())]);
        let output = command.env_remove("RUST_LOG").output().expect("the binary runs");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
        assert!(error.contains(&format!("{name}: no regular file")), "{error}");
    }
}

#[test]
fn endless_template_ends_the_start_in_one_line() {
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let error = refused(|_| (), Some(endless));
    let reason = "a few short conversations take it more than 200 ms of CPU time, 2 times --template-time";
    assert!(error.contains(reason), "{error}");
}

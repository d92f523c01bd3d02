//! `host models` and `host rm`: what is in the cache of Hugging Face's tools, and its removal, from a
//! cache that the test makes.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::pseudo_terminal::Terminal;
use crate::run::host;
use crate::serve_switches::text;

/// A cache in a folder of its own, beside a folder that isn't the cache's.
struct Cache {
    home: tempfile::TempDir,
}

/// Ids of commits.
const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";

impl Cache {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(home.path().join("hub")).expect("made");
        fs::create_dir(home.path().join("outside")).expect("made");
        fs::write(home.path().join("outside/kept"), "kept").expect("written");
        Self { home }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("hub")
    }

    fn outside(&self) -> PathBuf {
        self.home.path().join("outside")
    }

    fn repository(&self, name: &str) -> PathBuf {
        self.root().join(format!("models--{}", name.replace('/', "--")))
    }

    /// Adds a content to a repository.
    fn blob(&self, name: &str, blob: &str, content: impl AsRef<[u8]>) {
        write(&self.repository(name).join("blobs").join(blob), content.as_ref());
    }

    /// Adds a file to a snapshot: a link to a content.
    fn link(&self, name: &str, commit: &str, path: &str, blob: &str) {
        let link = self.repository(name).join("snapshots").join(commit).join(path);
        fs::create_dir_all(link.parent().expect("a folder")).expect("made");
        symlink(format!("{}blobs/{blob}", "../".repeat(path.split('/').count() + 1)), link).expect("linked");
    }

    fn file(&self, name: &str, commit: &str, path: &str, content: impl AsRef<[u8]>) {
        let blob = format!("{commit}-{}", path.replace('/', "-"));
        self.blob(name, &blob, content);
        self.link(name, commit, path, &blob);
    }

    fn reference(&self, name: &str, revision: &str, commit: &str) {
        write(&self.repository(name).join("refs").join(revision), commit.as_bytes());
    }

    /// Adds the embedded model as `ORG/NAME`, but for the file `without`; returns its size in bytes.
    fn model(&self, name: &str, without: &str) -> u64 {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
        let mut bytes = 0;
        for file in [
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "model.safetensors",
        ] {
            if file != without {
                let content = fs::read(source.join(file)).expect("read");
                bytes += content.len() as u64;
                self.file(name, FIRST, file, content);
            }
        }
        self.reference(name, "main", FIRST);
        bytes
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = host(arguments);
        command.env("HF_HUB_CACHE", self.root()).env("HF_HUB_OFFLINE", "1").current_dir(self.home.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// What a command prints that succeeds.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The one line of a command that fails.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(
            (output.status.code(), output.stdout.len(), error.lines().count()),
            (Some(1), 0, 1),
            "{error}"
        );
        error.replace(text(&self.root()), "HUB")
    }

    fn listed(&self) -> Value {
        serde_json::from_str(&self.printed(&["models", "--json"])).expect("JSON")
    }

    /// Names of the models.
    fn names(&self) -> Vec<String> {
        let listed = self.listed();
        let models = listed["models"].as_array().expect("a list").iter();
        models.map(|model| model["name"].as_str().expect("a name").to_owned()).collect()
    }

    fn blobs(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.repository(name).join("blobs")).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// Checks that nothing outside of the cache was touched.
    fn check_outside(&self) {
        assert_eq!(fs::read_to_string(self.outside().join("kept")).expect("kept"), "kept");
        assert_eq!(self.outside().read_dir().expect("a folder").count(), 1);
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, content).expect("written");
}

#[test]
fn an_empty_cache_says_how_to_get_a_model() {
    let cache = Cache::new();
    let said = format!("no models in {}: get one with: host pull ORG/NAME\n", text(&cache.root()));
    assert_eq!(cache.printed(&["models"]), said);
    fs::remove_dir(cache.root()).expect("removed");
    assert_eq!(cache.printed(&["models"]), said);
    assert_eq!(cache.listed()["models"], json!([]));
}

#[test]
fn models_are_listed_with_size_age_and_parser() {
    let cache = Cache::new();
    let bytes = cache.model("org/tiny", "");
    let prompt_bytes = cache.model("org/remote", "model.safetensors");
    let weights = cache.repository("org/tiny").join("blobs").join(format!("{FIRST}-model.safetensors"));
    for entry in cache.repository("org/tiny").join("blobs").read_dir().expect("a folder") {
        let old = SystemTime::now() - Duration::from_hours(100);
        let file = File::options().write(true).open(entry.expect("an entry").path()).expect("opened");
        file.set_modified(old).expect("set");
    }
    let two_days = SystemTime::now() - Duration::from_hours(50);
    File::options().write(true).open(weights).expect("opened").set_modified(two_days).expect("set");
    let listed = cache.listed();
    assert_eq!((&listed["bytes"], &listed["folder"]), (&json!(bytes + prompt_bytes), &json!(cache.root())));
    let facts =
        |model: &Value| json!([model["name"], model["state"], model["bytes"], model["parser"]["name"]]);
    let models: Vec<Value> = listed["models"].as_array().expect("a list").iter().map(facts).collect();
    let expected = [
        json!(["org/remote", "no_weights", prompt_bytes, "qwen3"]),
        json!(["org/tiny", "whole", bytes, "qwen3"]),
    ];
    assert_eq!(models, expected);
    let tiny = &listed["models"][1];
    assert_eq!(
        (&tiny["commit"], &tiny["error"], tiny["files"].as_array().map(Vec::len)),
        (&json!(FIRST), &Value::Null, Some(5))
    );
    assert!(
        tiny["parser"]["why"].as_str().is_some_and(|why| why.contains("claims model_type qwen3")),
        "{tiny}"
    );
    let table = cache.printed(&["models"]);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["MODEL", "SIZE", "DOWNLOADED", "FORM", "PARSER"]);
    assert_eq!((rows[1][2], rows[1][3]), ("just now", "no weights, 4 files"), "{table}");
    assert_eq!(
        (rows[2][0], rows[2][2], rows[2][3], rows[2][4]),
        ("org/tiny", "2 days ago", "safetensors, 5 files", "qwen3")
    );
    assert!(table.ends_with(&format!(" in {}\n", text(&cache.root()))) && rows.len() == 4, "{table}");
}

/// Each name is one that `--model` takes for the same files.
#[test]
fn names_tell_revisions_and_gguf_files_apart() {
    let cache = Cache::new();
    cache.model("org/tiny", "");
    cache.file("org/tiny", SECOND, "config.json", "{}");
    for path in ["x-Q4_K_M.gguf", "x-Q8_0.gguf", "a/x-Q8_0.gguf", "mmproj-x.gguf"] {
        cache.file("org/x-GGUF", FIRST, path, "GGUF");
    }
    for part in ["y-00001-of-00002.gguf", "y-00002-of-00002.gguf"] {
        cache.file("org/x-GGUF", SECOND, part, "GGUF");
    }
    cache.reference("org/x-GGUF", "main", FIRST);
    cache.reference("org/x-GGUF", "refs/pr/1", SECOND);
    let names = cache.names();
    let gguf =
        ["org/x-GGUF:Q4_K_M", "org/x-GGUF:a/x-Q8_0.gguf", "org/x-GGUF:x-Q8_0.gguf", "org/x-GGUF@refs/pr/1:y"];
    let mut sorted = names.clone();
    sorted.sort();
    let mut expected: Vec<String> = gguf.iter().map(|name| (*name).to_owned()).collect();
    expected.extend(["org/tiny".to_owned(), format!("org/tiny@{SECOND}")]);
    expected.sort();
    assert_eq!(sorted, expected);
    let table = cache.printed(&["models"]);
    assert!(table.contains(&format!("\norg/tiny@{SECOND}: tokenizer.json is missing\n")), "{table}");
    assert!(table.contains("\norg/x-GGUF:Q4_K_M: ") && table.contains("truncated at byte 4 of 4"), "{table}");
    for name in gguf {
        let error = cache.refused(&["run", "Hi", "-m", name]);
        assert!(
            error.contains("truncated at byte 4 of 4")
                && error.contains(&format!("snapshots/{}", if name.contains('@') { SECOND } else { FIRST })),
            "{error}"
        );
    }
}

#[test]
fn what_broke_off_is_listed_and_removed() {
    let cache = Cache::new();
    cache.blob("org/half", "ab.sluice.incomplete", [0; 1000]);
    cache.blob("org/half", "cd.incomplete", [0; 500]);
    let listed = cache.listed();
    let model = &listed["models"][0];
    assert_eq!(
        (&model["name"], &model["bytes"], &model["state"]),
        (&json!("org/half"), &json!(1500), &json!("unusable"))
    );
    assert_eq!(model["error"], "a download that broke off");
    assert_eq!(cache.printed(&["rm", "--yes", "org/half"]), "removed org/half: 1.5 kB freed (1500 bytes)\n");
    assert!(!cache.repository("org/half").exists() && cache.names().is_empty());
}

#[test]
fn a_repository_goes_as_a_whole_and_others_stay() {
    let cache = Cache::new();
    let bytes = cache.model("org/tiny", "");
    cache.model("org/other", "model.safetensors");
    cache.file("org/tiny", SECOND, "config.json", "{}");
    cache.reference("org/tiny", "refs/pr/1", SECOND);
    let removed = cache.printed(&["rm", "--yes", "org/tiny"]);
    // The references' files count, too.
    let freed = bytes + 2 + 2 * FIRST.len() as u64;
    assert!(
        removed.starts_with("removed org/tiny: ") && removed.ends_with(&format!(" ({freed} bytes)\n")),
        "{removed}"
    );
    assert!(!cache.repository("org/tiny").exists());
    assert_eq!(cache.names(), ["org/other"]);
    let error = cache.refused(&["rm", "--yes", "org/tiny"]);
    assert_eq!(error, "error: org/tiny isn't in the cache (HUB): host models lists what is\n");
}

#[test]
fn contents_of_other_revisions_stay() {
    let cache = Cache::new();
    cache.blob("org/x", "shared", "12345");
    cache.blob("org/x", "old", "123");
    cache.blob("org/x", "new", "12");
    for (commit, own) in [(FIRST, "old"), (SECOND, "new")] {
        cache.link("org/x", commit, "config.json", "shared");
        cache.link("org/x", commit, "tokenizer.json", own);
    }
    cache.reference("org/x", "main", SECOND);
    cache.reference("org/x", "refs/pr/1", FIRST);
    let removed = cache.printed(&["rm", "--yes", "org/x@refs/pr/1"]);
    assert_eq!(removed, format!("removed org/x@refs/pr/1: {0} B freed ({0} bytes)\n", 3 + FIRST.len()));
    assert_eq!(cache.blobs("org/x"), ["new", "shared"]);
    assert!(!cache.repository("org/x").join("refs/refs").exists(), "empty folders go, too");
    assert_eq!(cache.names(), ["org/x"]);
    let error = cache.refused(&["rm", "--yes", "org/x@v9"]);
    assert!(error.contains("the cache has no revision v9 of it"), "{error}");
    cache.printed(&["rm", "--yes", &format!("org/x@{SECOND}")]);
    assert!(!cache.repository("org/x").exists(), "the last revision takes the folder along");
}

#[test]
fn a_gguf_file_goes_and_its_neighbours_stay() {
    let cache = Cache::new();
    let parts = ["BF16/x-BF16-00001-of-00002.gguf", "BF16/x-BF16-00002-of-00002.gguf"];
    for path in parts.into_iter().chain(["x-Q4_K_M.gguf"]) {
        cache.file("org/x-GGUF", FIRST, path, path);
    }
    cache.link("org/x-GGUF", FIRST, "same.gguf", &format!("{FIRST}-x-Q4_K_M.gguf"));
    cache.reference("org/x-GGUF", "main", FIRST);
    let error = cache.refused(&["rm", "--yes", "org/x-GGUF:Q9"]);
    assert!(error.contains("in the cache, no GGUF file is Q9; there are "), "{error}");
    let removed = cache.printed(&["rm", "--yes", "org/x-GGUF:BF16"]);
    let freed: usize = parts.iter().map(|part| part.len()).sum();
    assert!(removed.ends_with(&format!(" ({freed} bytes)\n")), "{removed}");
    assert_eq!(
        cache.printed(&["rm", "--yes", "org/x-GGUF:Q4_K_M"]),
        "removed org/x-GGUF:Q4_K_M: 0 B freed (0 bytes)\n"
    );
    let snapshot = cache.repository("org/x-GGUF").join("snapshots").join(FIRST);
    assert!(!snapshot.join("BF16").exists() && snapshot.join("same.gguf").exists());
    assert_eq!(cache.blobs("org/x-GGUF").len(), 1);
    cache.printed(&["rm", "--yes", "org/x-GGUF:same.gguf"]);
    assert!(!cache.repository("org/x-GGUF").exists());
}

#[test]
fn a_model_that_is_being_downloaded_is_refused() {
    let cache = Cache::new();
    cache.model("org/tiny", "");
    cache.file("org/tiny", SECOND, "config.json", "{}");
    let lock = cache.root().join(".locks/models--org--tiny").join(format!("{FIRST}-config.json.lock"));
    write(&lock, b"");
    let file = File::options().write(true).open(&lock).expect("opened");
    file.lock().expect("locked");
    let before = cache.names();
    for name in ["org/tiny", "org/tiny@main"] {
        let error = cache.refused(&["rm", "--yes", name]);
        assert_eq!(
            error,
            format!("error: {name}: another process downloads it: stop that, or wait for it\n")
        );
    }
    assert_eq!(cache.names(), before);
    // The other revision's contents are nobody's.
    cache.printed(&["rm", "--yes", &format!("org/tiny@{SECOND}")]);
    drop(file);
    cache.printed(&["rm", "--yes", "org/tiny"]);
    assert!(!cache.repository("org/tiny").exists());
}

#[test]
fn removal_is_asked_for_on_a_terminal_and_refused_without() {
    let cache = Cache::new();
    cache.model("org/tiny", "");
    let error = cache.refused(&["rm", "org/tiny"]);
    assert!(error.ends_with("all of it, in HUB/models--org--tiny: --yes removes it\n"), "{error}");
    for (answer, code) in [("n\r", Some(1)), ("\u{4}", Some(1)), ("y\r", Some(0))] {
        assert!(cache.repository("org/tiny").exists());
        let mut terminal = Terminal::start(cache.command(&["rm", "org/tiny"]));
        terminal.until("remove it? y/n> ");
        terminal.keys(answer);
        let (shown, ended) = terminal.end();
        assert_eq!((ended, shown.contains("removed org/tiny: ")), (code, code == Some(0)), "{shown}");
    }
    assert!(!cache.repository("org/tiny").exists());
}

/// A folder in the cache may come from anybody: an archive, another user of a shared disk.
#[test]
fn links_lead_nowhere() {
    let cache = Cache::new();
    let (root, outside) = (cache.root(), cache.outside());
    // A repository that is a link, one whose folders are, and one with links and loops inside.
    symlink(&outside, cache.repository("org/link")).expect("linked");
    for folder in ["blobs", "snapshots", "refs"] {
        let name = format!("org/{folder}");
        cache.file(&name, FIRST, "config.json", "{}");
        cache.reference(&name, "main", FIRST);
        fs::remove_dir_all(cache.repository(&name).join(folder)).expect("removed");
        symlink(&outside, cache.repository(&name).join(folder)).expect("linked");
    }
    let odd = cache.repository("org/odd");
    cache.file("org/odd", FIRST, "config.json", "{}");
    for (link, target) in
        [("out", text(&outside)), ("kept.gguf", text(&outside.join("kept"))), ("loop", "loop"), ("up", "..")]
    {
        symlink(target, odd.join("snapshots").join(FIRST).join(link)).expect("linked");
    }
    symlink("../../outside/kept", odd.join("blobs/evil")).expect("linked");
    cache.link("org/odd", FIRST, "evil.gguf", "evil");
    cache.reference("org/odd", "evil", "../../../outside");
    symlink(outside.join("kept"), odd.join("refs/main")).expect("linked");
    symlink(&odd, odd.join("again")).expect("linked");
    // What isn't a model's.
    for foreign in ["datasets--org--x", "models--alone", "models--..--..", "models--a b--c"] {
        fs::create_dir(root.join(foreign)).expect("made");
    }
    fs::write(root.join("models--org--file"), "").expect("written");
    let listed = cache.listed();
    let names: Vec<&str> = listed["models"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|model| model["name"].as_str())
        .collect();
    assert_eq!(names, ["org/blobs", "org/link", &*format!("org/odd@{FIRST}"), "org/refs", "org/snapshots"]);
    for model in listed["models"].as_array().expect("a list") {
        assert_eq!(model["state"], "unusable", "{model}");
    }
    for name in ["org/link", "org/blobs", "org/snapshots", "org/refs"] {
        let error = cache.refused(&["rm", "--yes", name]);
        assert!(
            error.contains("a symbolic link, which is not followed: remove it by hand"),
            "{name}: {error}"
        );
    }
    let error = cache.refused(&["rm", "--yes", "org/odd:kept.gguf"]);
    assert!(error.contains("the cache has no revision main of it"), "{error}");
    cache.printed(&["rm", "--yes", "org/odd"]);
    assert!(!odd.exists());
    cache.check_outside();
}

#[test]
fn names_that_lead_out_of_the_cache_are_no_names() {
    let cache = Cache::new();
    for name in ["../outside", "org/..", "org/x@../../outside", "org/x:../kept.gguf", "/etc", "outside", ""] {
        let output = cache.run(&["rm", "--yes", name]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains("expected ORG/NAME"), "{name}: {error}");
    }
    cache.check_outside();
}

#[test]
fn a_name_that_is_not_there_is_answered_with_similar_ones() {
    let cache = Cache::new();
    cache.model("Qwen/Qwen3-Tiny", "");
    cache.model("other/Mamba", "");
    for arguments in [
        &["run", "Hi", "-m", "qwen3"][..],
        &["run", "Hi", "-m", "Qwen/Qwen3-Tinny"],
        &["serve", "--listen", "0", "-m", "qwen/qwen3tiny:Q4_K_M"],
        &["rm", "Qwen/Qwen-3-tiny"],
    ] {
        let error = cache.refused(arguments);
        assert!(error.ends_with("; the cache has Qwen/Qwen3-Tiny\n"), "{arguments:?}: {error}");
    }
    let error = cache.refused(&["run", "Hi", "-m", "org/unlike"]);
    assert!(!error.contains("the cache has"), "{error}");
}

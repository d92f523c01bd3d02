//! `--config` of the commands that ask: they read a server's file, and take one of its models.

use std::path::Path;
use std::process::Output;

use crate::run::{Scripted, host};
use crate::serve_switches::{Serving, serve};

/// A server's file with two models, each with a script of its own.
struct Settings {
    scripted: Scripted,
    file: String,
}

impl Settings {
    fn new(first_lines: &str) -> Self {
        let scripted = Scripted::new(r#"[{"text": "small"}]"#);
        let other = scripted.write("other.json", r#"{"rules": [{"text": "other"}]}"#);
        let model = |name: &str, engine: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
            format!("[model.{name}]\npath = '{}'\nengine = '{engine}'\n", path.display())
        };
        let models = model("small", &scripted.engine()) + &model("other", &format!("replay:{other}"));
        let file = scripted.write("sluice.toml", &format!("{first_lines}{models}"));
        Self { scripted, file }
    }

    /// Exit status, stdout and stderr of a command with this file; `{file}` stands for its path.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = host(&[arguments, &["--config", &self.file]].concat());
        let Output { status, stdout, stderr } =
            command.env("XDG_DATA_HOME", self.scripted.path("data")).output().expect("the binary runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(&self.file, "{file}");
        (status.code(), text(stdout), text(stderr))
    }
}

/// Settings that only a server has.
const OF_A_SERVER: &str = "listen = 0\nadmin-listen = 0\nstore = 'memory'\nallow-host = ['a']\n";

#[test]
fn model_of_the_file_is_chosen_by_its_name() {
    let settings = Settings::new(OF_A_SERVER);
    for (arguments, text) in [
        (&["run", "Hi", "-m", "small"][..], "small\n"),
        (&["run", "Hi", "--model=other", "--context", "other=1000"], "other\n"),
        (&["run", "Hi", "--model", "new=qwen3-tiny", "-m", "small"], ""),
    ] {
        let (code, printed, error) = settings.run(arguments);
        assert_eq!(
            (code, printed.as_str()),
            (Some(i32::from(text.is_empty())), text),
            "{arguments:?}: {error}"
        );
    }
    let (code, printed, error) = settings.run(&["run", "Hi"]);
    let wanted = "error: one model is asked, and 2 are given: choose by --model\n";
    assert_eq!((code, printed.as_str(), error.as_str()), (Some(1), "", wanted));
    let (code, printed, error) = settings.run(&["launch", "claude", "--print", "-m", "small"]);
    assert!(code == Some(0) && printed.contains("ANTHROPIC_MODEL=small"), "{printed}{error}");
    let (code, _, error) = settings.run(&["serve", "--listen", "0", "-m", "small"]);
    assert!(code == Some(1) && error.contains("--model small: no such directory"), "{error}");
}

#[test]
fn settings_of_a_server_are_left_to_it() {
    let settings = Settings::new("kv-cache = 64\nsystem = 'Be brief.'\n");
    assert_eq!(settings.run(&["launch", "claude", "--print-config"]).0, Some(0));
    let (code, _, error) = settings.run(&["serve", "--print-config"]);
    assert!(code == Some(1) && error.contains("{file}:2: system: no such switch"), "{error}");
    let (code, printed, error) = settings.run(&["chat", "-m", "other", "--print-config"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    for line in [
        "kv-cache = 64  # {file}:1",
        "system = \"Be brief.\"  # {file}:2",
        "model = \"other\"  # switch",
        "[model.\"other\"]",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }
    assert!(!printed.contains("small"), "{printed}");
    for (first, wanted) in [
        ("x = 1\n", "{file}:1: x: no such switch; host run --help lists them"),
        ("listen = 0\nkv-cache = 0\n", "{file}:2: invalid value '0' for '--kv-cache"),
        ("print = true\n", "{file}:1: print: no such switch"),
        ("think = 'high'\nhide-thinking = 7\n", "{file}:2: hide-thinking: expected true or false"),
    ] {
        let (code, _, error) = Settings::new(first).run(&["run", "Hi", "-m", "small"]);
        assert!(code != Some(0) && error.contains(wanted) && error.lines().count() == 1, "{first}: {error}");
    }
}

#[test]
fn server_elsewhere_has_models_of_its_own() {
    let settings = Settings::new(OF_A_SERVER);
    let server = Serving::start(serve(&["--engine", &settings.scripted.engine()]));
    let (code, printed, error) = settings.run(&["run", "Hi", "--url", &server.url()]);
    assert_eq!((code, printed.as_str(), error.as_str()), (Some(0), "small\n", ""));
    let with_url = Settings::new(&format!("url = '{}'\n", server.url()));
    let (code, printed, error) = with_url.run(&["run", "Hi", "-m", "qwen3-tiny"]);
    assert_eq!((code, printed.as_str(), error.as_str()), (Some(0), "small\n", ""));
}

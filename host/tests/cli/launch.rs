//! `host launch` with agents that record how they were started, and ask the model once.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use crate::commands::model;
use crate::run::{Scripted, host, signal};
use crate::scripted_server::scripted;
use crate::serve_switches::{Serving, serve, text};
use crate::serving::eventually;

/// Agents in a folder that comes first in `PATH`, and a model with a long context.
struct Agents {
    scripted: Scripted,
    model: tempfile::TempDir,
}

/// The embedded model without its weights, for scripts, with a context of so many tokens.
pub(super) fn long_model(context: usize) -> tempfile::TempDir {
    let model = model("model.safetensors");
    let file = model.path().join("config.json");
    let config = std::fs::read_to_string(&file).expect("read");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    config["max_position_embeddings"] = context.into();
    std::fs::write(file, config.to_string()).expect("written");
    model
}

/// The agents' programs.
const AGENTS: [&str; 8] = ["codex", "claude", "qwen", "opencode", "kilo", "copilot", "pi", "aider"];

/// What every agent does: it writes its arguments and variables to files, and the file that it was
/// given, asks for an answer at the address and with the key that it was told, and ends with 7.
const RECORD: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$RECORD/arguments"
env | sort > "$RECORD/variables"
behind() { grep -A1 -x -e "$1" "$RECORD/arguments" | tail -1; }
quoted() { grep -o "\"$1\"[:=]\"[^\"]*\"" | cut -d'"' -f4; }
case $0 in
*codex) url=$(grep -o 'base_url="[^"]*"' "$RECORD/arguments" | cut -d'"' -f2) key=SLUICE_KEY ;;
*claude) url=$ANTHROPIC_BASE_URL key=ANTHROPIC_AUTH_TOKEN ;;
*qwen) url=$OPENAI_BASE_URL key=OPENAI_API_KEY ;;
*opencode) url=$(printf %s "$OPENCODE_CONFIG_CONTENT" | quoted baseURL) key=SLUICE_KEY ;;
*kilo) url=$(printf %s "$KILO_CONFIG_CONTENT" | quoted baseURL) key=SLUICE_KEY ;;
*copilot) url=$COPILOT_PROVIDER_BASE_URL key=COPILOT_PROVIDER_BEARER_TOKEN ;;
*pi) url=$SLUICE_URL key=SLUICE_KEY file=$(behind --extension) ;;
*aider) url=$(behind --openai-api-base) key=AIDER_OPENAI_API_KEY file=$(behind --model-metadata-file) ;;
esac
[ -z "$file" ] || cp "$file" "$RECORD/file"
"$HOST" run Hi --url "$url" --key "env:$key" > "$RECORD/answer" || exit 1
exit 7
"#;

/// Agents that read a file, and a part of it.
const WITH_FILE: [(&str, &str); 2] = [
    ("pi", "registerProvider(\"sluice\""),
    ("aider", "\"openai/m\":{\"max_input_tokens\":30000,\"max_output_tokens\":10000}"),
];

impl Agents {
    fn new(context: usize) -> Self {
        let scripted = Scripted::new(r#"[{"text": "Hello!"}]"#);
        std::fs::create_dir(scripted.path("bin")).expect("made");
        for agent in AGENTS {
            let file = scripted.path("bin").join(agent);
            std::fs::write(&file, RECORD).expect("written");
            std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("it is ours");
        }
        Self { scripted, model: long_model(context) }
    }

    /// Variables of an agent's start, in place of the user's own.
    fn placed(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").expect("there is one");
        command
            .env("PATH", format!("{}:{path}", text(&self.scripted.path("bin"))))
            .env("RECORD", self.scripted.folder.path())
            .env("HOST", env!("CARGO_BIN_EXE_host"))
            .env("TMPDIR", self.scripted.folder.path());
        command
    }

    fn launch(&self, agent: &str, more: &[&str]) -> Output {
        let local = format!("--model=m={}", text(self.model.path()));
        let mut command = self.scripted.command(&["launch", agent, &local]);
        command.args(more);
        self.placed(command).output().expect("the binary runs")
    }

    /// Names of the files that agents are given, as far as they are there.
    fn files(&self) -> Vec<String> {
        let entries = self.scripted.folder.path().read_dir().expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("sluice-")).collect()
    }

    fn recorded(&self, name: &str) -> String {
        std::fs::read_to_string(self.scripted.path(name)).unwrap_or_default()
    }

    /// Checks that the agent was started, had its answer, and ended as the command did.
    fn assert_answered(&self, agent: &str, output: &Output) {
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*error), (Some(7), ""), "{agent}");
        assert_eq!(self.recorded("answer"), "Hello!\n", "{agent}");
    }
}

#[test]
fn each_agent_is_told_of_the_model_in_this_process() {
    let agents = Agents::new(40_000);
    for (agent, part) in [
        ("codex", "model_provider=\"sluice\"\n"),
        ("claude", "--model\nm\n"),
        ("qwen", "--auth-type\nopenai\n"),
        ("opencode", ""),
        ("kilo", ""),
        ("copilot", ""),
        ("pi", "--provider\nsluice\n--model\nm\n"),
        ("aider", "--model\nopenai/m\n"),
    ] {
        agents.assert_answered(agent, &agents.launch(agent, &["--", "exec", "a b"]));
        let arguments = agents.recorded("arguments");
        assert!(arguments.contains(part) && arguments.ends_with("exec\na b\n"), "{agent}: {arguments}");
    }
}

#[test]
fn keys_are_in_the_environment_alone() {
    let agents = Agents::new(40_000);
    for agent in AGENTS {
        agents.launch(agent, &[]);
        let (arguments, variables) = (agents.recorded("arguments"), agents.recorded("variables"));
        let names = [
            "SLUICE_KEY=",
            "ANTHROPIC_AUTH_TOKEN=",
            "OPENAI_API_KEY=",
            "COPILOT_PROVIDER_BEARER_TOKEN=",
            "AIDER_OPENAI_API_KEY=",
        ];
        let keys: Vec<&str> = variables
            .lines()
            .filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)))
            .collect();
        let [key] = keys[..] else { panic!("{agent}: {variables}") };
        assert!(key.len() == 48 && !arguments.contains(key), "{agent}: {arguments}");
        assert!(!agents.recorded("file").contains(key), "{agent}");
        assert_eq!(variables.matches(key).count(), 1, "{agent}: {variables}");
    }
}

#[test]
fn codex_is_told_where_the_servers_catalog_is() {
    let agents = Agents::new(40_000);
    agents.launch("codex", &[]);
    let arguments = agents.recorded("arguments");
    let url = arguments.split("base_url=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a URL");
    assert!(arguments.contains(&format!("model_catalog_url=\"{url}/models\"")), "{arguments}");
    assert!(arguments.contains("-c\nmodel_context_window=40000\n"), "{arguments}");
}

#[test]
fn a_file_goes_with_its_agent() {
    let agents = Agents::new(40_000);
    for (agent, part) in WITH_FILE {
        agents.launch(agent, &[]);
        let file = agents.recorded("file");
        assert!(file.contains(part), "{agent}: {file}");
        assert_eq!(agents.files(), [""; 0], "{agent}");
    }
}

#[test]
fn codex_is_not_started_with_a_short_context() {
    let output = Agents::new(4096).launch("codex", &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    for part in ["codex needs 32768 tokens", "m has 4096", "--context", "--kv-cache"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_server_elsewhere_is_used_with_its_key() {
    let agents = Agents::new(40_000);
    let model = format!("--model=m={}", text(agents.model.path()));
    let engine = agents.scripted.engine();
    let server = Serving::start(serve(&[&model, "--engine", &engine, "--api-key", "k1"]));
    for agent in AGENTS {
        let mut command = host(&["launch", agent, "--url", &server.url()]);
        command.env("SLUICE_API_KEY", "k1");
        let output = agents.placed(command).output().expect("the binary runs");
        agents.assert_answered(agent, &output);
    }
}

/// A server's word for its model reaches no agent as a switch, and names no variable or file of the
/// user's.
#[test]
fn a_servers_name_that_an_agent_would_misread_starts_none() {
    let agents = Agents::new(40_000);
    for (agent, name, reason) in [
        ("codex", "-cmodel=x", "begins with a dash, so codex would"),
        ("claude", "--dangerously-skip-permissions", "begins with a dash, so claude would"),
        ("qwen", "-y", "begins with a dash, so qwen would"),
        ("opencode", "-y", "begins with a dash, so opencode would"),
        ("opencode", "a{env:HOME}", "would put a variable or a file"),
        ("opencode", "{file:/etc/hostname}", "would put a variable or a file"),
        ("kilo", "a{env:HOME}", "kilo would put a variable or a file"),
        ("copilot", "-y", "begins with a dash, so copilot would"),
        ("pi", "-ne", "begins with a dash, so pi would"),
        ("aider", "--yes", "begins with a dash, so aider would"),
    ] {
        let list =
            serde_json::json!({"object": "list", "data": [{"id": name, "object": "model"}]}).to_string();
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
        let (url, _requests) =
            scripted(vec![format!("{head}\r\ncontent-length: {}\r\n\r\n{list}", list.len())]);
        for more in [&[][..], &["--print"]] {
            let command = host(&[&["launch", agent, "--url", &url], more].concat());
            let output = agents.placed(command).output().expect("the binary runs");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                (output.status.code(), error.lines().count()),
                (Some(1), 1),
                "{agent} {name}: {error}"
            );
            assert!(error.contains(reason) && error.contains("--model"), "{agent} {name}: {error}");
            assert!(output.stdout.is_empty() && agents.recorded("arguments").is_empty(), "{agent} {name}");
        }
    }
}

#[test]
fn a_model_that_the_server_does_not_list_is_said() {
    let agents = Agents::new(40_000);
    let list = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"data\": [{\"id\": \"a\"}, {\"id\": \"b\\u001b[2J\"}]}";
    let (url, _requests) = scripted(vec![list.to_owned()]);
    let base = url.trim_end_matches("/v1");
    for (model, said) in
        [("a", String::new()), ("x", format!("warning: {base} lists no model x, but a, b\\u{{1b}}[2J\n"))]
    {
        let command = host(&["launch", "qwen", "--print", "--url", &url, "--model", model]);
        let output = agents.placed(command).output().expect("the binary runs");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()),
            (Some(0), said)
        );
    }
}

#[test]
fn an_agent_that_is_not_there_is_named_with_its_package() {
    let mut command = host(&["launch", "claude"]);
    let output = command.env("PATH", "/nowhere").output().expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(error, "error: claude is not installed: `npm install -g @anthropic-ai/claude-code` gets it\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_printed_command_runs_and_names_the_key() {
    let agents = Agents::new(40_000);
    let model = format!("--model=m={}", text(agents.model.path()));
    let engine = agents.scripted.engine();
    let server = Serving::start(serve(&[&model, "--engine", &engine, "--api-key", "k1"]));
    for agent in AGENTS {
        let mut command = host(&["launch", agent, "--print", "--url", &server.url(), "--", "it's"]);
        command.env("SLUICE_API_KEY", "k1");
        let printed = agents.placed(command).output().expect("the binary runs").stdout;
        let printed = String::from_utf8(printed).expect("UTF-8");
        assert!(printed.lines().count() == 1 && !printed.contains("k1"), "{printed}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &printed]).env("SLUICE_API_KEY", "k1");
        agents.assert_answered(agent, &agents.placed(shell).output().expect("a shell"));
        assert!(agents.recorded("arguments").ends_with("it's\n"));
    }
    assert_eq!(agents.files().len(), WITH_FILE.len(), "a file of a printed command stays");
}

#[test]
fn a_signal_to_end_goes_to_the_agent_and_its_file_goes() {
    let agents = Agents::new(40_000);
    let script = "#!/bin/sh\ntrap 'exit 9' TERM\ntouch \"$RECORD/begun\"\nwhile :; do sleep 0.01; done\n";
    std::fs::write(agents.scripted.path("bin/pi"), script).expect("written");
    let mut child = agents.placed(agents.scripted.command(&["launch", "pi"])).spawn().expect("it runs");
    eventually("it begins", || {
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        agents.scripted.path("begun").exists()
    });
    assert_eq!(agents.files().len(), 1);
    signal(&child, "-INT");
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(9));
    assert_eq!(agents.files(), [""; 0]);
}

//! A model whose calls no parser reads: a start derives one from its chat template, serves text until it
//! is proved, and keeps it for the next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use serde_json::{Value, json};

use crate::serve_switches::{Serving, text};

const TEMPLATE: &str = include_str!("../../fit/tests/derive/outside.jinja");
/// A call in that template's format.
const CALL: &str =
    "<|calls|><|call|>functions.get_weather:0<|arguments|>{\"city\": \"Oslo\"}<|/call|><|/calls|>";

/// Cache of all tests, which has compiled parsers.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// A model of a type that nobody claims, and a script that writes the call. No other model has its name and
/// its template.
struct Model(tempfile::TempDir);

impl Model {
    /// A model with this template, and a cache that has every parser: tests that run beside each other
    /// would all compile them.
    fn new(template: &str) -> Self {
        static CACHE_IS_FULL: Once = Once::new();
        CACHE_IS_FULL.call_once(|| drop(Self::made(&of_one_call()).doctor()));
        Self::made(template)
    }

    fn made(template: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
        let model = folder.path().join(name(&folder));
        fs::create_dir(&model).expect("made");
        for file in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
            fs::copy(own.join(file), model.join(file)).expect("copied");
        }
        let config = fs::read_to_string(own.join("config.json")).expect("read");
        let config =
            config.replace("\"qwen3\"", "\"nobodys\"").replace("Qwen3ForCausalLM", "NobodysForCausalLM");
        fs::write(model.join("config.json"), config).expect("written");
        let template = format!("{{# {} #}}{template}", name(&folder));
        fs::write(model.join("chat_template.jinja"), template).expect("written");
        fs::write(folder.path().join("script.json"), json!({ "rules": [{ "text": CALL }] }).to_string())
            .expect("written");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn start(&self, more: &[&str]) -> Serving {
        Serving::start(self.command("serve", more))
    }

    /// What `host doctor` says of parsers.
    fn doctor(&self) -> String {
        of_parsers(self.command("doctor", &[]))
    }

    fn command(&self, subcommand: &str, more: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_host").as_ref(), subcommand, more)
    }

    fn command_of(&self, binary: &Path, subcommand: &str, more: &[&str]) -> Command {
        let mut command = Command::new(binary);
        let engine = format!("replay:{}", self.path("script.json").display());
        command.args([subcommand, "--listen", "127.0.0.1:0", "--store", "memory", "--seal-key", "none"]);
        command.args([
            "--engine",
            &engine,
            "--served-model-name",
            "m",
            "--model",
            text(&self.path(name(&self.0))),
        ]);
        command.args(["--plugins", text(&self.path("plugins"))]).args(more);
        command
            .env("RUST_LOG", "warn,host=info,model::parsers=info")
            .env("XDG_CACHE_HOME", CACHE)
            .env_remove("SLUICE_API_KEY");
        command
    }

    /// Writes the model's table into the plugins folder.
    fn derive_into_plugins(&self) {
        let (folder, model) = (self.path("plugins/tables"), self.path(name(&self.0)));
        fs::create_dir_all(&folder).expect("made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        command.args(["parser", "derive", "--force", "--name", "mine", "--model", text(&model)]);
        command.args(["--out", text(&folder)]).env("XDG_CACHE_HOME", CACHE);
        let output = command.output().expect("the binary runs");
        assert!(output.status.success(), "{output:?}");
    }

    /// Files of the model's tables that are kept.
    fn kept(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(Path::new(CACHE).join("sluice/parsers")).expect("a folder");
        let is_ours = |file: &PathBuf| {
            let bytes = fs::read(file).unwrap_or_default();
            file.extension().is_some_and(|ending| ending == "table")
                && String::from_utf8_lossy(&bytes).contains(name(&self.0))
        };
        files.map(|entry| entry.expect("readable").path()).filter(is_ours).collect()
    }
}

/// What a `host doctor` says of parsers.
fn of_parsers(mut doctor: Command) -> String {
    let output = doctor.output().expect("the binary runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    said.lines().filter(|line| line.contains(" parser ")).collect::<Vec<_>>().join("\n")
}

/// A template of which no parser is derived.
fn of_one_call() -> String {
    TEMPLATE.replace("for call in message.tool_calls", "for call in message.tool_calls[:1]")
}

/// Name of the folder, which no other has.
fn name(folder: &tempfile::TempDir) -> &str {
    folder.path().file_name().and_then(|name| name.to_str()).expect("UTF-8")
}

/// The message of an answer.
fn message(server: &Serving) -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tool = json!({ "type": "function", "function": { "name": "get_weather", "parameters": parameters } });
    let said = json!([{ "role": "user", "content": "Weather?" }]);
    let answer = server.post(
        "/v1/chat/completions",
        &json!({ "model": "m", "messages": said, "tools": [tool] }).to_string(),
    );
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let body: Value = serde_json::from_str(body).expect("JSON");
    body["choices"][0]["message"].clone()
}

fn is_call(message: &Value) -> bool {
    let function = &message["tool_calls"][0]["function"];
    function["name"] == "get_weather" && function["arguments"] == "{\"city\": \"Oslo\"}"
}

/// Waits for the server's word, however long that takes, and asks it.
fn check_derived(server: &mut Serving) {
    server.logged("deriving a parser from the chat template: calls go out as text until it is there");
    let said = server.logged("derived");
    assert!(said.contains("and proved; host parser derive --force writes it"), "{said}");
    assert!(is_call(&message(server)));
}

#[test]
fn a_parser_is_derived_once_and_serves_each_start() {
    let model = Model::new(TEMPLATE);
    let foreseen = model.doctor();
    assert!(
        foreseen.contains("ok    parser") && foreseen.contains("and proved, while it serves"),
        "{foreseen}"
    );
    assert_eq!(model.kept(), [""; 0].map(PathBuf::from), "a doctor keeps nothing");
    let mut server = model.start(&[]);
    let early = message(&server);
    assert!(is_call(&early) || early["content"] == CALL, "a call, or text until then: {early}");
    check_derived(&mut server);
    drop(server);
    let [kept] = &model.kept()[..] else { panic!("one is kept: {:?}", model.kept()) };

    assert!(model.doctor().contains("from the chat template at an earlier start"));
    let mut server = model.start(&[]);
    assert!(is_call(&message(&server)), "from the first request on");
    let said = server.hang_up("parser unchanged");
    assert!(said.contains("source=derived"), "{said}");
    model.derive_into_plugins();
    let said = server.hang_up("parser swapped");
    assert!(said.contains("mine.json"), "an operator's own comes first: {said}");
    assert!(is_call(&message(&server)));
    assert!(!server.log_to_the_end().contains("deriving"));
    fs::remove_dir_all(model.path("plugins")).expect("removed");

    // What this installation didn't write is no parser.
    let mut table = fs::read(kept).expect("read");
    *table.last_mut().expect("bytes") = b' ';
    fs::write(kept, table).expect("written");
    let mut server = model.start(&[]);
    server.logged("kept parser not used");
    check_derived(&mut server);
    drop(server);
    fs::remove_file(kept).expect("removed");

    let server = model.start(&["--parser", "none"]);
    assert_eq!(message(&server)["content"], CALL, "none was asked for");
    assert!(!server.log_to_the_end().contains("deriv"));
}

#[test]
fn what_is_not_derived_is_said_and_stays_text() {
    let model = Model::new(&of_one_call());
    let foreseen = model.doctor();
    assert!(
        foreseen.contains("warn  parser   none can be derived") && foreseen.contains("several calls vanish"),
        "{foreseen}"
    );
    let mut server = model.start(&[]);
    let said = server.logged("no parser derived");
    assert!(said.contains("calls go out as text") && said.contains("several calls vanish"), "{said}");
    assert_eq!(message(&server)["content"], CALL);
    assert_eq!(model.kept(), [""; 0].map(PathBuf::from), "no table is kept");
}

/// Each start spent seconds on it.
#[test]
fn what_one_start_could_not_derive_the_next_of_the_same_build_does_not_try() {
    let model = Model::new(&of_one_call());
    let another = model.path("another-build");
    fs::copy(env!("CARGO_BIN_EXE_host"), &another).expect("copied");
    let host = Path::new(env!("CARGO_BIN_EXE_host"));
    for (binary, is_tried) in
        [(host, true), (host, false), (&another, true), (&another, false), (host, false)]
    {
        let mut server = Serving::start(model.command_of(binary, "serve", &[]));
        let said = server.logged(if is_tried { "deriving a parser" } else { "no parser derived" });
        if is_tried {
            server.logged("no parser derived");
        } else {
            assert!(said.contains("several calls vanish"), "{said}");
            assert!(said.contains("as an earlier start found"), "{said}");
        }
        assert!(!server.log_to_the_end().contains("deriving"));
    }
    assert!(model.doctor().contains("as an earlier start found"));
}

/// Models with templates of their own could keep it busy for an hour.
#[test]
fn a_doctor_derives_few_parsers_and_each_once() {
    let models: Vec<Model> = (0..6).map(|_| Model::new(&of_one_call())).collect();
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_host"));
    let engine = format!("replay:{}", models[0].path("script.json").display());
    doctor.args(["doctor", "--listen", "127.0.0.1:0", "--store", "memory", "--engine", &engine]);
    let names = ["zero", "again", "one", "two", "three", "four", "five"];
    for (model, served) in [0, 0, 1, 2, 3, 4, 5].into_iter().zip(names) {
        let model: &Model = &models[model];
        let path = model.path(name(&model.0));
        doctor.args(["--model", &format!("{served}={}", path.display())]);
    }
    doctor.env("XDG_CACHE_HOME", CACHE);
    let said = of_parsers(doctor);
    let told = |words: &str| -> Vec<&str> {
        let told = |name: &&str| said.contains(&format!("{words} for {name}: "));
        names.into_iter().filter(told).collect()
    };
    assert_eq!(told("none can be derived"), names[..5], "{said}");
    assert_eq!(told("not tried whether one can be derived"), names[5..], "{said}");
}

#[test]
fn two_servers_derive_into_one_cache() {
    let model = Model::new(TEMPLATE);
    let mut servers = [model.start(&[]), model.start(&[])];
    servers.iter_mut().for_each(check_derived);
    let [kept] = &model.kept()[..] else { panic!("one is kept: {:?}", model.kept()) };
    assert!(is_call(&message(&model.start(&[]))), "what both have written serves the next start");
    fs::remove_file(kept).expect("removed");
}

//! `host doctor`: what would keep a server from starting is said, each thing on its line.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::commands::model;
use super::serve_switches::{Serving, refused, serve, text};

struct Doctor {
    command: Command,
    home: tempfile::TempDir,
}

impl Doctor {
    /// With any free address.
    fn with(arguments: &[&str]) -> Self {
        Self::on("0", arguments)
    }

    fn on(address: &str, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        command.args(["doctor", "--listen", address]).args(arguments);
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env(variable, home.path());
        }
        Self { command, home }
    }

    /// The exit status and the lines.
    fn says(&mut self) -> (Option<i32>, Vec<String>) {
        let output = self.command.output().expect("the binary runs");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), lines.lines().map(str::to_owned).collect())
    }

    /// The only failure, which begins with `about`.
    fn fails(&mut self, about: &str) -> String {
        let (code, lines) = self.says();
        assert_eq!(code, Some(1), "{lines:#?}");
        let failures: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("FAIL  ")).collect();
        let [failure] = failures[..] else { panic!("{lines:#?}") };
        assert!(failure.starts_with(about), "{failure}");
        failure.to_owned()
    }
}

#[test]
fn a_healthy_machine_passes_and_no_file_is_made() {
    let mut doctor = Doctor::with(&[]);
    let (code, lines) = doctor.says();
    assert_eq!(code, Some(0), "{lines:#?}");
    for begin in
        ["ok    cpu ", "ok    sandbox ", "ok    model    qwen3-tiny in the binary", "ok    parser   qwen3 "]
    {
        assert!(lines.iter().any(|line| line.starts_with(begin)), "{begin}: {lines:#?}");
    }
    assert!(lines.iter().any(|line| line.contains("sluice/state.db will be made")), "{lines:#?}");
    assert_eq!(doctor.home.path().read_dir().expect("it is there").count(), 0);
}

#[test]
fn json_has_the_same_findings() {
    let output = Doctor::with(&["--json"]).command.output().expect("the binary runs");
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all = findings["findings"].as_array().expect("a list");
    assert!(all.iter().any(|one| one["about"] == "agents" && one["level"] == "warn"), "{findings}");
}

#[test]
fn a_taken_port_is_named_and_the_rest_still_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    assert!(Doctor::with(&["--admin-listen", &address]).fails("port").contains("in use"));
}

#[test]
fn one_address_for_both_listeners_is_a_failure() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port");
    let free = free.to_string();
    let mut doctor = Doctor::on(&free, &["--admin-listen", &free]);
    assert!(doctor.fails("port").contains("the same address"));
}

#[test]
fn a_cache_too_small_for_the_context_is_a_warning() {
    let (code, lines) = Doctor::with(&["--kv-cache", "1"]).says();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("warn  model    qwen3-tiny: prompt and answer")),
        "{lines:#?}"
    );
}

#[test]
fn a_remote_engine_that_is_not_there_is_a_warning() {
    let (code, lines) = Doctor::with(&["--engine", "http://127.0.0.1:9"]).says();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("no engine answers")), "{lines:#?}");
}

#[test]
fn half_a_model_is_no_model() {
    let folder = model("model.safetensors");
    let index = r#"{"weight_map": {"a": "model-00001-of-00002.safetensors"}}"#;
    std::fs::write(folder.path().join("model.safetensors.index.json"), index).expect("written");
    let failure = Doctor::with(&["--model", text(folder.path())]).fails("model");
    assert!(failure.contains("model-00001-of-00002.safetensors"), "{failure}");
}

#[test]
fn a_model_that_a_start_would_download_is_a_warning() {
    let mut doctor = Doctor::with(&["--model", "org/name"]);
    doctor.command.env("HF_HUB_CACHE", doctor.home.path());
    let (code, lines) = doctor.says();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("host pull org/name, or the start")), "{lines:#?}");
}

#[test]
fn more_memory_than_is_free_is_a_failure() {
    assert!(Doctor::with(&["--kv-cache", "9000000"]).fails("memory").contains("8789 GiB"));
}

#[test]
fn a_store_that_another_server_has_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = format!("sqlite:{}", text(&folder.path().join("state.db")));
    let _server = Serving::start(serve(&["--store", &place]));
    assert!(Doctor::with(&["--store", &place]).fails("store").contains("another process"));
}

#[test]
fn a_key_that_others_can_read_is_a_failure() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(file.path(), mode).expect("it is ours");
    assert!(Doctor::with(&["--seal-key", text(file.path())]).fails("seal").contains("chmod 600"));
}

#[test]
fn a_tool_server_that_does_not_start_is_a_warning() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let config = r#"{"mcpServers": {"time": {"command": "no-such-program"}}}"#;
    std::fs::write(file.path(), config).expect("written");
    let (code, lines) = Doctor::with(&["--mcp", text(file.path())]).says();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("warn  tools    time: ")), "{lines:#?}");
}

/// Lets no memory of the command become executable, as systemd's `MemoryDenyWriteExecute` does where
/// the kernel has this call (Linux 6.3); else the command doesn't start.
#[allow(unsafe_code, reason = "a call in the child")]
fn deny_executable_memory(command: &mut Command) {
    let deny = || match unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    // SAFETY: between fork and exec there is only a call of the system.
    unsafe { command.pre_exec(deny) };
}

#[test]
fn a_sandbox_without_executable_memory_is_named() {
    let mut doctor = Doctor::with(&["--parser", "none"]);
    deny_executable_memory(&mut doctor.command);
    if doctor.command.status().is_err() {
        return println!("not checked: this kernel has no such sandbox");
    }
    assert!(doctor.fails("sandbox").contains("MemoryDenyWriteExecute=no"));
}

#[test]
fn no_model_is_served_without_its_parser_unasked() {
    let mut server = serve(&["--threads", "1"]);
    let mut asked = Command::new(env!("CARGO_BIN_EXE_host"));
    asked.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "warn");
    asked.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    deny_executable_memory(&mut server);
    deny_executable_memory(&mut asked);
    let mut probe = Command::new("true");
    deny_executable_memory(&mut probe);
    if probe.status().is_err() {
        return println!("not checked: this kernel has no such sandbox");
    }
    let (error, status) = refused(asked);
    assert_eq!(status, 1, "{error}");
    for word in ["memory may not become executable", "MemoryDenyWriteExecute=no", "--parser none"] {
        assert!(error.contains(word), "{error}");
    }
    // With `--parser none`, which was asked for, it serves.
    assert!(Serving::start(server).get("/ready").contains("ready"));
}

#[test]
fn switches_are_those_of_serve() {
    let help = |command: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_host")).args([command, "--help"]).output();
        let help = String::from_utf8(output.expect("the binary runs").stdout).expect("UTF-8");
        help.lines().filter(|line| line.trim_start().starts_with("--")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (serve, mut doctor) = (help("serve"), help("doctor"));
    doctor.retain(|line| line.trim() != "--json");
    assert_eq!(serve, doctor);
}

#[test]
fn parser_that_misreads_the_template_is_a_warning() {
    let (code, lines) = Doctor::with(&["--parser", "mistral"]).says();
    assert_eq!(code, Some(0), "{lines:#?}");
    let warning = lines.iter().find(|line| line.starts_with("warn  parser   mistral ")).expect("a warning");
    let why = " for qwen3-tiny: it was asked for, though it doesn't read a call as the chat template writes it, \
               as qwen3 can: ";
    assert!(warning.contains(why), "{warning}");
    let (_, lines) = Doctor::with(&["--parser", "qwen3"]).says();
    assert!(!lines.iter().any(|line| line.contains("though")), "{lines:#?}");
}

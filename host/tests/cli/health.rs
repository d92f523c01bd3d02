//! `host health`, as the health check of a container.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::serve_switches::{Serving, refused, serve, text};

fn health(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.arg("health").args(arguments).output().expect("the binary runs")
}

#[test]
fn health_is_what_the_probes_say() {
    let server = Serving::start(serve(&["--threads", "1"]));
    let url = format!("http://{}", server.address());
    for (arguments, said) in [(&[][..], "ready"), (&["--live"][..], "live")] {
        let output = health(&[&["--url", &url], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).expect("UTF-8"), format!("{{\"status\":\"{said}\"}}\n"));
    }
    drop(server);
    let output = health(&["--url", &url]);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.starts_with(&format!("error: {url}/ready: no connection")), "{error}");
}

#[test]
fn server_without_its_engine_is_not_healthy() {
    let server = Serving::start(serve(&["--engine", "http://127.0.0.1:9"]));
    let url = format!("http://{}", server.address());
    let output = health(&["--url", &url]);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.code() == Some(1) && error.contains("503"), "{error}");
    assert!(error.contains("1 of 1 models have no engine"), "{error}");
    assert_eq!(health(&["--url", &url, "--live"]).status.code(), Some(0));
}

/// A certificate for `localhost` of these tests: `which` is empty or `other-`.
fn certificate(which: &str, name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/tls");
    fixtures.join(format!("{which}{name}.pem"))
}

#[test]
fn a_server_with_tls_is_asked_by_https_and_shows_a_new_certificate_after_a_hangup() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    let install = |which: &str| {
        std::fs::copy(certificate(which, "certificate"), &chain).expect("a file");
        std::fs::copy(certificate(which, "key"), &key).expect("a file");
    };
    install("");
    let switches = ["--log-level", "info", "--tls-cert", text(&chain), "--tls-key", text(&key)];
    let mut server = Serving::start(serve(&switches));
    let url = format!("https://{}", server.address());
    let asked =
        |which: &str| health(&["--url", &url, "--ca", text(&certificate(which, "ca"))]).status.success();
    assert_eq!((asked(""), asked("other-")), (true, false));
    let plain = health(&["--url", &url.replace("https", "http")]);
    assert_eq!(plain.status.code(), Some(1));

    // A key without its certificate: all stays as it was.
    std::fs::copy(certificate("other-", "key"), &key).expect("a file");
    let line = server.hang_up("settings not reloaded");
    assert!(line.contains("--tls-key") && line.contains("not the key of"), "{line}");
    assert!(asked(""));
    install("other-");
    server.hang_up("settings reloaded");
    assert_eq!((asked(""), asked("other-")), (false, true));
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let files = ["certificate", "key", "ca"].map(|name| text(&certificate("", name)).to_owned());
    let [chain, key, ca] = files.each_ref().map(String::as_str);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pipe = folder.path().join("chain.pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    for (arguments, said) in [
        (["--tls-cert", chain, "--tls-key", "none.pem"], "--tls-key none.pem: No such file"),
        (["--tls-cert", "none.pem", "--tls-key", key], "--tls-cert none.pem: No such file"),
        (["--tls-cert", key, "--tls-key", key], "it holds no certificate: expected PEM"),
        (["--tls-cert", chain, "--tls-key", chain], "no private key in PEM"),
        (["--tls-cert", ca, "--tls-key", key], "not the key of"),
        (["--tls-cert", "/dev/zero", "--tls-key", key], "--tls-cert /dev/zero: "),
        (["--tls-cert", text(&pipe), "--tls-key", key], "chain.pipe: "),
    ] {
        let (error, status) = refused(serve(&arguments));
        assert!(error.contains(said) && status == 1, "{arguments:?}: {error}");
    }
    for (arguments, said) in [(["--tls-cert", chain], "by --tls-key"), (["--tls-key", key], "by --tls-cert")]
    {
        let (error, status) = refused(serve(&arguments));
        assert!(error.contains(said) && status == 1, "{error}");
    }
}

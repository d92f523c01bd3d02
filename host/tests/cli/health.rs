//! `host health`, as the health check of a container.

use std::process::{Command, Output};

use super::serve_switches::{Serving, serve};

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

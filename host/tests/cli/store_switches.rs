//! `host serve --store`: where responses are kept by default, and what happens where that isn't
//! possible.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::serve_switches::{Running, Serving, log_of_start, refused, serve, text};

/// Value of the summary's line on the store.
fn summary(arguments: &[&str], data: &Path) -> String {
    let mut command = serve(arguments);
    command.env("XDG_DATA_HOME", data);
    let lines = Running::start(command).startup_lines();
    let line = lines.iter().find_map(|line| line.strip_prefix("store    "));
    line.unwrap_or_else(|| panic!("{lines:?}")).to_owned()
}

/// What it is for a file.
fn kept(file: &Path, days: u32) -> String {
    format!(
        "sqlite:{} (prompts and answers, {days} days after their last use; --store none keeps nothing)",
        text(file)
    )
}

#[test]
fn default_store_is_a_private_file_in_the_data_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("sluice/state.db");
    // The second server finds the file of the first.
    for _ in 0..2 {
        assert_eq!(summary(&[], folder.path()), kept(&file, 30));
        assert_eq!(fs::metadata(&file).expect("it was made").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_summary_names_each_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("deep/er/state.db");
    let named = format!("sqlite:{}", text(&file));
    assert_eq!(summary(&["--store", &named, "--store-days", "7"], folder.path()), kept(&file, 7));
    assert_eq!(summary(&["--store", "memory"], folder.path()), "memory, until the server ends");
    assert_eq!(summary(&["--store", "none"], folder.path()), "none: nothing is kept");
    assert!(file.exists() && !folder.path().join("sluice/state.db").exists());
}

#[test]
fn without_a_data_folder_it_is_memory() {
    let server = Serving::start(serve(&["--log-level", "info"]));
    let log = server.log();
    assert!(
        log.contains("INFO")
            && log.contains("no data folder: stored responses are lost at a restart; --store"),
        "{log}"
    );
}

#[test]
fn second_server_of_the_default_warns_and_uses_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let start = |arguments: &[&str]| {
        let mut command = serve(arguments);
        command.env("XDG_DATA_HOME", folder.path());
        command
    };
    let _first = Serving::start(start(&[]));
    let log = log_of_start(start(&[]));
    assert_eq!(log.lines().count(), 1, "{log}");
    for part in ["WARN", "stored in memory", "--store sqlite:FILE", "another process has it open"] {
        assert!(log.contains(part), "{log}");
    }
    // A file that was named is no matter of choice.
    let file = folder.path().join("sluice/state.db");
    let (error, status) = refused(start(&["--store", &format!("sqlite:{}", text(&file))]));
    assert!(error.contains("--store") && error.contains(text(&file)), "{error}");
    assert!(error.contains("another process has it open; stop that one") && status == 1, "{error}");
}

#[test]
fn default_store_that_fails_is_memory_with_a_warning() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut command = serve(&["--seal-key", "none"]);
    command.env("HOME", file.path());
    let log = log_of_start(command);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("WARN") && log.contains("stored in memory") && log.contains("state.db"), "{log}");
}

#[test]
fn a_default_that_cannot_be_read_is_not_passed_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("sluice/state.db");
    fs::create_dir(folder.path().join("sluice")).expect("made");
    fs::write(&file, "no database\n".repeat(100)).expect("written");
    let mut command = serve(&["--seal-key", "none"]);
    command.env("XDG_DATA_HOME", folder.path());
    let (error, status) = refused(command);
    assert!(error.contains("--store") && error.contains(text(&file)) && status == 1, "{error}");
    assert_eq!(fs::read_to_string(&file).expect("it stays"), "no database\n".repeat(100));
}

#[test]
fn metrics_of_the_store_are_there_from_the_start() {
    let metrics = Serving::start(serve(&["--store", "memory"])).get("/metrics");
    for line in [
        r#"sluice_store_errors_total{reason="unavailable"} 0"#,
        r#"sluice_store_transaction_seconds_bucket{kind="write",le="0.0001"}"#,
        r#"sluice_store_transaction_seconds_count{kind="read"}"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert!(!Serving::start(serve(&["--store", "none"])).get("/metrics").contains("sluice_store"));
}

//! Completions as bash uses them, and the manual's pages.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

fn host(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_host")).args(arguments).output().expect("the binary runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    output.stdout
}

#[test]
fn bash_completes_commands_and_switches() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("host.bash");
    std::fs::write(&file, host(&["completions", "bash"])).expect("written");
    let complete = r#"source "$0"
        COMP_WORDS=(host doc) COMP_CWORD=1; _host host doc host; echo "${COMPREPLY[@]}"
        COMP_WORDS=(host serve --kv-c) COMP_CWORD=2; _host host --kv-c serve; echo "${COMPREPLY[@]}""#;
    let output = Command::new("bash").arg("-c").arg(complete).arg(&file).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "doctor\n--kv-cache --kv-cache-dtype\n");
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pages = folder.path().join("man1");
    host(&["man", pages.to_str().expect("UTF-8")]);
    for page in ["host.1", "host-serve.1", "host-parser-test.1", "host-store-backup.1"] {
        let page = std::fs::read_to_string(pages.join(page)).expect("the page");
        assert!(page.contains(".TH host") && page.contains(".SH SYNOPSIS"), "{page}");
    }
}

/// Packages install the binary as `sluice`, where `host` is another program.
#[test]
fn a_binary_that_is_called_sluice_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sluice = folder.path().join("sluice");
    symlink(env!("CARGO_BIN_EXE_host"), &sluice).expect("a link");
    let said = |arguments: &[&str]| {
        let mut command = Command::new(&sluice);
        command.args(arguments).stdin(Stdio::null()).env("HF_HOME", folder.path());
        let output = command.output().expect("the binary runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    for (arguments, wanted) in [
        (&["--version"][..], "sluice "),
        (&["serve", "-h"], "`sluice serve --help` shows all switches"),
        (&["serve", "--help"], "Usage: sluice serve"),
        (&["run"], "give one (`sluice run \"Why?\"`)"),
        (&["models"], "get one with: sluice pull ORG/NAME"),
        (&["rm", "--yes", "org/none"], "sluice models lists what is"),
        (&["completions", "bash"], "complete -F _sluice"),
    ] {
        let text = said(arguments);
        assert!(text.contains(wanted), "{arguments:?}: {text}");
        assert!(!text.contains("`host "), "{arguments:?}: {text}");
    }
    said(&["man", folder.path().to_str().expect("UTF-8")]);
    assert!(folder.path().join("sluice-serve.1").is_file());
}

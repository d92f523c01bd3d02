//! Completions as bash uses them, and the manual's pages.

use std::process::Command;

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

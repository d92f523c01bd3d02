//! `host parser new`: the new crate builds and passes its own tests unchanged, outside of this
//! repository and without network.

use std::path::Path;
use std::process::{Command, Output};

fn host(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_host")).args(arguments).output().expect("the binary runs")
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_new_parser_passes_its_own_tests() {
    let folder = tempfile::tempdir().unwrap();
    let crate_folder = folder.path().join("made");
    let made = host(&["parser", "new", "my-model", "--dir", crate_folder.to_str().unwrap()]);
    assert!(made.status.success(), "{}", words(&made.stderr));
    assert!(words(&made.stdout).contains("cargo test"), "{}", words(&made.stdout));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parser-new");
    let tested = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--locked", "--offline"])
        .current_dir(&crate_folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let said = words(&tested.stdout);
    assert!(tested.status.success(), "{said}\n{}", words(&tested.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "x").unwrap();
    let refused = host(&["parser", "new", "my-model", "--dir", folder.path().to_str().unwrap()]);
    assert!(!refused.status.success());
    let said = words(&refused.stderr);
    assert!(said.contains("exists already") && said.trim().lines().count() == 1, "{said}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

#[test]
fn names_that_no_crate_can_bear_are_refused() {
    for name in ["My-Model", "3d", "a_b", "../up"] {
        assert!(!host(&["parser", "new", name]).status.success(), "{name}");
    }
}

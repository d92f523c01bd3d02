//! API keys and their names, as an operator gives them: switch, environment, file, and the file
//! read again at SIGHUP.

use super::serve_switches::{Serving, refused, serve, text, write};

/// Whether the server admits this key.
fn admits(server: &Serving, key: &str) -> bool {
    let answer = server.get_with_key("/v1/models", key);
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 401"), "{answer}");
    answer.starts_with("HTTP/1.1 200")
}

#[test]
fn empty_key_stops_the_server_and_an_unset_is_none() {
    let with = |value: &str| {
        let mut command = serve(&[]);
        command.env("SLUICE_API_KEY", value);
        command
    };
    for command in
        [serve(&["--api-key", ""]), serve(&["--api-key", "a,,b"]), with(""), with("a, ,b"), with("a,")]
    {
        let (error, status) = refused(command);
        assert!(error.contains("--api-key") && error.contains("a key is empty"), "{error}");
        assert_eq!(status, 2, "{error}");
    }
    Serving::start(serve(&[]));
}

#[test]
fn switch_environment_and_file_name_keys_even_base64() {
    let base64 = "pvQ7jI0VZ0cS6oRk2hqmY3b7sYt0pLxw5m1fQe8uN9c=";
    let given = format!("alice=in-the-switch,{base64}");
    let server = Serving::start(serve(&["--api-key", &given, "--api-key", "plain"]));
    for (key, is_known) in [
        ("in-the-switch", true),
        (base64, true),
        ("plain", true),
        ("alice", false),
        ("alice=in-the-switch", false),
    ] {
        assert_eq!(admits(&server, key), is_known, "{key}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("keys");
    write(&file, "# both are alice's\nalice=old\nalice=new\n\nbob=a=b\n", 0o600);
    let mut command = serve(&["--api-keys-file", text(&file)]);
    command.env("SLUICE_API_KEY", "carol=in-the-environment");
    let server = Serving::start(command);
    for key in ["old", "new", "a=b", "in-the-environment"] {
        assert!(admits(&server, key), "{key}");
    }
    assert!(!admits(&server, "alice=old") && !admits(&server, ""));
}

#[test]
fn public_metrics_need_no_key_and_all_else_does() {
    let status = |answer: String| answer.split(' ').nth(1).expect("a status").to_owned();
    for (switches, of_metrics) in [(&["--public-metrics"][..], "200"), (&[], "401")] {
        let given = [&["--api-key", "a", "--admin-listen", "127.0.0.1:0"], switches].concat();
        let (server, admin) = Serving::start_with_admin(serve(&given));
        for (path, expected) in
            [("/metrics", of_metrics), ("/metrics/", "401"), ("/health", "200"), ("/v1/models", "401")]
        {
            assert_eq!(status(server.get(path)), expected, "{path} {switches:?}");
        }
        for (path, expected) in [("/metrics", of_metrics), ("/live", "200"), ("/admin/parsers", "401")] {
            assert_eq!(status(admin.get(path)), expected, "admin {path} {switches:?}");
        }
        assert_eq!(status(server.get_with_key("/metrics", "wrong")), of_metrics);
        assert!(server.get_with_key("/metrics", "a").contains("sluice_streams"));
    }
}

#[test]
fn unusable_keys_are_one_line_that_hides_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("keys");
    for (content, mode, part) in [
        ("a=hidden\n", 0o640, "its mode is 640: others have access; chmod 600 it"),
        ("# none\n\n", 0o600, "expected 1 to 4096 keys"),
        ("# one\nhidden\n", 0o600, "line 2: expected NAME=KEY"),
        ("a b=hidden\n", 0o600, "line 1: expected NAME=KEY"),
        ("a=hidden\nb=\n", 0o600, "line 2: a key is empty"),
        ("local=hidden\n", 0o600, "line 1: no key can be called local"),
        ("a=hidden\nb=hidden\n", 0o600, "a and b have the same key"),
        (
            &format!("a=hidden\n{}", "#\n".repeat(1 << 19)),
            0o600,
            "it has more than 1048576 bytes: shorten it",
        ),
    ] {
        write(&file, content, mode);
        let (error, status) = refused(serve(&["--api-keys-file", text(&file)]));
        assert!(error.contains(part) && !error.contains("hidden"), "{error}");
        assert_eq!(status, 1, "{error}");
    }
    let (error, _) = refused(serve(&["--api-keys-file", text(&folder.path().join("none"))]));
    assert!(error.contains("--api-keys-file") && error.contains("none: entity not found"), "{error}");
    for (keys, part) in [
        ("a=1,alice=", "--api-key: key 2: a key is empty"),
        ("local=hidden", "--api-key: key 1: no key can be called local"),
        ("a=hidden,b=hidden", "--api-key: a and b have the same key"),
    ] {
        let (error, status) = refused(serve(&["--api-key", keys]));
        assert!(error.contains(part) && !error.contains("hidden"), "{error}");
        assert_eq!(status, 1, "{error}");
    }
}

#[test]
fn a_hangup_reads_the_file_again_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("keys");
    write(&file, "alice=old\n", 0o600);
    let mut command = serve(&["--api-keys-file", text(&file), "--api-key", "switch"]);
    command.env("RUST_LOG", "info");
    let mut server = Serving::start(command);
    assert!(admits(&server, "old") && admits(&server, "switch"));
    write(&file, "alice=old\nbob=new\nhidden\n", 0o600);
    let line = server.hang_up("settings not reloaded");
    assert!(line.contains("line 3") && !line.contains("hidden"), "{line}");
    assert!(admits(&server, "old") && !admits(&server, "new"));
    write(&file, "alice=newer\nbob=new\n", 0o600);
    server.hang_up("settings reloaded");
    assert!(admits(&server, "newer") && admits(&server, "new") && admits(&server, "switch"));
    assert!(!admits(&server, "old"));
}

/// Where others have a key, each leaves them a place to read from the store.
#[test]
fn a_hangup_changes_the_reading_places_of_each_key() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("keys");
    let places = |server: &Serving| {
        let metrics = server.get_with_key("/metrics", "a");
        let line = metrics.lines().find_map(|line| line.strip_prefix("sluice_store_key_reads "));
        line.expect("the metric").to_owned()
    };
    write(&file, "alice=a\n", 0o600);
    let mut command = serve(&["--api-keys-file", text(&file)]);
    command.env("RUST_LOG", "info");
    let mut server = Serving::start(command);
    assert_eq!(places(&server), "2");
    for (keys, expected) in [("alice=a\nbob=b\n", "1"), ("alice=a\nalice=b\n", "2")] {
        write(&file, keys, 0o600);
        server.hang_up("settings reloaded");
        assert_eq!(places(&server), expected, "{keys}");
    }
}

//! `host chat`: conversations on a terminal, and of lines that are piped in.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::pseudo_terminal::Terminal;
use crate::records::TOOL_SERVER;
use crate::run::{Scripted, host};
use crate::scripted_server::{EVENTS, scripted};

/// An answer with these items, as a stream that has nothing else.
fn answer(items: &Value) -> String {
    let messages = items.as_array().expect("a list").iter().filter(|item| item["type"] == "message");
    let deltas = messages.filter_map(|item| item["content"][0]["text"].as_str());
    let deltas = deltas.map(|text| json!({"type": "response.output_text.delta", "delta": text}));
    let end = json!({"type": "response.completed", "response": {"output": items}});
    let events: Vec<String> = deltas.chain([end]).map(|event| format!("data: {event}\n\n")).collect();
    EVENTS.to_owned() + &events.concat()
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Chats with a server that gives these answers; returns what was printed, and the inputs that the
/// server got.
fn chat(answers: Vec<String>, lines: &str, more: &[&str]) -> (Output, Vec<Value>) {
    let models = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"data\": []}".to_owned();
    let (url, requests) = scripted([vec![models], answers].concat());
    let mut command = host(&[&["chat", "--url", &url, "--model", "m"], more].concat());
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the binary runs");
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("it reads");
    (child.wait_with_output().expect("it ends"), bodies(&requests))
}

fn bodies(requests: &Receiver<String>) -> Vec<Value> {
    let body = |request: String| serde_json::from_str(request.split_once("\r\n\r\n")?.1).ok();
    requests.try_iter().filter_map(body).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn each_turn_sends_the_conversation() {
    let reasoning = json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "r"}]});
    let first = answer(&json!([reasoning, message("one")]));
    let lines = "Hi\n\"\"\"two\nlines\"\"\"\n";
    let (output, asked) = chat(vec![first, answer(&json!([message("two")]))], lines, &["-s", "Be brief."]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("one\ntwo\n", ""));
    let question = |text: &str| json!({"type": "message", "role": "user", "content": text});
    assert_eq!(asked[0]["input"], json!([question("Hi")]));
    assert_eq!(asked[1]["input"], json!([question("Hi"), reasoning, message("one"), question("two\nlines")]));
    assert!(asked.iter().all(|body| body["instructions"] == "Be brief." && body["store"] == false));
}

#[test]
fn stats_are_of_the_last_answer_and_of_all() {
    let answered = |output: u64| {
        let usage = json!({"input_tokens": 10, "output_tokens": output});
        let end =
            json!({"type": "response.completed", "response": {"output": [message("one")], "usage": usage}});
        format!("{EVENTS}data: {end}\n\n")
    };
    let (output, _) = chat(vec![answered(3), answered(4)], "/stats\nHi\n/stats\nHi\n/stats\n", &[]);
    let said = text(&output.stderr);
    let lines: Vec<&str> =
        said.lines().map(|line| line.rsplit_once(", ").map_or(line, |(counts, _)| counts)).collect();
    let one = "10 tokens in (0 cached), 3 out (0 of reasoning)";
    let expected = [
        "no answer has ended yet".to_owned(),
        format!("last answer: {one}"),
        format!("conversation: {one}"),
        format!("last answer: {}", one.replace("3 out", "4 out")),
        "conversation: 2 answers, 20 tokens in (0 cached), 7 out (0 of reasoning)".to_owned(),
    ];
    assert_eq!(lines, expected, "{said}");
}

#[test]
fn a_broken_answer_is_one_line_and_the_chat_goes_on() {
    let broken =
        format!("{EVENTS}data: {{\"type\": \"response.output_text.delta\", \"delta\": \"lost\"}}\n\n");
    let refused = "HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned();
    let good = answer(&json!([message("found")]));
    let (output, asked) = chat(vec![broken, refused, good], "Hi\n/retry\n/retry\n", &[]);
    assert_eq!((text(&output.stdout), output.status.code()), ("lost\nfound\n", Some(0)));
    let lines: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("error: the stream broke off") && lines[1].contains("(500)"), "{lines:?}");
    assert_eq!((asked.len(), &asked[2]["input"]), (3, &asked[0]["input"]));
}

#[test]
fn a_call_gets_the_result_that_is_typed() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tools.json");
    std::fs::write(&file, r#"[{"type": "function", "name": "get_weather", "parameters": {}}]"#)
        .expect("written");
    let lines = format!("/tools {}\nHow is Oslo?\nsunny\n", file.display());
    let (output, asked) =
        chat(vec![answer(&json!([call])), answer(&json!([message("Sunny.")]))], &lines, &[]);
    assert_eq!(text(&output.stdout), "Sunny.\n");
    assert_eq!(text(&output.stderr), "tools: get_weather\ncall get_weather({\"city\":\"Oslo\"})\n");
    assert_eq!(asked[0]["tools"][0]["name"], "get_weather");
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "sunny"});
    assert_eq!((&asked[1]["input"][1], &asked[1]["input"][2]), (&call, &result));
}

#[test]
fn a_call_without_a_result_takes_the_turn_back() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
    let (output, asked) = chat(vec![answer(&json!([call]))], "Hi\n", &[]);
    assert_eq!(text(&output.stderr), "call f({})\nerror: the call has no result; /retry asks again\n");
    assert_eq!((asked.len(), output.status.code()), (1, Some(0)));
}

#[test]
fn an_approval_is_asked_for() {
    let request = json!({"type": "mcp_approval_request", "id": "a1", "name": "rm", "arguments": "{}", "server_label": "s"});
    for (typed, approve) in [("y", true), ("no", false)] {
        let answers = vec![answer(&json!([request])), answer(&json!([message("Done.")]))];
        let (output, asked) = chat(answers, &format!("Hi\n{typed}\n"), &[]);
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("Done.\n", "allow rm({})?\n"));
        let expected =
            json!({"type": "mcp_approval_response", "approval_request_id": "a1", "approve": approve});
        assert_eq!(asked[1]["input"][2], expected);
    }
}

/// Tool servers in a file: one whose calls need approval, and one whose don't.
fn tool_servers(folder: &tempfile::TempDir) -> String {
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("server.sh"), TOOL_SERVER).expect("written");
    let server = |approval: &str| json!({"command": "sh", "args": [path("server.sh"), path("started")], "require_approval": approval});
    let config = json!({"mcpServers": {"asks": server("always"), "free": server("never")}});
    std::fs::write(path("mcp.json"), config.to_string()).expect("written");
    path("mcp.json")
}

fn tool_call(id: &str, name: &str, city: &str) -> Value {
    let arguments = json!({ "city": city }).to_string();
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

#[test]
fn tools_run_here_for_a_model_elsewhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let calls = json!([
        tool_call("c1", "free__get_weather", "Paris"),
        tool_call("c2", "free__get_weather", "Rome"),
        tool_call("c3", "asks__get_weather", "Oslo"),
        tool_call("c4", "asks__get_weather", "Bonn"),
    ]);
    let answers = vec![answer(&calls), answer(&json!([message("Sunny.")]))];
    let (output, asked) = chat(answers, "How is it?\ny\nno\n", &["--mcp", &tool_servers(&folder)]);
    assert_eq!(text(&output.stdout), "Sunny.\n");
    let said = "[free.get_weather]\n[free.get_weather]\nallow asks__get_weather({\"city\":\"Oslo\"})?\n\
                [asks.get_weather]\nallow asks__get_weather({\"city\":\"Bonn\"})?\n";
    assert_eq!(text(&output.stderr), said);
    let names: Vec<_> =
        asked[0]["tools"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["asks__get_weather", "free__get_weather"]);
    assert_eq!(asked[0]["tools"][0]["parameters"]["properties"]["city"]["type"], "string");
    let results: Vec<_> = asked[1]["input"].as_array().expect("a list")[5..].iter().collect();
    let sunny = "Sunny, 21 degrees.";
    let expected = ["c1", "c2", "c3", "c4"].into_iter().zip([
        sunny,
        "The call failed: No such city.",
        sunny,
        "The user doesn't allow this call.",
    ]);
    let expected: Vec<Value> = expected
        .map(|(id, output)| json!({"type": "function_call_output", "call_id": id, "output": output}))
        .collect();
    assert_eq!(results, expected.iter().collect::<Vec<_>>());
}

#[test]
fn a_model_that_calls_tools_for_ever_is_stopped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let again = answer(&json!([tool_call("c1", "free__get_weather", "Paris")]));
    let switches = ["--mcp", &tool_servers(&folder), "--mcp-turns", "3"];
    let (output, asked) = chat(vec![again; 4], "How is it?\n", &switches);
    let said: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!((said.len(), asked.len()), (4, 4), "{said:?}");
    assert_eq!(said[3], "error: tools were called in 3 turns (--mcp-turns); /retry asks again");
}

#[test]
fn a_tool_server_that_is_none_ends_the_chat_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mcp.json");
    std::fs::write(&file, r#"{"mcpServers": {"time": {"command": "no-such-program"}}}"#).expect("written");
    let mut command = host(&["chat", "--url", "http://127.0.0.1:1", "--mcp"]);
    let output = command.arg(&file).stdin(Stdio::null()).output().expect("the binary runs");
    assert_eq!(text(&output.stderr), "error: --mcp: time: the tool server can't be reached\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn commands_set_show_and_save() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("saved.json");
    let lines = format!("/set seed=7\n/system Be brief.\nHi\n/save {0}\n/save {0}\n/bogus\n", file.display());
    let (output, asked) = chat(vec![answer(&json!([message("one")]))], &lines, &[]);
    let said: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!((said.len(), said[0]), (5, "{\"store\":false,\"seed\":7}"), "{said:?}");
    assert!(
        said[3].ends_with(" exists: name a new file") && said[4].starts_with("no command /bogus"),
        "{said:?}"
    );
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(
        (&saved["seed"], &saved["model"], saved["input"].as_array().map(Vec::len)),
        (&asked[0]["seed"], &"m".into(), Some(2))
    );
    assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_terminal_shows_reasoning_dim_and_acts_on_nothing() {
    let scripted = Scripted::new(r#"[{"text": "<think>\nHm.\n</think>\n\nRed \u001b[31m."}]"#);
    let mut terminal = Terminal::start(scripted.command(&["chat"]));
    terminal.until(">>> ");
    terminal.keys("Hi\r");
    let reasoning = terminal.until("Red \\u{1b}[31m.");
    let (dim, plain) = ("\u{1b}[2m", "\u{1b}[0m");
    assert!(reasoning.contains(&format!("{dim}H")), "{reasoning:?}");
    assert!(reasoning.replace(dim, "").replace(plain, "").contains("Hm.\r\n"), "{reasoning:?}");
    terminal.until(">>> ");
    terminal.keys("\u{4}");
    assert_eq!(terminal.end().1, Some(0));
}

#[test]
fn ctrl_c_stops_an_answer_and_then_leaves() {
    let rules = r#"[{"when": {"contains": "more"}, "text": "Good."}, {"text": "begun", "finish": "hang"}]"#;
    let scripted = Scripted::new(rules);
    let mut terminal = Terminal::start(scripted.command(&["chat"]));
    terminal.until(">>> ");
    terminal.keys("Hi\r");
    terminal.until("begun");
    terminal.keys("\u{3}");
    terminal.until("stopped; /retry asks again");
    terminal.until(">>> ");
    terminal.keys("more\r");
    terminal.until("Good.");
    terminal.until(">>> ");
    terminal.keys("\u{3}");
    terminal.until("Ctrl-C once more");
    terminal.until(">>> ");
    terminal.keys("\u{3}");
    assert_eq!(terminal.end().1, Some(130));
}

#[test]
fn a_question_can_be_edited_and_is_kept_privately() {
    let scripted =
        Scripted::new(r#"[{"when": {"contains": "Hi Bo"}, "text": "Edited."}, {"text": "Plain."}]"#);
    let mut terminal = Terminal::start(scripted.command(&["chat"]));
    terminal.until(">>> ");
    terminal.keys("Hi\r");
    terminal.until("Plain.");
    terminal.until(">>> ");
    terminal.keys("/edit\r");
    terminal.until(">>> Hi");
    terminal.keys(" Bo\r");
    terminal.until("Edited.");
    terminal.until(">>> ");
    terminal.keys("\u{4}");
    assert_eq!(terminal.end().1, Some(0));
    let history = scripted.path("sluice/chat_history");
    assert!(std::fs::read_to_string(&history).expect("a history").contains("\nHi Bo\n"));
    assert_eq!(history.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
}

/// What a terminal shows of a command with the scripted model, and with this variable.
fn shown(scripted: &Scripted, arguments: &[&str], variable: &str) -> String {
    let command = scripted.command(arguments);
    let mut under = Command::new("env");
    under.arg(variable).arg(command.get_program()).args(command.get_args());
    under.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (shown, status) = Terminal::start(under).end();
    assert_eq!(status, Some(0), "{shown:?}");
    shown.replace('\r', "")
}

#[test]
fn a_terminal_shows_markdown_and_a_pipe_its_text() {
    let text = "# Red\n\n- a **bold** `code`\n\n```\nx = \"**y**\"\n```\nEnd.";
    let scripted = Scripted::new(&json!([{ "text": text }]).to_string());
    let screen = shown(&scripted, &["run", "q"], "A=1");
    let (bold, dim, code, plain) = ("\u{1b}[1m", "\u{1b}[2m", "\u{1b}[36m", "\u{1b}[0m");
    let styles = [bold, dim, code, plain, "\u{1b}[4m"];
    let words = styles.iter().fold(screen.clone(), |text, style| text.replace(style, ""));
    assert_eq!(words, "Red\n\n• a bold code\n\n```\nx = \"**y**\"\n```\nEnd.\n", "{screen:?}");
    for styled in [format!("{bold}bold{plain}"), format!("{code}code{plain}")] {
        assert_eq!(screen.matches(&styled).count(), 1, "{styled:?} in {screen:?}");
    }
    for (arguments, variable) in [(&["run", "--plain", "q"][..], "A=1"), (&["run", "q"], "NO_COLOR=1")] {
        assert_eq!(shown(&scripted, arguments, variable), format!("{text}\n"), "{arguments:?} {variable}");
    }
    let piped = scripted.command(&["run", "q"]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&piped.stdout), format!("{text}\n"));
}

#[test]
fn an_answer_in_a_format_is_no_markdown() {
    let scripted = Scripted::new(&json!([{ "text": r#"{"a": "**b**"}"# }]).to_string());
    let format = r#"text.format={"type":"json_object"}"#;
    let screen = shown(&scripted, &["run", "-o", format, "q"], "A=1");
    assert_eq!(screen, "{\"a\": \"**b**\"}\n");
}

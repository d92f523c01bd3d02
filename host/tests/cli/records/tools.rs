//! Answers in which the server runs tools: a replay takes their lists and outputs from the record.

use std::fs;

use serde_json::json;

use super::{Recorded, lines, text_of};
use crate::serve_switches::text;

/// An MCP server over standard input and output, which notes that it was started.
pub(crate) const SERVER: &str = r#"
echo started >> "$1"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"get_weather","description":"The weather.","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}}]}' ;;
    *'"Rome"'*) result='{"content":[{"type":"text","text":"No such city."}],"isError":true}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"Sunny, 21 degrees."}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn tools_are_not_run_again_in_a_replay() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let call = |city: &str| {
        format!(
            "<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\"}}}}\n</tool_call>"
        )
    };
    let both = format!("<think>\nTwo cities.\n</think>\n\n{}\n{}", call("Paris"), call("Rome"));
    let script = json!({"tokens_per_step": 2, "rules": [
        {"when": {"tool_results": 0}, "text": both},
        {"when": {"tool_results": 2}, "text": "<think>\nOne more.\n</think>\n\n".to_owned() + &call("Oslo")},
        {"text": "<think>\nNow I know.\n</think>\n\nIt is sunny."},
    ]});
    fs::write(path("script.json"), script.to_string()).unwrap();
    fs::write(path("server.sh"), SERVER).unwrap();
    let arguments = [path("server.sh"), path("started")];
    let config = json!({"mcpServers": {"weather": {"command": "sh", "args": arguments}}});
    fs::write(path("mcp.json"), config.to_string()).unwrap();
    let engine = format!("replay:{}", path("script.json").display());
    let server = Recorded::start("qwen3-tiny", &["--engine", &engine, "--mcp", text(&path("mcp.json"))]);
    for stream in [true, false] {
        let answer = server.post(
            "/v1/responses",
            &json!({
                "model": "qwen3-tiny", "input": "How is the weather?", "stream": stream,
                "tools": [{"type": "mcp", "server_label": "weather", "require_approval": "never"}],
            }),
        );
        assert!(answer.contains("It is sunny."), "{answer}");
        assert!(answer.contains("Sunny, 21 degrees.") && answer.contains("No such city."), "{answer}");
    }
    let records = server.stop();
    let started = fs::read_to_string(path("started")).unwrap();
    let count =
        |kind: &str| lines(&records.files()[0]).iter().filter(|line| line.get(kind).is_some()).count();
    assert_eq!((count("listed"), count("tool"), count("prompt")), (1, 3, 3));
    records.assert_equal(2);
    assert_eq!(fs::read_to_string(path("started")).unwrap(), started, "the replay started a tool server");
    let fork = super::replay(&records.files()[..1], &["--fork", "1"]);
    assert!(text_of(&fork.stderr).contains("a fork needs an answer of one turn"), "{fork:?}");
}

//! Sample streams written by hand, independent of the machine, so that machine and validator can't
//! share a mistake.

mod prose;

use serde_json::{Value, json};

use prose::{message, reasoning, refusal, scored_message, summary};

/// Collects a stream's events and numbers them.
#[derive(Default)]
struct Sample {
    events: Vec<Value>,
    output: Vec<Value>,
}

impl Sample {
    fn begin() -> Self {
        let mut sample = Self::default();
        sample.push("response.created", json!({ "response": response("in_progress", &[]) }));
        sample.push("response.in_progress", json!({ "response": response("in_progress", &[]) }));
        sample
    }

    fn push(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.events.len());
        self.events.push(fields);
    }

    fn heartbeat(&mut self) {
        self.push(
            "response.in_progress",
            json!({ "response": response("in_progress", &self.output.clone()) }),
        );
    }

    /// Adds an item: announced as `added`, with the events `inside`, finished as `done`.
    fn item(&mut self, added: &Value, inside: &[(&str, Value)], done: Value) {
        let index = self.output.len();
        self.push("response.output_item.added", json!({ "output_index": index, "item": added }));
        for (kind, fields) in inside {
            let mut fields = fields.clone();
            // Commands name their item by its place only.
            if fields.get("command_index").is_none() {
                fields["item_id"] = added["id"].clone();
            }
            fields["output_index"] = json!(index);
            self.push(kind, fields);
        }
        self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
        self.output.push(done);
    }

    fn end(mut self, status: &str) -> Vec<Value> {
        let mut last = response(status, &self.output);
        let error = json!({ "code": "server_error", "message": "The parser failed." });
        match status {
            "completed" => last["completed_at"] = json!(1_700_000_009),
            "incomplete" => last["incomplete_details"] = json!({ "reason": "max_output_tokens" }),
            _ => {
                let mut fields = error.clone();
                fields["param"] = Value::Null;
                self.push("error", fields);
                last["error"] = error;
            }
        }
        last["usage"] = json!({
            "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 0 },
            "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 3 }, "total_tokens": 17
        });
        self.push(&format!("response.{status}"), json!({ "response": last }));
        self.events
    }
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "completed_at": null, "status": status,
        "incomplete_details": null, "model": "m", "previous_response_id": null, "instructions": "Be brief.",
        "output": output, "error": null, "tools": [], "tool_choice": "auto", "truncation": "disabled",
        "parallel_tool_calls": true, "text": { "format": { "type": "text" } }, "top_p": 1.0, "presence_penalty": 0.0,
        "frequency_penalty": 0.0, "top_logprobs": 0, "temperature": 0.7, "reasoning": { "effort": null, "summary": null },
        "usage": null, "max_output_tokens": null, "max_tool_calls": null, "store": false, "background": false,
        "service_tier": "default", "metadata": {}, "safety_identifier": null, "prompt_cache_key": null
    })
}

fn with(item: &Value, fields: &Value) -> Value {
    let mut item = item.clone();
    for (field, value) in fields.as_object().unwrap() {
        item[field] = value.clone();
    }
    item
}

fn function_call(sample: &mut Sample, id: &str, status: &str) {
    let added = json!({
        "id": id, "type": "function_call", "status": "in_progress", "call_id": format!("call_{id}"), "name": "f", "arguments": ""
    });
    let inside = [
        ("response.function_call_arguments.delta", json!({ "delta": "{\"a\":" })),
        ("response.function_call_arguments.delta", json!({ "delta": "1}" })),
        ("response.function_call_arguments.done", json!({ "arguments": "{\"a\":1}", "name": "f" })),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "status": status, "arguments": "{\"a\":1}" })));
}

fn custom_call(sample: &mut Sample, id: &str) {
    let added = json!({ "id": id, "type": "custom_tool_call", "call_id": format!("call_{id}"), "name": "patch", "namespace": "files", "input": "" });
    let inside = [
        ("response.custom_tool_call_input.delta", json!({ "delta": "*** ", "obfuscation": "aZ" })),
        ("response.custom_tool_call_input.delta", json!({ "delta": "Begin" })),
        ("response.custom_tool_call_input.done", json!({ "input": "*** Begin" })),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "input": "*** Begin" })));
}

fn shell(sample: &mut Sample) {
    let added = json!({
        "id": "sh_1", "type": "shell_call", "status": "in_progress", "call_id": "call_sh_1",
        "action": { "commands": [], "timeout_ms": 1000, "max_output_length": null }, "environment": { "type": "local" }
    });
    let command = |kind: &'static str, index: u64, mut fields: Value| {
        fields["command_index"] = json!(index);
        (kind, fields)
    };
    let inside = [
        command("response.shell_call_command.added", 0, json!({ "command": "" })),
        command("response.shell_call_command.delta", 0, json!({ "delta": "ls " })),
        command("response.shell_call_command.delta", 0, json!({ "delta": "-l", "obfuscation": "aZ" })),
        command("response.shell_call_command.done", 0, json!({ "command": "ls -l" })),
        command("response.shell_call_command.added", 1, json!({ "command": "" })),
        command("response.shell_call_command.delta", 1, json!({ "delta": "pwd" })),
        command("response.shell_call_command.done", 1, json!({ "command": "pwd" })),
    ];
    let action = json!({ "commands": ["ls -l", "pwd"], "timeout_ms": 1000, "max_output_length": null });
    sample.item(&added, &inside, with(&added, &json!({ "status": "completed", "action": action })));
}

/// Calls whose items are whole from the start, and a search that the server runs.
fn whole_calls(sample: &mut Sample) {
    let call = |id: &str, kind: &str, fields: Value| {
        let head =
            json!({ "id": id, "type": kind, "status": "in_progress", "call_id": format!("call_{id}") });
        with(&head, &fields)
    };
    let searched = json!({ "call_id": null, "execution": "server" });
    let items = [
        call(
            "lsh_1",
            "local_shell_call",
            json!({ "action": { "type": "exec", "command": ["ls"], "env": {} } }),
        ),
        call("apc_1", "apply_patch_call", json!({ "operation": { "type": "delete_file", "path": "a" } })),
        with(&call("tsc_1", "tool_search_call", json!({ "arguments": { "query": "mail" } })), &searched),
        with(
            &call("tso_1", "tool_search_output", json!({ "tools": [{ "type": "function", "name": "f" }] })),
            &searched,
        ),
    ];
    for item in items {
        sample.item(&item, &[], with(&item, &json!({ "status": "completed" })));
    }
}

fn mcp(sample: &mut Sample) {
    let added = json!({ "id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": [] });
    let inside = [
        ("response.mcp_list_tools.in_progress", json!({})),
        ("response.mcp_list_tools.completed", json!({})),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "tools": [{ "name": "t", "input_schema": {} }] })));

    let added = json!({
        "id": "mcp_1", "type": "mcp_call", "status": "in_progress", "name": "t", "server_label": "s", "arguments": ""
    });
    let inside = [
        ("response.mcp_call.in_progress", json!({})),
        ("response.mcp_call_arguments.delta", json!({ "delta": "{" })),
        ("response.mcp_call_arguments.delta", json!({ "delta": "}" })),
        ("response.mcp_call_arguments.done", json!({ "arguments": "{}" })),
        ("response.mcp_call.completed", json!({})),
    ];
    sample.item(
        &added,
        &inside,
        with(&added, &json!({ "status": "completed", "arguments": "{}", "output": "ok" })),
    );

    let asked = json!({
        "id": "mcpr_1", "type": "mcp_approval_request", "name": "t", "server_label": "s", "arguments": "{}"
    });
    sample.item(&asked, &[], asked.clone());
}

fn code(sample: &mut Sample) {
    let added = json!({
        "id": "ci_1", "type": "code_interpreter_call", "status": "in_progress", "container_id": "c", "code": "", "outputs": null
    });
    let inside = [
        ("response.code_interpreter_call.in_progress", json!({})),
        ("response.code_interpreter_call_code.delta", json!({ "delta": "1 +" })),
        ("response.code_interpreter_call_code.delta", json!({ "delta": " 1" })),
        ("response.code_interpreter_call_code.done", json!({ "code": "1 + 1" })),
        ("response.code_interpreter_call.interpreting", json!({})),
        ("response.code_interpreter_call.completed", json!({})),
    ];
    let logs = json!([{ "type": "logs", "logs": "2" }]);
    sample.item(
        &added,
        &inside,
        with(&added, &json!({ "status": "completed", "code": "1 + 1", "outputs": logs })),
    );
}

fn web(sample: &mut Sample) {
    let action = json!({ "type": "search", "query": "q" });
    let added = json!({ "id": "ws_1", "type": "web_search_call", "status": "in_progress", "action": action });
    let inside = [
        ("response.web_search_call.in_progress", json!({})),
        ("response.web_search_call.searching", json!({})),
        ("response.web_search_call.completed", json!({})),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "status": "completed" })));
}

/// A completed response with every kind of item, and a heartbeat in the middle.
pub(super) fn everything() -> Vec<Value> {
    let mut sample = Sample::begin();
    reasoning(&mut sample, "rs_1");
    summary(&mut sample, "rs_2");
    message(&mut sample, "msg_1", "completed");
    function_call(&mut sample, "fc_1", "completed");
    sample.heartbeat();
    custom_call(&mut sample, "ctc_1");
    mcp(&mut sample);
    code(&mut sample);
    web(&mut sample);
    refusal(&mut sample, "msg_2");
    scored_message(&mut sample, "msg_3");
    shell(&mut sample);
    whole_calls(&mut sample);
    let mut events = sample.end("completed");
    let last = &mut events.last_mut().unwrap()["response"];
    let raw = |text: &str| json!([{ "type": "raw_message_tokens", "message": text, "tokens": [1, 2] }]);
    last["input_messages"] = raw("Hello?");
    last["output_messages"] = raw("Hello there.");
    events
}

/// A response that was cut off in a message.
pub(super) fn truncated() -> Vec<Value> {
    let mut sample = Sample::begin();
    summary(&mut sample, "rs_1");
    message(&mut sample, "msg_1", "incomplete");
    sample.end("incomplete")
}

/// A response that failed in a call.
pub(super) fn failed() -> Vec<Value> {
    let mut sample = Sample::begin();
    reasoning(&mut sample, "rs_1");
    function_call(&mut sample, "fc_1", "incomplete");
    sample.end("failed")
}

fn compaction(sample: &mut Sample, sealed: &str) {
    let added = json!({ "id": "cmp_1", "type": "compaction", "encrypted_content": "" });
    let growth = ("response.compaction.compacting", json!({}));
    let done = with(&added, &json!({ "encrypted_content": sealed }));
    sample.item(&added, &[growth.clone(), growth], done);
}

/// A response that compacted its conversation before it began.
pub(super) fn compacted() -> Vec<Value> {
    let mut sample = Sample::begin();
    compaction(&mut sample, "c2VhbGVk");
    message(&mut sample, "msg_1", "completed");
    sample.end("completed")
}

/// A response that failed while it compacted its conversation.
pub(super) fn uncompacted() -> Vec<Value> {
    let mut sample = Sample::begin();
    compaction(&mut sample, "");
    sample.end("failed")
}

/// A response without output.
pub(super) fn empty() -> Vec<Value> {
    Sample::begin().end("completed")
}

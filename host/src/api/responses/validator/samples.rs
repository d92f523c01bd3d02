//! Streams of the protocol written out by hand, apart from the machine, so that machine and validator can't be wrong together.

use serde_json::{Value, json};

/// Gathers events and numbers them.
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

    /// An item: as added, the events inside, as done.
    fn item(&mut self, added: &Value, inside: &[(&str, Value)], done: Value) {
        let index = self.output.len();
        self.push("response.output_item.added", json!({ "output_index": index, "item": added }));
        for (kind, fields) in inside {
            let mut fields = fields.clone();
            fields["item_id"] = added["id"].clone();
            fields["output_index"] = json!(index);
            self.push(kind, fields);
        }
        self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
        self.output.push(done);
    }

    fn end(mut self, status: &str) -> Vec<Value> {
        let mut last = response(status, &self.output);
        let error = json!({ "code": "model_error", "message": "The parser failed." });
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

fn part_events<'a>(
    kinds: [&'a str; 4],
    index: &str,
    field: &str,
    begun: &Value,
    whole: &Value,
) -> Vec<(&'a str, Value)> {
    let text = whole[field].as_str().unwrap();
    let (head, tail) = text.split_at(text.len() / 2);
    let at = |mut fields: Value| {
        fields[index] = json!(0);
        if kinds[1].contains("output_text") {
            fields["logprobs"] = json!([]);
        }
        fields
    };
    let [added, delta, text_done, done] = kinds;
    vec![
        (added, json!({ index: 0, "part": begun })),
        (delta, at(json!({ "delta": head }))),
        (delta, at(json!({ "delta": tail }))),
        (text_done, at(json!({ field: text }))),
        (done, json!({ index: 0, "part": whole })),
    ]
}

fn reasoning(sample: &mut Sample, id: &str) {
    let kinds = [
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
    ];
    let part = |text: &str| json!({ "type": "reasoning_text", "text": text });
    let added =
        json!({ "id": id, "type": "reasoning", "status": "in_progress", "summary": [], "content": [] });
    let done = with(&added, &json!({ "status": "completed", "content": [part("Think twice.")] }));
    sample.item(&added, &part_events(kinds, "content_index", "text", &part(""), &part("Think twice.")), done);
}

fn summary(sample: &mut Sample, id: &str) {
    let kinds = [
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
    ];
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let added = json!({ "id": id, "type": "reasoning", "summary": [] });
    let done = with(&added, &json!({ "summary": [part("In short.")], "encrypted_content": "x" }));
    sample.item(&added, &part_events(kinds, "summary_index", "text", &part(""), &part("In short.")), done);
}

fn message(sample: &mut Sample, id: &str, status: &str) {
    let kinds = [
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
    ];
    let cited =
        json!({ "type": "url_citation", "url": "http://x", "title": "x", "start_index": 0, "end_index": 1 });
    let part = |text: &str, annotations: &[&Value]| json!({ "type": "output_text", "text": text, "annotations": annotations, "logprobs": [] });
    let added = json!({
        "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [], "phase": "commentary"
    });
    let whole = part("Hello there.", &[&cited]);
    let mut inside = part_events(kinds, "content_index", "text", &part("", &[]), &whole);
    let annotation = json!({ "content_index": 0, "annotation_index": 0, "annotation": cited });
    inside.insert(2, ("response.output_text.annotation.added", annotation));
    sample.item(&added, &inside, with(&added, &json!({ "status": status, "content": [whole] })));
}

fn refusal(sample: &mut Sample, id: &str) {
    let kinds = [
        "response.content_part.added",
        "response.refusal.delta",
        "response.refusal.done",
        "response.content_part.done",
    ];
    let part = |text: &str| json!({ "type": "refusal", "refusal": text });
    let added =
        json!({ "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [] });
    let done = with(&added, &json!({ "status": "completed", "content": [part("I won't.")] }));
    sample.item(&added, &part_events(kinds, "content_index", "refusal", &part(""), &part("I won't.")), done);
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
    let added = json!({ "id": id, "type": "custom_tool_call", "call_id": format!("call_{id}"), "name": "patch", "input": "" });
    let inside = [
        ("response.custom_tool_call_input.delta", json!({ "delta": "*** " })),
        ("response.custom_tool_call_input.delta", json!({ "delta": "Begin" })),
        ("response.custom_tool_call_input.done", json!({ "input": "*** Begin" })),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "input": "*** Begin" })));
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

/// Every kind of item, with a heartbeat in the middle; completed.
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
    sample.end("completed")
}

/// Cut off in a message.
pub(super) fn truncated() -> Vec<Value> {
    let mut sample = Sample::begin();
    summary(&mut sample, "rs_1");
    message(&mut sample, "msg_1", "incomplete");
    sample.end("incomplete")
}

/// Failed in a call.
pub(super) fn failed() -> Vec<Value> {
    let mut sample = Sample::begin();
    reasoning(&mut sample, "rs_1");
    function_call(&mut sample, "fc_1", "incomplete");
    sample.end("failed")
}

/// No output at all.
pub(super) fn empty() -> Vec<Value> {
    Sample::begin().end("completed")
}

//! Tests of the validator: it accepts every sample stream, and refuses every way of spoiling one
//! event of a sample.

use serde_json::{Value, json};

use super::samples::{compacted, empty, everything, failed, truncated, uncompacted};
use super::{EventCheck, Fault, Rule, Validator};

fn all_faults(events: &[Value]) -> Vec<Fault> {
    let (mut validator, mut faults) = (Validator::default(), Vec::new());
    for event in events {
        validator.event(event, &mut faults);
    }
    validator.finish(&mut faults);
    faults
}

fn check(events: &[Value]) -> Result<(), Fault> {
    all_faults(events).into_iter().next().map_or(Ok(()), Err)
}

fn samples() -> Vec<Vec<Value>> {
    vec![everything(), truncated(), failed(), empty(), compacted(), uncompacted()]
}

fn renumbered(mut events: Vec<Value>) -> Vec<Value> {
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn refused(events: &[Value], how: &str) {
    assert!(check(events).is_err(), "not noticed: {how}");
}

/// Whether the event is a heartbeat, which may be repeated or left out.
fn is_heartbeat(events: &[Value], at: usize) -> bool {
    events[at]["type"] == "response.in_progress" && at > 1
}

/// Whether the event says that a summary has grown, which comes any number of times.
fn is_growth(event: &Value) -> bool {
    event["type"] == "response.compaction.compacting"
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap()
}

/// JSON pointers to every field of an event, at any depth.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(list) => list.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
            _ => return,
        };
        for (key, child) in children {
            let pointer = format!("{at}/{key}");
            walk(child, &pointer, found);
            found.push(pointer);
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Replaces each field of each event by each value that `spoil` returns for it (`None` removes the
/// field), and expects a refusal each time. Returns the number of replacements.
fn spoil_fields(spoil: impl Fn(&Value, &str, &str) -> Vec<Option<Value>>) -> usize {
    let mut count = 0;
    for sample in samples() {
        for at in 0..sample.len() {
            for pointer in pointers(&sample[at]) {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                let old = sample[at].pointer(&pointer).unwrap();
                for new in spoil(old, key, &format!("{}{pointer}", kind(&sample[at]))) {
                    let mut events = sample.clone();
                    match (new, events[at].pointer_mut(parent).unwrap()) {
                        (Some(new), parent) => put(parent, key, new),
                        (None, Value::Object(map)) => drop(map.shift_remove(key)),
                        (None, _) => continue,
                    }
                    count += 1;
                    refused(&events, &format!("{pointer} of event {at}, {}", kind(&sample[at])));
                }
            }
        }
    }
    count
}

fn put(parent: &mut Value, key: &str, new: Value) {
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = new,
        object => object[key] = new,
    }
}

#[test]
fn good_streams_are_accepted() {
    for sample in samples() {
        check(&sample).unwrap_or_else(|violation| panic!("{violation:?}"));
    }
}

#[test]
fn a_missing_event_is_noticed() {
    for sample in samples() {
        for at in (0..sample.len()).filter(|at| !is_heartbeat(&sample, *at) && !is_growth(&sample[*at])) {
            let mut events = sample.clone();
            events.remove(at);
            refused(&renumbered(events), &format!("without event {at}, {}", kind(&sample[at])));
        }
    }
}

#[test]
fn missing_done_is_named_once_and_nothing_else() {
    let mut count = 0;
    for sample in samples() {
        let is_done = |at: &usize| {
            // Progress that is written by nobody has no text to be done.
            matches!(kind(&sample[*at]).rsplit('.').next(), Some("done" | "completed"))
        };
        for at in (0..sample.len()).filter(is_done) {
            let mut events = sample.clone();
            let left_out = events.remove(at);
            let faults = all_faults(&renumbered(events));
            let [fault] = &faults[..] else { panic!("without event {at}, {left_out}: {faults:#?}") };
            assert!(fault.what.contains(kind(&left_out)), "{left_out}: {fault:?}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn faults_of_several_events_are_named_and_no_others() {
    let mut sample = everything();
    let at = |wanted: &str| sample.iter().position(|event| kind(event) == wanted).unwrap();
    let (delta, part) = (at("response.output_text.delta"), at("response.content_part.added"));
    let item = at("response.output_item.added");
    let last = sample.len() - 1;
    sample[delta].as_object_mut().unwrap().shift_remove("logprobs");
    sample[part]["sequence_number"] = json!(9_000);
    sample[part + 1]["sequence_number"] = json!(9_001);
    sample[item]["item"]["status"] = json!("completed");
    let response = sample[last]["response"].as_object_mut().unwrap();
    response.shift_remove("store");
    response.shift_remove("background");
    let what: Vec<String> = all_faults(&sample).into_iter().map(|fault| fault.what).collect();
    let expected = [
        "has status \"completed\", expected in_progress",
        "sequence_number is 9000, expected",
        "expected 9002",
        "event.logprobs is missing, expected List",
        "response.store is missing, expected OptionalBool; response.background is missing, expected OptionalBool",
    ];
    let named = |part: &&str| what.iter().filter(|what| what.contains(part)).count();
    assert_eq!(expected.iter().map(named).collect::<Vec<_>>(), [1; 5], "{what:#?}");
    assert_eq!(what.len(), 5, "{what:#?}");
}

#[test]
fn a_repeated_event_is_noticed() {
    for sample in samples() {
        let is_once = |event: &Value| kind(event) != "response.in_progress" && !is_growth(event);
        for at in (0..sample.len()).filter(|at| is_once(&sample[*at])) {
            let mut events = sample.clone();
            events.insert(at, sample[at].clone());
            refused(&renumbered(events), &format!("event {at} twice, {}", kind(&sample[at])));
        }
    }
}

#[test]
fn two_events_that_change_places_are_noticed() {
    /// Whether the item is of a tool that the server runs, and so may overlap with other items.
    fn is_server_run(sample: &[Value], index: &Value) -> bool {
        let output = &sample.last().unwrap()["response"]["output"];
        let kind =
            index.as_u64().map_or("", |i| output[usize::try_from(i).unwrap()]["type"].as_str().unwrap());
        matches!(kind, "mcp_call" | "mcp_list_tools" | "code_interpreter_call" | "web_search_call")
    }
    for sample in samples() {
        for at in 0..sample.len() - 1 {
            let (a, b) = (&sample[at], &sample[at + 1]);
            let (i, j) = (&a["output_index"], &b["output_index"]);
            let overlap = i != j && is_server_run(&sample, i) && !j.is_null();
            let grows = is_growth(a) && is_growth(b);
            if overlap || grows || is_heartbeat(&sample, at) || is_heartbeat(&sample, at + 1) {
                continue;
            }
            let mut events = sample.clone();
            events.swap(at, at + 1);
            // A citation may come at any time while its part is open.
            if kind(a) == "response.output_text.annotation.added"
                || kind(b) == "response.output_text.annotation.added"
            {
                continue;
            }
            refused(&renumbered(events), &format!("{} after {}", kind(a), kind(b)));
        }
    }
}

#[test]
fn a_wrong_sequence_number_is_noticed() {
    let count = spoil_fields(|old, key, _| match (key, old.as_u64()) {
        ("sequence_number", Some(n)) => {
            vec![Some(json!(n + 1)), Some(json!(-1)), Some(json!(n.to_string())), None]
        }
        _ => vec![],
    });
    assert!(count > 200);
}

#[test]
fn a_wrong_id_is_noticed() {
    let count = spoil_fields(|old, key, _| match (key, old.as_str()) {
        ("id" | "item_id" | "call_id", Some(id)) => vec![Some(json!(format!("{id}x"))), Some(json!(""))],
        _ => vec![],
    });
    assert!(count > 200);
}

#[test]
fn an_id_that_stands_for_two_things_is_noticed() {
    let mut sample = everything();
    for event in &mut sample {
        let text = event.to_string().replace("\"msg_2\"", "\"rs_1\"");
        *event = serde_json::from_str(&text).unwrap();
    }
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Identity);
    let mut sample = everything();
    for event in &mut sample {
        let text = event.to_string().replace("\"call_fc_1\"", "\"fc_1\"");
        *event = serde_json::from_str(&text).unwrap();
    }
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Identity);
}

#[test]
fn a_wrong_index_is_noticed() {
    let count = spoil_fields(|old, key, _| match (key.ends_with("_index"), old.as_u64()) {
        (true, Some(n)) if !matches!(key, "start_index" | "end_index") => {
            vec![Some(json!(n + 1)), Some(json!(n + 7))]
        }
        _ => vec![],
    });
    assert!(count > 100);
}

#[test]
fn a_changed_text_is_noticed() {
    let texts = ["delta", "text", "arguments", "input", "code", "refusal"];
    let count = spoil_fields(|old, key, _| match old.as_str() {
        Some(text) if texts.contains(&key) => {
            let shorter = text.chars().skip(1).collect::<String>();
            let shorter = (shorter != text).then(|| Some(json!(shorter)));
            shorter.into_iter().chain([Some(json!(format!("{text}x")))]).collect()
        }
        _ => vec![],
    });
    assert!(count > 100);
}

#[test]
fn a_wrong_status_is_noticed() {
    let statuses = ["in_progress", "completed", "incomplete", "failed", "queued", "done"];
    let count = spoil_fields(|old, key, at| {
        let others = statuses.iter().filter(|status| {
            **status != *old && !(**status == "queued" && at.starts_with("response.created"))
        });
        if key == "status" { others.map(|status| Some(json!(status))).collect() } else { vec![] }
    });
    assert!(count > 200);
}

#[test]
fn a_missing_field_is_noticed() {
    // Objects whose fields the client or a tool decides.
    let free = ["/annotation/", "/action/", "/outputs/", "/tools/", "/annotations/"];
    let count = spoil_fields(|_, _, at| {
        let open = free.iter().any(|part| at.contains(part))
            && (at.starts_with("response.output_item") || at.contains("/annotation/"));
        let repeated = at == "response.function_call_arguments.done/name";
        let late = at.starts_with("response.output_item.added") && at.ends_with("/outputs");
        // Fields that only some servers send, or only on request.
        let extra = at.ends_with("/obfuscation");
        if open || repeated || late || extra { vec![] } else { vec![None] }
    });
    assert!(count > 1000);
}

#[test]
fn anything_constant_that_changes_is_noticed() {
    let constant = [
        "name",
        "role",
        "phase",
        "model",
        "server_label",
        "container_id",
        "object",
        "instructions",
        "tool_choice",
    ];
    let count = spoil_fields(|old, key, at| match old {
        Value::String(text) if constant.contains(&key) && !at.contains("/tools/") => {
            vec![Some(json!(format!("{text}x"))), Some(Value::Null)]
        }
        Value::Number(_) if key == "created_at" || key == "temperature" => vec![Some(json!(5))],
        _ => vec![],
    });
    assert!(count > 100);
}

#[test]
fn token_counts_that_do_not_add_up_are_noticed() {
    let count = spoil_fields(|old, key, _| match (key, old.as_u64()) {
        ("input_tokens" | "output_tokens" | "total_tokens", Some(n)) => vec![Some(json!(n + 1))],
        ("cached_tokens" | "reasoning_tokens", Some(n)) => vec![Some(json!(n + 100))],
        _ => vec![],
    });
    assert!(count >= 20);
}

#[test]
fn wrong_log_probabilities_and_padding_are_noticed() {
    let count = spoil_fields(|old, key, _| match key {
        "logprob" => vec![Some(json!(0.5)), Some(json!("-0.5")), Some(json!(-0.25)), None],
        "token" | "top_logprobs" => vec![Some(Value::Null), Some(json!(7)), None],
        "obfuscation" => vec![Some(Value::Null), Some(json!(7))],
        "logprobs" if old.as_array().is_some_and(|list| !list.is_empty()) => {
            vec![Some(json!([])), Some(Value::Null)]
        }
        _ => vec![],
    });
    assert!(count > 50);
    let mut sample = everything();
    let text_done = sample.iter().position(|event| kind(event) == "response.output_text.done").unwrap();
    sample[text_done]["obfuscation"] = json!("padding of a whole text");
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Fields);
}

#[test]
fn raw_messages_come_with_the_end_and_in_pairs() {
    let mut sample = everything();
    sample[0]["response"]["input_messages"] = json!([]);
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Status);
    let mut sample = everything();
    sample.last_mut().unwrap()["response"]["output_messages"] = json!([]);
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Fields);
}

#[test]
fn an_unknown_type_is_noticed() {
    spoil_fields(|_, key, at| {
        let known_by_shape = at.contains("/annotation") || at.contains("/action") || at.contains("/outputs");
        if key == "type" && !known_by_shape { vec![Some(json!("vendor.thing"))] } else { vec![] }
    });
}

#[test]
fn completed_after_truncation_is_noticed() {
    let mut sample = truncated();
    let last = sample.last_mut().unwrap();
    last["type"] = json!("response.completed");
    last["response"]["status"] = json!("completed");
    last["response"]["incomplete_details"] = Value::Null;
    last["response"]["completed_at"] = json!(1_700_000_001);
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Status);
}

#[test]
fn completed_without_a_summary_is_noticed() {
    let mut sample = compacted();
    for event in &mut sample {
        let text = event.to_string().replace("c2VhbGVk", "");
        *event = serde_json::from_str(&text).unwrap();
    }
    assert_eq!(check(&sample).unwrap_err().rule, Rule::Status);
}

#[test]
fn server_run_calls_may_stay_open_while_model_goes_on() {
    let mut sample = everything();
    let at = |sample: &[Value], kind: &str, index: u64| {
        let wanted = |event: &&Value| event["type"] == kind && event["output_index"] == index;
        sample.iter().position(|event| wanted(&event)).unwrap()
    };
    // The web search (9) completes after the refusal (10) has begun.
    let completed = at(&sample, "response.web_search_call.completed", 9);
    let events: Vec<Value> = sample.drain(completed..completed + 2).collect();
    let after = at(&sample, "response.refusal.delta", 10);
    sample.splice(after..after, events);
    check(&renumbered(sample)).unwrap();
}

#[test]
fn a_call_cannot_run_before_its_arguments_are_whole() {
    let mut sample = everything();
    let done = sample.iter().position(|event| event["type"] == "response.mcp_call_arguments.done").unwrap();
    sample.swap(done, done + 1);
    assert_eq!(check(&renumbered(sample)).unwrap_err().rule, Rule::Order);
}

//! Sample items of prose: reasoning in both encodings, messages, refusals.

use serde_json::{Value, json};

use super::{Sample, with};

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

pub(super) fn reasoning(sample: &mut Sample, id: &str) {
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

pub(super) fn summary(sample: &mut Sample, id: &str) {
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

pub(super) fn message(sample: &mut Sample, id: &str, status: &str) {
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

/// A message with log-probabilities and padding.
pub(super) fn scored_message(sample: &mut Sample, id: &str) {
    let token = |text: &str| json!({ "token": text, "bytes": text.as_bytes(), "logprob": -0.5 });
    let scored = |text: &str| with(&token(text), &json!({ "top_logprobs": [token(text), token("other")] }));
    let part = |text: &str, logprobs: Value| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": logprobs });
    let added =
        json!({ "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [] });
    let whole = part("Hi.", json!([scored("Hi"), scored(".")]));
    let delta = |text: &str| json!({ "content_index": 0, "delta": text, "logprobs": [scored(text)], "obfuscation": "x8Kq" });
    let inside = [
        ("response.content_part.added", json!({ "content_index": 0, "part": part("", json!([])) })),
        ("response.output_text.delta", delta("Hi")),
        ("response.output_text.delta", delta(".")),
        (
            "response.output_text.done",
            json!({ "content_index": 0, "text": "Hi.", "logprobs": whole["logprobs"] }),
        ),
        ("response.content_part.done", json!({ "content_index": 0, "part": whole })),
    ];
    sample.item(&added, &inside, with(&added, &json!({ "status": "completed", "content": [whole] })));
}

pub(super) fn refusal(sample: &mut Sample, id: &str) {
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

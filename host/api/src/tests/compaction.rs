//! Compaction: the requests that ask for it, the items that come of it, and their way back into a
//! conversation.

use serde_json::{Value, json};

use super::goldens::compare;
use super::{defaults, job, machine, read, refusal};
use crate::agent::{CompactionEvent, Occasion};
use crate::error::ApiError;
use crate::event_buffer::EventBuffer;
use crate::ids::{Clock, Ids};
use crate::json::JsonObject;
use crate::request::{ApiRequest, Defaults};
use crate::responses::{self, Continuation};
use crate::seal::{KEY_BYTES, Seal};
use prompt::{ChatMessage, Role};
use turn::{ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure, Usage};

const SUMMARY: &str = "The user asked for two cities: Paris and Rome 🌍.";

fn body(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "input": [{ "role": "user", "content": "Hi." }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn asked(extra: &Value) -> Option<Occasion> {
    let request =
        read(responses::read, body(extra).to_string().as_bytes(), &defaults(), &Clock::at(0)).unwrap();
    request.compaction.map(|compaction| compaction.occasion)
}

fn refused(extra: &Value) -> ApiError {
    refusal(responses::read, &body(extra))
}

fn item(sealed: &str) -> Value {
    json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": sealed })
}

fn sealed() -> String {
    defaults().seal.seal("responses compaction", SUMMARY)
}

fn shape(messages: &[ChatMessage]) -> Vec<(Role, &str)> {
    let text = |message: &ChatMessage| if message.is_summary { "(summary)" } else { "" };
    messages.iter().map(|message| (message.role, text(message))).collect()
}

#[test]
fn item_keeps_only_user_messages_and_instructions() {
    use Role::{Assistant, Developer, System, User};

    let input = json!([
        { "role": "developer", "content": "Be kind." }, { "role": "user", "content": "Weather?" },
        { "type": "reasoning", "content": [{ "type": "reasoning_text", "text": "Hm." }] },
        { "type": "function_call", "call_id": "a", "name": "look", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "a", "output": "sunny" },
        { "role": "assistant", "content": "Sunny." }, item(&sealed()),
        { "role": "assistant", "content": "And now?" }, { "role": "user", "content": "Rome?" },
    ]);
    let (job, warnings) =
        job(responses::read, &body(&json!({ "input": input, "instructions": "Be brief." })));
    let messages = job.conversation.messages;
    assert_eq!(warnings, Vec::<String>::new());
    let expected =
        [(System, ""), (Developer, ""), (User, ""), (User, "(summary)"), (Assistant, ""), (User, "")];
    assert_eq!(shape(&messages), expected);
    assert!(messages[3].content.joined().contains(SUMMARY));
}

#[test]
fn foreign_changed_or_cut_item_is_refused_with_a_code() {
    let own = sealed();
    let last = own.len() - 1;
    let flipped = format!(
        "{}{}{}",
        &own[..last / 2],
        if &own[last / 2..=last / 2] == "A" { "B" } else { "A" },
        &own[last / 2 + 1..]
    );
    let foreign = Seal::new(&[[9; KEY_BYTES]]).seal("responses compaction", SUMMARY);
    let reasoning = defaults().seal.seal("responses reasoning", SUMMARY);
    for wrong in [&foreign, &flipped, &own[..last], &reasoning, "gAAAAABo", &"A".repeat(1_000_000)] {
        let error = refused(&json!({ "input": [item(wrong)] }));
        assert_eq!((error.status, error.code), (400, Some("invalid_encrypted_content")), "{wrong:.80}");
        assert_eq!(error.param.as_deref(), Some("input[0].encrypted_content"));
        assert!(error.message.len() < 400, "{}", error.message);
    }
    assert_eq!(
        refused(&json!({ "input": [{ "type": "compaction" }] })).code,
        Some("missing_required_parameter")
    );
    let number = json!({ "input": [{ "type": "compaction", "encrypted_content": 7 }] });
    assert_eq!(refused(&number).code, Some("invalid_type"));
}

#[test]
fn an_item_without_content_replaces_nothing() {
    let input = json!([{ "role": "user", "content": "Hi." }, { "role": "assistant", "content": "Yes?" }, item(""), { "role": "user", "content": "Go on." }]);
    let (job, warnings) = job(responses::read, &body(&json!({ "input": input })));
    assert_eq!(job.conversation.messages.len(), 3);
    assert!(warnings[0].contains("compaction item without content"), "{warnings:?}");
}

#[test]
fn a_trigger_is_the_last_item_or_refused() {
    let (user, trigger) =
        (json!({ "role": "user", "content": "Hi." }), json!({ "type": "compaction_trigger" }));
    assert_eq!(asked(&json!({ "input": [user, trigger] })), Some(Occasion::Asked));
    // The last item decides, whatever the threshold.
    let both = json!({ "input": [user, trigger], "context_management": [{ "type": "compaction" }] });
    assert_eq!(asked(&both), Some(Occasion::Asked));
    assert_eq!(asked(&json!({ "input": [user] })), None);
    // One that was answered may stay where it was.
    let answered = json!({ "input": [user, trigger, item(&sealed()), user] });
    assert_eq!(asked(&answered), None);
    for wrong in [json!([trigger, user]), json!([user, trigger, trigger])] {
        let error = refused(&json!({ "input": wrong }));
        assert_eq!((error.status, error.code), (400, Some("invalid_value")));
        assert!(error.message.contains("send it as the last item"), "{}", error.message);
    }
    let alone = refused(&json!({ "input": [trigger] }));
    assert!(alone.message.contains("no message"), "{}", alone.message);
}

#[test]
fn a_threshold_is_a_positive_number_of_tokens() {
    let of = |entries: Value| json!({ "context_management": entries });
    let threshold = |threshold: Value| of(json!([{ "type": "compaction", "compact_threshold": threshold }]));
    assert_eq!(asked(&threshold(json!(2_000))), Some(Occasion::Above(2_000)));
    assert_eq!(asked(&threshold(json!(4_294_967_295_u32))), Some(Occasion::Above(u32::MAX)));
    let seven_eighths = Defaults::default().context / 8 * 7;
    let default = Occasion::Above(u32::try_from(seven_eighths).unwrap());
    assert_eq!(asked(&threshold(Value::Null)), Some(default));
    assert_eq!(asked(&of(json!([]))), None);
    for wrong in [json!(0), json!(-1), json!(1e99), json!(4_294_967_296_u64), json!(1.5)] {
        let error = refused(&threshold(wrong.clone()));
        assert_eq!(error.param.as_deref(), Some("context_management[0].compact_threshold"), "{wrong}");
    }
    for (wrong, param) in [
        (json!([{ "type": "summary" }]), "context_management[0].type"),
        (json!([{}]), "context_management[0].type"),
        (json!([{ "type": "compaction" }, { "type": "compaction" }]), "context_management"),
        (json!({ "type": "compaction" }), "context_management"),
        (json!([7]), "context_management[0]"),
    ] {
        assert_eq!(refused(&of(wrong.clone())).param.as_deref(), Some(param), "{wrong}");
    }
}

/// A machine's answer to a compaction in three steps, with a heartbeat in the middle, and what
/// follows it.
fn told(extra: &Value, summary: Option<&str>, rest: &[TurnEvent], end: &TurnEnd) -> (String, Value) {
    let mut machine = machine(responses::read, &body(extra));
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    machine.compaction(&CompactionEvent::Begun, &mut buffer);
    machine.compaction(&CompactionEvent::Sampled, &mut buffer);
    machine.heartbeat(&mut buffer);
    machine.compaction(&CompactionEvent::Sampled, &mut buffer);
    let summary = summary.map(str::to_owned);
    machine.compaction(&CompactionEvent::Ended { summary }, &mut buffer);
    for event in rest {
        machine.turn(event, &mut buffer);
    }
    machine.end(end, Usage { input_tokens: 40, output_tokens: 20, ..Usage::default() }, &mut buffer);
    let stream = super::sse_of(&*machine, &buffer);
    responses::validator::check_sse(stream.as_bytes()).unwrap_or_else(|fault| panic!("{fault}\n{stream}"));
    (stream, serde_json::from_str(&machine.body().1).unwrap())
}

/// Compares stream and body with golden files, which can't have sealed texts: these differ each
/// time.
fn compare_masked(name: &str, stream: &str, body: &Value) {
    let sealed = body["output"][0]["encrypted_content"].as_str().unwrap();
    let mask =
        |text: &str| if sealed.is_empty() { text.to_owned() } else { text.replace(sealed, "(sealed)") };
    compare(&format!("{name}.sse"), &mask(stream));
    compare(&format!("{name}.json"), &format!("200\n{}\n", mask(&format!("{body:#}"))));
}

fn message() -> [TurnEvent; 3] {
    let phase = turn::Phase::Unspecified;
    [
        TurnEvent::Open(ItemHead::Message { phase }),
        TurnEvent::Text("Sunny.".into()),
        TurnEvent::Close(ItemStatus::Completed),
    ]
}

#[test]
fn streamed_compaction_hides_text_and_is_its_summary() {
    let plain = json!({ "stream_options": { "include_obfuscation": false } });
    for (name, rest) in [("compaction", &[][..]), ("compacted-first", &message()[..])] {
        let (stream, response) = told(&plain, Some(SUMMARY), rest, &TurnEnd::Completed);
        assert!(!stream.contains("Paris"), "{stream}");
        compare_masked(&format!("responses-{name}"), &stream, &response);
        assert_eq!(response["output"].as_array().unwrap().len(), 1 + rest.len() / 3);
        let input = json!([response["output"][0], { "role": "user", "content": "Go on." }]);
        let (job, _) = job(responses::read, &body(&json!({ "input": input })));
        assert!(job.conversation.messages[0].content.joined().contains(SUMMARY));
    }
}

#[test]
fn failed_compaction_leaves_an_item_without_content() {
    let failure = TurnFailure { code: "model_error", message: "The model wrote no summary.".to_owned() };
    for (name, end) in [("failed", TurnEnd::Failed(failure)), ("cut", TurnEnd::MaxOutputTokens)] {
        let (stream, response) = told(&json!({}), None, &[], &end);
        compare_masked(&format!("responses-compaction-{name}"), &stream, &response);
        assert_eq!(
            response["output"],
            json!([{ "type": "compaction", "id": "cmp_2", "encrypted_content": "" }])
        );
    }
}

fn compact(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    responses::compact(body, &Continuation::default(), defaults, ids, now)
}

/// The answer to a request to compact.
fn compacted(input: &Value, summary: Option<&str>, end: &TurnEnd) -> (u16, Value) {
    let body = json!({ "model": "m", "input": input });
    let request = read(compact, body.to_string().as_bytes(), &defaults(), &Clock::at(1_700_000_000_000));
    let ApiRequest { mut machine, stream, .. } = request.unwrap_or_else(|error| panic!("{error}"));
    assert!(!stream);
    let mut buffer = EventBuffer::discarding();
    machine.begin(&mut buffer);
    machine.compaction(&CompactionEvent::Ended { summary: summary.map(str::to_owned) }, &mut buffer);
    machine.end(end, Usage { input_tokens: 40, output_tokens: 20, ..Usage::default() }, &mut buffer);
    let (status, body) = machine.body();
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn compacted_conversation_is_user_messages_and_item() {
    let input = json!([
        { "role": "system", "content": "Be kind." }, { "role": "user", "content": "Weather?", "vendor": [1.0, null] },
        { "role": "assistant", "content": "Sunny." },
        { "type": "message", "id": "msg_9", "role": "user", "content": [{ "type": "input_image", "image_url": "data:," }] },
        { "type": "function_call", "role": "user", "call_id": "a", "name": "f", "arguments": "{}" },
    ]);
    let (status, response) = compacted(&input, Some(SUMMARY), &TurnEnd::Completed);
    assert_eq!(status, 200);
    let sealed = response["output"][2]["encrypted_content"].as_str().unwrap();
    assert_eq!(defaults().seal.open("responses compaction", sealed).as_deref(), Ok(SUMMARY));
    let usage = json!({
        "input_tokens": 40, "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 60
    });
    let text = |text: &str| json!([{ "type": "input_text", "text": text }]);
    let expected = json!({
        "id": "resp_2", "created_at": 1_700_000_000, "object": "response.compaction", "usage": usage, "output": [
            { "id": "msg_1", "type": "message", "role": "user", "content": text("Weather?"), "vendor": [1.0, null], "status": "completed" },
            { "id": "msg_9", "type": "message", "role": "user", "content": input[3]["content"], "status": "completed" },
            { "type": "compaction", "id": "cmp_3", "encrypted_content": sealed },
        ]
    });
    assert_eq!(response, expected);
    let (_, response) = compacted(&json!("Hi \"you\"."), Some(SUMMARY), &TurnEnd::Completed);
    assert_eq!(
        (&response["output"][0]["role"], &response["output"][0]["content"]),
        (&json!("user"), &text("Hi \"you\"."))
    );
}

#[test]
fn a_conversation_without_a_summary_is_an_error() {
    let failure = || TurnFailure { code: "model_error", message: "No summary.".to_owned() };
    for (end, status) in
        [(TurnEnd::Failed(failure()), 500), (TurnEnd::MaxOutputTokens, 500), (TurnEnd::Cancelled, 503)]
    {
        let (got, body) = compacted(&json!("Hi."), None, &end);
        assert_eq!(got, status, "{body}");
        assert!(body["error"]["code"].is_string() && body["error"]["message"].is_string(), "{body}");
    }
    for empty in [json!({ "model": "m" }), json!({ "model": "m", "input": [] }), json!({ "input": "x" })] {
        assert_eq!(refusal(compact, &empty).status, 400, "{empty}");
    }
}

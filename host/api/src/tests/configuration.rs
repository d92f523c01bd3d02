//! `configuration_update` items: the last one decides, before the request's own fields.

use serde_json::{Value, json};

use super::{job, machine, refusal};
use crate::responses;

fn body(updates: &[Value], extra: &Value) -> Value {
    let mut input = vec![json!({ "role": "user", "content": "Hi." })];
    input.extend(updates.iter().cloned());
    let mut body = json!({ "model": "m", "input": input });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn effort(effort: &str) -> Value {
    json!({ "type": "configuration_update", "reasoning": { "effort": effort } })
}

fn format(format: &Value) -> Value {
    json!({ "type": "configuration_update", "text": { "format": format } })
}

fn schema(name: &str) -> Value {
    json!({ "type": "json_schema", "name": name, "schema": { "type": "object", "title": name } })
}

fn effort_of(body: &Value) -> Option<Value> {
    let (job, _) = job(responses::read, body);
    let echo: Value = serde_json::from_str(&machine(responses::read, body).body().1).unwrap();
    let shown = job.template_arguments.into_iter().find(|(name, _)| name == "reasoning_effort");
    let shown = shown.map(|(_, value)| value);
    assert_eq!(
        shown.clone().unwrap_or_default(),
        echo["reasoning"]["effort"],
        "the response says what holds"
    );
    shown
}

#[test]
fn the_last_effort_holds_before_the_requests_own() {
    let own = json!({ "reasoning": { "effort": "low", "summary": "auto" } });
    assert_eq!(effort_of(&body(&[], &own)), Some(json!("low")));
    assert_eq!(effort_of(&body(&[effort("high")], &own)), Some(json!("high")));
    assert_eq!(effort_of(&body(&[effort("high"), effort("medium")], &json!({}))), Some(json!("medium")));
    // An update of another setting leaves it.
    assert_eq!(effort_of(&body(&[effort("high"), format(&schema("a"))], &own)), Some(json!("high")));
    assert_eq!(effort_of(&body(&[format(&schema("a"))], &own)), Some(json!("low")));
}

#[test]
fn the_last_format_holds_before_the_requests_own() {
    let own = json!({ "text": { "format": schema("own"), "verbosity": "low" } });
    let title = |body: &Value| {
        let schema = job(responses::read, body).0.demand.response_schema;
        schema.map(|schema| serde_json::from_str::<Value>(&schema).unwrap()["title"].clone())
    };
    assert_eq!(title(&body(&[], &own)), Some(json!("own")));
    assert_eq!(title(&body(&[format(&schema("a")), format(&schema("b"))], &own)), Some(json!("b")));
    assert_eq!(title(&body(&[format(&schema("a")), effort("low")], &json!({}))), Some(json!("a")));
    assert_eq!(title(&body(&[format(&json!({ "type": "text" }))], &own)), None);
    let response = machine(responses::read, &body(&[format(&schema("a"))], &own)).body().1;
    let response: Value = serde_json::from_str(&response).unwrap();
    assert_eq!(
        (&response["text"]["format"]["name"], &response["text"]["verbosity"]),
        (&json!("a"), &json!("low"))
    );
}

#[test]
fn wrong_values_are_refused_with_their_path() {
    for (wrong, param) in [
        (effort("enormous"), "input[1].reasoning.effort"),
        (json!({ "type": "configuration_update", "reasoning": 7 }), "input[1].reasoning"),
        (json!({ "type": "configuration_update", "text": {} }), "input[1].text.format"),
        (format(&json!({ "type": "poem" })), "input[1].text.format.type"),
        (format(&json!({ "type": "json_schema" })), "input[1].text.format.name"),
    ] {
        // A later update doesn't excuse it.
        let error = refusal(responses::read, &body(&[wrong.clone(), effort("low")], &json!({})));
        assert_eq!((error.status, error.param.as_deref()), (400, Some(param)), "{wrong}: {}", error.message);
    }
}

#[test]
fn settings_that_updates_lack_are_ignored_and_warned() {
    let update = json!({ "type": "configuration_update", "temperature": 0.5 });
    let (_, warnings) = job(responses::read, &body(&[update], &json!({})));
    assert_eq!(warnings, ["unknown field input[1].temperature ignored"]);
}

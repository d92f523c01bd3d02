//! The switch `thinking` of Chat Completions.

use serde_json::{Value, json};

use super::job;
use crate::chat;

#[test]
fn thinking_switches_reasoning_unless_overridden() {
    let arguments = |extra: Value| {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        job(chat::read, &body).0.template_arguments
    };
    let switch = |on: bool| vec![("enable_thinking".to_owned(), Value::Bool(on))];
    assert_eq!(arguments(json!({ "thinking": { "type": "disabled" } })), switch(false));
    assert_eq!(arguments(json!({ "thinking": { "type": "enabled", "budget_tokens": 9 } })), switch(true));
    let given =
        json!({ "thinking": { "type": "disabled" }, "chat_template_kwargs": { "enable_thinking": true } });
    assert_eq!(arguments(given), switch(true));
    assert_eq!(arguments(json!({ "thinking": { "keep": "all" } })), switch(true));
    let effort = vec![("reasoning_effort".to_owned(), json!("high"))];
    assert_eq!(arguments(json!({ "thinking": { "effort": "high" } })), effort);
    assert_eq!(
        arguments(json!({ "thinking": { "effort": "low" }, "reasoning": { "effort": "high" } })),
        effort
    );
    assert_eq!(arguments(json!({ "thinking": { "type": "disabled", "effort": "high" } })), switch(false));
    assert_eq!(arguments(json!({ "thinking": { "type": "disabled" }, "reasoning_effort": "high" })), effort);
    assert!(arguments(json!({})).is_empty());
}

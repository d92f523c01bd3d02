//! Tools that the client runs and whose calls have items of their own, and the search of tools.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{defaults, refusal};
use crate::agent::Hosted;
use crate::ids::Clock;
use crate::request::ApiRequest;
use crate::responses;
use grammar::ToolChoice;
use model::Job;
use prompt::Role;

fn body(tools: &Value, more: &Value) -> Value {
    let mut body = json!({ "model": "m", "input": "q", "tools": tools });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn read(body: &Value) -> ApiRequest {
    let read = super::read(responses::read, body.to_string().as_bytes(), &defaults(), &Clock::at(0));
    read.unwrap_or_else(|error| panic!("{error}"))
}

fn job(body: &Value) -> Job {
    read(body).job
}

fn names(body: &Value) -> (Vec<String>, Vec<String>) {
    let job = job(body);
    let shown = job.conversation.tools.into_iter().map(|tool| tool.name).collect();
    (job.demand.tools.into_iter().map(|tool| tool.name).collect(), shown)
}

#[test]
fn the_model_sees_a_function_with_a_closed_schema() {
    let tools = json!([{ "type": "shell" }, { "type": "local_shell" }, { "type": "apply_patch" }, { "type": "tool_search" }]);
    let job = job(&body(&tools, &json!({})));
    for (tool, shown) in job.demand.tools.iter().zip(&job.conversation.tools) {
        let schema: Value = serde_json::from_str(&tool.schema).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let shown: Value = serde_json::from_str(&shown.declaration).unwrap();
        assert_eq!(
            (&shown["function"]["name"], &shown["function"]["parameters"]),
            (&json!(tool.name), &schema)
        );
    }
    assert_eq!(job.demand.tools.len(), 4);
}

#[test]
fn a_shell_in_a_container_is_refused_and_skills_are_told() {
    for kind in ["container_auto", "container_reference"] {
        let container = json!([{ "type": "shell", "environment": { "type": kind } }]);
        let error = refusal(crate::responses::read, &body(&container, &json!({})));
        assert_eq!((error.status, error.param.as_deref()), (400, Some("tools[0].environment.type")));
        assert!(error.message.contains("no containers here"), "{error}");
    }
    let skill = json!({ "name": "pdf", "description": "Reads PDFs.", "path": "/skills/pdf" });
    let local = json!([{ "type": "shell", "environment": { "type": "local", "skills": [skill] } }]);
    let declaration = &job(&body(&local, &json!({}))).conversation.tools[0].declaration;
    assert!(declaration.contains(r"\n- pdf (/skills/pdf): Reads PDFs."), "{declaration}");
}

#[test]
fn the_choice_names_such_a_tool_by_its_type() {
    let tools = json!([{ "type": "shell" }, { "type": "function", "name": "f" }]);
    let chosen = |choice: Value| job(&body(&tools, &json!({ "tool_choice": choice }))).demand;
    assert_eq!(chosen(json!({ "type": "shell" })).tool_choice, ToolChoice::Named("shell".to_owned()));
    let allowed =
        chosen(json!({ "type": "allowed_tools", "mode": "required", "tools": [{ "type": "shell" }] }));
    assert_eq!((allowed.tool_choice, allowed.tools.len()), (ToolChoice::Required, 1));
    let refused = |choice| refusal(responses::read, &body(&tools, &json!({ "tool_choice": choice }))).message;
    assert_eq!(
        refused(json!({ "type": "apply_patch" })),
        "tool_choice: expected the name of a declared tool"
    );
    assert!(refused(json!({ "type": "file_search" })).contains("a tool that is not there"));
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let both = [json!({ "type": "shell" }), json!({ "type": "function", "name": "shell" })];
    for tools in [json!([both[0], both[1]]), json!([both[1], both[0]])] {
        let message = refusal(responses::read, &body(&tools, &json!({}))).message;
        assert!(message.contains("two tools of this name"), "{message}");
    }
}

fn deferred() -> Value {
    json!([
        { "type": "function", "name": "send_mail", "defer_loading": true, "parameters": { "type": "object" } },
        { "type": "namespace", "name": "crm", "description": "Customers.", "tools": [
            { "type": "function", "name": "list", "defer_loading": true }, { "type": "function", "name": "add" },
        ] },
    ])
}

#[test]
fn deferred_tools_are_shown_unless_there_is_a_search() {
    assert_eq!(names(&body(&deferred(), &json!({}))).0, ["send_mail", "crm__list", "crm__add"]);
    for execution in ["client", "server"] {
        let mut tools = deferred();
        tools.as_array_mut().unwrap().insert(0, json!({ "type": "tool_search", "execution": execution }));
        let (callable, shown) = names(&body(&tools, &json!({})));
        assert_eq!(
            (&callable, callable == shown),
            (&vec!["tool_search".to_owned(), "crm__add".to_owned()], true)
        );
    }
}

fn search_of(body: &Value) -> Vec<String> {
    let Some(Hosted { search: Some(search), .. }) = read(body).hosted else { return Vec::new() };
    search.tools.into_iter().map(|tool| tool.definition.name).collect()
}

#[test]
fn the_server_searches_those_that_the_choice_allows() {
    let mut tools = deferred();
    tools.as_array_mut().unwrap().push(json!({ "type": "tool_search" }));
    assert_eq!(search_of(&body(&tools, &json!({}))), ["send_mail", "crm__list"]);
    let only = json!([{ "type": "tool_search" }, { "type": "function", "name": "send_mail" }]);
    let choice = json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": only } });
    assert_eq!(search_of(&body(&tools, &choice)), ["send_mail"]);
    tools[2]["execution"] = json!("client");
    assert_eq!(search_of(&body(&tools, &json!({}))), [""; 0]);
}

/// Each tool held its namespace's description.
#[test]
fn tools_of_a_namespace_share_what_it_begins_with() {
    let namespace = json!({ "type": "namespace", "name": "n", "description": "", "tools": functions(3) });
    let tools = json!([{ "type": "tool_search" }, namespace]);
    let Some(Hosted { search: Some(search), .. }) = read(&body(&tools, &json!({}))).hosted else {
        panic!("a search")
    };
    let heads: Vec<_> = search.tools.iter().filter_map(|tool| tool.namespace.as_ref()).collect();
    assert!(heads.len() == 3 && heads.windows(2).all(|pair| Arc::ptr_eq(pair[0], pair[1])));
}

#[test]
fn tools_that_were_found_may_be_called_and_stay_out_of_the_list() {
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "tool_search_call", "id": "tsc_1", "call_id": null, "execution": "server", "arguments": { "query": "mail" } },
        { "type": "tool_search_output", "id": "tso_1", "call_id": null, "execution": "server", "tools": deferred() },
    ]);
    let tools = json!([{ "type": "tool_search" }, deferred()[0]]);
    let (callable, shown) = names(&body(&tools, &json!({ "input": input })));
    assert_eq!(callable, ["tool_search", "send_mail", "crm__list", "crm__add"]);
    assert_eq!(shown, ["tool_search"]);
}

fn functions(number: usize) -> Vec<Value> {
    let tool = |n| json!({ "type": "function", "name": format!("f{n}"), "defer_loading": true });
    (0..number).map(tool).collect()
}

fn found(tools: &Value) -> Value {
    json!({ "type": "tool_search_output", "id": "tso_1", "call_id": "c", "tools": tools })
}

#[test]
fn a_found_tool_counts_once() {
    let mut tools = functions(511);
    tools.push(json!({ "type": "tool_search", "execution": "client" }));
    let call = json!({ "type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {} });
    let input = |found: Value| json!({ "input": [{ "role": "user", "content": "q" }, call, found] });
    let few = found(&json!(functions(20)));
    assert_eq!(job(&body(&json!(tools), &input(few))).demand.tools.len(), 21);
    let other = found(&json!([{ "type": "function", "name": "other" }]));
    let error = refusal(responses::read, &body(&json!(tools), &input(other)));
    assert!(error.message.contains("at most 512 tools"), "{error}");
    let server = found(&json!([{ "type": "mcp", "server_label": "s" }]));
    let error = refusal(responses::read, &body(&json!(tools), &input(server)));
    assert!(error.message.starts_with("input[2].tools[0].type: a search finds"), "{error}");
}

#[test]
fn what_a_search_found_has_bounds_without_a_request() {
    let add = |tools: Value| {
        let body = json!({ "items": [found(&tools)] }).to_string();
        let defaults = defaults();
        crate::read_body(body.as_bytes(), &defaults.limits, |body| {
            crate::conversations::add(body, &defaults, &mut crate::ids::Ids::counted()).map(|_| ())
        })
    };
    add(json!(functions(512))).unwrap_or_else(|error| panic!("{error}"));
    for tools in [
        json!(functions(513)),
        json!([{ "type": "namespace", "name": "n", "description": "", "tools": functions(513) }]),
    ] {
        let error = add(tools).expect_err("it is refused");
        assert!(error.message.contains("at most 512"), "{error}");
    }
}

#[test]
fn a_steer_waits_for_no_search_that_the_server_ran() {
    let call =
        |execution: &str| json!({ "type": "tool_search_call", "call_id": "c", "execution": execution });
    let ended = |item: Value| {
        let event = json!({ "response": { "status": "completed", "output": [item] } });
        responses::steer::ResponseEnd::read(event.to_string().as_bytes()).required
    };
    assert_eq!(ended(call("client")), [json!({ "type": "tool_search_output", "call_id": "c" })]);
    assert!(ended(call("server")).is_empty());
}

/// Each time took its values off those of the request, so that a long conversation ended.
#[test]
fn a_tool_that_is_found_again_takes_nothing() {
    let words: Vec<String> = (0..2000).map(|word| format!("w{word}")).collect();
    let parameters = json!({ "type": "object", "properties": { "word": { "enum": words } } });
    let tool = json!({ "type": "function", "name": "f", "defer_loading": true, "parameters": parameters });
    let mut input = vec![json!({ "role": "user", "content": "q" })];
    for turn in 0..40 {
        let id = format!("c{turn}");
        input.push(
            json!({ "type": "tool_search_call", "call_id": id, "execution": "client", "arguments": {} }),
        );
        input.push(json!({ "type": "tool_search_output", "call_id": id, "tools": [tool] }));
    }
    let tools = json!([{ "type": "tool_search", "execution": "client" }]);
    assert_eq!(names(&body(&tools, &json!({ "input": input }))).0, ["tool_search", "f"]);
    // Tools that are new do.
    for (turn, item) in input.iter_mut().skip(2).step_by(2).enumerate() {
        item["tools"][0]["name"] = json!(format!("f{turn}"));
    }
    let error = refusal(responses::read, &body(&tools, &json!({ "input": input })));
    assert!(error.message.contains("JSON values"), "{error}");
}

/// The stored search couldn't be read.
#[test]
fn a_deferred_tool_that_no_item_could_show_is_refused() {
    let text = body(&deferred(), &json!({})).to_string();
    let text = text.replace(r#""parameters":{"type":"object"}"#, r#""parameters":{"maximum":1e999}"#);
    let read =
        |text: &str| super::read(responses::read, text.as_bytes(), &defaults(), &Clock::at(0)).map(|_| ());
    read(&text).unwrap_or_else(|error| panic!("nothing is searched: {error}"));
    let error = read(&text.replacen('[', r#"[{"type":"tool_search"},"#, 1)).expect_err("it is refused");
    assert!(error.message.starts_with("tools[1]: a tool that is found later"), "{error}");
}

#[test]
fn a_search_that_the_server_ran_is_read_without_ids() {
    let tools = json!([{ "type": "tool_search" }]);
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "tool_search_call", "call_id": null, "execution": "server", "arguments": { "query": "a", "paths": [] } },
        { "type": "tool_search_output", "call_id": null, "execution": "server", "tools": [] },
        { "type": "tool_search_call", "call_id": null, "execution": "server", "arguments": { "paths": ["f0"] } },
        { "type": "tool_search_output", "call_id": null, "execution": "server", "tools": functions(1) },
    ]);
    let messages = job(&body(&tools, &json!({ "input": input }))).conversation.messages;
    let results = messages.iter().filter(|message| message.role == Role::Tool);
    let results: Vec<String> = results.map(|message| message.content.joined().to_owned()).collect();
    assert_eq!(results.len(), 2);
    assert!(results[1].contains("f0"), "{results:?}");
    // The model sees what it wrote, where the client kept that.
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let arguments: Vec<&str> = calls.map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"query":"a"}"#, r#"{"paths":["f0"]}"#]);
}

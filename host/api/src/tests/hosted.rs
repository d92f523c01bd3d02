//! Tools that the server runs: in requests, and in the items and events of answers.

use serde_json::{Value, json};

use super::goldens::compare;
use super::read;
use crate::agent::{
    AnswerEvent, CallKind, Called, Consent, Domain, Domains, ForcedTool, HostedToolKind, ServerEvent,
};
use crate::error::ApiError;
use crate::event_buffer::EventBuffer;
use crate::ids::Clock;
use crate::request::{ApiRequest, Defaults};
use crate::responses;
use grammar::ToolChoice;
use mcp::McpLimits;
use mcp::{Approval, McpConfig, McpServers, McpTool, RequestUrls};
use turn::{ItemHead, ItemStatus, Phase, TurnEnd, TurnEvent, Usage};

fn defaults(urls: RequestUrls) -> Defaults {
    let config = json!({
        "mcpServers": { "time": { "command": "no-such-program", "require_approval": "never" }, "tools": { "url": "http://127.0.0.1:9" } },
        "web_search": "tools", "code_interpreter": "tools"
    });
    let config = McpConfig::parse(&config.to_string(), |_| None).unwrap();
    Defaults { mcp: McpServers::new(config, urls, &McpLimits::default()), ..Defaults::default() }
}

fn call(tools: &Value, input: &Value, defaults: &Defaults) -> ApiRequest {
    let body = json!({
        "model": "m", "input": input, "tools": tools, "stream": true, "stream_options": { "include_obfuscation": false }
    });
    let call = read(responses::read, body.to_string().as_bytes(), defaults, &Clock::at(1_700_000_000_000));
    call.unwrap_or_else(|error| panic!("{error}"))
}

fn read_request(body: &Value, urls: RequestUrls) -> Result<ApiRequest, ApiError> {
    read(responses::read, body.to_string().as_bytes(), &defaults(urls), &Clock::at(0))
}

fn refusal(tool: &Value, defaults: &Defaults) -> String {
    let body = json!({ "model": "m", "input": "x", "tools": [tool] });
    match read(responses::read, body.to_string().as_bytes(), defaults, &Clock::at(0)) {
        Ok(_) => panic!("not refused: {tool}"),
        Err(error) => error.message,
    }
}

/// Stream and body of an answer to a request with all three kinds of tools.
fn output_of(events: &[AnswerEvent], end: &TurnEnd) -> (String, Value) {
    let tools = json!([
        { "type": "mcp", "server_label": "time", "headers": { "authorization": "secret" } },
        { "type": "web_search" }, { "type": "code_interpreter", "container": { "type": "auto" } }
    ]);
    let mut machine = call(&tools, &json!("Go."), &defaults(RequestUrls::None)).machine;
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    for (number, event) in events.iter().enumerate() {
        match event {
            AnswerEvent::Turn(event) => machine.turn(event, &mut buffer),
            AnswerEvent::Server(event) => machine.server(event, &mut buffer),
            AnswerEvent::Compaction(event) => machine.compaction(event, &mut buffer),
        }
        if number % 4 == 3 {
            machine.heartbeat(&mut buffer);
        }
    }
    machine.end(end, Usage { input_tokens: 40, output_tokens: 20, ..Usage::default() }, &mut buffer);
    let stream = super::sse_of(&*machine, &buffer);
    responses::validator::check_sse(stream.as_bytes())
        .unwrap_or_else(|violation| panic!("{violation}\n{stream}"));
    let body: Value = serde_json::from_str(&machine.body().1).unwrap();
    let last = stream.lines().rev().find_map(|line| line.strip_prefix("data: {")).unwrap();
    let last: Value = serde_json::from_str(&format!("{{{last}")).unwrap();
    assert_eq!(last["response"], body, "the stream's end and the answer in one piece differ");
    (stream, body)
}

fn golden(name: &str, events: &[AnswerEvent], end: &TurnEnd) {
    let (stream, body) = output_of(events, end);
    compare(&format!("responses-{name}.sse"), &stream);
    compare(&format!("responses-{name}.json"), &format!("200\n{body:#}\n"));
}

fn server(event: ServerEvent) -> AnswerEvent {
    AnswerEvent::Server(event)
}

fn listed() -> [AnswerEvent; 2] {
    let tool = McpTool {
        name: "now".into(),
        description: "The time.".into(),
        input_schema: json!({ "type": "object" }).as_object().unwrap().clone(),
        annotations: None,
    };
    let name = || "time".to_owned();
    [
        server(ServerEvent::ListBegun { server: name() }),
        server(ServerEvent::ListEnded { server: name(), tools: Ok(vec![tool]) }),
    ]
}

fn begun(id: &str, kind: CallKind, consent: Consent) -> AnswerEvent {
    let called = Called { kind, server: "time".into(), name: "now".into(), consent };
    server(ServerEvent::CallBegun { call_id: id.into(), called })
}

fn text(id: &str, delta: &str) -> AnswerEvent {
    server(ServerEvent::CallText { call_id: id.into(), delta: delta.into() })
}

fn written(id: &str) -> AnswerEvent {
    server(ServerEvent::CallWritten { call_id: id.into() })
}

fn ended(id: &str, result: Result<&str, &str>) -> AnswerEvent {
    let result = result.map(str::to_owned).map_err(str::to_owned);
    server(ServerEvent::CallEnded { call_id: id.into(), result })
}

fn message(words: &str) -> [AnswerEvent; 3] {
    let phase = Phase::Unspecified;
    [
        TurnEvent::Open(ItemHead::Message { phase }),
        TurnEvent::Text(words.into()),
        TurnEvent::Close(ItemStatus::Completed),
    ]
    .map(AnswerEvent::Turn)
}

#[test]
fn mcp_calls_overlap_each_other_and_a_message() {
    let mut events = listed().to_vec();
    for id in ["a", "b"] {
        events.extend([
            begun(id, CallKind::Mcp, Consent::NotNeeded),
            text(id, "{\"zone\":"),
            text(id, " \"UTC\"}"),
            written(id),
        ]);
    }
    events.extend(message("Let me see."));
    events.extend([ended("b", Err("the tool server did not answer within 2 s")), ended("a", Ok("12:00"))]);
    events.extend(message("Noon."));
    golden("mcp", &events, &TurnEnd::Completed);
}

#[test]
fn mcp_calls_await_or_follow_the_clients_approval() {
    let given = Consent::Given("mcpr_0".into());
    let mut events = vec![begun("mcpr_0", CallKind::Mcp, given), text("mcpr_0", "{}"), written("mcpr_0")];
    events.push(ended("mcpr_0", Ok("12:00")));
    events.extend([
        begun("c", CallKind::Mcp, Consent::Asked),
        text("c", "{\"n\":"),
        text("c", "1}"),
        written("c"),
    ]);
    golden("mcp-approval", &events, &TurnEnd::Completed);
}

#[test]
fn a_list_that_failed_and_a_call_that_was_cut_off() {
    let [list_begun, _] = listed();
    let failed = ServerEvent::ListEnded { server: "time".into(), tools: Err("it can't be reached".into()) };
    let cut = [
        begun("a", CallKind::Mcp, Consent::NotNeeded),
        text("a", "{\"zo"),
        ended("a", Err("the call was cut off")),
    ];
    let events = [vec![list_begun, server(failed)], cut.to_vec()].concat();
    golden("mcp-cut", &events, &TurnEnd::MaxOutputTokens);
}

#[test]
fn what_the_browser_does_is_a_web_search() {
    let mut events = Vec::new();
    for (id, kind, arguments) in [
        ("a", CallKind::Search, "{\"query\": \"oslo\"}"),
        ("b", CallKind::OpenPage, "{\"id\": \"https://example.org\"}"),
        ("c", CallKind::FindInPage, "{\"pattern\": \"snow\"}"),
    ] {
        let result = if id == "b" { Err("no such page") } else { Ok("found") };
        events.extend([
            begun(id, kind, Consent::NotNeeded),
            text(id, arguments),
            written(id),
            ended(id, result),
        ]);
    }
    golden("web-search", &events, &TurnEnd::Completed);
}

#[test]
fn what_python_does_is_a_code_interpreter_call() {
    let mut events = Vec::new();
    for (id, raw, pieces) in [("a", true, ["print(", "1)"]), ("b", false, ["{\"code\": \"pri", "nt(2)\"}"])] {
        events.push(begun(id, CallKind::Code { raw }, Consent::NotNeeded));
        events.extend(pieces.map(|piece| text(id, piece)));
        events.extend([written(id), ended(id, if raw { Ok("1\n") } else { Err("it crashed") })]);
    }
    golden("code-interpreter", &events, &TurnEnd::Completed);
}

#[test]
fn calls_that_end_in_any_order_are_told_well() {
    let ids = ["a", "b", "c", "d"];
    let kinds =
        [CallKind::Mcp, CallKind::Search, CallKind::Code { raw: true }, CallKind::Code { raw: false }];
    for order in 0..24usize {
        let mut left: Vec<usize> = (0..4).collect();
        let mut at = order;
        let order: Vec<usize> = (1..=4)
            .rev()
            .map(|of| {
                let next = left.remove(at % of);
                at /= of;
                next
            })
            .collect();
        let mut events = Vec::new();
        for (id, kind) in ids.iter().zip(kinds) {
            events.extend([begun(id, kind, Consent::NotNeeded), text(id, "{}"), written(id)]);
        }
        events.extend(
            order.iter().map(|place| ended(ids[*place], if *place % 2 == 0 { Ok("1") } else { Err("no") })),
        );
        let (_, body) = output_of(&events, &TurnEnd::Completed);
        assert_eq!(body["output"].as_array().unwrap().len(), 4);
    }
}

/// They couldn't be read back.
#[test]
fn arguments_of_a_search_that_are_no_object_stay_what_the_model_wrote() {
    let searched = |arguments: &str| {
        let event = ServerEvent::Searched { arguments: arguments.to_owned(), found: Vec::new() };
        output_of(&[server(event)], &TurnEnd::Completed).1["output"].clone()
    };
    assert_eq!(searched(r#"{"query":"mail"}"#)[0]["arguments"], json!({ "query": "mail", "paths": [] }));
    for arguments in ["mail", "[1]", r#"{"query": 1e999}"#, ""] {
        let items = searched(arguments);
        assert_eq!(items[0]["arguments"], arguments);
        let mut input = vec![json!({ "role": "user", "content": "q" })];
        input.extend(items.as_array().unwrap().iter().cloned());
        let read = call(&json!([{ "type": "tool_search" }]), &json!(input), &defaults(RequestUrls::None));
        assert_eq!(read.job.conversation.messages[1].tool_calls[0].arguments, arguments);
    }
}

#[test]
fn request_names_configured_servers_and_approvals() {
    let defaults = defaults(RequestUrls::None);
    let tools = json!([
        { "type": "mcp", "server_label": "time", "allowed_tools": { "tool_names": ["now"] },
          "require_approval": { "never": { "tool_names": ["now"] } } },
        { "type": "mcp", "server_label": "tools", "defer_loading": true },
        { "type": "web_search_preview" }, { "type": "code_interpreter" },
    ]);
    let call = call(&tools, &json!("x"), &defaults);
    assert!(call.warnings[0].starts_with("tools[1].defer_loading ignored"), "{:?}", call.warnings);
    let hosted = call.hosted.unwrap();
    let [time, tools, search, code] = hosted.tools.as_slice() else { panic!("{hosted:?}") };
    assert_eq!(time.allowed.as_deref(), Some(&["now".to_owned()][..]));
    assert!(!time.approval.asks("now") && time.approval.asks("later"));
    // The operator's file doesn't set it: then calls need approval.
    assert_eq!(tools.approval.others, Approval::Always);
    assert_eq!((search.kind, code.kind), (HostedToolKind::WebSearch, HostedToolKind::CodeInterpreter));
}

/// They were ignored with a warning.
#[test]
fn domains_of_a_search_are_read_or_refused_in_both_protocols() {
    let read_tool = |tool: &Value| {
        let messages = tool["type"] == "web_search_20260318";
        let body = json!({
            "model": "m", "max_tokens": 9, "tools": [tool], "input": "x", "messages": [{ "role": "user", "content": "x" }]
        });
        let read_body = if messages { crate::messages::read } else { responses::read };
        let asked = read(read_body, body.to_string().as_bytes(), &defaults(RequestUrls::None), &Clock::at(0));
        asked.map(|asked| asked.hosted.unwrap().tools[0].domains.clone())
    };
    let both = |lists: Value| {
        let mut messages = json!({ "type": "web_search_20260318", "name": "web_search" });
        messages.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
        [messages, json!({ "type": "web_search", "filters": lists })]
    };
    for tool in both(json!({ "allowed_domains": ["example.com"], "blocked_domains": [] })) {
        let domains = Domains::Only(vec![Domain::parse("example.com").unwrap()]);
        assert_eq!(read_tool(&tool).unwrap().as_deref(), Some(&domains));
    }
    for tool in both(json!({ "blocked_domains": ["example.com"] })) {
        assert!(matches!(read_tool(&tool).unwrap().as_deref(), Some(Domains::AllBut(_))), "{tool}");
    }
    for tool in both(json!({ "allowed_domains": [], "blocked_domains": null })) {
        assert_eq!(read_tool(&tool).unwrap(), None);
    }
    for (wrong, what) in [
        (json!({ "allowed_domains": ["a.example"], "blocked_domains": ["b.example"] }), "got both"),
        (json!({ "allowed_domains": ["*.example"] }), "expected a domain"),
        (json!({ "blocked_domains": vec!["a.example"; 101] }), "at most 100 domains"),
        (json!({ "blocked_domains": [7] }), "expected"),
        (
            json!({ "allowed_domains": vec![format!("a.example/{}", "b".repeat(10_000)); 100] }),
            "at most 2,048 bytes",
        ),
        (json!({ "blocked_domains": vec!["a".repeat(10_000); 10_000] }), "at most 100 domains"),
    ] {
        for tool in both(wrong) {
            let error = read_tool(&tool).map(|_| ()).unwrap_err();
            assert!(error.status == 400 && error.message.contains(what), "{tool}: {error}");
        }
    }
}

#[test]
fn of_two_searches_neither_loses_its_domains() {
    let of = |domain: &str| json!({ "type": "web_search", "filters": { "allowed_domains": [domain] } });
    let same = json!([of("a.example"), of("a.example")]);
    assert_eq!(call(&same, &json!("x"), &defaults(RequestUrls::None)).hosted.unwrap().tools.len(), 1);
    let body = json!({ "model": "m", "input": "x", "tools": [of("a.example"), of("b.example")] });
    let two = read(responses::read, body.to_string().as_bytes(), &defaults(RequestUrls::None), &Clock::at(0));
    assert!(two.map(|_| ()).unwrap_err().message.contains("other domains already"));
}

/// It was searched all the same. Codex sends it with every request, unless its user asks for live searches.
#[test]
fn a_search_that_may_not_go_out_is_not_offered() {
    for (external, is_offered) in [(json!(false), false), (json!(true), true), (json!(null), true)] {
        let tools = json!([{ "type": "web_search", "external_web_access": external }]);
        let read = call(&tools, &json!("x"), &defaults(RequestUrls::None));
        assert_eq!(read.hosted.is_some(), is_offered, "{external}");
        let said = read.warnings.iter().filter(|line| line.contains("external_web_access is false")).count();
        assert_eq!(said, usize::from(!is_offered), "{:?}", read.warnings);
    }
}

/// They were ignored without a word.
#[test]
fn tools_of_the_server_may_stand_in_the_input() {
    let item = |tools: Value| json!({ "type": "additional_tools", "tools": tools });
    let message = json!({ "role": "user", "content": "x" });
    let more = item(json!([
        { "type": "web_search", "filters": { "allowed_domains": ["a.example"] } },
        { "type": "mcp", "server_label": "time" }, { "type": "mcp", "server_label": "nobody" },
    ]));
    let read = call(&json!([]), &json!([message, more]), &defaults(RequestUrls::None));
    let kinds: Vec<_> = read.hosted.unwrap().tools.iter().map(|tools| tools.kind).collect();
    assert_eq!(kinds, [HostedToolKind::WebSearch, HostedToolKind::Mcp]);
    assert_eq!(read.warnings, ["tool of type mcp ignored"]);
    assert!(read.machine.body().1.contains("\"server_label\":\"time\""));

    let named = |from: usize| {
        let tool = |at| json!({ "type": "mcp", "server_label": format!("s{at}"), "server_url": "https://a.example" });
        item((from..from + 400).map(tool).collect())
    };
    let body = json!({ "model": "m", "input": [message, named(0), named(400)] });
    let many = read_request(&body, RequestUrls::Public).map(|_| ()).unwrap_err();
    assert!(many.status == 400 && many.message.contains("at most 512 tools"), "{many}");
}

#[test]
fn a_choice_of_a_tool_of_the_server_is_noted() {
    let tools = json!([
        { "type": "mcp", "server_label": "time" }, { "type": "web_search" }, { "type": "code_interpreter" },
    ]);
    for (choice, kind, server, name) in [
        (json!({ "type": "web_search" }), HostedToolKind::WebSearch, "tools", "search"),
        (json!({ "type": "web_search_preview_2025_03_11" }), HostedToolKind::WebSearch, "tools", "search"),
        (json!({ "type": "code_interpreter" }), HostedToolKind::CodeInterpreter, "tools", "python"),
        (json!({ "type": "mcp", "server_label": "time", "name": "now" }), HostedToolKind::Mcp, "time", "now"),
    ] {
        let body = json!({ "model": "m", "input": "x", "tools": tools, "tool_choice": choice });
        let read = read_request(&body, RequestUrls::None).unwrap();
        let forced = ForcedTool { kind, server: server.to_owned(), name: name.to_owned() };
        assert_eq!(read.hosted.unwrap().forced, Some(forced), "{choice}");
        assert_eq!(read.job.demand.tool_choice, ToolChoice::Required, "{choice}");
    }
    for (choice, tools) in [
        (json!({ "type": "web_search" }), json!([{ "type": "web_search", "external_web_access": false }])),
        (json!({ "type": "mcp", "server_label": "moon", "name": "now" }), tools),
    ] {
        let body = json!({ "model": "m", "input": "x", "tools": tools, "tool_choice": choice });
        let error = read_request(&body, RequestUrls::None).map(|_| ()).unwrap_err();
        assert_eq!((error.status, error.param.as_deref()), (400, Some("tool_choice")), "{choice}");
    }
}

#[test]
fn secrets_of_a_tool_are_not_repeated() {
    let tools = json!([{ "type": "mcp", "server_label": "time", "authorization": "s3cret", "headers": { "x-key": "s3cret" } }]);
    let call = call(&tools, &json!("x"), &defaults(RequestUrls::None));
    let body = call.machine.body().1;
    assert!(body.contains("\"server_label\":\"time\"") && !body.contains("s3cret"), "{body}");
}

#[test]
fn request_urls_only_where_the_operator_allows() {
    let tool = |url: &str| json!({ "type": "mcp", "server_label": "mine", "server_url": url });
    let none = call(&json!([tool("https://example.org/mcp")]), &json!("x"), &defaults(RequestUrls::None));
    assert!(none.hosted.is_none());
    assert!(none.warnings.iter().any(|line| line.contains("server_url")), "{:?}", none.warnings);
    let public = defaults(RequestUrls::Public);
    assert!(call(&json!([tool("https://example.org/mcp")]), &json!("x"), &public).hosted.is_some());
    for url in ["http://example.org/mcp", "https://169.254.169.254/latest", "file:///etc/passwd", "nonsense"]
    {
        assert!(refusal(&tool(url), &public).starts_with("tools[0].server_url"), "{url}");
    }
}

#[test]
fn earlier_answers_calls_are_in_the_conversation() {
    let input = json!([
        { "role": "user", "content": "Go." },
        { "type": "mcp_list_tools", "id": "mcpl_1", "server_label": "time", "tools": [] },
        { "type": "mcp_call", "id": "mcp_1", "server_label": "time", "name": "now", "arguments": "{}", "output": "12:00" },
        { "type": "code_interpreter_call", "id": "ci_1", "code": "1", "outputs": [{ "type": "logs", "logs": "1" }] },
        { "type": "mcp_call", "id": "mcp_2", "server_label": "time", "name": "now", "arguments": "{}",
          "error": { "type": "mcp_tool_execution_error", "content": [{ "type": "text", "text": "gone" }] } },
        { "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "time", "name": "now", "arguments": "{}" },
        { "type": "mcp_approval_request", "id": "mcpr_2", "server_label": "time", "name": "now", "arguments": "{}" },
        { "type": "mcp_approval_request", "id": "mcpr_3", "server_label": "time", "name": "now", "arguments": "{}" },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_2", "approve": false },
    ]);
    let call =
        call(&json!([{ "type": "mcp", "server_label": "time" }]), &input, &defaults(RequestUrls::None));
    let said: Vec<_> =
        call.job.conversation.messages.iter().map(|message| message.content.joined()).collect();
    let refused = "The user did not allow this call.";
    assert_eq!(said, ["Go.", "", "12:00", "", "1", "", "Error: gone", "", "", "", refused]);
    let hosted = call.hosted.unwrap();
    assert!(hosted.tools[0].listed);
    assert_eq!(hosted.approved.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["mcpr_1"]);
}

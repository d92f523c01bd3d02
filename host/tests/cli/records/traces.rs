//! Traces of answers on the admin address: `serve --inspect`.

use std::io::Read as _;
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{host, model};
use crate::launch::long_model;
use crate::serve_switches::{Admin, Serving};
use crate::serving::eventually;

/// A server with traces, and its addresses: of clients, and of operators.
fn start(arguments: &[&str]) -> (Serving, Admin) {
    let mut command = host();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--store", "none"]);
    command.args(["--model", &model("gpt-oss-tiny")]).args(arguments);
    Serving::start_with_admin(command)
}

fn body_of(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
    serde_json::from_str(body).expect("JSON")
}

/// The lines of a trace, to its end.
fn lines(admin: &Admin, path: &str) -> Vec<Value> {
    let answer = admin.get(path);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("text/event-stream"), "{answer}");
    let data = answer.split("data: ").skip(1).map(|data| data.split("\n\n").next().expect("a frame"));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

/// A request that makes the model think and call a tool.
fn call() -> Value {
    json!({
        "model": "gpt-oss-tiny", "max_output_tokens": 80, "tool_choice": "required", "temperature": 0,
        "input": "What is the weather in Paris?", "stream": true,
        "tools": [{"type": "function", "name": "get_weather", "parameters":
            {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"]}}],
    })
}

#[test]
fn a_trace_accounts_for_each_token_item_and_event() {
    let (server, admin) = start(&["--inspect"]);
    let stream = server.post("/v1/responses", &call().to_string());
    let list = body_of(&admin.get("/admin/answers"));
    let [answer] = &list["data"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&answer["state"], &answer["protocol"]), (&json!("completed"), &json!("responses")));
    let all = lines(&admin, &format!("/admin/answers/{}/tap", answer["id"].as_str().unwrap()));
    let of = |kind: &str| all.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert!(all.iter().enumerate().all(|(number, line)| line["line"] == number), "{all:?}");
    assert_eq!((&all[0]["type"], &all[all.len() - 1]["type"]), (&json!("answer"), &json!("end")));
    assert_eq!(of("prompt")[0]["opening"][0]["text"], "<|start|>");

    // Events: all of them, each once, but for those before the first step.
    let events = stream.matches("\nevent: ").count();
    let end = of("end")[0];
    assert_eq!(end["events"], events);
    let spans: Vec<(u64, u64)> = all
        .iter()
        .filter_map(|line| Some((line["events"][0].as_u64()?, line["events"][1].as_u64()?)))
        .collect();
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{spans:?}");
    assert_eq!(spans.last().unwrap().1, events as u64);

    // Tokens: as many as the usage counts, with the one that ended the turn.
    let steps = of("step");
    let tokens: usize = steps.iter().map(|step| step["tokens"].as_array().unwrap().len()).sum();
    assert_eq!(end["usage"]["output_tokens"], tokens + 1);
    assert_eq!(answer["tokens"], end["usage"]["output_tokens"]);

    // Items: ranges join, and their text is the item's.
    let items: Vec<&Value> = steps.iter().flat_map(|step| step["items"].as_array().unwrap()).collect();
    let text = |item: usize| {
        let parts = items.iter().filter(|part| part["item"] == item && part.get("range").is_some());
        parts.fold(String::new(), |text, part| {
            assert_eq!(part["range"][0], text.len());
            let text = text + part["text"].as_str().unwrap();
            assert_eq!(part["range"][1], text.len());
            text
        })
    };
    assert_eq!(text(0), "The user wants the weather in Paris. I call get_weather.");
    assert_eq!(text(1), r#"{"city": "Paris"}"#);
    let heads: Vec<_> = items.iter().filter_map(|part| part.get("open")).collect();
    assert_eq!((&heads[0]["type"], &heads[1]["name"]), (&json!("reasoning"), &json!("get_weather")));

    // Calls of the parser: it was asked about the format's markers, and answered with ops.
    let calls: Vec<&Value> = steps.iter().flat_map(|step| step["calls"].as_array().unwrap()).collect();
    assert!(calls.iter().any(|call| call.get("marker").is_some()), "{calls:?}");
    let ops: Vec<&Value> = calls.iter().filter_map(|call| call["answer"].as_array()).flatten().collect();
    assert!(ops.iter().any(|op| op["op"] == "tool-call" && op["name"] == "get_weather"), "{ops:?}");
}

#[test]
fn a_reader_comes_back_behind_a_line() {
    let (server, admin) = start(&["--inspect"]);
    server.post("/v1/responses", &call().to_string());
    let all = lines(&admin, "/admin/answers/1/tap");
    assert_eq!(lines(&admin, "/admin/answers/1/tap?after=4"), all[5..]);
}

#[test]
fn a_line_that_is_no_number_is_refused() {
    let (server, admin) = start(&["--inspect"]);
    server.post("/v1/responses", &call().to_string());
    for after in ["-1", "x", "", "1e3"] {
        let answer = admin.get(&format!("/admin/answers/1/tap?after={after}"));
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("after: expected"), "{answer}");
    }
    for id in ["2", "x", "-1"] {
        let answer = admin.get(&format!("/admin/answers/{id}/tap"));
        let says = format!("No answer `{id}` has a trace: see GET /admin/answers");
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains(&says), "{answer}");
    }
}

/// A server of a model that writes so many words. With the `finish` `hang` it then waits until its
/// client leaves.
fn wordy(words: usize, finish: &str) -> (Serving, Admin, tempfile::TempDir, tempfile::TempDir) {
    let (folder, model) = (tempfile::tempdir().expect("a temporary folder"), long_model(1 << 17));
    let script = folder.path().join("script.json");
    let rules = json!({"rules": [{"text": "word ".repeat(words), "finish": finish}]});
    std::fs::write(&script, rules.to_string()).expect("written");
    let mut command = host();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--store", "none"]);
    command.args(["--inspect", "--engine", &format!("replay:{}", script.display())]);
    command.args(["--model", &format!("m={}", model.path().display())]);
    let (server, admin) = Serving::start_with_admin(command);
    (server, admin, folder, model)
}

#[test]
fn a_long_trace_keeps_its_first_line() {
    let (server, admin, ..) = wordy(30_000, "stop");
    let body = json!({"model": "m", "input": "Hi", "reasoning": {"effort": "none"}}).to_string();
    assert!(server.post("/v1/responses", &body).contains("\"status\":\"completed\""));
    let all = lines(&admin, "/admin/answers/1/tap");
    let number = |line: &Value| line["line"].as_u64().unwrap();
    assert_eq!((&all[0]["type"], number(&all[0])), (&json!("answer"), 0));
    assert!(!all[0]["markers"].as_array().unwrap().is_empty(), "{}", all[0]);
    assert!(number(&all[1]) > 1, "nothing was dropped: {}", all[1]);
    assert!(all[1..].windows(2).all(|pair| number(&pair[0]) + 1 == number(&pair[1])));
    assert_eq!(all[all.len() - 1]["type"], "end");
}

#[test]
fn a_trace_has_64_readers_and_waits_for_none() {
    let (server, admin, ..) = wordy(2000, "hang");
    let body = json!({"model": "m", "input": "Hi", "stream": true, "reasoning": {"effort": "none"}});
    let mut answer = server.open("/v1/responses", &body.to_string());
    let mut begun = [0];
    answer.read_exact(&mut begun).unwrap();
    let unread = admin.open("/admin/answers/1/tap");
    let readers: Vec<_> = (0..64).map(|_| admin.open("/admin/answers/1/tap")).collect();
    let read = |mut reader: TcpStream| {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text.lines().filter(|line| line.starts_with("data: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut text = Vec::new();
    let (mut piece, mut words) = ([0; 1 << 14], 0);
    while words < 2000 {
        let count = answer.read(&mut piece).unwrap();
        text.extend_from_slice(&piece[..count]);
        words = String::from_utf8_lossy(&text).matches("event: response.output_text.delta").count();
    }
    drop(answer);
    let all: Vec<Vec<String>> = std::thread::scope(|scope| {
        let readers: Vec<_> = readers.into_iter().map(|reader| scope.spawn(move || read(reader))).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(all[0].len() > 2000 && all[0][all[0].len() - 1].contains(r#""state":"cancelled""#), "{all:?}");
    assert!(all.iter().all(|lines| *lines == all[0]), "readers got different lines");
    drop(unread);
}

#[test]
fn the_last_64_answers_are_listed() {
    let (server, admin) = start(&["--inspect"]);
    let body = json!({"model": "gpt-oss-tiny", "input": "Hello!", "max_output_tokens": 1}).to_string();
    for _ in 0..70 {
        server.post("/v1/responses", &body);
    }
    let list = body_of(&admin.get("/admin/answers"));
    let ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!((ids.len(), &ids[0], &ids[63]), (64, &json!("70"), &json!("7")));
    assert!(admin.get("/admin/answers/6/tap").starts_with("HTTP/1.1 404"));
}

#[test]
fn traces_are_off_unless_asked_for_and_never_public() {
    let (server, admin) = start(&[]);
    let answer = admin.get("/admin/answers");
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("start it with --inspect"), "{answer}");
    assert!(admin.get("/admin/answers/1/tap").starts_with("HTTP/1.1 404"));
    assert!(server.get("/admin/answers").starts_with("HTTP/1.1 404"));
    let (server, admin) = start(&["--inspect", "--api-key", "sk-0123456789abcdef"]);
    assert!(server.get("/admin/answers").starts_with("HTTP/1.1 40"));
    assert!(admin.get("/admin/answers").starts_with("HTTP/1.1 401"));
    assert!(admin.get_with_key("/admin/answers", "sk-0123456789abcdef").starts_with("HTTP/1.1 200"));
}

/// The lines that `POST /admin/parse` gives.
fn parsed(admin: &Admin, body: &Value) -> Vec<Value> {
    let answer = admin.post("/admin/parse", &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let data = answer.split("data: ").skip(1).map(|data| data.split("\n\n").next().expect("a frame"));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

fn names_of_calls(lines: &[Value]) -> Vec<Value> {
    let items = lines.iter().filter_map(|line| line["items"].as_array()).flatten();
    items.filter_map(|item| item["open"].get("name").cloned()).collect()
}

#[test]
fn any_text_is_parsed_by_any_parser() {
    let (_server, admin) = start(&["--inspect"]);
    let raw = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let all = parsed(&admin, &json!({"raw": raw, "tools": ["f"], "parser": "qwen3", "step": 3}));
    assert_eq!(names_of_calls(&all), ["f"]);
    assert_eq!((&all[0]["type"], &all[all.len() - 1]["type"]), (&json!("answer"), &json!("end")));
    assert!(all[0]["parser"].as_str().unwrap().starts_with("qwen3 "), "{}", all[0]);
    let none = parsed(&admin, &json!({"raw": raw, "tools": ["f"], "parser": "none"}));
    assert_eq!(names_of_calls(&none).len(), 0);
    for (body, says) in [
        (json!({"parser": "qwen3"}), "raw, record"),
        (json!({"raw": "x", "parser": "../p"}), "is no parser's name"),
        (json!({"raw": "x", "parser": "nobody"}), "nobody"),
        (json!({"record": "../x.slrec"}), "this server records nothing"),
        (json!({"raw": "x", "record_data": "AA=="}), "one only"),
        (json!({"record_data": "AA=="}), "record_data: "),
        (json!({"raw": "x", "parser": "qwen3", "component": "AGFzbQ=="}), "only one of them"),
        (json!({"raw": "x", "component": "?"}), "component: "),
        (json!({"raw": "x", "component": "AGFzbQ=="}), "parser component"),
    ] {
        let answer = admin.post("/admin/parse", &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(says), "{answer}");
    }
}

#[test]
fn a_component_that_is_sent_is_used_once() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let cache = folder.path().join("parsers");
    let (_server, admin) = start(&["--inspect", "--parser-cache", cache.to_str().unwrap()]);
    let compiled = || std::fs::read_dir(&cache).unwrap().count();
    let before = compiled();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/qwen3.wasm");
    let component = STANDARD.encode(std::fs::read(file).unwrap());
    let raw = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let all = parsed(&admin, &json!({"raw": raw, "tools": ["f"], "component": component}));
    assert_eq!(names_of_calls(&all), ["f"]);
    assert_eq!(body_of(&admin.get("/admin/parsers"))["models"][0]["serving"]["name"], "harmony");
    assert_eq!((before > 0, compiled()), (true, before));
}

#[test]
fn a_parsed_text_comes_step_by_step() {
    let (_server, admin) = start(&["--inspect"]);
    let raw = "One two three four five.";
    let all = parsed(&admin, &json!({"raw": raw, "parser": "none"}));
    let items = all.iter().filter_map(|line| line["items"].as_array()).flatten();
    let ranges: Vec<&Value> = items.filter(|part| part.get("range").is_some()).collect();
    let text: String = ranges.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!((text.as_str(), ranges.len() > 4), (raw, true));
}

/// 256 KiB took 1.1 GiB.
#[test]
fn lines_are_paid_for_as_they_are_written() {
    let (_server, admin) = start(&["--inspect", "--request-memory", "16", "--max-body", "4"]);
    let raw = "x ".repeat(128 << 10);
    let body = |step: usize| json!({"raw": raw, "parser": "none", "step": step}).to_string();
    let answer = admin.post("/admin/parse", &body(1));
    assert!(answer.starts_with("HTTP/1.1 400"), "{}", &answer[..200]);
    assert!(answer.contains("--request-memory") && answer.contains("a larger `step`"), "{answer}");
    let answer = admin.post("/admin/parse", &body(4096));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"type\":\"end\""), "{answer}");
}

/// A record of these lines behind a head and a prompt, in base64.
fn record_data(lines: &str) -> String {
    let model = json!({"label": "", "context": 0, "files": "", "tokenizer": "", "template": "", "parser": "", "parser_sha256": "", "engine": ""});
    let head = json!({"head": {"format": 1, "sluice": "x", "protocol": "responses", "body": null, "request_id": "r", "id_seed": "0", "clock": 1, "model": model, "switches": []}});
    let sampling = json!({"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "seed": 0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 0.0});
    let prompt = json!({"prompt": {"ms": 0, "generation": 0, "tokens": 1, "ids": [1], "opening": [], "tool_results": 0, "tools": [], "options": [], "calls": "any", "stop": [], "include_stop": false, "min_tokens": 0, "raw": false, "max_tokens": null, "stop_ids": [], "constrained": false, "sampling": sampling}});
    let text = format!("{head}\n{prompt}\n{lines}");
    STANDARD.encode(zstd::encode_all(text.as_bytes(), 1).expect("compressed"))
}

/// 2.5 KB took 8.3 GiB: a line of a record had any number of tokens, and two bytes of JSON become a
/// hundred once they are read.
#[test]
fn what_is_sent_to_be_parsed_is_paid_for_before_it_is_read() {
    let (_server, admin) = start(&["--inspect", "--request-memory", "32", "--max-body", "4"]);
    let parse = |body: &Value| admin.post("/admin/parse", &body.to_string());
    let of_record = |lines: &str| parse(&json!({"record_data": record_data(lines), "parser": "none"}));
    let step = |ids: usize| {
        let ids = vec!["7"; ids].join(",");
        format!("{{\"step\":{{\"ms\":1,\"generation\":0,\"ids\":[{ids}]}}}}\n")
    };
    let scores = vec!["null"; 1 << 19].join(",");
    let dear = format!("{{\"step\":{{\"ms\":1,\"generation\":0,\"ids\":[],\"logprobs\":[{scores}]}}}}\n");
    let tools = format!("[{}0]", "[0],".repeat(1 << 17));
    for (answer, says) in [
        (of_record(&step(4097)), "a step has more than 4096 tokens"),
        (of_record(&step(4096).repeat(65)), "the record has more than 262144 tokens"),
        (of_record(&dear), "--request-memory"),
        (of_record(&format!("{{\"listed\":{tools}}}\n")), "--request-memory"),
        (of_record(&format!("{{\"prompt\":{tools}}}\n")), "--request-memory"),
        (parse(&json!({"raw": "x", "parser": "none", "step": 4097})), "step: it is more than 4096"),
        (admin.post("/admin/parse", &format!("{{\"raw\":\"x\",\"tools\":{tools}}}")), "--request-memory"),
    ] {
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(says), "{says}: {answer}");
    }
    // What no parser needs costs nothing.
    let events = format!("{{\"events\":[{}0]}}\n", "0,".repeat(1 << 20));
    let answer = of_record(&(events.repeat(8) + &step(3)));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"type\":\"step\""), "{answer}");
}

#[test]
fn a_record_is_parsed_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    let (server, admin) = start(&["--record", records.to_str().unwrap()]);
    server.post("/v1/responses", &call().to_string());
    let list = body_of(&admin.get("/admin/answers"));
    let name = list["data"][0]["record"].clone();
    let written =
        || std::fs::read(records.join(name.as_str().unwrap())).is_ok_and(|bytes| bytes.len() > 1000);
    eventually("it is written", written);
    assert_eq!(names_of_calls(&parsed(&admin, &json!({"record": name}))), ["get_weather"]);
    let none = parsed(&admin, &json!({"record": name, "parser": "none"}));
    assert_eq!(names_of_calls(&none).len(), 0);
    let answer = admin.post("/admin/parse", &json!({"record": "../x.slrec"}).to_string());
    assert!(answer.contains("is no record's name"), "{answer}");
}

/// Segments of a prompt by author: `(by, text)`.
fn segments(line: &Value) -> Vec<(&str, &str)> {
    let segments = line["segments"].as_array().unwrap_or_else(|| panic!("{line}"));
    segments
        .iter()
        .map(|segment| (segment["by"].as_str().expect("an author"), segment["text"].as_str().expect("text")))
        .collect()
}

#[test]
fn a_prompt_is_shown_with_its_authors_live_and_from_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    let (server, admin) = start(&["--record", records.to_str().unwrap()]);
    let body = json!({
        "model": "gpt-oss-tiny", "max_tokens": 2, "n": 2,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say <|end|> 🏔"}],
    });
    server.post("/v1/chat/completions", &body.to_string());
    let prompts = |lines: Vec<Value>| -> Vec<Value> {
        lines.into_iter().filter(|line| line["type"] == "prompt").collect()
    };
    let live = prompts(lines(&admin, "/admin/answers/1/tap"));
    assert_eq!((live.len(), &live[1]["segments_of"], live[1].get("segments")), (2, &json!(0), None));
    let shown = segments(&live[0]);
    let of = |author: &str| {
        shown.iter().filter(|(by, _)| *by == author).map(|(_, text)| *text).collect::<String>()
    };
    assert_eq!((&*of("system"), &*of("user")), ("Be brief.", "Say <|end|> 🏔"));
    let all = live[0]["segments"].as_array().unwrap();
    assert!(all.iter().all(|segment| segment.get("id").is_none() || segment["by"] == "template"), "{all:?}");
    assert!(all.iter().any(|segment| segment["text"] == "<|end|>" && segment.get("id").is_some()), "{all:?}");
    let tokens: u64 = all.iter().filter_map(|segment| segment["tokens"].as_u64()).sum();
    assert_eq!(live[0]["tokens"], tokens);
    let name = body_of(&admin.get("/admin/answers"))["data"][0]["record"].clone();
    let body = json!({"record": name}).to_string();
    eventually("it is written", || admin.post("/admin/parse", &body).starts_with("HTTP/1.1 200"));
    let played = || prompts(parsed(&admin, &json!({"record": name})));
    eventually("both of its prompts are", || played().len() == 2);
    for prompt in played() {
        assert_eq!(prompt["segments"], live[0]["segments"]);
    }
}

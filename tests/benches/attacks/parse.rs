//! `POST /admin/parse`: a text of the greatest length, and records whose lines are many times larger
//! in memory than in the body.

use std::net::TcpListener;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::post::post;
use tests::process::ServerProcess;

use super::row::{Bars, Row, deadline};

const PATH: &str = "/admin/parse";
/// The lines of a whole text may hold the memory for requests.
const BARS: Bars = Bars { cpu: Duration::from_secs(5), peak_mib: 320.0, kept_mib: 128.0 };
/// Bytes of a text, and of a record's line before it is compressed.
const TEXT: usize = 256 << 10;
const LINE: usize = 15 << 20;

/// Runs the attacks that are asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let text = json!({ "raw": "x ".repeat(TEXT / 2), "parser": "none" });
    let step = |field: &str, value: &str| {
        let values = value.repeat(LINE / value.len() - 16);
        format!(
            "{{\"step\":{{\"ms\":1,\"generation\":0,\"ids\":[],\"{field}\":[{values}{}]}}}}\n",
            value.trim_end_matches(',')
        )
    };
    let ids = step("ids", "7,").replacen("\"ids\":[],", "", 1);
    let scores = step("prompt", "[0,null],");
    let events = format!("{{\"events\":[{}0]}}\n", "0,".repeat(LINE / 2 - 16));
    let tools = format!("{{\"raw\":\"x\",\"parser\":\"none\",\"tools\":[{}0]}}", "[0],".repeat(LINE / 4));
    for (name, body) in [
        ("parse: 256 KiB of text", text.to_string()),
        ("parse: a record with a step of 7.8 million tokens", record(&ids)),
        ("parse: a record with 1.7 million scores", record(&scores)),
        ("parse: a record with 7.8 million events", record(&events)),
        ("parse: 3.9 million tools", tools),
    ] {
        if is_asked(name) {
            attack(name, &body);
        }
    }
}

fn attack(name: &str, body: &str) {
    let rules = json!([{ "text": "Four." }]);
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listen = free.local_addr().expect("bound");
    drop(free);
    let admin = listen.to_string();
    let server = ServerProcess::start(&rules, &["--parser", "none", "--inspect", "--admin-listen", &admin]);
    Row::measure(&server, || post(listen, PATH, body.as_bytes(), 1, deadline())).print(name, BARS);
}

/// The body that asks for a record of these lines.
fn record(lines: &str) -> String {
    let model = json!({ "label": "", "context": 0, "files": "", "tokenizer": "", "template": "", "parser": "", "parser_sha256": "", "engine": "" });
    let head = json!({ "head": { "format": 1, "sluice": "x", "protocol": "responses", "body": null, "request_id": "r", "id_seed": "0", "clock": 1, "model": model, "switches": [] } });
    let sampling = json!({ "temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "seed": 0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 0.0 });
    let prompt: Value = json!({ "prompt": { "ms": 0, "generation": 0, "tokens": 1, "ids": [1], "opening": [], "tool_results": 0, "tools": [], "options": [], "calls": "any", "stop": [], "include_stop": false, "min_tokens": 0, "raw": false, "max_tokens": null, "stop_ids": [], "constrained": false, "sampling": sampling } });
    let text = format!("{head}\n{prompt}\n{lines}");
    let compressed = zstd::encode_all(text.as_bytes(), 1).expect("compressed");
    json!({ "record_data": STANDARD.encode(compressed), "parser": "none" }).to_string()
}

//! Remote engines that send without end: token ids behind the end of an answer, events and bytes
//! that hold no token, long texts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::fake_engine::{Action, FakeEngine, Identity, event_of, head, ids, without_tokens};
use tests::post::{self, Answer};
use tests::process::ServerProcess;

use super::row::{Bars, Row};

const BARS: Bars = Bars { cpu: Duration::from_secs(1), peak_mib: 64.0, kept_mib: 64.0 };
/// Bytes of a flood that nobody ends, so that a server without bounds doesn't take the whole
/// machine.
const FLOOD: usize = 512 << 20;
/// Time after which an answer, and then the end of its flood, isn't waited for any more.
const TIME: Duration = Duration::from_secs(15);
/// Time without a byte after which the flood has ended.
const STILL: Duration = Duration::from_millis(200);
/// Kinds of engines, with the owner of their models.
const KINDS: [(&str, &str); 4] =
    [("openai", "vllm"), ("vllm", "vllm"), ("sglang", "sglang"), ("llamacpp", "llamacpp")];

struct Attack {
    name: String,
    kind: &'static str,
    owner: &'static str,
    /// Bytes before the flood.
    begun: Vec<u8>,
    /// Bytes that are repeated without end.
    flood: Vec<u8>,
}

/// Runs the asked attacks, each against a server and an engine of its own.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for attack in attacks().into_iter().filter(|attack| is_asked(&attack.name)) {
        let sent = Arc::new(AtomicUsize::new(0));
        let engine = runtime.block_on(start(&attack, Arc::clone(&sent)));
        let server = ServerProcess::start_with_engine(&engine.url(), &["--engine-kind", attack.kind]);
        assert_eq!(ask(&server), [Ok(200)], "the first answer has no flood");
        let flooded = || {
            let answers = ask(&server);
            wait_until_still(&sent);
            answers
        };
        Row::measure(&server, flooded).print(&attack.name, BARS);
    }
}

/// Starts an engine that floods every answer but the first.
async fn start(attack: &Attack, sent: Arc<AtomicUsize>) -> FakeEngine {
    let identity = Identity { owner: attack.owner, ..Identity::default() };
    let whole = [head(), answer(attack.owner)].concat();
    let (begun, bytes) = ([head(), attack.begun.clone()].concat(), attack.flood.clone());
    FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |number, _| match number {
        0 => vec![Action::Send(whole.clone())],
        _ => vec![
            Action::Send(begun.clone()),
            Action::Flood { bytes: bytes.clone(), most: FLOOD, sent: Arc::clone(&sent) },
        ],
    })
    .await
}

fn ask(server: &ServerProcess) -> Vec<Answer> {
    let body = json!({"model": "bench", "input": "Hi", "max_output_tokens": 1000});
    post::post(server.address, "/v1/responses", body.to_string().as_bytes(), 1, Instant::now() + TIME)
}

/// Waits until no more bytes are sent: all were, or the engine was cut off.
fn wait_until_still(sent: &AtomicUsize) {
    let until = Instant::now() + TIME;
    loop {
        let before = sent.load(Ordering::SeqCst);
        std::thread::sleep(STILL);
        if sent.load(Ordering::SeqCst) == before || Instant::now() > until {
            return;
        }
    }
}

/// Events of a whole answer.
fn answer(owner: &str) -> Vec<u8> {
    event_of(owner, &ids("<think>\n\n</think>\n\nHello there."), 0, Some("stop"))
}

fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for (kind, owner) in KINDS {
        let tokens: Vec<u8> =
            (0..1 << 10).flat_map(|at| event_of(owner, &[300; 100], 100 * at, None)).collect();
        let name = format!("token ids behind the end, {kind}");
        all.push(Attack { name, kind, owner, begun: answer(owner), flood: tokens });
    }
    let (kind, owner) = ("vllm", "vllm");
    for (what, flood) in without_tokens(owner) {
        all.push(Attack { name: format!("no token: {what}"), kind, owner, begun: Vec::new(), flood });
    }
    let text = json!({"choices": [{"text": "word ".repeat(200_000), "finish_reason": null}]});
    let flood = format!("data: {text}\n\n").into_bytes();
    let name = "texts of 1 MB".to_owned();
    all.push(Attack { name, kind: "openai", owner, begun: Vec::new(), flood });
    all
}

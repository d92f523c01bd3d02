//! An engine elsewhere whose every byte a test decides: vLLM's routes over bare sockets, with the embedded model's tokenizer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::prompt::Tokenizer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// What is done with a request, one act after the other; then the connection is closed.
#[derive(Clone)]
pub enum Act {
    /// These bytes.
    Send(Vec<u8>),
    /// One byte at a time, each in a packet of its own.
    SendByByte(Vec<u8>),
    /// Nothing until the test adds a permit for it.
    Wait(Arc<Semaphore>),
    /// Nothing until the client has gone.
    UntilGone,
    /// The connection is reset.
    Reset,
    /// These bytes one after the other, at ticks that all streams share, as those of an engine's steps are: multiples of the pace since 1970.
    Paced(Arc<[Vec<u8>]>, Duration),
}

/// How requests for answers are met: by their number, from 0, and body.
pub type Script = dyn Fn(usize, &Value) -> Vec<Act> + Send + Sync;

/// What the engine saw.
#[derive(Default)]
pub struct Seen {
    /// Bodies of requests for answers, probes left out.
    requests: Mutex<Vec<Value>>,
    /// Headers of the last of them.
    head: Mutex<String>,
    /// Ids that were given up by name.
    aborted: Mutex<Vec<String>>,
    /// Requests whose client went before their end.
    gone: AtomicUsize,
    running: AtomicUsize,
    changed: Notify,
}

/// A running engine; dropping it cuts all of its connections.
pub struct FakeEngine {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it saw.
    pub seen: Arc<Seen>,
    tasks: JoinSet<()>,
}

/// What the fake says it is.
#[derive(Clone)]
pub struct Identity {
    /// `owned_by` of its models: which engine it is taken for.
    pub owner: &'static str,
    /// Whether it splits text as the embedded model does.
    pub tokenizes_alike: bool,
}

impl Default for Identity {
    fn default() -> Self {
        Self { owner: "vllm", tokenizes_alike: true }
    }
}

struct Fake {
    identity: Identity,
    tokenizer: Tokenizer,
    script: Box<Script>,
    seen: Arc<Seen>,
}

/// The embedded model's tokenizer.
///
/// # Panics
/// If the file isn't there.
pub fn tokenizer() -> Tokenizer {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny/tokenizer.json");
    let json = std::fs::read(file).expect("the embedded model's tokenizer");
    Tokenizer::from_json(&json).expect("it loads")
}

/// Ids of a text in which added tokens are written as they are, with the model's end behind it.
///
/// # Panics
/// If it can't be encoded.
pub fn ids(text: &str) -> Vec<u32> {
    tokenizer().encode_with_added(&format!("{text}<|im_end|>")).expect("a text")
}

/// The head of an answer that is a stream.
pub fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec()
}

/// An event with these ids, the last of the answer or not.
pub fn event(ids: &[u32], finish: Option<&str>) -> Vec<u8> {
    let choice = json!({ "index": 0, "token_ids": ids, "finish_reason": finish, "stop_reason": null, "logprobs": null });
    format!("data: {}\n\n", json!({ "request_id": "r", "choices": [choice] })).into_bytes()
}

/// The last word of an answer.
pub fn done() -> Vec<u8> {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens_details": { "cached_tokens": 3 } } });
    format!("data: {usage}\n\ndata: [DONE]\n\n").into_bytes()
}

/// A whole answer, an event for each token.
pub fn whole(text: &str) -> Vec<u8> {
    let ids = ids(text);
    let mut bytes = head();
    for (at, id) in ids.iter().enumerate() {
        bytes.extend(event(&[*id], (at + 1 == ids.len()).then_some("stop")));
    }
    bytes.extend(done());
    bytes
}

/// A refusal.
pub fn refusal(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} No\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl FakeEngine {
    /// Starts one that meets requests for answers with `script`.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(script: impl Fn(usize, &Value) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Self::start_as(Identity::default(), ([127, 0, 0, 1], 0).into(), script).await
    }

    /// The same at an address, as another engine.
    ///
    /// # Panics
    /// If the address can't be had.
    pub async fn start_as(
        identity: Identity,
        address: SocketAddr,
        script: impl Fn(usize, &Value) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::new(Seen::default());
        let fake = Arc::new(Fake {
            identity,
            tokenizer: tokenizer(),
            script: Box::new(script),
            seen: Arc::clone(&seen),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let fake = Arc::clone(&fake);
                connections.spawn(async move {
                    // A client that goes is what many tests are about.
                    let _ = fake.serve(socket).await;
                });
            }
        });
        Self { address, seen, tasks }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts all of its connections, and waits until its port is free.
    pub async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

impl Seen {
    /// Bodies of the requests for answers.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The head of the last of them.
    pub fn head(&self) -> String {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ids that were given up by name.
    pub fn aborted(&self) -> Vec<String> {
        self.aborted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests whose client went before their end.
    pub fn gone(&self) -> usize {
        self.gone.load(Ordering::SeqCst)
    }

    /// Waits until `holds`, for half a minute.
    ///
    /// # Panics
    /// If it doesn't.
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(self) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it happens");
    }
}

/// A request's head and body.
struct Received {
    head: String,
    body: Vec<u8>,
}

async fn receive(socket: &mut TcpStream) -> std::io::Result<Option<Received>> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        match socket.read(&mut buffer).await? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end);
    while body.len() < length {
        match socket.read(&mut buffer).await? {
            0 => return Ok(None),
            count => body.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(Some(Received { head, body }))
}

impl Fake {
    async fn serve(&self, mut socket: TcpStream) -> std::io::Result<()> {
        socket.set_nodelay(true)?;
        while let Some(Received { head, body }) = receive(&mut socket).await? {
            let path = head.split_ascii_whitespace().nth(1).unwrap_or_default();
            let value: Value = serde_json::from_slice(&body).unwrap_or_default();
            let is_answer = matches!(
                path,
                "/inference/v1/generate"
                    | "/v1/completions"
                    | "/v1/chat/completions"
                    | "/generate"
                    | "/completion"
            );
            if is_answer && !is_probe(&value) {
                *self.seen.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
                return self.answer(&mut socket, value).await;
            }
            let answer = if is_answer { Some(self.probe(&value)) } else { self.route(path, &value) };
            socket.write_all(&plain(answer.as_ref())).await?;
        }
        Ok(())
    }

    fn route(&self, path: &str, body: &Value) -> Option<String> {
        let owner = self.identity.owner;
        let json = match path {
            "/v1/models" => json!({ "data": [{ "id": "m", "owned_by": owner, "max_model_len": 4096 }] }),
            "/version" => json!({ "version": "fake" }),
            "/server_info" => json!({ "version": "fake", "grammar_backend": "xgrammar" }),
            "/model_info" | "/health" => json!({}),
            "/props" => json!({ "build_info": "fake", "default_generation_settings": { "n_ctx": 4096 } }),
            "/tokenize" => {
                let text = body["prompt"].as_str().or(body["content"].as_str()).unwrap_or_default();
                let mut ids = self.tokenizer.encode_text(text).unwrap_or_default();
                ids.extend((!self.identity.tokenizes_alike).then_some(1));
                json!({ "tokens": ids })
            }
            "/metrics" => {
                let running = self.seen.running.load(Ordering::SeqCst);
                return Some(format!("vllm:num_requests_running 0{running}\nvllm:num_requests_waiting 0\n"));
            }
            "/abort_request" => {
                let id = body["rid"].as_str().unwrap_or_default().to_owned();
                self.seen.aborted.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                self.seen.changed.notify_waiters();
                json!({})
            }
            _ => return None,
        };
        Some(json.to_string())
    }

    /// One token, as each kind tells it: the one that a grammar demands, if there is one.
    fn probe(&self, body: &Value) -> String {
        let grammar = body["sampling_params"]["structured_outputs"]["grammar"].as_str();
        let demanded = grammar.and_then(|text| text.split_once("<[")?.1.split_once(']')?.0.parse().ok());
        let id: u32 = demanded.unwrap_or(5);
        match self.identity.owner {
            "sglang" => {
                let meta =
                    json!({ "finish_reason": { "type": "length", "length": 1 }, "completion_tokens": 1 });
                format!("data: {}\n\ndata: [DONE]\n\n", json!({ "output_ids": [id], "meta_info": meta }))
            }
            "llamacpp" => {
                let token = json!({ "content": "a", "tokens": [id], "tokens_predicted": 1, "stop": false });
                format!(
                    "data: {token}\n\ndata: {}\n\n",
                    json!({ "stop": true, "stop_type": "limit", "tokens": [] })
                )
            }
            _ => String::from_utf8([event(&[id], Some("length")), done()].concat()).unwrap_or_default(),
        }
    }

    async fn answer(&self, socket: &mut TcpStream, body: Value) -> std::io::Result<()> {
        let nth = {
            let mut requests = self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(body.clone());
            requests.len() - 1
        };
        self.seen.running.fetch_add(1, Ordering::SeqCst);
        self.seen.changed.notify_waiters();
        let mut acted = Ok(());
        for act in (self.script)(nth, &body) {
            acted = act.run(socket).await;
            if acted.is_err() {
                self.seen.gone.fetch_add(1, Ordering::SeqCst);
                break;
            }
        }
        self.seen.running.fetch_sub(1, Ordering::SeqCst);
        self.seen.changed.notify_waiters();
        acted
    }
}

/// Probes ask for one token.
fn is_probe(body: &Value) -> bool {
    let most = [
        &body["sampling_params"]["max_tokens"],
        &body["sampling_params"]["max_new_tokens"],
        &body["max_tokens"],
        &body["n_predict"],
    ];
    most.iter().any(|most| **most == 1)
}

fn plain(body: Option<&String>) -> Vec<u8> {
    let (status, body) = body.map_or(("404 Not Found", ""), |body| ("200 OK", body.as_str()));
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Act {
    /// Fails if the client has gone.
    async fn run(self, socket: &mut TcpStream) -> std::io::Result<()> {
        match self {
            Self::Send(bytes) => socket.write_all(&bytes).await,
            Self::SendByByte(bytes) => {
                for byte in bytes {
                    socket.write_all(&[byte]).await?;
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
            Self::Wait(permits) => tokio::select! {
                permit = permits.acquire() => {
                    permit.expect("tests close none").forget();
                    Ok(())
                }
                gone = gone(socket) => gone,
            },
            Self::UntilGone => gone(socket).await,
            Self::Reset => socket.set_zero_linger(),
            Self::Paced(events, pace) => {
                for event in &*events {
                    tokio::select! {
                        () = next_tick(pace) => {}
                        gone = gone(socket) => return gone,
                    }
                    socket.write_all(event).await?;
                }
                Ok(())
            }
        }
    }
}

async fn next_tick(pace: Duration) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970");
    let past = now.as_nanos() % pace.as_nanos();
    let left = u64::try_from(pace.as_nanos() - past).expect("a short pace");
    tokio::time::sleep(Duration::from_nanos(left)).await;
}

/// Fails when the client has gone.
async fn gone(socket: &mut TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    match socket.read(&mut byte).await? {
        0 => Err(std::io::ErrorKind::ConnectionAborted.into()),
        _ => Ok(()),
    }
}

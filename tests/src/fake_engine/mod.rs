//! An engine elsewhere whose every byte a test decides: vLLM's routes over bare sockets, with the embedded model's tokenizer.

mod act;
mod answers;
mod http;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::prompt::Tokenizer;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use act::Act;
pub use answers::{done, event, head, ids, refusal, tokenizer, whole};
use http::{Received, plain, receive};

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

//! Fake remote engine, every byte of which a test decides: routes of vLLM, SGLang and llama.cpp
//! over bare sockets, with the embedded model's tokenizer.

mod action;
mod answers;
mod gateway;
mod http;
mod log;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use prompt::Tokenizer;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub use action::Action;
pub use answers::{done, event, event_of, head, ids, refusal, tokenizer, whole, without_tokens};
pub use gateway::{FakeGateway, Passed};
use http::{Received, plain, receive};
pub use log::{Health, RequestLog};

/// Function that returns the actions for a request for an answer, given its number, from 0, and its
/// body.
pub type Script = dyn Fn(usize, &Value) -> Vec<Action> + Send + Sync;

/// Running fake engine; dropping it closes all of its connections.
pub struct FakeEngine {
    /// Address on which it listens.
    pub address: SocketAddr,
    /// Record of the requests that it received.
    pub received: Arc<RequestLog>,
    tasks: JoinSet<()>,
}

/// Identity that the fake engine reports.
#[derive(Clone)]
pub struct Identity {
    /// `owned_by` of its models, from which its kind of engine is detected.
    pub owner: &'static str,
    /// Whether its `/tokenize` returns the embedded model's token ids.
    pub tokenizes_alike: bool,
    /// Routes that are answered by actions instead, such as `/version`.
    pub lies: Vec<(&'static str, Vec<Action>)>,
}

impl Default for Identity {
    fn default() -> Self {
        Self { owner: "vllm", tokenizes_alike: true, lies: Vec::new() }
    }
}

struct Fake {
    identity: Identity,
    tokenizer: Tokenizer,
    script: Box<Script>,
    received: Arc<RequestLog>,
}

impl FakeEngine {
    /// Starts an engine on a free port; `script` decides the answers.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(script: impl Fn(usize, &Value) -> Vec<Action> + Send + Sync + 'static) -> Self {
        Self::start_as(Identity::default(), ([127, 0, 0, 1], 0).into(), script).await
    }

    /// Starts an engine at `address` with another identity; `script` decides the answers.
    ///
    /// # Panics
    /// If the address can't be bound.
    pub async fn start_as(
        identity: Identity,
        address: SocketAddr,
        script: impl Fn(usize, &Value) -> Vec<Action> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let received = Arc::new(RequestLog::default());
        let fake = Arc::new(Fake {
            identity,
            tokenizer: tokenizer(),
            script: Box::new(script),
            received: Arc::clone(&received),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let fake = Arc::clone(&fake);
                connections.spawn(async move {
                    // Errors are ignored: in many tests the client disconnects on purpose.
                    let _ = fake.serve(socket).await;
                });
            }
        });
        Self { address, received, tasks }
    }

    /// URL of the engine.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes all of its connections, and waits until its port is free.
    pub async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

impl Fake {
    async fn serve(&self, mut socket: TcpStream) -> std::io::Result<()> {
        socket.set_nodelay(true)?;
        while let Some(Received { head, body, .. }) = receive(&mut socket).await? {
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
                *self.received.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
                return self.answer(&mut socket, value).await;
            }
            if let Some((_, lie)) = self.identity.lies.iter().find(|(lied, _)| *lied == path) {
                for action in lie.clone() {
                    // The client may have read enough.
                    let _ = action.run(&mut socket).await;
                }
                self.received.lies.fetch_add(1, Ordering::SeqCst);
                self.received.changed.notify_waiters();
                return Ok(());
            }
            if path == "/health" && self.health(&mut socket).await? {
                continue;
            }
            let answer = if is_answer { Some(self.probe(&value)) } else { self.route(path, &value) };
            socket.write_all(&plain(answer.as_ref())).await?;
        }
        Ok(())
    }

    /// Answers a health check, unless the engine is well; returns whether it did.
    async fn health(&self, socket: &mut TcpStream) -> std::io::Result<bool> {
        let health = *self.received.health.lock().unwrap_or_else(PoisonError::into_inner);
        match health {
            Health::Well => return Ok(false),
            Health::Failing => socket.write_all(&refusal(503, "", "")).await?,
            Health::Silent => {
                let left = Action::UntilDisconnect.run(socket).await;
                self.received.missed_checks.fetch_add(1, Ordering::SeqCst);
                self.received.changed.notify_waiters();
                left?;
            }
        }
        Ok(true)
    }

    fn route(&self, path: &str, body: &Value) -> Option<String> {
        let owner = self.identity.owner;
        let json = match path {
            "/v1/models" => json!({ "data": [{ "id": "m", "owned_by": owner, "max_model_len": 4096 }] }),
            "/version" => json!({ "version": "fake" }),
            "/server_info" => json!({ "version": "fake", "grammar_backend": "xgrammar" }),
            "/model_info" | "/health" => json!({}),
            "/props" => {
                json!({ "build_info": "fake", "default_generation_settings": { "n_ctx": 4096 }, "total_slots": 3 })
            }
            "/tokenize" => {
                let text = body["prompt"].as_str().or(body["content"].as_str()).unwrap_or_default();
                let mut ids = self.tokenizer.encode_text(text).unwrap_or_default();
                ids.extend((!self.identity.tokenizes_alike).then_some(1));
                json!({ "tokens": ids })
            }
            "/metrics" => {
                let running = self.received.running.load(Ordering::SeqCst);
                return Some(format!("vllm:num_requests_running 0{running}\nvllm:num_requests_waiting 0\n"));
            }
            "/abort_request" => {
                let id = body["rid"].as_str().unwrap_or_default().to_owned();
                self.received.aborted.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                self.received.changed.notify_waiters();
                json!({})
            }
            _ => return None,
        };
        Some(json.to_string())
    }

    /// Answer of one token in the format of this kind of engine: the token that the grammar
    /// demands, if there is a grammar.
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
            let mut requests = self.received.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(body.clone());
            requests.len() - 1
        };
        self.received.running.fetch_add(1, Ordering::SeqCst);
        self.received.changed.notify_waiters();
        let mut result = Ok(());
        for action in (self.script)(nth, &body) {
            result = action.run(socket).await;
            if result.is_err() {
                self.received.disconnected.fetch_add(1, Ordering::SeqCst);
                break;
            }
        }
        self.received.running.fetch_sub(1, Ordering::SeqCst);
        self.received.changed.notify_waiters();
        result
    }
}

/// Whether a request is a probe: it asks for one token.
fn is_probe(body: &Value) -> bool {
    let most = [
        &body["sampling_params"]["max_tokens"],
        &body["sampling_params"]["max_new_tokens"],
        &body["max_tokens"],
        &body["n_predict"],
    ];
    most.iter().any(|most| **most == 1)
}

//! Clients that create, chain, stream, follow and cancel responses until their server is gone, and
//! remember what they were told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use seeded::SplitMix64;
use serde_json::{Value, json};
use tests::client::{json_request, try_open};
use tokio::sync::Notify;

/// What the model writes to whoever asks for a long answer, and to others.
const TEXTS: [(&str, &str); 2] =
    [("long", "one two three four five six seven eight nine ten. "), ("short", "Four.")];
/// How often the long text is repeated.
const REPEATED: usize = 12;
/// Responses of a chain.
const CHAIN: usize = 4;

/// Replay rules of the server.
pub(crate) fn rules() -> Value {
    let (long, short) = (text("long"), text("short"));
    json!([
        { "when": { "last_user_contains": "long" }, "text": long, "tokens_per_step": 2, "pace_ms": 2 },
        { "text": short }
    ])
}

/// What the model writes to an input.
pub(crate) fn text(input: &str) -> String {
    let (_, text) = TEXTS.iter().find(|(name, _)| *name == input).expect("an input of ours");
    if input == "long" { text.repeat(REPEATED).trim_end().to_owned() } else { (*text).to_owned() }
}

/// What was told of a response.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Input that it answers.
    pub(crate) input: &'static str,
    /// Whether it runs without its client.
    pub(crate) background: bool,
    /// Its events, from the first one on.
    pub(crate) events: Vec<Value>,
    /// The response, once it was said to have ended.
    pub(crate) ended: Option<Value>,
}

/// Everything that clients were told.
#[derive(Default)]
pub(crate) struct Memory {
    told: Mutex<HashMap<String, Told>>,
    /// Told when enough was.
    pub(crate) enough: Notify,
}

impl Memory {
    /// What was told, by the id of the response.
    pub(crate) fn told(&self) -> MutexGuard<'_, HashMap<String, Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn created(&self, id: &str, input: &'static str, background: bool) {
        let told = Told { input, background, events: Vec::new(), ended: None };
        self.told().insert(id.to_owned(), told);
    }

    fn event(&self, id: &str, event: Value) {
        let mut all = self.told();
        let told = all.get_mut(id).expect("it was created");
        if event["response"]["status"].as_str().is_some_and(is_end) {
            told.ended = Some(event["response"].clone());
        }
        told.events.push(event);
    }

    fn ended(&self, id: &str, response: Value) {
        self.told().get_mut(id).expect("it was created").ended = Some(response);
    }
}

/// Whether a response of this status has ended.
pub(crate) fn is_end(status: &str) -> bool {
    !["queued", "in_progress"].contains(&status)
}

/// A client.
pub(crate) struct Client {
    /// The server's address.
    pub(crate) address: SocketAddr,
    /// Where it remembers what it was told.
    pub(crate) memory: Arc<Memory>,
    /// What it does next.
    pub(crate) random: SplitMix64,
    /// How much more all clients are to be told.
    pub(crate) left: Arc<AtomicU64>,
}

impl Client {
    /// Asks until the server is gone.
    pub(crate) async fn run(mut self) {
        let mut parents = Vec::new();
        loop {
            if parents.len() == CHAIN {
                parents.clear();
            }
            match self.ask(parents.last()).await {
                Ok(id) => parents.extend(id),
                Err(_) => return,
            }
        }
    }

    /// Makes a response in one of the ways that there are, and takes it to its end. Returns its id,
    /// if it can be continued.
    async fn ask(&mut self, parent: Option<&String>) -> anyhow::Result<Option<String>> {
        let input = TEXTS[usize::from(self.random.below(3) == 0)].0;
        let mut body = json!({
            "model": "bench", "input": input, "previous_response_id": parent, "reasoning": { "effort": "none" },
            "stream_options": { "include_obfuscation": false }
        });
        let way = self.random.below(5);
        body["background"] = json!(way >= 2);
        body["stream"] = json!([1, 3, 4].contains(&way));
        let create = || json_request("/v1/responses", body.to_string());
        match way {
            0 => {
                let response = self.post("/v1/responses", &body).await?;
                let id = id(&response);
                self.memory.created(&id, input, false);
                self.memory.ended(&id, response);
                Ok(Some(id))
            }
            2 => {
                let id = id(&self.post("/v1/responses", &body).await?);
                self.memory.created(&id, input, true);
                let events = format!("/v1/responses/{id}?stream=true&include_obfuscation=false");
                let events = Request::get(events).header("host", "localhost").body(Full::default())?;
                self.events(events, input, Some(&id), usize::MAX).await.map(Some)
            }
            1 | 3 => self.events(create(), input, None, usize::MAX).await.map(Some),
            _ => {
                let seen = 1 + self.random.below(8);
                let id = self.events(create(), input, None, seen).await?;
                let response = self.post(&format!("/v1/responses/{id}/cancel"), &json!({})).await?;
                let completed = response["status"] == "completed";
                self.memory.ended(&id, response);
                Ok(completed.then_some(id))
            }
        }
    }

    /// Reads events, of a response that has an id or says it first, until its end or until so many
    /// were seen.
    async fn events(
        &self,
        request: Request<Full<Bytes>>,
        input: &'static str,
        known: Option<&str>,
        most: usize,
    ) -> anyhow::Result<String> {
        let mut known = known.map(str::to_owned);
        let mut answer = try_open(self.address, request).await?;
        if answer.status != 200 {
            let said = answer.next().await.unwrap_or_default();
            panic!("{}: {}", answer.status, String::from_utf8_lossy(&said));
        }
        let (mut rest, mut seen) = (Vec::new(), 0);
        while let Some(bytes) = answer.next().await {
            rest.extend_from_slice(&bytes);
            while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
                let frame = String::from_utf8(rest.drain(..end + 2).collect())?;
                let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
                if data == "[DONE]" {
                    return known.context("no event");
                }
                let event: Value = serde_json::from_str(data)?;
                let id = known.get_or_insert_with(|| {
                    let id = id(&event["response"]);
                    self.memory.created(&id, input, event["response"]["background"] == true);
                    id
                });
                self.memory.event(id, event);
                self.count();
                seen += 1;
                if seen == most {
                    return known.context("no event");
                }
            }
        }
        bail!("the stream was cut")
    }

    /// Posts a body, and returns the answer's.
    async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let mut answer = try_open(self.address, json_request(path, body.to_string())).await?;
        let mut whole = Vec::new();
        while let Some(bytes) = answer.next().await {
            whole.extend_from_slice(&bytes);
        }
        let json = serde_json::from_slice(&whole)?;
        assert_eq!(answer.status, 200, "{path} {body}: {json}");
        self.count();
        Ok(json)
    }

    fn count(&self) {
        // Others go on being told until the server is gone.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.memory.enough.notify_one();
        }
    }
}

fn id(response: &Value) -> String {
    response["id"].as_str().expect("a response").to_owned()
}

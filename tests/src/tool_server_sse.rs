//! The hostile MCP server over the transport of 2024: a stream of server-sent events, and messages
//! that are posted beside it. The path of the stream selects how it behaves. Both streams and
//! messages need a key.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::listen::Listening;
use crate::tool_server::{Reply, ToolServer, around_text, message, spam_event};
use crate::tool_server_http::{Body, plain};

/// Value that the `authorization` header of requests must have.
pub const KEY: &str = "Bearer key";

/// Time between two drips.
const DRIP: Duration = Duration::from_millis(20);

/// Running server; dropping it stops it.
pub struct SseToolServer {
    listening: Listening,
}

struct State {
    tools: ToolServer,
    next: AtomicU64,
    /// Senders of the open streams, by session.
    sessions: Mutex<HashMap<String, mpsc::Sender<Bytes>>>,
    /// Tasks that answer messages.
    tasks: Mutex<JoinSet<()>>,
}

impl SseToolServer {
    /// Starts a server on a free port.
    pub async fn start() -> Self {
        let tools = ToolServer::new("good");
        let (next, sessions, tasks) = (AtomicU64::new(0), Mutex::default(), Mutex::default());
        let state = Arc::new(State { tools, next, sessions, tasks });
        let address = ([127, 0, 0, 1], 0).into();
        let listening = Listening::start(address, move |request| answer(request, Arc::clone(&state)));
        Self { listening: listening.await }
    }

    /// URL of a stream. Of the paths, `sse` is a good stream, `silent` names no endpoint, `ended`
    /// ends without one, `foreign` names an endpoint of another origin, `flood` begins with an
    /// endless event, `moved` redirects to `sse`, and `page` is no stream. `comment` and `other`
    /// are endless events of these kinds, and `drip` is a comment now and then.
    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.listening.base_url())
    }
}

async fn answer(request: Request<Incoming>, state: Arc<State>) -> Result<Response<Body>, io::Error> {
    let is_allowed = request.headers().get(header::AUTHORIZATION).is_some_and(|given| given == KEY);
    let path = request.uri().path().to_owned();
    if !is_allowed {
        return Ok(plain(StatusCode::UNAUTHORIZED, "text/plain", "no key"));
    }
    if request.method() == Method::GET {
        return Ok(open(&path, &state));
    }
    let session = path.strip_prefix("/messages/");
    let Some(session) = session.filter(|_| request.method() == Method::POST) else {
        return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "Method Not Allowed"));
    };
    let sender = state.sessions().get(session).cloned();
    let Some(sender) = sender else { return Ok(plain(StatusCode::NOT_FOUND, "text/plain", "no session")) };
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let (session, body) = (session.to_owned(), serde_json::from_slice(&body).map_err(io::Error::other)?);
    let answering = Arc::clone(&state);
    let mut tasks = state.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    tasks.spawn(async move { answering.message(&session, body, sender).await });
    Ok(plain(StatusCode::ACCEPTED, "text/plain", "Accepted"))
}

fn open(path: &str, state: &State) -> Response<Body> {
    let first = |text: String| vec![Bytes::from(": hello\n\n"), Bytes::from(text)];
    match path {
        "/sse" => {
            let session = state.next.fetch_add(1, Ordering::Relaxed).to_string();
            let (sender, receiver) = mpsc::channel(4);
            let endpoint = first(format!("event: endpoint\ndata: /messages/{session}\n\n"));
            state.sessions().insert(session, sender);
            let more = stream::unfold(receiver, async |mut receiver| {
                receiver.recv().await.map(|bytes| (bytes, receiver))
            });
            events(endpoint, more)
        }
        "/silent" => events(first("event: ping\ndata: x\n\n".to_owned()), stream::pending()),
        "/ended" => events(first("event: ping\ndata: x\n\n".to_owned()), stream::empty()),
        "/foreign" => {
            events(first("event: endpoint\ndata: http://127.0.0.1:1/m\n\n".to_owned()), stream::pending())
        }
        "/flood" => events(
            first("event: endpoint\ndata: ".to_owned()),
            stream::repeat(Bytes::from(vec![b'x'; 1 << 20])),
        ),
        "/comment" | "/other" => {
            let kind = path.trim_start_matches('/').to_owned();
            events(Vec::new(), stream::iter((0..).map(move |n| spam_event(&kind, n).into())))
        }
        "/drip" => {
            let drip = stream::unfold((), async |()| {
                tokio::time::sleep(DRIP).await;
                Some((Bytes::from(": x\n\n"), ()))
            });
            events(Vec::new(), drip)
        }
        "/moved" => {
            let mut moved = plain(StatusCode::TEMPORARY_REDIRECT, "text/plain", "");
            moved.headers_mut().insert(header::LOCATION, header::HeaderValue::from_static("/sse"));
            moved
        }
        "/page" => plain(StatusCode::OK, "text/html", "<html></html>"),
        _ => plain(StatusCode::NOT_FOUND, "text/plain", "Not Found"),
    }
}

fn events(
    first: Vec<Bytes>,
    more: impl futures_util::Stream<Item = Bytes> + Send + Sync + 'static,
) -> Response<Body> {
    let all = futures_util::StreamExt::chain(stream::iter(first), more);
    let frames = futures_util::StreamExt::map(all, |bytes| Ok(Frame::data(bytes)));
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    response.body(BodyExt::boxed(StreamBody::new(frames))).expect("a plain response")
}

impl State {
    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::Sender<Bytes>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a message on the stream of its session.
    async fn message(self: Arc<Self>, session: &str, request: Value, sender: mpsc::Sender<Bytes>) {
        let (state, id) = (Arc::clone(&self), request["id"].clone());
        let Ok(reply) = tokio::task::spawn_blocking(move || state.tools.reply(&request)).await else {
            return;
        };
        let parts = match &reply {
            Reply::Death => {
                self.sessions().remove(session);
                return;
            }
            Reply::Spam(kind) => {
                let mut n = 0;
                while sender.send(spam_event(kind, n).into()).await.is_ok() {
                    n += 1;
                    if kind == "drip" {
                        tokio::time::sleep(DRIP).await;
                    }
                }
                return;
            }
            Reply::Garbage => vec!["data: {]\n\nevent: nonsense\n\n\nevent: message\ndata: {}\n\n".into()],
            Reply::Text(bytes) => {
                let (before, behind) = around_text(&id);
                let chunk = Bytes::from(vec![b'x'; 1 << 20]);
                let mut parts = vec![format!("event: message\r\ndata: {before}").into()];
                parts.extend(std::iter::repeat_n(chunk, bytes >> 20));
                parts.push(format!("{behind}\r\n\r\n").into());
                parts
            }
            reply => match message(&id, reply) {
                Some(message) => vec![format!("event: message\ndata: {message}\n\n").into()],
                None => Vec::new(),
            },
        };
        for part in parts {
            if sender.send(part).await.is_err() {
                return;
            }
        }
    }
}

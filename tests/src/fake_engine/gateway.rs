//! Fake gateway: one URL before several fake engines. It decides as an endpoint picker does: a
//! session stays with the engine that got its first request, and some requests are dropped.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::http::{Received, receive};
use super::{FakeEngine, is_probe};

/// Header that endpoint pickers add to every answer that passes them.
const PICKER: &[u8] = b"x-went-into-resp-headers: true\r\n";

/// Function that returns the answer to a request that is dropped, given its path and how many
/// requests of that path came before, probes left out.
type Drops = dyn Fn(&str, usize) -> Option<Vec<u8>> + Send + Sync;

/// Running fake gateway; dropping it closes all of its connections.
pub struct FakeGateway {
    /// Address on which it listens.
    pub address: SocketAddr,
    picker: Arc<Picker>,
    _tasks: JoinSet<()>,
}

/// A request that came to the gateway, probes left out.
#[derive(Clone)]
pub struct Passed {
    /// Path that was asked for.
    pub path: String,
    /// Head of the request, in lower case.
    pub head: String,
    /// Index of the engine that got it; none if it was dropped.
    pub engine: Option<usize>,
}

impl Passed {
    /// Value of a header, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find_map(|(given, value)| (given == name).then_some(value))
    }
}

struct Picker {
    engines: Vec<SocketAddr>,
    is_shown: bool,
    drops: Box<Drops>,
    state: Mutex<Decisions>,
    changed: Notify,
}

#[derive(Default)]
struct Decisions {
    passed: Vec<Passed>,
    /// Engine of each session, by the header of a session.
    sessions: HashMap<String, usize>,
}

impl FakeGateway {
    /// Starts a gateway before these engines; `is_shown` says whether its answers have the
    /// header of endpoint pickers.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(
        engines: &[&FakeEngine],
        is_shown: bool,
        drops: impl Fn(&str, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let picker = Arc::new(Picker {
            engines: engines.iter().map(|engine| engine.address).collect(),
            is_shown,
            drops: Box::new(drops),
            state: Mutex::default(),
            changed: Notify::new(),
        });
        let (mut tasks, serving) = (JoinSet::new(), Arc::clone(&picker));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let picker = Arc::clone(&serving);
                connections.spawn(async move {
                    // Errors are ignored: clients and engines disconnect on purpose.
                    let _ = picker.serve(socket).await;
                });
            }
        });
        Self { address, picker, _tasks: tasks }
    }

    /// URL of the gateway.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests of this path so far, without probes.
    pub fn passed(&self, path: &str) -> Vec<Passed> {
        self.picker.state().passed.iter().filter(|passed| passed.path == path).cloned().collect()
    }

    /// Waits until `count` requests of this path have come, for at most half a minute.
    ///
    /// # Panics
    /// If they don't in that time.
    pub async fn wait_for(&self, path: &str, count: usize) {
        let waiting = async {
            loop {
                let changed = self.picker.changed.notified();
                if self.passed(path).len() >= count {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), waiting).await.expect("they come");
    }
}

impl Picker {
    fn state(&self) -> MutexGuard<'_, Decisions> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let Some(Received { raw, head, body }) = receive(&mut client).await? else { return Ok(()) };
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        let engine = if is_probe(&value) {
            0
        } else {
            match self.decide(head) {
                Ok(engine) => engine,
                Err(dropped) => return client.write_all(&dropped).await,
            }
        };
        let mut engine = TcpStream::connect(self.engines[engine]).await?;
        engine.write_all(&[raw, body].concat()).await?;
        if self.is_shown {
            let mut first = Vec::new();
            while !first.ends_with(b"\r\n") {
                first.push(engine.read_u8().await?);
            }
            client.write_all(&[&first, PICKER].concat()).await?;
        }
        copy_bidirectional(&mut client, &mut engine).await.map(drop)
    }

    /// The engine that gets a request, or the answer to one that is dropped.
    fn decide(&self, head: String) -> Result<usize, Vec<u8>> {
        let mut state = self.state();
        let path = head.split_ascii_whitespace().nth(1).unwrap_or_default().to_owned();
        let before = state.passed.iter().filter(|passed| passed.path == path).count();
        let mut passed = Passed { path, head, engine: None };
        let decision = match (self.drops)(&passed.path, before) {
            Some(dropped) => Err(dropped),
            None => Ok(match passed.header("x-session-affinity").map(str::to_owned) {
                Some(session) => {
                    let next = state.sessions.len() % self.engines.len();
                    *state.sessions.entry(session).or_insert(next)
                }
                None => before % self.engines.len(),
            }),
        };
        passed.engine = decision.as_ref().ok().copied();
        state.passed.push(passed);
        drop(state);
        self.changed.notify_waiters();
        decision
    }
}

//! Collector of traces (OTLP over HTTP), whose answers a test decides.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::Notify;

use crate::listen::Listening;
use crate::tool_server_http::{Body, plain};

/// What a collector does with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// It takes the spans.
    Takes,
    /// It answers with this status.
    Answers(u16),
    /// It closes the connection.
    Closes,
    /// It never answers.
    Silent,
}

/// Running collector; dropping it stops it.
pub struct Collector {
    listening: Listening,
    received: Arc<Received>,
}

#[derive(Default)]
struct Received {
    spans: Mutex<Vec<Value>>,
    changed: Notify,
}

impl Collector {
    /// Starts a collector on a free port.
    ///
    /// # Panics
    /// If there is no port.
    pub async fn start(behaviour: Behaviour) -> Self {
        let received = Arc::<Received>::default();
        let shared = Arc::clone(&received);
        let answer = move |request| answer(request, behaviour, Arc::clone(&shared));
        Self { listening: Listening::start(([127, 0, 0, 1], 0).into(), answer).await, received }
    }

    /// Its endpoint.
    pub fn url(&self) -> String {
        self.listening.base_url()
    }

    /// Spans that it took, once there are `count` at least.
    pub async fn spans(&self, count: usize) -> Vec<Value> {
        loop {
            let changed = self.received.changed.notified();
            let spans = self.received.spans.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if spans.len() >= count {
                return spans;
            }
            changed.await;
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    behaviour: Behaviour,
    received: Arc<Received>,
) -> Result<Response<Body>, std::io::Error> {
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/v1/traces"));
    assert_eq!(request.headers()["content-type"], "application/json");
    let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
    let body: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
    match behaviour {
        Behaviour::Takes => {
            let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
            received.spans.lock().unwrap_or_else(PoisonError::into_inner).extend(spans.iter().cloned());
            received.changed.notify_waiters();
            Ok(plain(StatusCode::OK, "application/json", "{}"))
        }
        Behaviour::Answers(status) => {
            let status = StatusCode::from_u16(status).map_err(std::io::Error::other)?;
            Ok(plain(status, "application/json", "<html>\0 what?"))
        }
        Behaviour::Closes => Err(std::io::ErrorKind::ConnectionReset.into()),
        Behaviour::Silent => std::future::pending().await,
    }
}

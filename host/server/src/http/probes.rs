//! Routes of probes, which need no key and are answered however many connections are open.
//!
//! `/health` is what load balancers and clients of vLLM ask: whether new work is taken. `/ready` is
//! the same question by the name that Kubernetes gives it, answered with what is lacking. `/live`
//! asks whether the process should be started again: a drain and an engine elsewhere that is lost
//! are no reason, since a new process would be no better off. `/api/hello` is what Claude Code asks
//! before its first request.

use axum::extract::State;
use axum::response::Response;
use axum::routing::MethodRouter;

use crate::accept::app::App;
use crate::http::answer::{json, refuse};
use crate::http::methods::{DRAINING, get_only};
use api::error::ApiError;

/// All probes, by path.
pub(crate) fn probes() -> [(&'static str, MethodRouter<App>); 4] {
    [
        ("/health", get_only(health)),
        ("/ready", get_only(ready)),
        ("/live", get_only(live)),
        ("/api/hello", get_only(async || said(Ok("hello")))),
    ]
}

/// Whether a path is a probe's.
pub(crate) fn is_probe(path: &str) -> bool {
    ["/health", "/ready", "/live", "/api/hello"].contains(&path)
}

/// 200 while the server takes new work, else 503.
async fn health(State(app): State<App>) -> Response {
    said(if app.stopping.is_cancelled() {
        Err(DRAINING.to_owned())
    } else if app.models.are_alive() {
        Ok("ok")
    } else {
        Err("The server is stopping.".to_owned())
    })
}

/// As `health`, and says how many models lack an engine.
async fn ready(State(app): State<App>) -> Response {
    let (lacking, all) =
        (app.models.iter().filter(|model| !model.is_alive()).count(), app.models.iter().len());
    said(match lacking {
        _ if app.stopping.is_cancelled() => Err(DRAINING.to_owned()),
        0 => Ok("ready"),
        _ => Err(format!("{lacking} of {all} models have no engine that takes requests.")),
    })
}

/// 503 once an engine of this process has failed for good, else 200.
async fn live(State(app): State<App>) -> Response {
    said(if app.models.iter().any(|model| model.is_local() && !model.is_alive()) {
        Err("An engine of this process has failed: start the server again.".to_owned())
    } else {
        Ok("live")
    })
}

fn said(status: Result<&str, String>) -> Response {
    match status {
        Ok(word) => json(200, format!(r#"{{"status":"{word}"}}"#)),
        Err(reason) => refuse(&ApiError::unavailable(reason)),
    }
}

//! Watches remote engines: health, load, and changes of the file that lists them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use tokio::time::MissedTickBehavior;

use super::facts::{Facts, GaugeNames};
use super::load;
use super::metrics::STATE;
use super::options::EngineList;
use super::pool::UpstreamPool;
use super::probe::{ProbeError, ProbeRequest, probe};
use super::routing::BreakerState;
use super::upstream::Upstream;
use super::wire;
use net::{connection_words, read_body};

/// Largest metrics scrape, in bytes.
const MAX_SCRAPE: usize = 4 << 20;

/// Checks all engines at an interval, forever. A check that takes longer than the interval delays
/// no other engine's.
pub(super) async fn run(pool: Arc<UpstreamPool>) {
    let mut ticks = tokio::time::interval(pool.limits.health_time);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last_list_error = String::new();
    let mut checks = FuturesUnordered::new();
    let mut under_check = HashSet::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(checked) = checks.next() => {
                under_check.remove(&checked);
                continue;
            }
        }
        reread(&pool, &mut last_list_error).await;
        for upstream in pool.upstreams() {
            if under_check.insert(Arc::clone(upstream.name())) {
                let pool = &pool;
                checks.push(async move {
                    look(pool, &upstream).await;
                    Arc::clone(upstream.name())
                });
            }
        }
        figures(&pool);
    }
}

/// Applies the list of engines, which the operator or the file may have changed. A file that can't
/// be read changes nothing.
async fn reread(pool: &UpstreamPool, last_error: &mut String) {
    let read = match pool.list() {
        EngineList::Urls(urls) => Ok(urls),
        file @ EngineList::File(_) => {
            let read = tokio::task::spawn_blocking(move || file.read()).await;
            read.unwrap_or_else(|error| Err(error.to_string()))
        }
    };
    match read {
        Ok(urls) => {
            last_error.clear();
            let known = pool.upstreams();
            if !urls.iter().map(net::ServerUrl::name).eq(known.iter().map(|upstream| &**upstream.name())) {
                tracing::info!(model = %pool.settings.label, engines = urls.len(), "the list of engines has changed");
                pool.set_urls(urls);
            }
        }
        Err(reason) => {
            if *last_error != reason {
                tracing::warn!(model = %pool.settings.label, reason, "the list of engines can't be read: it stays as it was");
                *last_error = reason;
            }
        }
    }
}

/// Checks the health and load of a known engine, or probes one that isn't known.
async fn look(pool: &UpstreamPool, upstream: &Arc<Upstream>) {
    let Some(facts) = upstream.facts() else {
        if let Err(ProbeError::Unusable(reason)) = join(pool, upstream).await {
            upstream.log_once(&reason);
        }
        return;
    };
    let began = Instant::now();
    match check_health(upstream, &facts).await {
        Ok(()) => take_load(pool, upstream, facts.watch.as_ref().and_then(|watch| watch.gauges)).await,
        // A busy engine's check may wait behind the answers that it generates: an engine that
        // delivers is alive.
        Err(Unhealthy::NoAnswer) if upstream.has_delivered_since(began) => {}
        Err(reason) => {
            tracing::warn!(engine = %upstream.name(), %reason, "an engine has gone");
            upstream.set_facts(None);
            pool.router.set_up(upstream.name(), false);
        }
    }
}

/// Probes an engine and makes it available if it serves the model.
pub(super) async fn join(pool: &UpstreamPool, upstream: &Arc<Upstream>) -> Result<(), ProbeError> {
    let settings = &pool.settings;
    let probe_request =
        ProbeRequest { kind: settings.options.kind, names: &settings.names, vocabulary: &pool.vocabulary };
    let (facts, doubts) = probe(upstream, &probe_request).await?;
    pool.router.set_behind(upstream.name(), facts.behind());
    upstream.set_facts(Some(facts.clone()));
    pool.router.set_up(upstream.name(), true);
    // An engine that is said to be found takes requests.
    announce(upstream, &facts, &doubts);
    Ok(())
}

/// Logs the result of a probe.
fn announce(upstream: &Upstream, facts: &Facts, doubts: &[&str]) {
    let (engine, path) = (upstream.name(), wire::of(facts.kind).path());
    let alike = if doubts.is_empty() { ", 20 strings tokenise alike" } else { "" };
    let model = super::words::plain(&facts.model);
    let slots = facts.watch.as_ref().and_then(|watch| watch.slots);
    tracing::info!(%engine, model, context = facts.context, slots, "found {} at /{path}{alike}", facts.name);
    for shortcoming in facts.shortcomings().iter().chain(doubts) {
        tracing::warn!(%engine, "{shortcoming}");
    }
}

/// Result of a health check that an engine didn't pass.
#[derive(Debug, thiserror::Error)]
enum Unhealthy {
    /// No answer came within the time limit.
    #[error("no answer in time")]
    NoAnswer,
    /// Nobody listens, or the connection broke.
    #[error("{0}")]
    Connection(String),
    /// The engine itself says that it takes no requests.
    #[error("its health is {0}")]
    Status(StatusCode),
}

async fn check_health(upstream: &Upstream, facts: &Facts) -> Result<(), Unhealthy> {
    let Some(watch) = &facts.watch else { return check_gateway(upstream).await };
    let response = upstream.get(watch.health).send().await;
    let unanswered = |error: reqwest::Error| {
        if error.is_timeout() { Unhealthy::NoAnswer } else { Unhealthy::Connection(connection_words(&error)) }
    };
    let status = response.map_err(unanswered)?.status();
    if status.is_success() { Ok(()) } else { Err(Unhealthy::Status(status)) }
}

/// Checks that a gateway takes connections. What it answers is the word of one of its engines, or of
/// a moment without one: each request hears that for itself.
async fn check_gateway(upstream: &Upstream) -> Result<(), Unhealthy> {
    match upstream.get("v1/models").send().await {
        Err(error) if error.is_connect() => Err(Unhealthy::Connection(connection_words(&error))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reports the engine's load to the router, if the engine has gauges.
async fn take_load(pool: &UpstreamPool, upstream: &Upstream, gauges: Option<&GaugeNames>) {
    let Some(gauges) = gauges else { return };
    let Ok(response) = upstream.get("metrics").send().await else { return };
    if !response.status().is_success() {
        return;
    }
    let Ok(body) = read_body(response, MAX_SCRAPE).await else { return };
    if let Some(load) = load::read(&String::from_utf8_lossy(&body), gauges) {
        pool.router.report(upstream.name(), load, Instant::now());
    }
}

/// Updates the gauges of each engine in this server's own metrics.
fn figures(pool: &UpstreamPool) {
    for engine in pool.router.status(Instant::now()) {
        let gauge = |figure: &'static str, value: f64| {
            let (model, upstream) = (Arc::clone(&pool.settings.label), Arc::clone(&engine.name));
            metrics::gauge!(STATE.name(), "model_name" => model, "upstream" => upstream, "figure" => figure)
                .set(value);
        };
        gauge("in_flight", engine.in_flight.into());
        if let Some(slots) = engine.slots {
            gauge("slots", slots.into());
        }
        gauge("up", f64::from(engine.up));
        gauge("breaker_open", f64::from(engine.breaker != BreakerState::Closed));
        gauge("draining", f64::from(engine.draining));
    }
}

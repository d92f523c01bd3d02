//! Watches remote engines: health, load, and changes of the file that lists them.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use tokio::time::MissedTickBehavior;

use super::facts::Facts;
use super::load;
use super::options::EngineList;
use super::pool::UpstreamPool;
use super::probe::{ProbeError, Wanted, probe};
use super::routing::BreakerState;
use super::upstream::{Upstream, read_body};
use super::wire;

/// Largest metrics scrape, in bytes.
const MAX_SCRAPE: usize = 4 << 20;

/// Checks all engines at an interval, forever.
pub(super) async fn run(pool: Arc<UpstreamPool>) {
    let mut ticks = tokio::time::interval(pool.limits.health_time);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last_list_error = String::new();
    loop {
        ticks.tick().await;
        reread(&pool, &mut last_list_error).await;
        let upstreams = pool.upstreams();
        join_all(upstreams.iter().map(|upstream| look(&pool, upstream))).await;
        figures(&pool);
    }
}

/// Applies the list of engines in the file. A file that can't be read changes nothing.
async fn reread(pool: &UpstreamPool, last_error: &mut String) {
    if matches!(pool.settings.options.engines, EngineList::Urls(_)) {
        return;
    }
    let engines = pool.settings.options.engines.clone();
    let read = tokio::task::spawn_blocking(move || engines.read()).await;
    match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(urls) => {
            last_error.clear();
            let known = pool.upstreams();
            if !urls
                .iter()
                .map(super::options::EngineUrl::name)
                .eq(known.iter().map(|upstream| &**upstream.name()))
            {
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
    match upstream.facts() {
        Some(facts) => {
            if let Err(reason) = check_health(upstream, &facts).await {
                tracing::warn!(engine = %upstream.name(), reason, "an engine has gone");
                upstream.set_facts(None);
                pool.router.set_up(upstream.name(), false);
            } else {
                take_load(pool, upstream, &facts).await;
            }
        }
        None => {
            if let Err(ProbeError::Unusable(reason)) = join(pool, upstream).await {
                upstream.log_once(&reason);
            }
        }
    }
}

/// Probes an engine and makes it available if it serves the model.
pub(super) async fn join(pool: &UpstreamPool, upstream: &Arc<Upstream>) -> Result<(), ProbeError> {
    let settings = &pool.settings;
    let wanted = Wanted { kind: settings.options.kind, names: &settings.names, vocabulary: &pool.vocabulary };
    let (facts, doubts) = probe(upstream, &wanted).await?;
    announce(upstream, &facts, &doubts);
    upstream.set_facts(Some(facts));
    pool.router.set_up(upstream.name(), true);
    Ok(())
}

/// Logs the result of a probe.
fn announce(upstream: &Upstream, facts: &Facts, doubts: &[&str]) {
    let (engine, path) = (upstream.name(), wire::of(facts.kind).path());
    let alike = if doubts.is_empty() { ", 20 strings tokenise alike" } else { "" };
    tracing::info!(%engine, model = facts.model, context = facts.context, "found {} at /{path}{alike}", facts.name);
    for shortcoming in facts.shortcomings().iter().chain(doubts) {
        tracing::warn!(%engine, "{shortcoming}");
    }
}

async fn check_health(upstream: &Upstream, facts: &Facts) -> Result<(), String> {
    let response = upstream.get(facts.health).timeout(super::PROBE_TIME).send().await;
    let response = response.map_err(|error| super::upstream::connection_words(&error))?;
    let status = response.status();
    if status.is_success() { Ok(()) } else { Err(format!("its health is {status}")) }
}

/// Reports the engine's load to the router, if the engine has metrics.
async fn take_load(pool: &UpstreamPool, upstream: &Upstream, facts: &Facts) {
    let Some(gauges) = facts.gauges else { return };
    let Ok(response) = upstream.get("metrics").timeout(super::PROBE_TIME).send().await else { return };
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
            metrics::gauge!("sluice_upstream", "model" => model, "upstream" => upstream, "figure" => figure)
                .set(value);
        };
        gauge("in_flight", engine.in_flight.into());
        gauge("slots", engine.slots.into());
        gauge("up", f64::from(engine.up));
        gauge("breaker_open", f64::from(engine.breaker != BreakerState::Closed));
        gauge("draining", f64::from(engine.draining));
    }
}

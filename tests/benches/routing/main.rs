//! Simulation of the router with 64 engines and 100,000 conversations, and of other policies with
//! the same arrivals.
//!
//! `cargo bench-dist -p tests --bench routing` prints a table and writes
//! `docs/bench/routing.csv` and `routing.svg`. All times except that of a selection are virtual, so
//! the figures are the same on every machine.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

mod plot;

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use remote::routing::{ReportedLoad, Router, RoutingOptions};
use tests::measure::thread_cpu;
use tests::routing::{BOUNDED_TREE, Keys, NamedPolicy, OURS, POLICIES, Scenario, conversations, simulate};

/// Row of the table.
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) policy: &'static str,
    pub(crate) hit_rate: f64,
    pub(crate) max_imbalance: f64,
    pub(crate) median_imbalance: f64,
    pub(crate) mean_load: f64,
    pub(crate) moves: f64,
    pub(crate) first_token_p50: f64,
    pub(crate) first_token_p99: f64,
    pub(crate) retries: u64,
    pub(crate) failures: u64,
}

fn main() {
    let three = Scenario { hosts: 3, ..Scenario::LARGE };
    let short = |scenario: Scenario| Scenario { kv_tokens: 300_000, ..scenario };
    let variants = [
        ("3 hosts", three, vec![OURS, BOUNDED_TREE]),
        ("small caches", short(Scenario::LARGE), vec![OURS, BOUNDED_TREE]),
        ("small caches, 3 hosts", short(three), vec![OURS, BOUNDED_TREE]),
        ("half the load", Scenario { rate_per_engine: 0.15, ..Scenario::LARGE }, vec![OURS, BOUNDED_TREE]),
        ("prompt_cache_key alone", Scenario { keys: Keys::CacheKeyAlone, ..Scenario::LARGE }, vec![OURS]),
    ];
    println!("{:<24}{:<26}   hit worst usual  mean moves  TTFT p50     p99 retries failures", "", "");
    let mut rows = Vec::new();
    for (name, scenario, policies) in
        [("1 host", Scenario::LARGE, POLICIES.to_vec())].into_iter().chain(variants)
    {
        rows.extend(compare(name, &scenario, &policies));
    }
    println!("\nselection among 64 engines: {:.2} µs", selection_microseconds());
    write(&rows).expect("docs/bench can be written");
}

fn compare(name: &'static str, scenario: &Scenario, policies: &[NamedPolicy]) -> Vec<Row> {
    let conversations = conversations(scenario);
    policies
        .iter()
        .map(|&policy| {
            let mut figures = simulate(scenario, &conversations, policy);
            let row = Row {
                scenario: name,
                policy: policy.name,
                hit_rate: figures.hit_rate(),
                max_imbalance: figures.loads.max_imbalance(),
                median_imbalance: figures.loads.median_imbalance(),
                mean_load: figures.loads.mean(),
                moves: figures.move_rate(),
                first_token_p50: figures.first_token_seconds(50),
                first_token_p99: figures.first_token_seconds(99),
                retries: figures.retries,
                failures: figures.failures,
            };
            row.print();
            row
        })
        .collect()
}

impl Row {
    fn print(&self) {
        println!(
            "{:<24}{:<26}{:6.3}{:6.2}{:6.2}{:6.1}{:6.3}{:10.3}{:8.3}{:8}{:9}",
            self.scenario,
            self.policy,
            self.hit_rate,
            self.max_imbalance,
            self.median_imbalance,
            self.mean_load,
            self.moves,
            self.first_token_p50,
            self.first_token_p99,
            self.retries,
            self.failures
        );
    }
}

fn write(rows: &[Row]) -> std::io::Result<()> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/bench"));
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("routing.csv"), csv(rows))?;
    std::fs::write(folder.join("routing.svg"), plot::svg(rows))
}

fn csv(rows: &[Row]) -> String {
    let mut csv = String::from(
        "scenario,policy,hit_rate,worst_over_mean,usual_worst_over_mean,mean_load,move_rate,ttft_p50_s,ttft_p99_s,retries,failures\n",
    );
    for row in rows {
        let Row {
            scenario,
            policy,
            hit_rate,
            max_imbalance,
            median_imbalance,
            mean_load,
            moves,
            retries,
            failures,
            ..
        } = row;
        let (p50, p99) = (row.first_token_p50, row.first_token_p99);
        let _ = writeln!(
            csv,
            "\"{scenario}\",\"{policy}\",{hit_rate:.4},{max_imbalance:.3},{median_imbalance:.3},{mean_load:.2},{moves:.4},{p50:.4},{p99:.3},{retries},{failures}"
        );
    }
    csv
}

/// CPU time of a selection and its release, with remembered keys and some requests on each engine.
fn selection_microseconds() -> f64 {
    const SELECTIONS: u32 = 1_000_000;
    let router = Router::new(RoutingOptions::default());
    let now = Instant::now();
    router
        .set_engines((0..64).map(|engine| (format!("http://engine-{engine}:8000").into(), engine)).collect());
    for engine in router.status(now) {
        router.set_up(&engine.name, true);
        router.report(&engine.name, ReportedLoad::default(), now);
    }
    let select = |key: u32| router.select(u64::from(key % 100_000), |_| true, &[], now).expect("an engine");
    let _leases: Vec<_> = (0..256).map(select).collect();
    let began = thread_cpu();
    for key in 0..SELECTIONS {
        drop(select(key));
    }
    thread_cpu().saturating_sub(began).as_secs_f64() * 1e6 / f64::from(SELECTIONS)
}

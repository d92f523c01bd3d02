//! Bounds of the histograms' buckets.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

use model::observe::metrics::{
    GENERATION_LENGTH, LONGEST_GENERATION, PARSING as PARSING_TIME, PROMPT_LENGTH,
};
use system::metric::Metric;

/// Times of requests, in seconds: steps of at most 2.5 from a millisecond to an hour.
const TIMES: [f64; 22] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0,
    160.0, 320.0, 1200.0, 3600.0,
];
/// Time that parsing takes in a turn: microseconds a token.
const PARSING: [f64; 10] = [0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// Time of a transaction of the store: a commit takes a tenth of a millisecond.
const TRANSACTIONS: [f64; 10] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0];
/// Numbers of tokens.
const LENGTHS: [f64; 16] = [
    1.0,
    4.0,
    16.0,
    64.0,
    128.0,
    256.0,
    512.0,
    1024.0,
    2048.0,
    4096.0,
    8192.0,
    16_384.0,
    32_768.0,
    65_536.0,
    131_072.0,
    1_048_576.0,
];

/// Sets the buckets of all histograms.
pub(crate) fn set(builder: PrometheusBuilder) -> PrometheusBuilder {
    let builder = builder.set_buckets(&TIMES).expect("the list isn't empty");
    let special: [(Metric, &[f64]); 5] = [
        (store::TRANSACTIONS, &TRANSACTIONS),
        (PARSING_TIME, &PARSING),
        (PROMPT_LENGTH, &LENGTHS),
        (GENERATION_LENGTH, &LENGTHS),
        (LONGEST_GENERATION, &LENGTHS),
    ];
    special.into_iter().fold(builder, |builder, (metric, bounds)| {
        let name = Matcher::Full(metric.name().into_owned());
        builder.set_buckets_for_metric(name, bounds).expect("no list is empty")
    })
}

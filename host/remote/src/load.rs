//! An engine's load, read from its gauges in Prometheus' text format and summed over their labels.

use super::facts::GaugeNames;
use super::routing::ReportedLoad;

/// Load in a scrape's text; none if the gauge of running requests is missing.
pub(super) fn read(text: &str, gauges: &GaugeNames) -> Option<ReportedLoad> {
    let running = values(text, gauges.running).reduce(|sum, value| sum + value)?;
    let waiting = values(text, gauges.waiting).sum::<f64>();
    // Of several caches the fullest one counts, since the next request may have to fit into it.
    let kv_used = gauges.kv_used.and_then(|name| values(text, name).reduce(f64::max));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are small, and cut at the ends"
    )]
    let count = |value: f64| value.clamp(0.0, f64::from(u32::MAX)) as u32;
    #[expect(clippy::cast_possible_truncation, reason = "a share of 1")]
    let kv_used = kv_used.map(|share| share as f32);
    Some(ReportedLoad { running: count(running), waiting: count(waiting), kv_used })
}

/// Finite values of all samples of a gauge, by its name or by what its name ends with (`*NAME`).
fn values<'a>(text: &'a str, gauge: &'a str) -> impl Iterator<Item = f64> + 'a {
    let is_meant = move |name: &str| match gauge.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == gauge,
    };
    text.lines().filter_map(move |line| {
        let (name, rest) = line.split_at(line.find(['{', ' '])?);
        if !is_meant(name) {
            return None;
        }
        let value = if rest.starts_with('{') { rest.rsplit_once('}')?.1 } else { rest };
        value.split_ascii_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_sum_over_labels_but_fullest_cache_counts() {
        let text = "# TYPE vllm:num_requests_running gauge\n\
                    vllm:num_requests_running{engine=\"0\",model_name=\"a}b\"} 3.0\n\
                    vllm:num_requests_running{engine=\"1\"} 4\n\
                    vllm:num_requests_running_total 99\n\
                    vllm:num_requests_waiting{engine=\"0\"} 2.0 1700000000\n\
                    vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n";
        let load = read(text, &GaugeNames::VLLM).unwrap();
        assert_eq!((load.running, load.waiting, load.kv_used), (7, 2, Some(0.75)));
        assert!(read(text, &GaugeNames::SGLANG).is_none());
        let text = "sluice_num_requests_running{model_name=\"a\"} 2\nsluice_num_requests_waiting{model_name=\"a\"} 5\n\
                    vllm:num_requests_running{model_name=\"b\"} 1\nsluice_engine_steps_total{model_name=\"b\"} 900\n";
        let load = read(text, &GaugeNames::SLUICE).unwrap();
        assert_eq!((load.running, load.waiting, load.kv_used), (3, 5, None));
        assert!(read("vllm:num_requests_running NaN\n", &GaugeNames::VLLM).is_none());
    }
}

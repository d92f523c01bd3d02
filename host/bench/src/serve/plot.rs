//! Plot of a report: quantiles of times, time to the first token over the load, and conversations
//! turn by turn.

use super::report::{Quantiles, ServeReport};
use crate::svg::{COLOURS, Svg};

const LEFT: f64 = 110.0;
const BARS: f64 = 330.0;
const LINE: f64 = 22.0;
const CURVE: (f64, f64) = (640.0, 110.0);
const WIDTH: f64 = 800.0;

impl ServeReport {
    /// The text of an SVG file.
    pub fn svg(&self) -> String {
        let mut svg = Svg::new(WIDTH);
        svg.text(8.0, 20.0, &self.title);
        let top = self.draw_times(&mut svg, 44.0);
        let top = self.draw_waits(&mut svg, top + 14.0);
        self.draw_turns(&mut svg, top + 14.0);
        svg.finish()
    }

    fn draw_times(&self, svg: &mut Svg, mut top: f64) -> f64 {
        for (name, quantiles) in self.times() {
            let Some(Quantiles { p50, p90, p99, .. }) = quantiles else { continue };
            for (label, time, colour) in
                [("p50", p50, COLOURS[0]), ("p90", p90, COLOURS[2]), ("p99", p99, COLOURS[3])]
            {
                svg.text(8.0, top + 12.0, &format!("{name} {label}"));
                let length = time / p99.max(f64::MIN_POSITIVE) * BARS;
                svg.bar(LEFT, top, length, colour);
                svg.text(LEFT + length + 5.0, top + 12.0, &format!("{:.1} ms", 1e3 * time));
                top += LINE;
            }
        }
        top
    }

    /// Draws the time to the first token by the time at which requests were sent.
    fn draw_waits(&self, svg: &mut Svg, top: f64) -> f64 {
        let sent = self.records.iter().filter_map(|record| {
            let ttft = record.result.as_ref().ok()?.ttft?;
            Some((record.sent.as_secs_f64(), ttft.as_secs_f64()))
        });
        let mut points: Vec<(f64, f64)> = sent.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let (last, longest) = (most(|point| point.0), most(|point| point.1));
        let (width, height) = CURVE;
        let title =
            format!("TTFT by when the request was sent: 0 to {last:.1} s, up to {:.1} ms", 1e3 * longest);
        svg.text(8.0, top + 12.0, &title);
        let bottom = top + 20.0 + height;
        let place =
            |(sent, wait): &(f64, f64)| (LEFT + sent / last * width, bottom - wait / longest * height);
        svg.line(&points.iter().map(place).collect::<Vec<_>>(), COLOURS[0]);
        bottom + 10.0
    }

    fn draw_turns(&self, svg: &mut Svg, mut top: f64) {
        let turns = self.turns();
        if turns.is_empty() {
            return;
        }
        let longest =
            turns.iter().filter_map(|turn| turn.ttft).map(|ttft| ttft.p50).fold(f64::MIN_POSITIVE, f64::max);
        svg.text(8.0, top + 12.0, "by turn: TTFT p50, and the share of prompts that was cached");
        top += LINE;
        for (turn, report) in turns.iter().enumerate() {
            svg.text(8.0, top + 12.0, &format!("turn {}", turn + 1));
            let p50 = report.ttft.map_or(0.0, |ttft| ttft.p50);
            svg.bar(LEFT, top, p50 / longest * BARS, COLOURS[0]);
            svg.text(LEFT + p50 / longest * BARS + 5.0, top + 12.0, &format!("{:.1} ms", 1e3 * p50));
            let (left, hits) = (LEFT + BARS + 90.0, report.tokens.hit_rate());
            svg.bar(left, top, hits * 150.0, COLOURS[1]);
            svg.text(left + hits * 150.0 + 5.0, top + 12.0, &format!("{:.0} %", 100.0 * hits));
            top += LINE;
        }
    }
}

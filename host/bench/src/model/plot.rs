//! Plot of a report: each test's rate, its share of the memory bandwidth, and the shares of a
//! step's parts.

use super::measured::{Measured, ModelReport, PARTS};
use super::plan::Test;
use crate::svg::{COLOURS, Svg};

const LEFT: f64 = 150.0;
const RATES: f64 = 260.0;
const SHARES: f64 = 160.0;
const STEPS: f64 = 360.0;
const GAP: f64 = 90.0;
const LINE: f64 = 22.0;
const TOP: f64 = 78.0;

impl ModelReport {
    /// The text of an SVG file.
    pub fn svg(&self) -> String {
        let (shares, steps) = (LEFT + RATES + GAP, LEFT + RATES + SHARES + 2.0 * GAP);
        let mut svg = Svg::new(steps + STEPS + 10.0);
        let read = self.read_bandwidth()[1] / 1e9;
        svg.text(8.0, 20.0, &format!("{}; {}; these threads read {read:.1} GB/s", self.model, self.engine));
        svg.text(LEFT, TOP - 32.0, "tokens/s (bars: beside others of the kind)");
        svg.text(shares, TOP - 32.0, "bandwidth, of what was measured");
        svg.text(steps, TOP - 32.0, "share of a step");
        let (mut x, mut y) = (steps, TOP - 14.0);
        for (part, colour) in PARTS.iter().zip(COLOURS) {
            if x + 70.0 > steps + STEPS {
                (x, y) = (steps, y + 17.0);
            }
            svg.bar(x, y - 14.0, 6.0, colour);
            svg.text(x + 9.0, y, part);
            x += 72.0;
        }
        let mut top = TOP + 18.0;
        for measured in &self.tests {
            self.draw(&mut svg, measured, top, shares, steps);
            top += LINE;
        }
        svg.finish()
    }

    fn draw(&self, svg: &mut Svg, measured: &Measured, top: f64, shares: f64, steps: f64) {
        svg.text(8.0, top + 12.0, &measured.test.to_string());
        let rate = measured.rate(measured.median());
        let length = rate / self.fastest(measured.test) * RATES;
        svg.bar(LEFT, top, length, COLOURS[0]);
        svg.text(LEFT + length + 5.0, top + 12.0, &format!("{rate:.1}"));
        let share = measured.share_of_reads();
        let length = share.min(1.0) * SHARES;
        svg.bar(shares, top, length, COLOURS[1]);
        svg.text(shares + length + 5.0, top + 12.0, &format!("{:.0} %", 100.0 * share));
        let mut left = steps;
        for (share, colour) in measured.counted.shares().into_iter().zip(COLOURS) {
            svg.bar(left, top, share * STEPS, colour);
            left += share * STEPS;
        }
    }

    /// Highest rate of all tests of the same kind, prefill or decode.
    fn fastest(&self, test: Test) -> f64 {
        let is_prefill = |test| matches!(test, Test::Prefill { .. });
        let alike = self.tests.iter().filter(|other| is_prefill(other.test) == is_prefill(test));
        alike.map(|other| other.rate(other.median())).fold(f64::MIN_POSITIVE, f64::max)
    }
}

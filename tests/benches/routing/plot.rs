//! Plot of the table's first rows: bars by policy, a panel for each figure. Its colours are legible
//! on light and dark backgrounds.

use std::fmt::Write;

use super::Row;

const TEXT: &str = "#808a94";
const OURS: &str = "#2f81f7";
const OTHERS: &str = "#9aa5b1";
const LABELS: f64 = 250.0;
const PANEL: f64 = 190.0;
const GAP: f64 = 60.0;
const LINE: f64 = 24.0;
const TOP: f64 = 56.0;

/// Panel for one figure: title, the figure's value of a row, length of its bar from 0 to 1, and
/// text of the value.
type Panel = (&'static str, fn(&Row) -> f64, fn(f64) -> f64, fn(f64) -> String);

const PANELS: [Panel; 3] = [
    ("prefix hit rate", |row| row.hit_rate, |value| value, |value| format!("{value:.2}")),
    (
        "most loaded engine / mean",
        |row| row.max_imbalance,
        |value| value / 4.0,
        |value| format!("{value:.2}"),
    ),
    // Logarithmic, from 0.1 s to 200 s.
    (
        "TTFT p99 (log)",
        |row| row.first_token_p99,
        |value| (value * 10.0).ln() / 2000_f64.ln(),
        |value| {
            if value < 10.0 { format!("{value:.1} s") } else { format!("{value:.0} s") }
        },
    ),
];

/// Draws the rows of the large scenario with one host and with three.
pub(crate) fn svg(rows: &[Row]) -> String {
    let rows: Vec<&Row> =
        rows.iter().filter(|row| row.scenario.ends_with(" host") || row.scenario == "3 hosts").collect();
    let height = rows.iter().fold(TOP + 8.0, |height, _| height + LINE);
    let width = LABELS + 3.0 * (PANEL + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"{TEXT}\">\n"
    );
    text(
        &mut svg,
        8.0,
        20.0,
        "64 engines, 100,000 conversations, virtual time; docs/bench/routing.csv has all figures",
    );
    let mut left = LABELS;
    for panel in PANELS {
        text(&mut svg, left, TOP - 10.0, panel.0);
        draw(&mut svg, left, &rows, panel);
        left += PANEL + GAP;
    }
    let mut top = TOP;
    for row in rows {
        let hosts = if row.scenario == "3 hosts" { " (3 hosts)" } else { "" };
        text(&mut svg, 8.0, top + 14.0, &format!("{}{hosts}", row.policy));
        top += LINE;
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, left: f64, rows: &[&Row], (_, value, length, written): Panel) {
    let mut top = TOP;
    for row in rows {
        let value = value(row);
        let length = length(value).clamp(0.0, 1.0) * PANEL;
        let colour = if row.policy == tests::routing::OURS.name { OURS } else { OTHERS };
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{length:.1}\" height=\"18\" rx=\"2\" fill=\"{colour}\"/>"
        );
        text(svg, left + length + 5.0, top + 14.0, &written(value));
        top += LINE;
    }
}

fn text(svg: &mut String, x: f64, y: f64, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

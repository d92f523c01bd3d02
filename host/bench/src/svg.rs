//! A drawing of text, bars and lines, in colours that are legible on light and dark backgrounds.

use std::fmt::Write;

const TEXT: &str = "#808a94";

/// Colours of adjacent bars.
pub(super) const COLOURS: [&str; 9] =
    ["#2f81f7", "#3fb950", "#d29922", "#f85149", "#a371f7", "#39c5cf", "#db61a2", "#9aa5b1", "#6e7681"];

/// A drawing to which elements are added.
pub(super) struct Svg {
    body: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// Makes an empty drawing, `width` wide.
    pub(super) fn new(width: f64) -> Self {
        Self { body: String::new(), width, height: 0.0 }
    }

    /// Adds text that begins at (x, y).
    pub(super) fn text(&mut self, x: f64, y: f64, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(self.body, "<text x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
        self.reaches(y + 10.0);
    }

    /// Adds a bar, one line high, with its upper left corner at (x, y).
    pub(super) fn bar(&mut self, x: f64, y: f64, length: f64, colour: &str) {
        let length = if length.is_finite() { length.max(0.0) } else { 0.0 };
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"16\" fill=\"{colour}\"/>"
        );
        self.reaches(y + 20.0);
    }

    /// Adds a line through `points`.
    pub(super) fn line(&mut self, points: &[(f64, f64)], colour: &str) {
        let mut path = String::new();
        for (x, y) in points {
            let _ = write!(path, "{x:.1},{y:.1} ");
            self.reaches(y + 10.0);
        }
        let path = path.trim_end();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }

    fn reaches(&mut self, y: f64) {
        self.height = self.height.max(y);
    }

    /// Text of the SVG file.
    pub(super) fn finish(self) -> String {
        let Self { body, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
             font-size=\"13\" fill=\"{TEXT}\">\n{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn svg_text_is_escaped_and_nan_length_is_zero() {
        let mut svg = Svg::new(100.0);
        svg.text(1.0, 2.0, "a<b>&");
        svg.bar(0.0, 30.0, f64::NAN, COLOURS[0]);
        let svg = svg.finish();
        assert!(svg.contains(">a&lt;b&gt;&amp;</text>") && svg.contains("width=\"0.0\""), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 100 50\""), "{svg}");
    }
}

//! Angles of the rotary embedding for the positions of a step, and factors of its queries.

use ops::QueryScaling;

/// Cosines and sines of a step's positions: `[rows, pairs]` each. Dimensions of a head behind the
/// rotated pairs stay as they are.
#[derive(Debug, Default)]
pub struct RopeAngles {
    cos: Vec<f32>,
    sin: Vec<f32>,
    /// Number of rotated pairs of a head.
    pub(super) pairs: usize,
    /// `[rows]`: factors of queries; empty if they stay as they are.
    query_factors: Vec<f32>,
}

impl RopeAngles {
    /// Fills in the angles `position * frequencies[i]`, computed in f32 as in the models' training;
    /// cosine and sine are multiplied by `scale`.
    #[expect(clippy::cast_possible_truncation, reason = "cosines and sines are rounded to f32")]
    pub fn fill(&mut self, positions: &[u32], frequencies: &[f32], scale: f32) {
        self.pairs = frequencies.len();
        self.cos.clear();
        self.sin.clear();
        for position in positions {
            for frequency in frequencies {
                let (sin, cos) = f64::from(*position as f32 * frequency).sin_cos();
                self.cos.push(cos as f32 * scale);
                self.sin.push(sin as f32 * scale);
            }
        }
    }

    /// Scales the queries of a step's positions.
    pub fn scale_queries(&mut self, positions: &[u32], scaling: Option<QueryScaling>) {
        self.query_factors.clear();
        if let Some(scaling) = scaling {
            self.query_factors.extend(positions.iter().map(|position| scaling.factor(*position)));
        }
    }

    /// Scales a query of a row, where queries are scaled.
    #[inline(always)]
    pub(super) fn scale_query(&self, row: usize, query: &mut [f32]) {
        if let Some(factor) = self.query_factors.get(row) {
            for x in query {
                *x *= factor;
            }
        }
    }

    pub(super) fn row(&self, row: usize) -> (&[f32], &[f32]) {
        let at = row * self.pairs..(row + 1) * self.pairs;
        (&self.cos[at.clone()], &self.sin[at])
    }
}

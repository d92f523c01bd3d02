//! Partial result of attention to some of the keys, to be merged with that of later keys.
//!
//! Which keys belong together depends on positions alone, and parts are merged in order, so a row's
//! result is the same whether one thread computed all parts or several threads did.

/// Weighted sums of values, with the softmax state by which they are merged.
#[derive(Debug)]
pub(super) struct Partial {
    /// `[rows, stride]`: sums of values, with weights relative to the row's greatest score.
    pub(super) sums: Vec<f32>,
    /// `[rows]`: greatest score, and the sum of weights relative to it.
    pub(super) state: Vec<(f32, f32)>,
}

impl Partial {
    /// Makes the state of rows that saw no key yet.
    pub(super) fn new(rows: usize, stride: usize) -> Self {
        Self { sums: vec![0.0; rows * stride], state: vec![(f32::NEG_INFINITY, 0.0); rows] }
    }

    pub(super) fn rows(&self) -> usize {
        self.state.len()
    }

    fn stride(&self) -> usize {
        self.sums.len() / self.state.len()
    }

    /// Merges `later` into what came before it.
    pub(super) fn append(before: &mut Option<Self>, later: Self) {
        match before {
            None => *before = Some(later),
            Some(before) => before.merge(&later),
        }
    }

    fn merge(&mut self, later: &Self) {
        let stride = self.stride();
        let rows = self.state.iter_mut().zip(self.sums.chunks_exact_mut(stride));
        let laters = later.state.iter().zip(later.sums.chunks_exact(stride));
        for (((greatest, total), sums), ((later_greatest, later_total), later_sums)) in rows.zip(laters) {
            let most = greatest.max(*later_greatest);
            // The greatest score of a row that saw no key is minus infinity; relative to itself
            // that would be NaN.
            let rescale = |from: f32| if from == f32::NEG_INFINITY { 0.0 } else { (from - most).exp() };
            let (rescale, later_rescale) = (rescale(*greatest), rescale(*later_greatest));
            *total = *total * rescale + later_total * later_rescale;
            *greatest = most;
            for (sum, later) in sums.iter_mut().zip(later_sums) {
                *sum = *sum * rescale + later * later_rescale;
            }
        }
    }

    /// Writes a row's result, with its head's sink: one more score, of a key without value.
    pub(super) fn finish(&self, row: usize, sink: Option<f32>, out: &mut [f32]) {
        let (greatest, total) = self.state[row];
        let sums = &self.sums[row * self.stride()..];
        let Some(sink) = sink else {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum / total);
            return;
        };
        // Relative to the greater of the two, so that neither overflows.
        let most = greatest.max(sink);
        let (rescale, weight) = ((greatest - most).exp(), (sink - most).exp());
        let total = total * rescale + weight;
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * rescale / total);
    }
}

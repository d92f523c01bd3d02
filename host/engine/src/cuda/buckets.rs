//! Buckets: numbers of rows of a decode step that have a graph. A step is padded to the next
//! bucket.

/// Numbers of rows, ascending.
const BUCKETS: [usize; 14] = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256];

/// Buckets of a runner whose steps have at most `step_rows` rows. The last bucket holds the largest
/// step, or is 256.
pub(super) fn buckets(step_rows: usize) -> &'static [usize] {
    let enough = BUCKETS.iter().position(|bucket| *bucket >= step_rows);
    &BUCKETS[..enough.map_or(BUCKETS.len(), |at| at + 1)]
}

/// The smallest bucket that holds `rows` rows; `None` for larger steps, which have no graph.
pub(super) fn bucket(buckets: &[usize], rows: usize) -> Option<usize> {
    buckets.iter().copied().find(|bucket| *bucket >= rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_into_the_smallest_bucket_that_holds_it() {
        let all = buckets(1000);
        for rows in 1..=256 {
            let found = bucket(all, rows).unwrap();
            assert!(found >= rows && all.iter().all(|other| *other >= found || *other < rows), "{rows}");
        }
        assert_eq!(bucket(all, 257), None);
    }

    #[test]
    fn there_are_no_more_buckets_than_steps_need() {
        assert_eq!(buckets(1), [1]);
        assert_eq!(buckets(5), [1, 2, 4, 8]);
        assert_eq!(buckets(64).last(), Some(&64));
        assert_eq!(buckets(10_000).last(), Some(&256));
    }
}

//! Shrinks a failing chunking: merges chunks as long as it still fails.

/// Most plays for one failure.
const PLAYS: usize = 2_000;

/// Returns a chunking that `fails`, with as few cuts as can be found. `cuts` itself fails.
pub(super) fn smallest(mut cuts: Vec<usize>, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut plays = 0;
    let mut size = cuts.len();
    while size > 0 && plays < PLAYS {
        let mut start = 0;
        while start < cuts.len() && plays < PLAYS {
            let end = cuts.len().min(start + size);
            let fewer = [&cuts[..start], &cuts[end..]].concat();
            plays += 1;
            if fails(&fewer) {
                cuts = fewer;
            } else {
                start = end;
            }
        }
        size /= 2;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::smallest;

    #[test]
    fn only_the_cuts_that_matter_are_left() {
        let all: Vec<usize> = (1..100).collect();
        assert_eq!(smallest(all.clone(), |cuts| cuts.contains(&17)), [17]);
        assert_eq!(smallest(all.clone(), |cuts| cuts.contains(&17) && cuts.contains(&60)), [17, 60]);
        assert!(smallest(all, |_| true).is_empty());
    }

    #[test]
    fn its_work_is_bounded() {
        let mut plays = 0;
        let all: Vec<usize> = (0..100_000).collect();
        smallest(all, |_| {
            plays += 1;
            false
        });
        assert!(plays <= super::PLAYS, "{plays}");
    }
}

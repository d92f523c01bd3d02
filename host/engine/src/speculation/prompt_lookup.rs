//! Prompt lookup (Saxena 2023; vLLM's and transformers' n-gram speculation): where the sequence's
//! last tokens stood before, what followed them there is likely to follow again.
//!
//! The index is that of LZ77 compressors: for each pair of tokens the places that it stood at, as a
//! chain from the last to the first. Invariants: a lookup costs O(1), whatever the text, and a
//! token is indexed once (amortised, as the table of chains grows); 12 bytes per token at most. It
//! knows nothing but the sequence's tokens, which never change.

use super::source::DraftSource;

/// Shortest match, in tokens.
const SHORTEST: usize = 2;
/// Longest match that is measured, in tokens; longer ones are equally good.
const LONGEST: usize = 16;
/// Maximum number of places that are compared.
const CANDIDATES: usize = 32;
/// Minimum number of chains.
const CHAINS: usize = 64;

/// The places of one sequence's pairs of tokens. A place is the number of tokens before it.
#[derive(Debug, Default)]
pub(super) struct PromptLookup {
    /// For each hash of two tokens, the last place behind such a pair, 0 where there is none. The
    /// length is a power of two.
    last: Vec<u32>,
    /// For each place, the one before it in its chain, or 0.
    before: Vec<u32>,
    /// Distance from the place that the last draft was copied from to the sequence's end then. The
    /// next draft likely has the same distance.
    distance: usize,
}

impl DraftSource for PromptLookup {
    /// Text that repeats itself is copied beyond its end. A draft is at most twice as long as what
    /// matched before it.
    fn propose(&mut self, tokens: &[u32], most: usize, draft: &mut Vec<u32>) {
        self.index(tokens);
        let Some((matched, place)) = self.find(tokens) else { return };
        self.distance = tokens.len() - place;
        for at in place..place + most.min(matched * 2) {
            let token = tokens.get(at).or_else(|| draft.get(at - tokens.len())).copied();
            draft.extend(token);
        }
    }
}

impl PromptLookup {
    /// Adds the places before the end of `tokens`.
    fn index(&mut self, tokens: &[u32]) {
        if self.last.len() < tokens.len() {
            self.last = vec![0; tokens.len().next_power_of_two().max(CHAINS)];
            self.before.clear();
        }
        for place in self.before.len()..tokens.len() {
            let before = if place < SHORTEST {
                0
            } else {
                let chain = self.chain(&tokens[..place]);
                let narrow = u32::try_from(place).expect("sequences are shorter than 2^32 tokens");
                std::mem::replace(&mut self.last[chain], narrow)
            };
            self.before.push(before);
        }
    }

    /// Index of the chain for the last two of `tokens`.
    fn chain(&self, tokens: &[u32]) -> usize {
        let pair = tokens[tokens.len() - SHORTEST..].iter().fold(0, |pair, id| pair << 32 | u64::from(*id));
        let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(hash).expect("32 bits") & (self.last.len() - 1)
    }

    /// Finds the longest match with the end of `tokens`. Returns its length and the place behind
    /// it. Of several matches it is the one nearest to where the last draft goes on, without a last
    /// draft the one nearest to the end.
    fn find(&self, tokens: &[u32]) -> Option<(usize, usize)> {
        if tokens.len() < SHORTEST {
            return None;
        }
        let expected = tokens.len() - self.distance;
        if self.distance > 0 && matched(tokens, expected) == LONGEST {
            return Some((LONGEST, expected));
        }
        let last = self.last[self.chain(tokens)];
        let places = std::iter::successors(Some(last), |place| Some(self.before[*place as usize]));
        let places = places.take_while(|place| *place > 0).take(CANDIDATES).map(|place| place as usize);
        let near = (self.distance > 0).then_some(expected);
        near.into_iter()
            .chain(places)
            .map(|place| (matched(tokens, place), place))
            .filter(|(matched, _)| *matched >= SHORTEST)
            .max_by_key(|(matched, place)| (*matched, std::cmp::Reverse(place.abs_diff(expected))))
    }
}

/// How many tokens before `place` are also at the end of `tokens`, up to `LONGEST`.
fn matched(tokens: &[u32], place: usize) -> usize {
    let pairs = tokens[..place].iter().rev().zip(tokens.iter().rev());
    pairs.take(LONGEST).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draft(lookup: &mut PromptLookup, tokens: &[u32], most: usize) -> Vec<u32> {
        let mut draft = Vec::new();
        lookup.propose(tokens, most, &mut draft);
        draft
    }

    fn once(tokens: &[u32], most: usize) -> Vec<u32> {
        draft(&mut PromptLookup::default(), tokens, most)
    }

    #[test]
    fn what_followed_the_same_tokens_before_is_drafted() {
        assert_eq!(once(&[1, 2, 3, 4, 9, 1, 2], 2), [3, 4]);
        assert_eq!(once(&[1, 2, 3, 4, 9, 1, 2], 9), [3, 4, 9, 1], "twice the match at most");
        assert!(once(&[1, 2, 3, 4, 9, 7, 2], 9).is_empty(), "one token is too little");
        for short in [&[][..], &[1], &[1, 1]] {
            assert!(once(short, 9).is_empty());
        }
    }

    #[test]
    fn longest_match_counts_and_of_equal_ones_the_last() {
        assert_eq!(once(&[5, 1, 2, 3, 8, 6, 1, 2, 4, 8, 5, 1, 2], 1), [3]);
        assert_eq!(once(&[1, 2, 3, 9, 1, 2, 4, 8, 1, 2], 1), [4]);
    }

    #[test]
    fn text_that_repeats_itself_is_copied_beyond_its_end() {
        assert_eq!(once(&[7, 1, 2, 1, 2, 1, 2], 6), [1, 2, 1, 2, 1, 2]);
        assert_eq!(once(&[4, 4, 4], 4), [4, 4, 4, 4]);
    }

    #[test]
    fn draft_behind_an_edit_follows_its_last_source() {
        // The same pair (1, 2) stands everywhere; what is copied is the first part, with one token
        // changed.
        let mut tokens: Vec<u32> = (0..20).flat_map(|line| [1, 2, 100 + line]).collect();
        tokens.extend([9, 9, 1, 2, 100, 1, 2]);
        let mut lookup = PromptLookup::default();
        assert_eq!(draft(&mut lookup, &tokens, 1), [101]);
        tokens.extend([101, 1, 2, 77, 1, 2]);
        assert_eq!(draft(&mut lookup, &tokens, 4), [103, 1, 2, 104]);
    }

    proptest! {
        /// The index, grown token by token, against a search through the whole text.
        #[test]
        fn draft_follows_a_match_and_few_matches_are_all_seen(
            tokens in prop::collection::vec(0..6u32, 2..200),
        ) {
            let mut lookup = PromptLookup::default();
            for end in 2..=tokens.len() {
                let text = &tokens[..end];
                let found = draft(&mut lookup, text, 1);
                let places: Vec<usize> = (2..end).filter(|place| matched(text, *place) >= SHORTEST).collect();
                let longest = places.iter().map(|place| matched(text, *place)).max();
                match (places.len(), &found[..]) {
                    (0, drafted) => prop_assert!(drafted.is_empty()),
                    (_, [token]) => {
                        let follows = |place: &&usize| text[**place] == *token;
                        let best = places.iter().filter(follows).map(|place| matched(text, *place)).max();
                        prop_assert!(best.is_some(), "{} never followed", token);
                        prop_assert!(places.len() > CANDIDATES || best == longest);
                    }
                    (_, drafted) => prop_assert!(false, "{:?}", drafted),
                }
            }
            prop_assert!(lookup.last.len() + lookup.before.len() <= 3 * tokens.len().max(CHAINS));
        }
    }
}

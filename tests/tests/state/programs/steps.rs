//! The steps of random programs.

use proptest::prelude::*;

use super::KEYS;

/// A step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A response: whose, after which one of theirs, and how.
    Create {
        owner: usize,
        parent: Option<prop::sample::Index>,
        how: How,
        text: &'static str,
    },
    /// A response in the owner's conversation.
    Converse {
        owner: usize,
    },
    Cancel {
        owner: usize,
        which: prop::sample::Index,
    },
    /// Deletes a response; one that was continued before.
    Delete {
        owner: usize,
        which: prop::sample::Index,
        continued: bool,
    },
    /// Events of a response, behind a number.
    Resume {
        owner: usize,
        which: prop::sample::Index,
        after: u64,
    },
    /// A response that goes on from the summary of a chain.
    Compact {
        owner: usize,
        which: prop::sample::Index,
    },
    /// What wasn't used for a day is too old.
    Evict,
    Restart,
}

/// How a response is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Whole,
    Streamed,
    Background,
}

/// Any step.
pub(super) fn step() -> impl Strategy<Value = Step> {
    let owner = 0..KEYS.len();
    let which = any::<prop::sample::Index>();
    let how = prop_oneof![Just(How::Whole), Just(How::Streamed), Just(How::Background)];
    let text = prop_oneof![4 => Just("2+2?"), 1 => Just("long")];
    let parent = prop::option::weighted(0.7, which.clone());
    prop_oneof![
        8 => (owner.clone(), parent, how, text)
            .prop_map(|(owner, parent, how, text)| Step::Create { owner, parent, how, text }),
        2 => owner.clone().prop_map(|owner| Step::Converse { owner }),
        2 => (owner.clone(), which.clone()).prop_map(|(owner, which)| Step::Cancel { owner, which }),
        3 => (owner.clone(), which.clone(), any::<bool>())
            .prop_map(|(owner, which, continued)| Step::Delete { owner, which, continued }),
        2 => (owner.clone(), which.clone()).prop_map(|(owner, which)| Step::Compact { owner, which }),
        4 => (owner, which, 0..80u64).prop_map(|(owner, which, after)| Step::Resume { owner, which, after }),
        1 => Just(Step::Evict),
        1 => Just(Step::Restart),
    ]
}

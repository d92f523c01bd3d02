//! The steps of random programs.

use proptest::prelude::*;
use store::Status;

/// A response or conversation by its owner's and its own number; both owners use the same ids.
pub(crate) type Name = (u8, u8);

/// A step of a random program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create { name: Name, link: Option<(bool, u8)>, background: bool, size: usize, items: Vec<u8> },
    Append { lease: prop::sample::Index, count: u64, skip: i64 },
    Again(prop::sample::Index),
    AddOutput(prop::sample::Index),
    Finish { lease: prop::sample::Index, status: Status, size: usize, last: u64 },
    Renew(prop::sample::Index),
    Release(prop::sample::Index),
    Fence(Name),
    Delete(Name),
    Claim,
    Sweep,
    ConversationCreate(Name, Vec<u8>),
    ConversationAppend(Name, Vec<u8>),
    ConversationRemove(Name, u8),
    ConversationDelete(Name),
    Read(Name),
    Evict,
    Advance(u64),
    Reopen,
}

/// Ids of each owner.
pub(crate) const IDS: u8 = 6;

/// Any step.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    let name = || (0..2_u8, 0..IDS);
    let items = || prop::collection::vec(0..9_u8, 0..3);
    let index = any::<prop::sample::Index>;
    let status = prop_oneof![
        4 => Just(Status::Completed), 1 => Just(Status::Incomplete), 1 => Just(Status::Cancelled), 1 => Just(Status::Failed)
    ];
    prop_oneof![
        8 => (name(), prop::option::weighted(0.7, (any::<bool>(), 0..IDS)), prop::bool::weighted(0.4), 0..900_usize, items())
            .prop_map(|(name, link, background, size, items)| Step::Create { name, link, background, size, items }),
        5 => (index(), 1..99_u64, prop_oneof![3 => Just(0), 1 => -20..3_i64])
            .prop_map(|(lease, count, skip)| Step::Append { lease, count, skip }),
        5 => index().prop_map(Step::Again),
        2 => index().prop_map(Step::AddOutput),
        7 => (index(), status, 0..900_usize, 0..9_u64)
            .prop_map(|(lease, status, size, last)| Step::Finish { lease, status, size, last }),
        1 => index().prop_map(Step::Renew),
        2 => index().prop_map(Step::Release),
        2 => name().prop_map(Step::Fence),
        3 => name().prop_map(Step::Delete),
        4 => Just(Step::Claim),
        2 => Just(Step::Sweep),
        3 => (name(), items()).prop_map(|(name, items)| Step::ConversationCreate(name, items)),
        2 => (name(), items()).prop_map(|(name, items)| Step::ConversationAppend(name, items)),
        1 => (name(), 0..9_u8).prop_map(|(name, item)| Step::ConversationRemove(name, item)),
        1 => name().prop_map(Step::ConversationDelete),
        2 => name().prop_map(Step::Read),
        2 => Just(Step::Evict),
        4 => prop_oneof![Just(5), Just(20)].prop_map(Step::Advance),
        1 => prop_oneof![Just(3600), Just(10 * 24 * 3600)].prop_map(Step::Advance),
        1 => Just(Step::Reopen),
    ]
}

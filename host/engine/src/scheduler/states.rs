//! States of sequences, in a model whose layers keep states: which rows of a step may be taken back,
//! and where a snapshot is saved.
//!
//! Snapshots are saved behind whole blocks, since the prefix cache finds whole blocks: near the end
//! of a prompt; where a prompt departs from one that is cached; of an answer every
//! [`ANSWER_TOKENS`], where each replaces the one before; and of a long prompt every
//! [`PROMPT_TOKENS`], as long as there is room. So a conversation that only grows is computed again
//! from fewer than [`END_MARGIN`] tokens and a block before the prompt's end on, or from fewer than
//! [`ANSWER_TOKENS`] before the answer's end on.

use crate::batch::{Batch, StateEdit};
use crate::blocks::{BlockPool, SnapshotKind};
use crate::sequence::Sequence;

/// Number of a prompt's last tokens that its snapshot leaves out: templates write the beginning of
/// an answer otherwise once it is history.
pub(crate) const END_MARGIN: usize = 8;
/// Distance of snapshots of an answer, in tokens.
pub(crate) const ANSWER_TOKENS: usize = 64;
/// Distance of snapshots within a long prompt, in tokens.
pub(super) const PROMPT_TOKENS: usize = 2048;

/// Tokens behind a snapshot within which a departure isn't worth another one: conversations depart
/// from their last turn just behind its snapshot.
const LEAST_DEPARTURE: usize = 32;

/// A snapshot that a step saves.
#[derive(Debug, Clone, Copy)]
pub(super) struct SavedState {
    pub(super) snapshot: u32,
    /// Number of tokens that the state has seen.
    pub(super) position: usize,
    pub(super) kind: SnapshotKind,
}

/// Adds to the batch what its last sequence, whose rows were just added, does to its state. Returns
/// the snapshots that it saves; the one that it loads stays in its table.
pub(super) fn push(batch: &mut Batch, sequence: &mut Sequence, pool: &mut BlockPool) -> Vec<SavedState> {
    let lane = sequence.lane.expect("who is planned holds blocks");
    let (from, end) = (sequence.computed, sequence.computed + sequence.scheduled);
    if let Some(snapshot) = sequence.table.snapshot_to_load() {
        batch.state_edits.push(StateEdit::Load { lane, snapshot });
        pool.end_load(&mut sequence.table);
    }
    let tentative = end.saturating_sub(from.max(certain(sequence)));
    if tentative > 0 {
        batch.state_edits.push(StateEdit::Tentative { lane, rows: narrow(tentative) });
    }
    let first_row = batch.tokens.len() - (end - from);
    let saves = saves(sequence, pool, from..end.min(sequence.length()));
    batch.state_edits.extend(saves.iter().map(|save| {
        let row = narrow(first_row + save.position - 1 - from);
        StateEdit::Save { row, snapshot: save.snapshot }
    }));
    saves
}

/// Number of a sequence's tokens that are never computed again as long as it holds its blocks: all
/// that are no draft, but for the last one if its mask may be late.
fn certain(sequence: &Sequence) -> usize {
    sequence.length() - usize::from(sequence.mask.is_some())
}

/// Snapshots of a sequence's state behind tokens of `range`, the last first, so that it gets one
/// where there are few. Of an answer only the last one is saved.
fn saves(sequence: &Sequence, pool: &mut BlockPool, range: std::ops::Range<usize>) -> Vec<SavedState> {
    let block = pool.block_size();
    let mut saves: Vec<SavedState> = Vec::new();
    for position in (range.start / block + 1..=range.end / block).rev().map(|blocks| blocks * block) {
        let Some(kind) = kind_at(position, sequence, block) else { continue };
        if kind == SnapshotKind::Answer && saves.iter().any(|save| save.kind == kind) {
            continue;
        }
        let Some(snapshot) = pool.take_snapshot(&sequence.table, position, kind) else { continue };
        saves.push(SavedState { snapshot, position, kind });
    }
    saves
}

/// Why a state is saved that has seen this many tokens, a multiple of the block's size; `None`: it
/// isn't.
fn kind_at(position: usize, sequence: &Sequence, block: usize) -> Option<SnapshotKind> {
    let prompt = sequence.prompt;
    let prompt_end = prompt.saturating_sub(END_MARGIN) / block * block;
    if position == prompt_end {
        Some(if sequence.opens_turn { SnapshotKind::TurnEnd } else { SnapshotKind::End })
    } else if position == sequence.table.matched_blocks() * block
        && position > sequence.cached.unwrap_or(0) + LEAST_DEPARTURE
    {
        Some(SnapshotKind::Departure)
    } else if position > prompt && position.is_multiple_of(ANSWER_TOKENS) {
        Some(SnapshotKind::Answer)
    } else if position < prompt_end && position.is_multiple_of(PROMPT_TOKENS) {
        Some(SnapshotKind::Prompt)
    } else {
        None
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer rows than tokens")
}

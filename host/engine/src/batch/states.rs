//! What a step does to the states of its sequences, checked against what each state has seen: the
//! part of a batch's meaning that every runner with states shares.

use super::{Batch, BatchError, StateEdit};
use crate::shape::RunnerShape;

/// Number of tokens that each state of a runner has seen.
#[derive(Debug, Clone, Default)]
pub struct StateTable {
    /// By lane: tokens that are certain, and rows behind them that may be taken back.
    lanes: Vec<(u32, u32)>,
    /// By snapshot; 0: never saved.
    snapshots: Vec<u32>,
}

/// What a step does to states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatePlan {
    /// (snapshot, lane) of states to load before the first row.
    pub loads: Vec<(usize, usize)>,
    /// `[s]`: states of the batch's sequences.
    pub sequences: Vec<SequenceState>,
}

/// What a step does to the state of one sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceState {
    /// State before the first row.
    pub start: StateStart,
    /// Number of the last rows that may be taken back.
    pub tentative: usize,
    /// (number of the sequence's rows, snapshot) of states to save, in the order of rows.
    pub saves: Vec<(usize, usize)>,
}

/// State of a sequence before its first row in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateStart {
    /// No token has been seen.
    Empty,
    /// The lane's state, after this many of the rows that might have been taken back.
    Lane {
        /// Number of rows that were right.
        accepted: usize,
    },
}

impl StateTable {
    /// States of a runner of this shape, none of which has seen anything.
    pub fn new(shape: &RunnerShape) -> Self {
        let snapshots = shape.states.map_or(0, |states| states.snapshots);
        Self { lanes: vec![(0, 0); shape.lanes], snapshots: vec![0; snapshots] }
    }
}

impl Batch {
    /// What the batch, which was checked for a runner of this shape, does to states. Brings the
    /// table up to date.
    pub fn plan_states(&self, shape: &RunnerShape, table: &mut StateTable) -> Result<StatePlan, BatchError> {
        let mut plan = StatePlan::default();
        for edit in &self.state_edits {
            if let StateEdit::Load { lane, snapshot } = *edit {
                let seen = table.snapshots.get(snapshot as usize).filter(|seen| **seen > 0);
                let seen = *seen.ok_or(BatchError::StateEdit(*edit))?;
                let of_lane = self.lanes.contains(&lane).then(|| &mut table.lanes[lane as usize]);
                *of_lane.ok_or(BatchError::StateEdit(*edit))? = (seen, 0);
                plan.loads.push((snapshot as usize, lane as usize));
            }
        }
        for sequence in 0..self.sequences() {
            plan.sequences.push(self.state_of(sequence, table)?);
        }
        for edit in &self.state_edits {
            self.plan_edit(*edit, shape, &mut plan, table).ok_or(BatchError::StateEdit(*edit))?;
        }
        for sequence in &mut plan.sequences {
            sequence.saves.sort_unstable();
        }
        Ok(plan)
    }

    /// The state of a sequence, whose rows are all certain so far.
    fn state_of(&self, sequence: usize, table: &mut StateTable) -> Result<SequenceState, BatchError> {
        let rows = self.starts[sequence + 1] - self.starts[sequence];
        let position = self.context_lens[sequence] - rows;
        let (certain, tentative) = std::mem::replace(
            &mut table.lanes[self.lanes[sequence] as usize],
            (self.context_lens[sequence], 0),
        );
        let start = match position.checked_sub(certain) {
            _ if position == 0 => StateStart::Empty,
            Some(accepted) if accepted <= tentative => StateStart::Lane { accepted: accepted as usize },
            _ => return Err(BatchError::State { sequence, position, certain, tentative }),
        };
        Ok(SequenceState { start, tentative: 0, saves: Vec::new() })
    }

    /// Adds an edit to the plan; `None` where it doesn't fit the batch.
    fn plan_edit(
        &self,
        edit: StateEdit,
        shape: &RunnerShape,
        plan: &mut StatePlan,
        table: &mut StateTable,
    ) -> Option<()> {
        match edit {
            StateEdit::Load { .. } => {}
            StateEdit::Save { row, snapshot } => {
                let of_table = table.snapshots.get_mut(snapshot as usize)?;
                let seen = self.positions.get(row as usize)? + 1;
                let mut saves = plan.sequences.iter().flat_map(|one| &one.saves);
                if saves.any(|(_, taken)| *taken == snapshot as usize) {
                    return None;
                }
                let sequence = self.starts.partition_point(|start| *start <= row) - 1;
                let rows = row - self.starts[sequence] + 1;
                plan.sequences.get_mut(sequence)?.saves.push((rows as usize, snapshot as usize));
                *of_table = seen;
            }
            StateEdit::Tentative { lane, rows } => {
                let sequence = self.lanes.iter().position(|one| *one == lane)?;
                let all = self.starts[sequence + 1] - self.starts[sequence];
                let most = shape.states.map_or(0, |states| states.tentative);
                if rows > all || rows as usize > most {
                    return None;
                }
                plan.sequences[sequence].tentative = rows as usize;
                table.lanes[lane as usize] = (self.context_lens[sequence] - rows, rows);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::StatesShape;

    fn shape() -> RunnerShape {
        let states = Some(StatesShape { snapshots: 2, tentative: 3 });
        RunnerShape { states, ..crate::tests::fake::shape(8, 4) }
    }

    /// A batch of `rows` rows of lane 1 that end with token `end`.
    fn batch(rows: u32, end: u32, state_edits: Vec<StateEdit>) -> Batch {
        Batch {
            tokens: vec![1; rows as usize],
            positions: (end - rows..end).collect(),
            starts: vec![0, rows],
            context_lens: vec![end],
            lanes: vec![1],
            state_edits,
            ..Batch::default()
        }
    }

    #[test]
    fn states_go_on_only_from_what_they_have_seen() {
        let (shape, mut table) = (shape(), StateTable::new(&shape()));
        let tentative = |rows| vec![StateEdit::Tentative { lane: 1, rows }];
        let start = |table: &mut StateTable, batch: Batch| {
            batch.plan_states(&shape, table).map(|plan| plan.sequences[0].start)
        };
        assert_eq!(start(&mut table, batch(5, 5, tentative(3))), Ok(StateStart::Empty));
        let accepted = |accepted| Ok(StateStart::Lane { accepted });
        assert_eq!(start(&mut table.clone(), batch(1, 3, Vec::new())), accepted(0));
        assert_eq!(start(&mut table.clone(), batch(1, 6, Vec::new())), accepted(3));
        let wrong = BatchError::State { sequence: 0, position: 1, certain: 2, tentative: 3 };
        assert_eq!(start(&mut table.clone(), batch(1, 2, Vec::new())), Err(wrong));
        assert!(start(&mut table.clone(), batch(1, 7, Vec::new())).is_err(), "a row was left out");
        assert!(start(&mut table.clone(), batch(5, 5, tentative(4))).is_err(), "more than there is room for");
        assert_eq!(start(&mut table, batch(2, 2, Vec::new())), Ok(StateStart::Empty), "begun anew");
    }

    #[test]
    fn snapshots_bring_back_the_place_where_they_were_saved() {
        let (shape, mut table) = (shape(), StateTable::new(&shape()));
        let load = |snapshot| vec![StateEdit::Load { lane: 1, snapshot }];
        assert!(batch(1, 5, load(0)).plan_states(&shape, &mut table).is_err(), "never saved");
        let save = |row, snapshot| StateEdit::Save { row, snapshot };
        let saved = batch(6, 6, vec![save(5, 0), save(3, 1)]).plan_states(&shape, &mut table).unwrap();
        assert_eq!(saved.sequences[0].saves, [(4, 1), (6, 0)]);
        let plan = batch(1, 5, load(1)).plan_states(&shape, &mut table).unwrap();
        assert_eq!((plan.loads, plan.sequences[0].start), (vec![(1, 1)], StateStart::Lane { accepted: 0 }));
        assert!(batch(1, 6, load(1)).plan_states(&shape, &mut table).is_err(), "saved behind four tokens");
        let both = batch(1, 5, [load(1), vec![save(0, 1)]].concat()).plan_states(&shape, &mut table).unwrap();
        assert_eq!(
            (both.loads, &both.sequences[0].saves[..]),
            (vec![(1, 1)], &[(1, 1)][..]),
            "loads come first"
        );
        for wrong in [vec![save(2, 0), save(3, 0)], vec![save(9, 0)], vec![save(0, 2)], load(9)] {
            assert!(batch(6, 6, wrong.clone()).plan_states(&shape, &mut table).is_err(), "{wrong:?}");
        }
    }
}

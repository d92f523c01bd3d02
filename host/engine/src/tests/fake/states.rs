//! States of the fake model: a lane's is the value of the last token that it has seen.

use std::collections::HashMap;

use crate::batch::{Batch, BatchError, StatePlan, StateStart, StateTable};
use crate::runner::RunnerShape;

pub(super) struct FakeStates {
    table: StateTable,
    /// Per lane: value of the last certain token, and of the tokens behind it that may be taken
    /// back.
    lanes: HashMap<usize, (u64, Vec<u64>)>,
    /// Per snapshot: the value.
    snapshots: HashMap<usize, u64>,
}

impl FakeStates {
    pub(super) fn new(shape: &RunnerShape) -> Self {
        Self { table: StateTable::new(shape), lanes: HashMap::new(), snapshots: HashMap::new() }
    }

    /// Loads snapshots, and brings each lane's state to where its first row begins.
    pub(super) fn begin(&mut self, shape: &RunnerShape, batch: &Batch) -> Result<StatePlan, BatchError> {
        if shape.states.is_none() {
            assert_eq!(batch.state_edits, []);
            return Ok(StatePlan::default());
        }
        let plan = batch.plan_states(shape, &mut self.table)?;
        for (snapshot, lane) in &plan.loads {
            self.lanes.insert(*lane, (self.snapshots[snapshot], Vec::new()));
        }
        for (lane, sequence) in batch.lanes.iter().zip(&plan.sequences) {
            let state = self.lanes.entry(*lane as usize).or_default();
            match sequence.start {
                StateStart::Empty => *state = (0, Vec::new()),
                StateStart::Lane { accepted: 0 } => state.1.clear(),
                StateStart::Lane { accepted } => *state = (state.1[accepted - 1], Vec::new()),
            }
        }
        Ok(plan)
    }

    /// Advances the state of a sequence by its row `row`, which has the value `value`; `before` is
    /// that of the token before.
    pub(super) fn advance(
        &mut self,
        plan: &StatePlan,
        batch: &Batch,
        (sequence, row): (usize, u32),
        (before, value): (u64, u64),
    ) {
        let Some(of_plan) = plan.sequences.get(sequence) else { return };
        let lane = batch.lanes[sequence] as usize;
        let (certain, tentative) = self.lanes.get_mut(&lane).expect("it has begun");
        let state = tentative.last().unwrap_or(certain);
        assert_eq!(*state, before, "the state of lane {lane} has seen other tokens");
        if (batch.starts[sequence + 1] - row) as usize <= of_plan.tentative {
            tentative.push(value);
        } else {
            *certain = value;
        }
        let seen = (row - batch.starts[sequence]) as usize + 1;
        let saved = of_plan.saves.iter().filter(|(rows, _)| *rows == seen);
        self.snapshots.extend(saved.map(|(_, snapshot)| (*snapshot, value)));
    }
}

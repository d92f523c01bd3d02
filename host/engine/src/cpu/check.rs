//! Checks of a batch: every index within its bounds, and the parts of the description in agreement.

use crate::batch::{Batch, RunnerShape};

/// Says what is wrong with a batch.
pub(super) fn batch(batch: &Batch, shape: &RunnerShape) -> Result<(), String> {
    let n = batch.tokens.len();
    if batch.positions.len() != n || batch.slots.len() != n {
        return Err(format!("{n} tokens, {} positions, {} slots", batch.positions.len(), batch.slots.len()));
    }
    let s = batch.sequences();
    if batch.starts.len() != s + 1 || batch.starts[0] != 0 || batch.starts[s] as usize != n {
        return Err(format!("starts of {s} sequences: {:?}", batch.starts));
    }
    if batch.block_tables.len() != s * batch.table_width {
        return Err(format!("block tables of {s} sequences: {} entries", batch.block_tables.len()));
    }
    if let Some(token) = batch.tokens.iter().find(|t| **t as usize >= shape.vocab) {
        return Err(format!("token {token} is not below {}", shape.vocab));
    }
    if !batch.logit_rows.is_sorted() || batch.logit_rows.last().is_some_and(|row| *row as usize >= n) {
        return Err(format!("logit rows of {n} tokens: {:?}", batch.logit_rows));
    }
    (0..s).try_for_each(|i| sequence(batch, shape, i).map_err(|reason| format!("sequence {i}: {reason}")))
}

fn sequence(batch: &Batch, shape: &RunnerShape, i: usize) -> Result<(), String> {
    let (start, end) = (batch.starts[i] as usize, batch.starts[i + 1] as usize);
    let context = batch.context_lens[i] as usize;
    if start >= end || end > batch.tokens.len() || context < end - start || context > shape.context {
        return Err(format!("rows {start} to {end} of {context} tokens"));
    }
    let blocks = context.div_ceil(shape.block_size);
    let table = &batch.block_tables[i * batch.table_width..][..batch.table_width];
    let Some(table) = table.get(..blocks) else {
        return Err(format!("{context} tokens need {blocks} blocks, the table has {}", table.len()));
    };
    if let Some(block) = table.iter().find(|block| **block as usize >= shape.blocks) {
        return Err(format!("block {block} is not below {}", shape.blocks));
    }
    for (row, position) in (start..end).zip(context - (end - start)..) {
        let slot =
            table[position / shape.block_size] as usize * shape.block_size + position % shape.block_size;
        if batch.positions[row] as usize != position || batch.slots[row] as usize != slot {
            let (found, at) = (batch.positions[row], batch.slots[row]);
            return Err(format!("row {row}: position {found} in slot {at}, expected {position} in {slot}"));
        }
    }
    Ok(())
}

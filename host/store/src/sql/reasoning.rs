//! The end of reasoning that one host asks another one for: a row for each response, which goes when its
//! outcome isn't looked for any more.

use std::time::Duration;

use super::database::params;
use super::row::ResponseRow;
use super::session::Session;
use crate::bounds::millis;
use crate::{Owner, ReasoningOutcome, Result};

/// Time for which what was asked is kept: nobody waits as long.
const KEPT: Duration = Duration::from_mins(1);

pub(crate) fn ask(s: &Session, owner: &Owner, id: &str) -> Result<bool> {
    let row = ResponseRow::find(s, owner, id)?;
    s.run("DELETE FROM reasoning WHERE asked + ? <= ?", params![millis(KEPT), s.lease_now()])?;
    let asked = s.run(
        "INSERT INTO reasoning (response, host, asked, outcome) SELECT key, host, ?2, NULL FROM response \
         WHERE key = ?1 AND ended IS NULL AND lease > ?2 AND host <> ?3 \
         ON CONFLICT (response) DO UPDATE SET host = excluded.host, asked = excluded.asked, outcome = NULL",
        params![row.key, s.lease_now(), &*s.host()],
    )?;
    Ok(asked > 0)
}

pub(crate) fn asked(s: &Session) -> Result<Vec<(Owner, String)>> {
    let sql = "SELECT owner.name, response.id FROM reasoning JOIN response ON response.key = reasoning.response \
         JOIN owner ON owner.key = response.owner WHERE reasoning.host = ? AND outcome IS NULL";
    s.all(sql, params![&*s.host()], |row| Ok((Owner::new(&row.get::<String>(0)?), row.get(1)?)))
}

pub(crate) fn answer(s: &Session, owner: &Owner, id: &str, outcome: ReasoningOutcome) -> Result<()> {
    let row = ResponseRow::find(s, owner, id)?;
    s.run(
        "UPDATE reasoning SET outcome = ? WHERE response = ? AND host = ?",
        params![number(outcome), row.key, &*s.host()],
    )?;
    Ok(())
}

pub(crate) fn outcome(s: &Session, owner: &Owner, id: &str) -> Result<Option<ReasoningOutcome>> {
    let row = ResponseRow::find(s, owner, id)?;
    let sql = "SELECT outcome FROM reasoning WHERE response = ?";
    let found = s.first(sql, params![row.key], |row| row.get::<Option<u64>>(0))?.flatten();
    let outcomes = [ReasoningOutcome::Ends, ReasoningOutcome::NotReasoning, ReasoningOutcome::NotEndable];
    let said = outcomes.into_iter().find(|&outcome| Some(number(outcome)) == found);
    Ok(said.or(row.ended.is_some().then_some(ReasoningOutcome::NotReasoning)))
}

/// What is stored of an outcome.
fn number(outcome: ReasoningOutcome) -> u64 {
    match outcome {
        ReasoningOutcome::Ends => 0,
        ReasoningOutcome::NotReasoning => 1,
        ReasoningOutcome::NotEndable => 2,
    }
}

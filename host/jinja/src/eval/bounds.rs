//! Bounds of a run: its time, its stack, the size of its texts, and the memory of all that it
//! makes.
//!
//! Invariant: what may be much larger than its operands is counted before it is made.

use super::Run;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;

/// Bounds of a run.
pub struct Limits<'a> {
    /// Maximum size of a text in bytes: of the output, and of every string that the template makes.
    pub text_bytes: usize,
    /// Whether the run has used all the time that it may. It is asked every few thousand steps.
    pub is_exhausted: &'a dyn Fn() -> bool,
}

/// Maximum size of the stack that a run's statements and expressions take. What walks a value needs
/// less than half as much again.
const MAX_STACK: usize = 1 << 20;
/// Number of texts of the maximum size that a run may make, added up.
const MAX_TEXTS: usize = 128;
/// Bytes that a short string takes, or a scope.
pub(super) const VALUE_BYTES: usize = 128;
/// Steps between two questions whether the time is used up.
pub(super) const CHECK_INTERVAL: u64 = 4096;
/// Bytes of text that count as one step.
pub(super) const BYTES_PER_STEP: usize = 64;

impl Run<'_> {
    /// Refuses to go deeper when the stack is used up.
    pub(super) fn check_stack(&self) -> Result<()> {
        if self.stack.abs_diff(stack_address()) > MAX_STACK {
            return Err(Error::runtime("the template calls itself too deeply"));
        }
        Ok(())
    }

    /// Counts memory.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<()> {
        self.made = self.made.saturating_add(bytes);
        if self.made > self.limits.text_bytes.saturating_mul(MAX_TEXTS) {
            return Err(Error::too_large());
        }
        self.charge(bytes / BYTES_PER_STEP)
    }

    /// Counts the memory of `count` new values, before they are made.
    pub(crate) fn allocate_values(&mut self, count: usize) -> Result<()> {
        self.allocate(count.saturating_mul(VALUE_BYTES))
    }

    /// Counts the memory of a list that shares its `count` values, before it is made.
    pub(crate) fn allocate_list(&mut self, count: usize) -> Result<()> {
        self.allocate(count.saturating_mul(size_of::<Value>()))
    }

    /// Counts the memory of a new text or mapping. Lists are counted before they are made.
    pub(crate) fn made(&mut self, value: Value) -> Result<Value> {
        self.allocate(match &value {
            Value::Text(text) => text.as_str().len(),
            Value::Dict(dict) => dict.entries.len() * VALUE_BYTES,
            _ => 0,
        })?;
        Ok(value)
    }

    /// Counts the work of a walk through values.
    pub(crate) fn charge_values(&mut self, values: &[Value]) -> Result<()> {
        self.charge(values.iter().map(Value::weight).sum())
    }

    /// Maximum size of a text in bytes.
    pub(crate) fn max_text(&self) -> usize {
        self.limits.text_bytes
    }

    /// Refuses a text of `len` bytes that is too large.
    pub(crate) fn check_size(&self, len: usize) -> Result<()> {
        if len > self.limits.text_bytes { Err(Error::too_large()) } else { Ok(()) }
    }

    /// Counts work.
    pub(crate) fn charge(&mut self, steps: usize) -> Result<()> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps >= self.next_check {
            self.next_check = self.steps.saturating_add(CHECK_INTERVAL);
            if (self.limits.is_exhausted)() {
                let message = "the template takes too long".to_owned();
                return Err(Error { kind: ErrorKind::Exhausted, message, line: None });
            }
        }
        Ok(())
    }

    /// Counts the work of a text of `len` bytes, before or after it is made.
    pub(crate) fn charge_text(&mut self, len: usize) -> Result<()> {
        self.check_size(len)?;
        self.charge(len / BYTES_PER_STEP)
    }
}

/// Address of the current place of the stack.
pub(super) fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

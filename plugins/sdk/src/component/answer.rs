//! A step as the canonical ABI lays it out in memory (`variant step` and `variant op` of the WIT file: a case, then its fields).

use crate::output::StepRef;
use contract::Op;

/// The answer to one call. The host reads it, and the memory it points to, right after the call.
#[repr(C)]
pub struct Lowered {
    case: u32,
    address: usize,
    count: usize,
    ops: Vec<[usize; 4]>,
}

impl Lowered {
    pub(super) const HOLD: Self = Self { case: 1, address: 0, count: 0, ops: Vec::new() };

    /// Lays out `answer`, whose memory must stay valid until the host has read it.
    #[inline]
    pub(super) fn set(&mut self, answer: StepRef<'_>) -> &Self {
        (self.case, self.address, self.count) = match answer {
            StepRef::Pass => (0, 0, 0),
            StepRef::Hold => (1, 0, 0),
            StepRef::Ops(ops) => {
                self.ops.clear();
                self.ops.extend(ops.iter().map(fields));
                (2, self.ops.as_ptr().expose_provenance(), ops.len())
            }
            StepRef::Fault(reason) => (3, reason.as_ptr().expose_provenance(), reason.len()),
        };
        self
    }
}

/// The fields of an op. Variants of the enumerations in [`contract`] have the order of the WIT file.
fn fields(op: &Op) -> [usize; 4] {
    match op {
        Op::Bytes(run) => [0, run.route as usize, run.bytes as usize, 0],
        Op::UntilMarker(route) => [1, *route as usize, 0, 0],
        Op::Message(phase) => [2, *phase as usize, 0, 0],
        Op::ToolCall(call) => [3, address(&call.name), call.name.len(), call.payload as usize],
        Op::Close => [4, 0, 0, 0],
        Op::DerivedArguments(text) => [5, address(text), text.len(), 0],
        Op::UntilByte(until) => [6, until.route as usize, address(&until.bytes), until.bytes.len()],
        Op::BrokenCall => [7, 0, 0, 0],
        Op::UntilJson(rest) => [8, rest.route as usize, rest.depth as usize, rest.in_string as usize],
    }
}

fn address(text: &str) -> usize {
    text.as_ptr().expose_provenance()
}

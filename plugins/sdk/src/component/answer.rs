//! A step as the canonical ABI lays it out in memory (`variant step` and `variant op` of the WIT
//! file: a case, then its fields).

use crate::output::StepRef;
use contract::{Op, Segment};

/// The answer to one call. The host reads it, and the memory it points to, right after the call.
#[repr(C)]
pub struct Lowered {
    case: u32,
    address: usize,
    count: usize,
    ops: Vec<[usize; 5]>,
    /// Steps of the ops' places.
    segments: Vec<[usize; 4]>,
}

impl Lowered {
    pub(super) const HOLD: Self =
        Self { case: 1, address: 0, count: 0, ops: Vec::new(), segments: Vec::new() };

    /// Lays out `answer`, whose memory must stay valid until the host has read it.
    #[inline]
    pub(super) fn set(&mut self, answer: StepRef<'_>) -> &Self {
        (self.case, self.address, self.count) = match answer {
            StepRef::Pass => (0, 0, 0),
            StepRef::Hold => (1, 0, 0),
            StepRef::Ops(ops) => {
                self.lower(ops);
                (2, self.ops.as_ptr().expose_provenance(), ops.len())
            }
            StepRef::Fault(reason) => (3, reason.as_ptr().expose_provenance(), reason.len()),
            StepRef::HoldUntil(hold) => (4, u32::from_le_bytes(hold.ends) as usize, hold.at_most as usize),
        };
        self
    }

    fn lower(&mut self, ops: &[Op]) {
        self.ops.clear();
        self.segments.clear();
        let steps = |op: &Op| if let Op::Parameter(value) = op { value.path.len() } else { 0 };
        // Addresses of segments stay valid, since the list doesn't grow after this.
        self.segments.reserve(ops.iter().map(steps).sum());
        for op in ops {
            let fields = fields(op, &mut self.segments);
            self.ops.push(fields);
        }
    }
}

/// The fields of an op. Variants of the enumerations in [`contract`] have the order of the WIT
/// file.
fn fields(op: &Op, segments: &mut Vec<[usize; 4]>) -> [usize; 5] {
    match op {
        Op::Bytes(run) => [0, run.route as usize, run.bytes as usize, 0, 0],
        Op::UntilMarker(route) => [1, *route as usize, 0, 0, 0],
        Op::Message(phase) => [2, address(phase), phase.len(), 0, 0],
        Op::ToolCall(call) => [3, address(&call.name), call.name.len(), call.payload as usize, 0],
        Op::Close => [4, 0, 0, 0, 0],
        Op::DerivedArguments(text) => [5, address(text), text.len(), 0, 0],
        Op::UntilByte(until) => [6, until.route as usize, address(&until.bytes), until.bytes.len(), 0],
        Op::BrokenCall => [7, 0, 0, 0, 0],
        Op::UntilJson(rest) => [8, rest.route as usize, rest.depth as usize, rest.in_string as usize, 0],
        Op::Parameter(value) => {
            let first = segments.len();
            segments.extend(value.path.iter().map(segment));
            let path = segments[first..].as_ptr().expose_provenance();
            [9, path, value.path.len(), value.reading as usize, 0]
        }
        Op::ParameterEnd => [10, 0, 0, 0, 0],
        Op::HoldUntil(hold) => [11, u32::from_le_bytes(hold.ends) as usize, hold.at_most as usize, 0, 0],
        Op::Note(note) => [12, address(&note.name), note.name.len(), address(&note.data), note.data.len()],
    }
}

fn segment(segment: &Segment) -> [usize; 4] {
    match segment {
        Segment::Key(key) => [0, address(key), key.len(), 0],
        Segment::Item(item) => [1, *item as usize, 0, 0],
        Segment::Element { name, index } => [2, address(name), name.len(), *index as usize],
    }
}

fn address(text: &str) -> usize {
    text.as_ptr().expose_provenance()
}

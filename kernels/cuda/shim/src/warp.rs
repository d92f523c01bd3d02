//! Operations of a warp: each lane of a mask brings its operands, and the last lane to arrive
//! computes for all of them.

use std::ffi::c_void;

/// Computes for all lanes of the mask, given the operands of each lane (null for lanes outside of
/// the mask).
pub(crate) type Compute = unsafe extern "C" fn(*const *mut c_void, u32);

/// An operation at which lanes wait.
#[derive(Debug)]
struct Pending {
    mask: u32,
    arrived: u32,
    compute: Compute,
    slots: [*mut c_void; 32],
}

/// Operations of a warp that are under way; lanes with disjoint masks may be at different ones.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pending: Vec<Pending>,
}

/// Result of a lane's arrival at an operation.
#[expect(clippy::large_enum_variant, reason = "it lives for a call")]
pub(crate) enum Arrived {
    /// Other lanes of the mask are missing; the lane waits.
    Waits,
    /// The lane was the last: all lanes of the mask may go on.
    Complete { compute: Compute, slots: [*mut c_void; 32] },
    /// Lanes of one mask are at different operations, or the lane isn't in its own mask.
    Wrong(&'static str),
}

impl Warp {
    pub(crate) fn arrive(&mut self, lane: u32, mask: u32, slot: *mut c_void, compute: Compute) -> Arrived {
        if mask >> lane & 1 == 0 {
            return Arrived::Wrong("a lane takes part in an operation of its warp whose mask leaves it out");
        }
        let at = self.pending.iter().position(|pending| pending.mask & mask != 0).unwrap_or_else(|| {
            self.pending.push(Pending { mask, arrived: 0, compute, slots: [std::ptr::null_mut(); 32] });
            self.pending.len() - 1
        });
        let pending = &mut self.pending[at];
        if pending.mask != mask || !std::ptr::fn_addr_eq(pending.compute, compute) {
            return Arrived::Wrong("lanes of one warp are at different operations");
        }
        pending.arrived |= 1 << lane;
        pending.slots[lane as usize] = slot;
        if pending.arrived != mask {
            return Arrived::Waits;
        }
        let Pending { compute, slots, .. } = self.pending.swap_remove(at);
        Arrived::Complete { compute, slots }
    }

    /// Mask of the lanes that others wait for.
    pub(crate) fn missing(&self) -> u32 {
        self.pending.iter().fold(0, |missing, pending| missing | pending.mask & !pending.arrived)
    }
}

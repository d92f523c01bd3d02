//! Operations of a warp: each lane of a mask hands in what it has; the last to come computes for all of them.

use std::ffi::c_void;

/// Computes for all lanes of the mask, given what each handed in (null for the others).
pub(crate) type Compute = unsafe extern "C" fn(*const *mut c_void, u32);

/// An operation that lanes wait for.
#[derive(Debug)]
struct Pending {
    mask: u32,
    arrived: u32,
    compute: Compute,
    slots: [*mut c_void; 32],
}

/// A warp's operations that are under way; lanes with disjoint masks have one each.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pending: Vec<Pending>,
}

/// What became of a lane's operation.
#[expect(clippy::large_enum_variant, reason = "it lives for a call")]
pub(crate) enum Arrived {
    /// Others are missing.
    Waits,
    /// It was the last: all of the mask may go on.
    Complete { compute: Compute, slots: [*mut c_void; 32] },
    /// Lanes of one mask are at different operations, or the lane isn't of its own mask.
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

    /// The lanes that somebody waits for.
    pub(crate) fn missing(&self) -> u32 {
        self.pending.iter().fold(0, |missing, pending| missing | pending.mask & !pending.arrived)
    }
}

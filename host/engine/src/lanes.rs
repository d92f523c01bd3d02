//! Lanes of a runner: slots for block tables and last samples, one for each sequence that holds KV
//! blocks.

/// Allocator of lanes. The lane freed last is allocated first, so that as few different lanes as
/// possible are ever used.
#[derive(Debug)]
pub(crate) struct Lanes {
    free: Vec<u32>,
    /// First of the lanes that were never allocated.
    fresh: u32,
    end: u32,
}

impl Lanes {
    /// Allocator with `lanes` lanes, all free.
    pub(crate) fn new(lanes: usize) -> Self {
        Self { free: Vec::new(), fresh: 0, end: u32::try_from(lanes).unwrap_or(u32::MAX) }
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty() || self.fresh < self.end
    }

    /// Allocates a lane; `None` where none is free.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let lane = (self.fresh < self.end).then_some(self.fresh)?;
            self.fresh += 1;
            Some(lane)
        })
    }

    pub(crate) fn free(&mut self, lane: u32) {
        self.free.push(lane);
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;

    #[test]
    fn a_lane_has_one_owner_and_is_given_out_again() {
        let mut lanes = Lanes::new(2);
        assert_eq!((lanes.allocate(), lanes.allocate()), (Some(0), Some(1)));
        assert_eq!((lanes.has_free(), lanes.allocate()), (false, None));
        lanes.free(0);
        assert_eq!((lanes.has_free(), lanes.allocate(), lanes.allocate()), (true, Some(0), None));
    }
}

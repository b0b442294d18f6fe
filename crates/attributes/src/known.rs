//! What is known of which nodes match: some do for sure, of others only their documents tell.

use roaring::RoaringBitmap;

/// Nodes that match for sure, and nodes that may; none is both.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Known {
    pub(crate) certain: RoaringBitmap,
    pub(crate) open: RoaringBitmap,
}

impl Known {
    pub(crate) fn exactly(certain: RoaringBitmap) -> Self {
        let open = RoaringBitmap::new();
        Self { certain, open }
    }

    pub(crate) fn perhaps(open: RoaringBitmap) -> Self {
        let certain = RoaringBitmap::new();
        Self { certain, open }
    }

    /// Nodes from 0 on.
    pub(crate) fn all(nodes: u32) -> Self {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..nodes);
        Self::exactly(all)
    }

    /// Nodes that match or may.
    fn possible(&self) -> RoaringBitmap {
        &self.certain | &self.open
    }

    pub(crate) fn and(&mut self, other: &Self) {
        if self.open.is_empty() && other.open.is_empty() {
            self.certain &= &other.certain;
            return;
        }
        let possible = self.possible() & other.possible();
        self.certain &= &other.certain;
        self.open = possible - &self.certain;
    }

    pub(crate) fn or(&mut self, other: &Self) {
        self.certain |= &other.certain;
        self.open |= &other.open;
        self.open -= &self.certain;
    }

    /// The nodes from 0 on that do not match, or may not.
    pub(crate) fn negated(self, nodes: u32) -> Self {
        let mut certain = Self::all(nodes).certain;
        certain -= &self.certain;
        certain -= &self.open;
        Self {
            certain,
            open: self.open,
        }
    }
}

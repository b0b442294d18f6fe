//! Savings of a design if the granted disk is too small for it.
//!
//! Each step goes further than the one before: lists are packed, which costs time to unpack them;
//! pages are larger, which wastes less at their ends and reads more bytes; pages that are nodes
//! keep fewer neighbours for each vector; codes in pages are shorter, and product codes, which rank
//! better where there are fewer than two bits per component.

use crate::spec::{IndexSpec, ListSpec, QuantizerSpec};

/// Largest page that pages grow to.
const PAGE_BYTES_MAX: u32 = 16 << 10;

/// The savings of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Thrift(u32);

impl Thrift {
    /// All steps.
    pub(super) fn steps() -> impl Iterator<Item = Self> {
        (1..=6).map(Self)
    }

    /// Applies the savings to a design.
    pub(super) fn apply(self, spec: &mut IndexSpec) {
        let layout = &mut spec.layout;
        if self.0 > 0 && spec.graph.has_lists() {
            layout.lists = ListSpec::Packed;
        }
        if self.shortens_codes() && !spec.storage.codes.is_memory() {
            let code_bytes = spec.storage.quantizer.code_bytes();
            spec.storage.quantizer = QuantizerSpec::Pq { code_bytes };
        }
        if layout.codec.is_page_node() {
            if self.0 >= 4 {
                layout.codec = layout.codec.with_half_shared_degree();
            }
        } else {
            let doublings = self.0.clamp(1, 3) - 1;
            let grown = layout.page_bytes << doublings;
            layout.page_bytes = grown.min(PAGE_BYTES_MAX.max(layout.page_bytes));
        }
    }

    const fn shortens_codes(self) -> bool {
        self.0 > 4
    }

    /// Bytes of a code in a page in place of `code_bytes`.
    pub(super) fn code_bytes(self, code_bytes: u32) -> u32 {
        let quarters = self.0.saturating_sub(4);
        (code_bytes * (4 - quarters) / 4).max(1)
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

    use super::*;
    use crate::memory::MemoryWish;
    use crate::options::BuildOptions;
    use crate::plan::index_bytes;
    use crate::presets::Preset;
    use crate::spec::Shape;

    const NODES: u32 = 1_000_000;

    /// Bytes of a design per byte of its vectors, and its spec.
    fn built(
        (element, dimension): (ElementType, u32),
        (memory, disk): (f64, Option<f64>),
    ) -> crate::error::Result<(f64, IndexSpec)> {
        let shape = Shape {
            dimension,
            element,
            metric: Metric::L2,
        };
        let options = BuildOptions {
            preset: Preset::Pageway,
            memory: Some(MemoryWish::Share(memory)),
            disk: disk.map(MemoryWish::Share),
            ..BuildOptions::default()
        };
        let spec = options.spec_for(shape, NODES)?;
        let raw = u64::from(NODES) * shape.vectors().row_bytes() as u64;
        Ok((index_bytes(&spec, NODES)? as f64 / raw as f64, spec))
    }

    #[test]
    fn a_design_takes_the_disk_that_it_is_granted_and_gives_up_no_more_than_that() {
        for (rows, memory, wishes) in [
            ((ElementType::F32, 384), 0.2, [1.3, 1.55]),
            ((ElementType::U8, 128), 0.1, [3.0, 5.0]),
        ] {
            let (free, own) = built(rows, (memory, None)).unwrap();
            let mut before = 0.0;
            for wish in wishes {
                let (taken, spec) = built(rows, (memory, Some(wish))).unwrap();
                assert!(taken <= wish && before < taken, "{rows:?} {wish}: {taken}");
                assert_ne!(spec.layout, own.layout);
                before = taken;
            }
            assert!(before < free, "{rows:?}: {free}");
            let enough = built(rows, (memory, Some(free + 0.01))).unwrap();
            assert_eq!(enough.1, own);
            let refused = built(rows, (memory, Some(1.0))).unwrap_err();
            assert!(refused.context().contains("a disk limit of"), "{refused}");
        }
    }
}

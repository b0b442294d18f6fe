//! Limits of a segment, and the number of segments that keep to them.

use crate::error::{Error, Result};
use crate::index::Index;
use crate::manifest::MAX_SEGMENTS;
use crate::options::{BuildInput, BuildOptions};

/// Limits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SegmentLimits {
    /// Its share of the memory of a search.
    pub memory_bytes: u64,
    /// Its files.
    pub disk_bytes: u64,
}

impl SegmentLimits {
    /// 2 GB of memory and 10 GB of disk: those that Starling takes a segment of a vector database
    /// to have (Wang et al., SIGMOD 2024, section 2).
    pub const STARLING: Self = Self {
        memory_bytes: 2_000_000_000,
        disk_bytes: 10_000_000_000,
    };

    /// As few segments as keep to the limits, of the design that `options` make of `input`.
    ///
    /// Costs what [`Index::outline`] does.
    ///
    /// # Errors
    /// Those of an outline; `InvalidInput` where an index cannot have so many segments.
    pub fn segments(&self, input: &BuildInput<'_>, options: &BuildOptions) -> Result<u32> {
        let outline = Index::outline(input, &options.clone().with_segments(1))?;
        let by_memory = outline.memory_bytes.div_ceil(self.memory_bytes.max(1));
        let by_disk = outline
            .footprint
            .disk_bytes
            .div_ceil(self.disk_bytes.max(1));
        let wanted = by_memory.max(by_disk).max(1);
        let fits = u32::try_from(wanted)
            .ok()
            .filter(|own| *own <= MAX_SEGMENTS);
        fits.ok_or_else(|| {
            Error::invalid(format!(
                "{wanted} segments would keep to these limits; an index has at most {MAX_SEGMENTS}"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, VectorShape};

    use super::*;
    use crate::memory::MemoryWish;
    use crate::source::VectorSlice;

    #[test]
    fn the_scarcer_limit_decides() {
        let shape = VectorShape {
            dimension: 8,
            element: ElementType::U8,
        };
        let rows = vec![3; 8 * 3000];
        let vectors = VectorSlice::new(&rows, shape).unwrap();
        let input = BuildInput::new(&vectors, "rows");
        let options = BuildOptions::default().with_memory(MemoryWish::Bytes(4_000_000));
        let of = |memory_bytes, disk_bytes| {
            let limits = SegmentLimits {
                memory_bytes,
                disk_bytes,
            };
            limits.segments(&input, &options)
        };
        let disk = Index::outline(&input, &options)
            .unwrap()
            .footprint
            .disk_bytes;
        assert_eq!(
            SegmentLimits::STARLING.segments(&input, &options).unwrap(),
            1
        );
        assert_eq!(of(1_000_000, disk).unwrap(), 4);
        assert_eq!(
            of(1_000_001, disk / 8).unwrap(),
            disk.div_ceil(disk / 8) as u32
        );
        let refused = of(1, disk).unwrap_err();
        assert!(refused.context().contains("at most 256"), "{refused}");
    }
}

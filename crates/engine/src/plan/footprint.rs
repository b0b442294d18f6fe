//! The bytes that an index of a spec takes on disk and in memory, before it is built.

use serde::Serialize;

use super::{index_bytes, least_memory};
use crate::error::{Error, Result};
use crate::memory::MemoryPart;
use crate::resolve::{self, AnyCodec};
use crate::spec::IndexSpec;

/// Sizes that follow from a spec and a number of vectors.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Footprint {
    /// Vectors.
    pub nodes: u32,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
    /// Bytes of the record of a node, or of its list if vectors have pages of their own; absent if
    /// the nodes of a page share a list.
    pub record_bytes: Option<u64>,
    /// Nodes whose adjacency lists share a page.
    pub nodes_per_page: u32,
    /// Vectors that share a page, if vectors have pages of their own; otherwise 0.
    pub vectors_per_page: u32,
    /// Neighbours that one list may have.
    pub max_neighbors: u64,
    /// Pages that one read takes, for large vectors.
    pub pages_per_read: u32,
    /// Bytes of all adjacency lists in memory, packed, if all were of full length; absent if memory
    /// does not hold lists.
    pub list_memory_bytes: Option<u64>,
    /// Bytes on disk, without small files.
    pub disk_bytes: u64,
    /// The smallest memory to search with, in bytes by part.
    pub memory: Vec<(MemoryPart, u64)>,
}

impl Footprint {
    /// The footprint of an index of `nodes` vectors.
    ///
    /// # Errors
    /// `InvalidInput` for a spec that is not legal, or records larger than a read may be.
    pub fn of(spec: &IndexSpec, nodes: u32) -> Result<Self> {
        spec.validate()?;
        if nodes == 0 {
            return Err(Error::invalid("an index of no vectors: give at least one"));
        }
        let codec = resolve::codec(spec, nodes)?;
        let map = codec.map();
        let separate = spec.storage.vectors.has_own_pages();
        Ok(Self {
            nodes,
            raw_bytes: u64::from(nodes) * spec.shape.vectors().row_bytes() as u64,
            record_bytes: match &codec {
                AnyCodec::Record(codec) => Some(codec.record_bytes() as u64),
                AnyCodec::PageNode(_) => None,
            },
            nodes_per_page: map.nodes_per_page,
            vectors_per_page: if separate { map.vectors_per_page } else { 0 },
            max_neighbors: codec.max_neighbors() as u64,
            pages_per_read: map.geometry.span(),
            list_memory_bytes: spec
                .cache
                .nodes
                .holds_lists()
                .then(|| resolve::list_memory_bytes(spec, nodes, None)),
            disk_bytes: index_bytes(spec, nodes)?,
            memory: least_memory(spec, nodes)?.entries().to_vec(),
        })
    }

    /// The same of rows that were looked at; `below_two` if all their components are below 2 in
    /// size, so that more vectors may fit a page.
    ///
    /// # Errors
    /// As [`Footprint::of`].
    pub fn of_rows(spec: &IndexSpec, nodes: u32, below_two: bool) -> Result<Self> {
        let planned = Self::of(spec, nodes)?;
        let spec = spec.for_rows(nodes, below_two)?;
        // Memory is planned before the rows are looked at.
        Ok(Self {
            memory: planned.memory,
            ..Self::of(&spec, nodes)?
        })
    }

    /// The smallest memory to search with.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().map(|(_, bytes)| bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

    use super::*;
    use crate::presets::{Preset, Sizes};
    use crate::spec::Shape;

    const SHAPE: Shape = Shape {
        dimension: 128,
        element: ElementType::U8,
        metric: Metric::L2,
    };

    fn footprint(preset: Preset) -> Footprint {
        let sizes = Sizes {
            code_bytes: 32,
            ..Sizes::default()
        };
        Footprint::of(&preset.spec(SHAPE, &sizes), 1_000_000).unwrap()
    }

    #[test]
    fn the_sizes_are_those_of_the_formulae() {
        let packed = footprint(Preset::DiskAnn);
        assert_eq!(packed.record_bytes, Some(128 + 2 + 4 * 48));
        assert_eq!((packed.nodes_per_page, packed.pages_per_read), (12, 1));
        assert!(packed.disk_bytes > 1_000_000_u64.div_ceil(12) * 4096);
        assert!(packed.memory.contains(&(MemoryPart::Codes, 32_000_000)));
        assert!(packed.memory_bytes() > 32_000_000);
        let inline = footprint(Preset::AiSaq);
        assert_eq!(inline.record_bytes, Some(128 + 2 + 4 * 48 + 32 * 48));
        assert!(inline.memory_bytes() < 30_000_000, "{inline:?}");
        let split = footprint(Preset::Dgai);
        assert_eq!(split.record_bytes, Some(2 + 4 * 48));
        assert!(
            split.vectors_per_page > 20 && split.nodes_per_page > 12,
            "{split:?}"
        );
        assert_eq!(split.list_memory_bytes, None);
        // Of 48 numbers of 4 bits and log2 (10^6 / 48), about, and 2.5 bytes that find them.
        let lists = footprint(Preset::Gorgeous).list_memory_bytes.unwrap();
        assert!((110_000_000..116_000_000).contains(&lists), "{lists}");
        let page = footprint(Preset::PageAnn);
        assert_eq!(page.record_bytes, None);
        assert!(page.max_neighbors > 48, "{page:?}");
    }

    #[test]
    fn what_cannot_be_has_no_footprint() {
        let spec = Preset::DiskAnn.spec(SHAPE, &Sizes::default());
        assert!(Footprint::of(&spec, 0).is_err());
        let mut illegal = spec;
        illegal.layout.page_bytes = 5000;
        let error = Footprint::of(&illegal, 10).unwrap_err();
        assert!(error.context().contains("8192"), "{error}");
    }
}

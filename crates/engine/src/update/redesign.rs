//! The design of an index chosen anew as all of its rows are merged: forms and codes are what the
//! memory affords for as many rows as there are, not for those that were once expected.

use super::common::Common;
use super::tiers::most_nodes;
use crate::build::added_spec;
use crate::error::Result;
use crate::index::Version;
use crate::manifest::{DesignWish, Manifest};
use crate::memory::MemoryWish;
use crate::options::BuildOptions;
use crate::resolve;
use crate::spec::IndexSpec;

/// Longer codes are worth a new training from one in so many bytes on.
const LONGER_SHARE: u64 = 8;

/// A design that is to take the place of that of an index.
#[derive(Clone, Debug)]
pub(super) struct Redesign {
    pub(super) spec: IndexSpec,
    /// Memory of searches, where nobody gave one.
    pub(super) memory_bytes: u64,
}

impl Common {
    /// The design to merge all segments of a version into, where it is to be another.
    ///
    /// It stays where it is one that memory affords for the rows that live, and not much less than
    /// it affords for all rows that there may be until the next such merge. It stays too where none
    /// can be chosen.
    pub(super) fn redesign(&self, version: &Version) -> Option<Redesign> {
        let wish = version.manifest.wish.as_ref()?;
        self.chosen_anew(&version.manifest, wish, version.living())
            .unwrap_or_default()
    }

    fn chosen_anew(
        &self,
        manifest: &Manifest,
        wish: &DesignWish,
        rows: u64,
    ) -> Result<Option<Redesign>> {
        let (Ok(least), Ok(most)) = (u32::try_from(rows), u32::try_from(most_nodes(rows))) else {
            return Ok(None);
        };
        let shape = manifest.spec.shape;
        let stored = manifest.stored_shape();
        let mut options = BuildOptions::of_wish(wish, &manifest.spec);
        let known = manifest.memory_bytes;
        let (memory_bytes, of_searches) = if !self.index.has_memory_of_its_own() {
            (known, known.min(self.limits.index_memory))
        } else if wish.bounds_memory() {
            (known, known)
        } else {
            let grown = options.memory_for(shape, least)?.max(known);
            (grown, grown)
        };
        let for_design = of_searches.saturating_sub(manifest.filter_bytes());
        options.memory = Some(MemoryWish::Bytes(for_design));
        let spec_for = |options: &BuildOptions, nodes| -> Result<IndexSpec> {
            let mut spec = options.spec_for(stored, nodes)?;
            spec.shape = shape;
            Ok(added_spec(&spec, nodes))
        };
        let roomy = spec_for(&options, most)?;
        let own = added_spec(&manifest.spec, most);
        let bytes = |spec: &IndexSpec, nodes: u32| {
            let codes = u64::from(spec.storage.codes_in_memory(nodes));
            codes * u64::from(spec.storage.quantizer.code_bytes())
        };
        let dense = spec_for(&options, least).ok();
        let fits = dense.as_ref().is_some_and(|dense| {
            is_alike(&own, dense) && bytes(&own, least) <= bytes(dense, least)
        });
        let wished = bytes(&roomy, most);
        let stays = fits && bytes(&own, most) >= wished - wished / LONGER_SHARE;
        let pages = |spec: &IndexSpec| -> Result<u32> {
            Ok(resolve::codec(spec, most)?.map().geometry.span())
        };
        if stays || pages(&own)? != pages(&roomy)? {
            return Ok(None);
        }
        Ok(Some(Redesign {
            spec: roomy,
            memory_bytes,
        }))
    }
}

/// Whether two designs differ in nothing but the length or number of codes in memory.
fn is_alike(one: &IndexSpec, other: &IndexSpec) -> bool {
    let mut one = one.clone();
    let code_bytes = other.storage.quantizer.code_bytes();
    one.storage.quantizer = one.storage.quantizer.with_code_bytes(code_bytes);
    if one.storage.codes.is_split() && other.storage.codes.is_split() {
        one.storage.codes = other.storage.codes;
    }
    one == *other
}

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

/// Longer or shorter codes are worth a new training from one in so many bytes on.
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

    /// Whether codes have become so long for the rows that live that memory no longer holds much of
    /// what its design keeps beside them, and a merge of all can choose shorter ones.
    pub(super) fn is_outgrown(&self, version: &Version) -> bool {
        let rows = u32::try_from(version.living()).unwrap_or(u32::MAX);
        let (manifest, segments) = (&version.manifest, version.segments.len());
        let Some(wish) = manifest.wish.as_ref().filter(|_| segments > 1) else {
            return false;
        };
        let known = manifest.memory_bytes;
        let memory = if self.index.has_memory_of_its_own() {
            known
        } else {
            known.max(self.limits.index_memory)
        };
        let Ok(dense) = Chooser::new(manifest, wish, memory).spec(rows) else {
            return false;
        };
        let own = added_spec(&manifest.spec, rows);
        let afforded = code_bytes(&dense, rows);
        let is_long = code_bytes(&own, rows) > afforded + afforded / LONGER_SHARE;
        is_alike(&own, &dense) && is_long && self.can_redesign(version)
    }

    /// Memory of searches for so many rows: where nobody gave one in bytes it grows with them.
    pub(super) fn search_memory(&self, manifest: &Manifest, rows: u64) -> u64 {
        let known = manifest.memory_bytes;
        let free = |wish: &&DesignWish| self.index.has_memory_of_its_own() && !wish.bounds_memory();
        let (Some(wish), Ok(rows)) = (manifest.wish.as_ref().filter(free), u32::try_from(rows))
        else {
            return known;
        };
        let options = BuildOptions::of_wish(wish, &manifest.spec);
        let wished = options.memory_for(manifest.spec.shape, rows);
        wished.map_or(known, |wished| wished.max(known))
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
        let memory_bytes = self.search_memory(manifest, rows);
        let of_searches = if self.index.has_memory_of_its_own() {
            memory_bytes
        } else {
            memory_bytes.min(self.limits.index_memory)
        };
        let chooser = Chooser::new(manifest, wish, of_searches);
        let roomy = chooser.spec(most)?;
        let own = added_spec(&manifest.spec, most);
        let dense = chooser.spec(least).ok();
        let fits = dense.as_ref().is_some_and(|dense| {
            is_alike(&own, dense) && code_bytes(&own, least) <= code_bytes(dense, least)
        });
        let wished = code_bytes(&roomy, most);
        let stays = fits && code_bytes(&own, most) >= wished - wished / LONGER_SHARE;
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

/// Chooses designs by the wish that an index was made with, and a memory of searches.
struct Chooser<'m> {
    manifest: &'m Manifest,
    options: BuildOptions,
}

impl<'m> Chooser<'m> {
    fn new(manifest: &'m Manifest, wish: &DesignWish, memory: u64) -> Self {
        let mut options = BuildOptions::of_wish(wish, &manifest.spec);
        let for_design = memory.saturating_sub(manifest.filter_bytes());
        options.memory = Some(MemoryWish::Bytes(for_design));
        Self { manifest, options }
    }

    /// The design for so many nodes.
    fn spec(&self, nodes: u32) -> Result<IndexSpec> {
        let mut spec = self.options.spec_for(self.manifest.stored_shape(), nodes)?;
        spec.shape = self.manifest.spec.shape;
        Ok(added_spec(&spec, nodes))
    }
}

/// Bytes of the codes of so many nodes in memory.
fn code_bytes(spec: &IndexSpec, nodes: u32) -> u64 {
    let codes = u64::from(spec.storage.codes_in_memory(nodes));
    codes * u64::from(spec.storage.quantizer.code_bytes())
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

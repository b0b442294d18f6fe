//! The design of an index, chosen anew when all of its rows are merged: with the form and code
//! length that memory affords for the rows there are, not for those expected at first.

use super::common::Common;
use super::tiers::USUAL_SEGMENTS;
use crate::build::{added_spec, memory_with_lists};
use crate::error::Result;
use crate::execution::Segment;
use crate::index::Version;
use crate::manifest::{DesignWish, Manifest};
use crate::memory::MemoryWish;
use crate::options::BuildOptions;
use crate::spec::IndexSpec;

/// Codes are trained anew if their length would differ by one in so many bytes or more.
const LONGER_SHARE: u64 = 8;
/// Segments beside the largest have one in so many of all rows, at most.
const FLUSHED_SHARE: u32 = 8;
/// A design has room for one more row per so many living ones. If more come, fewer queries are in
/// flight until all segments are merged.
const ROOM_SHARE: u64 = 8;

/// A design that is to take the place of that of an index.
#[derive(Clone, Debug)]
pub(super) struct Redesign {
    pub(super) spec: IndexSpec,
    /// Memory of searches, where nobody gave one.
    pub(super) memory_bytes: u64,
}

impl Common {
    /// The new design to merge all segments of a version into; `None` if the design stays.
    ///
    /// It stays if memory affords it for the living rows, held it for the nodes there are, and does
    /// not afford much more for the rows expected until the next such merge. It also stays if no
    /// other can be chosen. If a flush lacks memory, `for_memory`, it stays only if it leaves some
    /// for the next flushes.
    pub(super) fn redesign(&self, version: &Version, for_memory: bool) -> Option<Redesign> {
        let wish = version.manifest.wish.as_ref()?;
        let chosen = self.chosen_anew(version, (wish, for_memory));
        chosen.unwrap_or_default()
    }

    /// Whether the codes of all nodes, dead ones included, leave too little memory for what the
    /// design keeps beside them, and a merge of all can choose shorter ones.
    pub(super) fn is_outgrown(&self, version: &Version) -> bool {
        let wish = version.manifest.wish.as_ref();
        let is_crowded = |wish| self.is_crowded(version, wish);
        version.segments.len() > 1 && wish.is_some_and(is_crowded) && self.can_redesign(version)
    }

    /// Whether memory holds not all lists, but would hold those of the living rows.
    pub(super) fn is_cut(&self, version: &Version) -> bool {
        let manifest = &version.manifest;
        let lacks_lists = |own: &Segment| own.shape.lacks_lists();
        let is_cut = manifest.wish.is_some()
            && manifest.spec.cache.holds_lists()
            && version.segments.len() > 1
            && version.segments.iter().any(lacks_lists);
        let rows = u32::try_from(version.living()).unwrap_or(u32::MAX);
        is_cut
            && memory_with_lists(&manifest.spec, rows)
                .is_ok_and(|bytes| bytes <= self.memory_at_hand(manifest))
    }

    /// Memory of searches as it is given now.
    fn memory_at_hand(&self, manifest: &Manifest) -> u64 {
        let known = manifest.memory_bytes;
        if self.index.has_memory_of_its_own() {
            known
        } else {
            known.max(self.limits.index_memory)
        }
    }

    /// Whether codes are much longer than those that would be chosen for as many nodes.
    fn is_crowded(&self, version: &Version, wish: &DesignWish) -> bool {
        let manifest = &version.manifest;
        let memory = self.memory_at_hand(manifest);
        let nodes = u64::from(version.node_count()).max(version.living());
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        let Ok(dense) = self.chooser(manifest, wish, memory).alone(nodes) else {
            return false;
        };
        let own = added_spec(&manifest.spec, nodes);
        let afforded = code_bytes(&dense, nodes);
        is_alike(&own, &dense) && code_bytes(&own, nodes) > afforded + afforded / LONGER_SHARE
    }

    /// Memory of searches for `nodes` nodes: the bytes or the share that the caller gave; otherwise
    /// the default, but never less than before.
    pub(super) fn search_memory(&self, manifest: &Manifest, nodes: u64) -> u64 {
        let known = manifest.memory_bytes;
        let free = |wish: &&DesignWish| self.index.has_memory_of_its_own() && !wish.bounds_memory();
        let (Some(wish), Ok(nodes)) = (manifest.wish.as_ref().filter(free), u32::try_from(nodes))
        else {
            return known;
        };
        let options = BuildOptions::of_wish(wish, &manifest.spec);
        let least = if wish.memory.is_some() { 0 } else { known };
        let wished = options.memory_for(manifest.spec.shape, nodes);
        wished.map_or(known, |wished| wished.max(least))
    }

    fn chooser<'m>(&self, manifest: &'m Manifest, wish: &DesignWish, memory: u64) -> Chooser<'m> {
        let for_design = memory.saturating_sub(manifest.filter_bytes());
        let mut options = BuildOptions::of_wish(wish, &manifest.spec);
        options.memory = Some(MemoryWish::Bytes(for_design));
        Chooser {
            manifest,
            options,
            flushed: self.capacity,
        }
    }

    fn chosen_anew(
        &self,
        version: &Version,
        (wish, for_memory): (&DesignWish, bool),
    ) -> Result<Option<Redesign>> {
        let (manifest, rows) = (&version.manifest, version.living());
        let (Ok(least), Ok(most)) = (u32::try_from(rows), u32::try_from(rows + rows / ROOM_SHARE))
        else {
            return Ok(None);
        };
        let memory_bytes = self.search_memory(manifest, rows);
        let of_searches = if self.index.has_memory_of_its_own() {
            memory_bytes
        } else {
            memory_bytes.min(self.limits.index_memory)
        };
        let chooser = self.chooser(manifest, wish, of_searches);
        let dense = chooser.alone(least).ok();
        let roomy = chooser.beside_others(most)?;
        let own = added_spec(&manifest.spec, most);
        let afforded = if for_memory {
            chooser.beside_others(least).ok()
        } else {
            dense
        };
        let fits = afforded.as_ref().is_some_and(|dense| {
            is_alike(&own, dense) && code_bytes(&own, least) <= code_bytes(dense, least)
        });
        let wished = code_bytes(&roomy, most);
        let fits = fits && !self.is_crowded(version, wish);
        let stays = fits && code_bytes(&own, most) >= wished - wished / LONGER_SHARE;
        if stays {
            return Ok(None);
        }
        Ok(Some(Redesign {
            spec: roomy,
            memory_bytes,
        }))
    }
}

/// Chooses designs by the wish that the index was made with and the memory of searches.
struct Chooser<'m> {
    manifest: &'m Manifest,
    options: BuildOptions,
    /// Rows of a segment that is flushed.
    flushed: u32,
}

impl Chooser<'_> {
    /// The design for so many nodes in one segment.
    fn alone(&self, nodes: u32) -> Result<IndexSpec> {
        let spec = self.options.spec_for(self.manifest.stored_shape(), nodes)?;
        Ok(self.shaped(spec, nodes))
    }

    /// The same with the usual smaller segments beside it, if there are to be any.
    fn beside_others(&self, nodes: u32) -> Result<IndexSpec> {
        if self.manifest.spec.patches_pages() {
            return self.alone(nodes);
        }
        let rows = self.flushed.min(nodes / FLUSHED_SHARE).max(1);
        let (shape, others) = (self.manifest.stored_shape(), (USUAL_SEGMENTS, rows));
        let spec = self.options.spec_beside(shape, nodes, others)?;
        Ok(self.shaped(spec, nodes))
    }

    /// The design with the shape of the vectors as they are given.
    fn shaped(&self, mut spec: IndexSpec, nodes: u32) -> IndexSpec {
        spec.shape = self.manifest.spec.shape;
        added_spec(&spec, nodes)
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

//! Ways in which changes reach the disk, each with a life.

use std::path::Path;
use std::sync::Arc;

use pageway::spec::{DeltaSpec, RepairSpec, UpdateSpec};
use pageway::{MemoryWish, Overrides, Preset, Result, Vfs};
use pageway_testkit::SimVfs;

use crate::common::{Data, quick};
use crate::story::{DIR, Held, SHAPE, Step, Story, World, empty_of, place};

/// Rows that an index is built of.
const ROWS: usize = 120;

/// A way in which changes reach the disk.
pub(crate) struct Design {
    pub(crate) name: String,
    preset: Preset,
    /// Where it is no preset's: of an index that is built, which then changes.
    overrides: Option<Overrides>,
}

impl Design {
    /// Presets that differ in it, and each policy of changing pages with each of mending edges.
    pub(crate) fn all() -> Vec<Self> {
        let presets = [
            Preset::Pageway,
            Preset::FreshDiskAnn,
            Preset::OdinAnn,
            Preset::Dgai,
        ];
        let mut all: Vec<Self> = presets.into_iter().map(Self::of_preset).collect();
        for update in [UpdateSpec::Patch, UpdateSpec::Overwrite] {
            for delta in [DeltaSpec::Scan, DeltaSpec::Linked] {
                for repair in [RepairSpec::Sweep, RepairSpec::Local, RepairSpec::Replace] {
                    all.push(Self::of_policies(update, delta, repair));
                }
            }
        }
        all
    }

    fn of_preset(preset: Preset) -> Self {
        Self {
            name: preset.name().to_owned(),
            preset,
            overrides: None,
        }
    }

    fn of_policies(update: UpdateSpec, delta: DeltaSpec, repair: RepairSpec) -> Self {
        Self {
            name: format!("{update:?}-{delta:?}-{repair:?}").to_lowercase(),
            preset: Preset::DiskAnn,
            overrides: Some(Overrides {
                update: Some(update),
                delta: Some(delta),
                repair: Some(repair),
                ..Overrides::default()
            }),
        }
    }

    /// A life of such an index: other rows with another seed.
    pub(crate) fn live(&self, seed: u64) -> Result<Story> {
        let (sim, held) = match &self.overrides {
            None => (empty_of(self.preset), Held::new()),
            Some(overrides) => self.built(overrides, seed)?,
        };
        sim.record();
        let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
        let world = if self.preset == Preset::default() {
            World::new(&sim, vfs)
        } else {
            World::patched(&sim, vfs)
        };
        let world = world.seeded(seed);
        let steps: &[Step] = match &self.overrides {
            None if self.preset == Preset::default() => &crate::LIFE,
            None => &crate::PATCHED,
            // Its first rows are there.
            Some(_) => &crate::PATCHED[2..],
        };
        let world = world.holding(held);
        world.run(steps)?;
        let story = world.end();
        let has_patches = story
            .boundaries
            .iter()
            .any(|moment| moment.last.contains("/patch-"));
        let changes_pages = self.overrides.is_some() || self.preset == Preset::OdinAnn;
        assert!(
            has_patches || !changes_pages,
            "{}: no page changed",
            self.name
        );
        let links = self
            .overrides
            .is_some_and(|all| all.delta == Some(DeltaSpec::Linked));
        assert!(!links || story.linked, "{}: no row linked", self.name);
        Ok(story)
    }

    fn built(&self, overrides: &Overrides, seed: u64) -> Result<(SimVfs, Held)> {
        let sim = place();
        let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
        let data = Data::new(ROWS, SHAPE.dimension, seed);
        let ids: Vec<u64> = (0..ROWS as u64).collect();
        let options = quick()
            .with_preset(self.preset)
            .with_overrides(*overrides)
            .with_memory(MemoryWish::Bytes(4 << 20));
        data.build_with_ids(&vfs, Path::new(DIR), &options, &ids)?;
        let rows = data.rows.chunks(SHAPE.row_bytes()).map(<[u8]>::to_vec);
        Ok((sim, ids.into_iter().zip(rows).collect()))
    }
}

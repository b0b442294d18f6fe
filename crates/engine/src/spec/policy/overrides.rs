//! Choices that take the place of a preset's own: patches of the JSON of its spec.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, from_value, to_value};

use super::table::{self, Policy, stored};
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, DeltaSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec,
    ListSpec, NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, RepairSpec,
    ScheduleSpec, SelectionSpec, Sizes, StopSpec, UpdateSpec, VectorStorage,
};

/// One choice per policy, or none: then the preset's stays.
///
/// The types of the fields are for callers who write choices in Rust. All else sees patches, by the
/// names of the table. Written with `..Overrides::default()`, so that fields can be added.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// The proximity graph.
    pub graph: Option<GraphSpec>,
    /// Where full vectors live.
    pub vectors: Option<VectorStorage>,
    /// Where codes live. `Split` is sized by the memory budget.
    pub codes: Option<CodeStorage>,
    /// How vectors are compressed. Its bytes per code follow from the memory budget, or from
    /// `code_bytes`.
    pub quantizer: Option<QuantizerSpec>,
    /// A second, independent code.
    #[serde(
        rename = "second_code_bytes",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given"
    )]
    pub second_quantizer: Option<Option<QuantizerSpec>>,
    /// Whether rows and ids are in memory.
    pub ids_in_memory: Option<bool>,
    /// What a page holds.
    pub codec: Option<CodecSpec>,
    /// Which nodes share a page.
    pub placement: Option<PlacementSpec>,
    /// How adjacency lists are stored.
    pub lists: Option<ListSpec>,
    /// What stays in memory beside the codes.
    #[serde(flatten)]
    pub cache: CacheOverrides,
    /// Where a walk starts.
    pub entry: Option<EntrySpec>,
    /// Which reads are in flight.
    pub schedule: Option<ScheduleSpec>,
    /// Which records of a page are used.
    pub harvest: Option<HarvestSpec>,
    /// When exact distances are paid.
    pub refine: Option<RefineSpec>,
    /// When a walk ends.
    pub stop: Option<StopSpec>,
    /// How much nearer a candidate that needs a read must be to come before one that needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slack: Option<f32>,
    /// How changes reach the disk.
    pub update: Option<UpdateSpec>,
    /// What becomes of edges to nodes that died.
    pub repair: Option<RepairSpec>,
    /// How rows that are in no segment yet are found.
    pub delta: Option<DeltaSpec>,
}

/// The same for the parts of a cache.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheOverrides {
    /// What is kept per node.
    #[serde(rename = "cache_nodes")]
    pub nodes: Option<NodeCacheSpec>,
    /// Which pages are kept.
    #[serde(rename = "cache_pages")]
    pub pages: Option<PageCacheSpec>,
    /// What both take first.
    #[serde(rename = "cache_selection")]
    pub selection: Option<SelectionSpec>,
    /// Share of the bytes that pages get where nodes are kept too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_share: Option<f32>,
}

impl From<CacheSpec> for CacheOverrides {
    fn from(cache: CacheSpec) -> Self {
        Self {
            nodes: Some(cache.nodes),
            pages: Some(cache.pages),
            selection: Some(cache.selection),
            page_share: Some(cache.page_share),
        }
    }
}

/// A value that is there, even where it says that there is nothing.
#[expect(
    clippy::option_option,
    reason = "no second code is another choice than none"
)]
fn given<'de, D>(value: D) -> std::result::Result<Option<Option<QuantizerSpec>>, D::Error>
where
    D: Deserializer<'de>,
{
    Deserialize::deserialize(value).map(Some)
}

/// What is put in place of a preset's own: a policy, and its value in the JSON of a spec.
pub type Patch = (&'static Policy, Value);

impl Overrides {
    /// These choices as patches, in the order of the table.
    pub fn patches(&self) -> Vec<Patch> {
        let given = to_value(self).unwrap_or_default();
        let patch = |policy: &'static Policy| {
            let value = given.get(policy.name)?.clone();
            // Named choices that are not made are null; a number is left out, unless it is none.
            let is_made = policy.is_number() || !value.is_null();
            is_made.then_some((policy, value))
        };
        table::choices().filter_map(patch).collect()
    }

    /// The choices that patches make.
    ///
    /// # Errors
    /// `Internal` for a value that its policy cannot have.
    pub fn of(patches: impl IntoIterator<Item = Patch>) -> Result<Self> {
        let patches = patches.into_iter();
        let given: Map<String, Value> = patches
            .map(|(policy, value)| (policy.name.to_owned(), value))
            .collect();
        from_value(given.into()).map_err(defect)
    }

    /// Every choice of `spec`: they turn any preset into it, but for sizes.
    ///
    /// # Errors
    /// As [`Overrides::of`].
    pub fn every_choice_of(spec: &IndexSpec) -> Result<Self> {
        let spec = stored(spec);
        let patch = |policy: &'static Policy| Some((policy, spec.pointer(policy.path)?.clone()));
        Self::of(table::choices().filter_map(patch))
    }

    /// Reads choices that were typed, each for its policy; keys that are left out follow from
    /// `sizes`.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be read, with what could be.
    pub fn read<'t>(
        typed: impl IntoIterator<Item = (&'static Policy, &'t str)>,
        sizes: &Sizes,
    ) -> Result<Self> {
        let typed = typed.into_iter();
        let patches = typed.map(|(policy, text)| Ok((policy, policy.read(text, sizes)?)));
        Self::told(patches.collect::<Result<_>>()?, None)
    }

    /// The choices that were told, where bytes stand for a second code: which that is follows from
    /// where vectors live, by the same choices or else by `own`.
    pub(super) fn told(mut patches: Vec<Patch>, own: Option<VectorStorage>) -> Result<Self> {
        let second = patches
            .iter()
            .position(|(policy, _)| policy.is_second_code());
        let second = second.map(|at| patches.swap_remove(at).1);
        let mut all = Self::of(patches)?;
        if let Some(bytes) = second {
            let bytes = from_value(bytes).map_err(defect)?;
            all.second_quantizer = Some(QuantizerSpec::second(all.vectors.or(own), bytes));
        }
        Ok(all)
    }

    /// These choices, and those of `other` where there is none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let both = other.patches().into_iter().chain(self.patches());
        Self::of(both).unwrap_or(*self)
    }

    /// The spec with these choices in place of its own. Sizes stay: the length of a code is that of
    /// the spec.
    ///
    /// # Errors
    /// `InvalidInput` for a number that is none.
    pub fn patch(&self, spec: &IndexSpec) -> Result<IndexSpec> {
        let mut whole = stored(spec);
        for (policy, mut value) in self.patches() {
            let Some(place) = whole.pointer_mut(policy.path) else {
                continue;
            };
            for key in policy.sized {
                if let (Some(own), Some(size)) = (place.get(key), value.get_mut(key)) {
                    *size = own.clone();
                }
            }
            *place = value;
        }
        from_value(whole).map_err(|error| Error::invalid(format!("overrides: {error}")))
    }

    /// The same for choices that are legal; others leave the spec as it is.
    #[must_use]
    pub fn apply(&self, spec: IndexSpec) -> IndexSpec {
        self.patch(&spec).unwrap_or(spec)
    }

    /// The arguments of `pageway build` that make these choices: flags with what is typed for them.
    pub fn arguments(&self) -> Vec<String> {
        let patches = self.patches();
        let argument = |(policy, value): &Patch| {
            let typed = policy.typed(value);
            format!("{} {typed}", policy.flag)
        };
        patches.iter().map(argument).collect()
    }
}

fn defect(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

    use super::*;
    use crate::presets::Preset;
    use crate::spec::{RotationSpec, Shape};

    const SHAPE: Shape = Shape {
        dimension: 16,
        element: ElementType::U8,
        metric: Metric::L2,
    };

    #[test]
    fn what_is_not_chosen_stays() {
        for preset in Preset::ALL {
            let spec = preset.spec(SHAPE, &Sizes::default());
            assert_eq!(Overrides::default().apply(spec.clone()), spec);
            let cache = CacheOverrides {
                pages: Some(PageCacheSpec::Lru),
                ..CacheOverrides::default()
            };
            let overrides = Overrides {
                placement: Some(PlacementSpec::Clustered),
                cache,
                ..Overrides::default()
            };
            let changed = overrides.apply(spec.clone());
            assert_eq!(changed.layout.placement, PlacementSpec::Clustered);
            assert_eq!(changed.cache.pages, PageCacheSpec::Lru);
            let cache = CacheSpec {
                pages: spec.cache.pages,
                ..changed.cache
            };
            assert_eq!(cache, spec.cache, "{preset}");
            assert_eq!(changed.execution, spec.execution, "{preset}");
        }
    }

    #[test]
    fn choices_are_patches_and_back() {
        assert!(Overrides::default().patches().is_empty());
        for preset in Preset::ALL {
            let spec = preset.spec(SHAPE, &Sizes::default());
            let all = Overrides::every_choice_of(&spec).unwrap();
            assert_eq!(all.patches().len(), table::choices().count(), "{preset}");
            assert_eq!(Overrides::of(all.patches()).unwrap(), all, "{preset}");
            assert_eq!(all.apply(spec.clone()), spec, "{preset}");
            let typed = all.arguments();
            let typed = typed.iter().filter_map(|argument| argument.split_once(' '));
            let policy = |flag| table::choices().find(|policy| policy.flag == flag);
            let typed = typed.filter_map(|(flag, text)| Some((policy(flag)?, text)));
            let read = Overrides::read(typed, &Sizes::default()).unwrap();
            assert_eq!(read.arguments(), all.arguments(), "{preset}");
        }
    }

    #[test]
    fn every_choice_of_a_spec_makes_it_of_any_preset() {
        let specs = Preset::ALL.map(|preset| preset.spec(SHAPE, &Sizes::default()));
        for wanted in &specs {
            let all = Overrides::every_choice_of(wanted).unwrap();
            for other in specs.clone() {
                let mut found = all.apply(other);
                // The length of a code is left to sizes.
                found.storage.quantizer = wanted.storage.quantizer;
                assert_eq!(found, *wanted);
            }
        }
    }

    #[test]
    fn a_code_keeps_its_length() {
        let spec = Preset::DiskAnn.spec(SHAPE, &Sizes::default());
        let rabitq = Overrides {
            quantizer: Some(QuantizerSpec::RaBitQ {
                code_bytes: 3,
                rotation: RotationSpec::Hadamard,
            }),
            ..Overrides::default()
        };
        let changed = rabitq.apply(spec).storage.quantizer;
        assert_eq!(changed.code_bytes(), Sizes::default().code_bytes);
        assert!(changed.has_bounds());
    }

    #[test]
    fn a_second_code_comes_and_goes() {
        let read = |typed: &[(&str, &'static str)]| {
            let policy = |name: &str| table::choices().find(|policy| policy.name == name).unwrap();
            let typed = typed.iter().map(|(name, text)| (policy(name), *text));
            Overrides::read(typed, &Sizes::default())
                .unwrap()
                .second_quantizer
        };
        let pq = QuantizerSpec::Pq { code_bytes: 7 };
        assert_eq!(read(&[("second_code_bytes", "7")]), Some(Some(pq)));
        assert_eq!(read(&[("second_code_bytes", "0")]), Some(None));
        let fine = read(&[("second_code_bytes", "7"), ("vectors", "coded")]);
        assert!(fine.flatten().is_some_and(QuantizerSpec::has_bounds));
        assert_eq!(read(&[]), None);
        let taken = Overrides {
            second_quantizer: Some(None),
            ..Overrides::default()
        };
        let spec = taken.apply(Preset::Dgai.spec(SHAPE, &Sizes::default()));
        assert_eq!(spec.storage.second_quantizer, None);
    }

    #[test]
    fn choices_of_the_first_come_before_those_of_the_second() {
        let first = Overrides {
            slack: Some(0.5),
            second_quantizer: Some(None),
            ..Overrides::default()
        };
        let second = Overrides {
            slack: Some(0.25),
            stop: Some(StopSpec::Exhausted),
            second_quantizer: Some(Some(QuantizerSpec::Pq { code_bytes: 7 })),
            ..Overrides::default()
        };
        let both = Overrides {
            stop: second.stop,
            ..first
        };
        assert_eq!(first.or(&second), both);
    }

    #[test]
    fn no_number_is_refused() {
        let spec = Preset::DiskAnn.spec(SHAPE, &Sizes::default());
        for share in [f32::NAN, f32::INFINITY] {
            let none = Overrides {
                refine: Some(RefineSpec::Deferred { share }),
                ..Overrides::default()
            };
            assert_eq!(
                none.patch(&spec).unwrap_err().kind(),
                ErrorKind::InvalidInput
            );
            let none = Overrides {
                slack: Some(share),
                ..Overrides::default()
            };
            assert_eq!(
                none.patch(&spec).unwrap_err().kind(),
                ErrorKind::InvalidInput
            );
        }
    }
}

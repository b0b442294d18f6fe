//! What a design was chosen by, so that it can be chosen again when there are more rows or fewer.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::memory::MemoryWish;
use crate::presets::Preset;
use crate::spec::Overrides;

/// The options that an index was built or made with, as far as its design follows from them. The
/// rest stands in its spec.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DesignWish {
    #[serde(serialize_with = "name", deserialize_with = "of_name")]
    pub(crate) preset: Preset,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) form: Option<String>,
    /// Absent where nobody gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<MemoryWish>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disk: Option<MemoryWish>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code_bytes: Option<u32>,
    pub(crate) degree: u32,
    pub(crate) build_list: u32,
    pub(crate) alpha: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beam: Option<u32>,
    #[serde(default, skip_serializing_if = "is_usual")]
    pub(crate) overrides: Overrides,
}

impl DesignWish {
    /// The same with a memory that was given, or without.
    pub(crate) fn with_memory(mut self, memory: Option<MemoryWish>) -> Self {
        self.memory = memory;
        self
    }

    /// Whether a number of bytes was given, which is kept to however many rows there are.
    pub(crate) const fn bounds_memory(&self) -> bool {
        matches!(self.memory, Some(MemoryWish::Bytes(_)))
    }
}

fn is_usual(overrides: &Overrides) -> bool {
    *overrides == Overrides::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn name<S: Serializer>(preset: &Preset, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(preset.name())
}

fn of_name<'de, D: Deserializer<'de>>(value: D) -> Result<Preset, D::Error> {
    let name = String::deserialize(value)?;
    name.parse().map_err(serde::de::Error::custom)
}

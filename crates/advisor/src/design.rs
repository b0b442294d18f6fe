//! What is tried of every preset: each of its forms, and with one idea of another design.
//!
//! Nothing here knows a preset by name: a new row of the table is one more design.

use pageway::choices::{PLACEMENTS, QUANTIZERS};
use pageway::spec::{HarvestSpec, QuantizerSpec};
use pageway::{Overrides, Preset};

use crate::tree::{navigation, shuffled};
use crate::wish::Pins;

/// A preset in a form, or with choices in place of its own.
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) preset: Preset,
    pub(crate) form: Option<String>,
    pub(crate) overrides: Overrides,
}

fn designs_of(preset: Preset) -> Vec<Design> {
    let form = |form: &'static str| Design {
        name: format!("{preset}, {form}"),
        preset,
        form: Some(form.to_owned()),
        overrides: Overrides::default(),
    };
    let mut all: Vec<Design> = preset.form_names().into_iter().map(form).collect();
    let has_forms = !all.is_empty();
    let variants = variants().into_iter();
    let variants = variants.filter(|variant| !(has_forms && variant.words.is_empty()));
    all.extend(variants.map(|variant| Design {
        name: if variant.words.is_empty() {
            preset.to_string()
        } else {
            format!("{preset} +{}", variant.words)
        },
        preset,
        form: None,
        overrides: variant.overrides,
    }));
    all
}

/// Every preset that is open, in every form, and with a choice or two in place of its own.
pub(crate) fn designs(pins: &Pins) -> Vec<Design> {
    let presets = if pins.presets.is_empty() {
        &Preset::ALL[..]
    } else {
        &pins.presets
    };
    let all = presets.iter().flat_map(|preset| designs_of(*preset));
    let is_open = |design: &Design| pins.form.is_none() || pins.form == design.form;
    all.filter(is_open).collect()
}

/// Choices in place of a preset's own.
#[derive(Clone, Debug)]
struct Variant {
    words: &'static str,
    overrides: Overrides,
}

/// What is tried of every preset: as it is, and with one idea of another design.
fn variants() -> Vec<Variant> {
    let mut all = PLACEMENTS.into_iter();
    let clustered = all.find(|placement| placement.is_clustered());
    let with_bounds = |quantizer: &QuantizerSpec| quantizer.has_bounds();
    let none = Overrides::default();
    let choices = [
        ("", none),
        (
            "shuffled",
            Overrides {
                placement: shuffled(),
                harvest: Some(HarvestSpec::Near { share: 0.3 }),
                ..none
            },
        ),
        (
            "clustered",
            Overrides {
                placement: clustered,
                ..none
            },
        ),
        (
            "navigation",
            Overrides {
                entry: navigation(),
                ..none
            },
        ),
        (
            "rabitq",
            Overrides {
                quantizer: QUANTIZERS.into_iter().find(with_bounds),
                ..none
            },
        ),
    ];
    let variant = |(words, overrides)| Variant { words, overrides };
    choices.map(variant).to_vec()
}

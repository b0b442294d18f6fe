//! A preset with choices in place of its own.

use std::collections::BTreeMap;
use std::str::FromStr;

use pageway::{Error, Overrides, Preset};

/// What is measured: a preset, as in `dgai`, or one with other choices, as in
/// `diskann+update=overwrite+repair=local`.
#[derive(Clone, Debug)]
pub struct UpdateDesign {
    /// As it was written.
    pub name: String,
    pub(crate) preset: Preset,
    pub(crate) overrides: Overrides,
}

impl FromStr for UpdateDesign {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.split('+');
        let preset = parts.next().unwrap_or_default().parse()?;
        let mut choices = BTreeMap::new();
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                Error::invalid(format!("'{part}' in '{text}': give NAME=VALUE behind a +"))
            })?;
            choices.insert(name, value);
        }
        let refuse = |what: &dyn std::fmt::Display| Error::invalid(format!("'{text}': {what}"));
        let read = serde_json::to_value(&choices).and_then(serde_json::from_value);
        let overrides: Overrides = read.map_err(|error| refuse(&error))?;
        // A name that is none is read as nothing.
        let known = serde_json::to_value(overrides).map_err(|error| refuse(&error))?;
        let is_taken = |name: &&str| known.get(*name).is_some_and(|value| !value.is_null());
        match choices.keys().find(|name| !is_taken(name)) {
            Some(name) => Err(refuse(&format!("there is no choice '{name}'"))),
            None => Ok(Self {
                name: text.to_owned(),
                preset,
                overrides,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_are_presets_with_other_choices() {
        let plain: UpdateDesign = "dgai".parse().unwrap();
        assert_eq!(
            (plain.preset, plain.overrides),
            (Preset::Dgai, Overrides::default())
        );
        let other: UpdateDesign = "diskann+update=overwrite+repair=local".parse().unwrap();
        assert_eq!(other.preset, Preset::DiskAnn);
        assert_ne!(other.overrides, Overrides::default());
        for wrong in [
            "",
            "nobody",
            "diskann+update",
            "diskann+update=never",
            "diskann+x=1",
        ] {
            assert!(wrong.parse::<UpdateDesign>().is_err(), "{wrong}");
        }
    }
}

//! A specification in sentences: for each policy what was chosen, what it means, what it costs.
//!
//! The sentences belong to the choices, never to a preset: any combination, and any index, reads
//! like the published ones.

mod cache;
mod execution;
mod layout;
mod storage;

use pageway::IndexSpec;
use serde::Serialize;

use crate::text;

/// What is said of one choice.
#[derive(Serialize)]
pub(super) struct Sentence {
    pub(super) axis: &'static str,
    /// What it is chosen by at build.
    pub(super) flag: &'static str,
    /// As it can be typed.
    pub(super) choice: String,
    pub(super) meaning: String,
    pub(super) cost: String,
}

/// Meaning and cost of a choice.
type Words = (String, String);

impl Sentence {
    fn new(axis: &'static str, flag: &'static str, choice: String, words: Words) -> Self {
        let (meaning, cost) = words;
        Self {
            axis,
            flag,
            choice,
            meaning,
            cost,
        }
    }
}

/// A sentence per choice of an index of `nodes` vectors, axis by axis.
pub(super) fn sentences(spec: &IndexSpec, nodes: u32) -> Vec<Sentence> {
    let mut all = storage::sentences(spec, nodes);
    all.extend(layout::sentences(spec));
    all.extend(cache::sentences(spec));
    all.extend(execution::sentences(spec));
    let update = (
        "The index does not change.".to_owned(),
        "It is built anew, and replaces the old one in one step.".to_owned(),
    );
    let choice = pageway::choices::typed(&spec.update);
    all.push(Sentence::new("Update", "update", choice, update));
    all
}

/// A share as people write it: `30 %`.
fn percent(share: f32) -> String {
    let digits = text::percent(share.into());
    digits.replace(".0 %", " %")
}

#[cfg(test)]
mod tests {
    use pageway::spec::Shape;
    use pageway::{ElementType, Metric, Preset, Sizes};

    use super::*;

    #[test]
    fn every_choice_of_every_preset_has_whole_sentences() {
        let shape = Shape {
            dimension: 96,
            element: ElementType::F32,
            metric: Metric::Cosine,
        };
        for preset in Preset::ALL {
            let spec = preset.spec(shape, &Sizes::default());
            let all = sentences(&spec, 1000);
            for Sentence {
                flag,
                choice,
                meaning,
                cost,
                ..
            } in &all
            {
                for words in [meaning, cost] {
                    let whole = words.ends_with('.') && words.starts_with(char::is_uppercase);
                    let whole = whole || words.starts_with(|c: char| c.is_ascii_digit());
                    assert!(whole, "{preset} {flag} {choice}: {words}");
                }
                assert!(!choice.is_empty(), "{preset} {flag}");
            }
            for flag in [
                "--graph",
                "--codes",
                "--codec",
                "--placement",
                "--lists",
                "--entry",
                "--refine",
                "--stop",
            ] {
                let said = all.iter().filter(|sentence| sentence.flag == flag).count();
                assert_eq!(said, 1, "{preset} {flag}");
            }
        }
    }

    #[test]
    fn shares_lose_needless_digits() {
        assert_eq!(percent(0.3), "30 %");
        assert_eq!(percent(0.125), "12.5 %");
    }
}

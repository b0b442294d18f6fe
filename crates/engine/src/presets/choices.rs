//! What there is to choose, for every front end: the table of policies, how choices are typed and
//! told, and what is said of them. All of it comes from the files of the policies in `spec`.

pub use crate::spec::policy::{
    POLICIES, Patch, Policy, Reading, Sentence, Wishes, choices, chosen, count, find, name_of,
    parse, sentences, typed,
};
pub use crate::spec::{
    CODES, ENTRIES, HARVESTS, LISTS, NODE_CACHES, PAGE_CACHES, PLACEMENTS, QUANTIZERS, REFINES,
    SELECTIONS, STOPS, VECTORS, codecs, graphs, schedules,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pageway_types::{ElementType, Metric};
    use serde_json::to_value;

    use super::*;
    use crate::presets::{Preset, Sizes};
    use crate::spec::{IndexSpec, Shape};

    fn specs() -> impl Iterator<Item = IndexSpec> {
        let shape = Shape {
            dimension: 64,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        let of = move |preset: Preset| preset.forms().map(move |form| form.spec);
        let all = Preset::ALL.into_iter().flat_map(of);
        all.map(move |spec| spec(shape, &Sizes::default()))
    }

    #[test]
    fn every_policy_has_a_name_a_place_and_its_choices_once() {
        let mut seen = BTreeSet::new();
        for policy in &POLICIES {
            assert!(
                seen.insert(policy.name) && seen.insert(policy.flag) || policy.name == policy.flag
            );
            let names = policy.names(&Sizes::default());
            let distinct: BTreeSet<&String> = names.iter().collect();
            assert_eq!(names.len(), distinct.len(), "{}: {names:?}", policy.name);
            for name in names {
                assert!(policy.about.contains(&name), "{}: {name}", policy.name);
            }
        }
    }

    #[test]
    fn every_choice_of_every_form_can_be_chosen_and_is_explained() {
        for spec in specs() {
            let stored = to_value(&spec).unwrap();
            for policy in &POLICIES {
                let value = stored.pointer(policy.path);
                let Some(value) = value else {
                    let is_left_out = ["/repair", "/delta"].contains(&policy.path);
                    assert!(is_left_out, "a spec has no {}", policy.path);
                    continue;
                };
                let names = policy.names(&Sizes::default());
                let name = policy.name_of(value);
                assert!(
                    names.is_empty() || names.contains(&name),
                    "{name} of {names:?}"
                );
            }
            for Sentence { flag, words, .. } in sentences(&spec, 1000) {
                for words in [words.meaning, words.cost] {
                    let begins = |c: char| c.is_uppercase() || c.is_ascii_digit();
                    assert!(
                        words.starts_with(begins) && words.ends_with('.'),
                        "{flag}: {words}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_choice_that_is_named_can_be_typed_and_has_words() {
        let sizes = Sizes::default();
        for policy in choices() {
            for name in policy.names(&sizes) {
                let value = policy.read(&name, &sizes).unwrap();
                assert_eq!(policy.name_of(&value), name, "{}", policy.name);
                let typed = policy.typed(&value);
                assert_eq!(policy.typed(&policy.read(&typed, &sizes).unwrap()), typed);
            }
            let refused = policy.read("x", &sizes).unwrap_err();
            assert!(
                refused
                    .context()
                    .starts_with(&format!("{} x: ", policy.flag))
            );
        }
    }

    #[test]
    fn what_is_chosen_has_a_name_for_each_policy() {
        for spec in specs() {
            let chosen = chosen(&spec);
            assert_eq!(chosen.len(), POLICIES.len());
            let (_, codec) = chosen
                .iter()
                .find(|(policy, _)| policy.name == "codec")
                .unwrap();
            assert_eq!(*codec, name_of(&spec.layout.codec));
        }
    }
}

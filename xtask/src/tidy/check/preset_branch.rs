//! A preset is data: outside `presets/` nothing may ask which preset an index came from.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if file.path.contains("/presets/") || file.path.ends_with("/presets.rs") {
        return;
    }
    for (line, code) in file.code_lines() {
        if branches(code) {
            findings.fail(
                line,
                "branches on the preset; make it a choice of the IndexSpec",
            );
        }
    }
}

fn branches(code: &str) -> bool {
    let names_preset = code.contains("Preset::") || word::has_word(code, "preset");
    let compares = ["==", "!=", "matches!("]
        .iter()
        .any(|operator| code.contains(operator));
    let is_arm = code
        .split("=>")
        .next()
        .is_some_and(|left| left.len() < code.len() && left.contains("Preset::"));
    let is_match = word::has_word(code, "match") && word::has_word(code, "preset");
    names_preset && (compares || is_match) || is_arm
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(path: &str, code: &str) -> usize {
        messages(super::check, path, code).len()
    }

    #[test]
    fn branching_on_a_preset_fails() {
        let path = "crates/engine/src/build/pipeline.rs";
        for code in [
            "if preset == Preset::Diskann {",
            "match self.preset {",
            "Preset::Aisaq => 1,",
        ] {
            assert_eq!(found(path, code), 1, "{code}");
        }
    }

    #[test]
    fn naming_a_preset_or_living_in_presets_passes() {
        assert_eq!(
            found(
                "crates/cli/src/a.rs",
                "let spec = preset.spec(Preset::Diskann);"
            ),
            0
        );
        assert_eq!(
            found("crates/engine/src/presets/mod.rs", "match preset {"),
            0
        );
    }
}

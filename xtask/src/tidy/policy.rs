//! A choice is known in one place: outside the rooms of a policy nobody matches on its variants.
//!
//! A room is the folder of the spec, of the presets or of what resolves a spec, and the files that
//! do what a policy says. All others ask: `spec/` has a method beside each choice. What is left
//! over has an allowance, which only ever shrinks.

use super::finding::{Finding, Severity};
use super::pattern::sites;
use super::source::SourceFile;

/// Rooms of every policy.
const ROOMS: [&str; 3] = [
    "crates/engine/src/spec/",
    "crates/engine/src/presets/",
    "crates/engine/src/resolve/",
];

/// Each policy, and the files in which its choices are done.
const POLICIES: [(&str, &[&str]); 20] = [
    ("GraphSpec", &["build/graph.rs"]),
    ("VectorStorage", &["layout/record/"]),
    ("CodeStorage", &[]),
    ("QuantizerSpec", &[]),
    ("RotationSpec", &[]),
    ("IdStorage", &["storage/identities.rs"]),
    ("CodecSpec", &["layout/"]),
    ("PlacementSpec", &["build/order.rs"]),
    ("ListSpec", &["layout/"]),
    ("NodeCacheSpec", &["cache/"]),
    ("PageCacheSpec", &["cache/"]),
    ("SelectionSpec", &["cache/"]),
    ("EntrySpec", &["build/entry.rs", "execution/entry.rs"]),
    (
        "ScheduleSpec",
        &["execution/schedule.rs", "execution/pipeline.rs"],
    ),
    (
        "CompletionSpec",
        &["execution/schedule.rs", "execution/pipeline.rs"],
    ),
    ("HarvestSpec", &["execution/harvest.rs"]),
    ("RefineSpec", &["execution/refine.rs"]),
    ("StopSpec", &["execution/candidates.rs"]),
    ("UpdateSpec", &["update/"]),
    ("RepairSpec", &["build/patch/repair.rs"]),
];

/// Folders with sites outside the rooms, and how many each may have.
const ALLOWANCES: [(&str, usize); 2] = [
    ("crates/engine/src/execution/", 5),
    ("crates/engine/src/storage/", 1),
];

/// Sites outside the rooms that the repository may have in all.
#[cfg(test)]
const MOST: usize = 40;

/// Failures of folders that match on more than they may, and warnings where they could have less.
pub(super) fn judge(files: &[SourceFile]) -> Vec<Finding> {
    let mut sites: Vec<(&str, usize, &str)> = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("crates/")) {
        sites.extend(
            outside(file)
                .into_iter()
                .map(|(line, name)| (file.path.as_str(), line, name)),
        );
    }
    let mut found = Vec::new();
    for (folder, allowed) in ALLOWANCES {
        let here = sites.extract_if(.., |(path, ..)| path.starts_with(folder));
        let here: Vec<_> = here.collect();
        let count = here.len();
        if count > allowed {
            found.extend(here.iter().map(|site| finding(*site)));
        } else if count < allowed && files.iter().any(|file| file.path.starts_with(folder)) {
            let message =
                format!("{count} sites match on policies, {allowed} are allowed: lower it");
            found.push(of(Severity::Warning, folder, 1, message));
        }
    }
    found.extend(sites.into_iter().map(finding));
    found
}

/// Lines of production code outside the rooms that match on a policy, with its name.
fn outside(file: &SourceFile) -> Vec<(usize, &'static str)> {
    if !file.is_rust() || ROOMS.iter().any(|room| file.path.starts_with(room)) {
        return Vec::new();
    }
    let engine = file.path.strip_prefix("crates/engine/src/");
    let mut all = Vec::new();
    for (name, rooms) in POLICIES {
        let is_room = engine.is_some_and(|path| rooms.iter().any(|room| path.starts_with(room)));
        if is_room {
            continue;
        }
        let lines = sites(file.code(), name)
            .into_iter()
            .map(|at| file.line_at(at));
        all.extend(
            lines
                .filter(|line| file.is_production(*line))
                .map(|line| (line, name)),
        );
    }
    all
}

fn finding((path, line, name): (&str, usize, &str)) -> Finding {
    let message = format!("matches on {name}; ask it, by a method beside its choices in spec/");
    of(Severity::Failure, path, line, message)
}

fn of(severity: Severity, path: &str, line: usize, message: String) -> Finding {
    Finding {
        check: "policy-match",
        severity,
        path: path.to_owned(),
        line,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::{ALLOWANCES, MOST, SourceFile, judge};

    fn found(path: &str) -> usize {
        let code = "fn f(a: B) -> bool { matches!(a.entry, EntrySpec::Medoid) }\n";
        judge(&[SourceFile::new(path, code)])
            .iter()
            .filter(|finding| finding.path == path)
            .count()
    }

    #[test]
    fn who_matches_on_a_policy_outside_its_rooms_fails() {
        assert_eq!(found("crates/cli/src/design.rs"), 1);
        assert_eq!(found("crates/engine/src/build/order.rs"), 1);
        for room in ["spec/a.rs", "resolve/b.rs", "build/entry.rs"] {
            assert_eq!(found(&format!("crates/engine/src/{room}")), 0, "{room}");
        }
        assert_eq!(found("crates/engine/tests/a.rs"), 0);
    }

    #[test]
    fn what_is_left_over_is_little() {
        let all: usize = ALLOWANCES.iter().map(|(_, allowed)| allowed).sum();
        assert!(all <= MOST, "{all}");
    }
}

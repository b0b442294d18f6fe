//! Which module of the engine may use which; edit the table as the engine grows.
//!
//! The table is an order: a module uses only what stands before it, so there is no circle. Axes
//! know the spec and each other's data, never the other way round; presets are data over the spec;
//! searching never uses building. `lib.rs` names what users see, and may use everything.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

const ENGINE: &str = "crates/engine/src/";

/// The root of the engine.
const ROOT: &str = "lib";

/// Top modules of the engine in their order, and what each uses of those before it.
const ORDER: [(&str, &[&str]); 23] = [
    // What everything else speaks.
    ("error", &[]),
    ("memory", &["error"]),
    ("threads", &["error"]),
    // Files of the user.
    ("source", &["error"]),
    ("truth", &["error", "source"]),
    // Choices as data.
    ("spec", &["error", "memory"]),
    ("presets", &["error", "spec"]),
    // The axes.
    ("storage", &["error", "spec"]),
    ("layout", &["error", "spec"]),
    ("cache", &["error", "layout", "memory"]),
    (
        "execution",
        &["cache", "error", "layout", "memory", "spec", "storage"],
    ),
    // Rows that are in no segment yet.
    ("delta", &[]),
    // What callers ask for.
    ("filter", &["error"]),
    (
        "options",
        &[
            "error",
            "execution",
            "filter",
            "memory",
            "presets",
            "source",
            "spec",
        ],
    ),
    // What an index says of itself, and what follows from that.
    ("calibration", &["error", "execution"]),
    (
        "manifest",
        &[
            "calibration",
            "error",
            "execution",
            "filter",
            "memory",
            "presets",
            "spec",
            "storage",
        ],
    ),
    (
        "resolve",
        &[
            "cache",
            "error",
            "execution",
            "layout",
            "manifest",
            "spec",
            "storage",
            "threads",
        ],
    ),
    (
        "plan",
        &[
            "error",
            "execution",
            "manifest",
            "memory",
            "options",
            "resolve",
            "spec",
            "storage",
            "threads",
        ],
    ),
    // What is open.
    (
        "segment",
        &[
            "error",
            "execution",
            "layout",
            "manifest",
            "resolve",
            "source",
            "spec",
            "storage",
        ],
    ),
    (
        "index",
        &[
            "calibration",
            "delta",
            "error",
            "execution",
            "filter",
            "manifest",
            "memory",
            "options",
            "plan",
            "resolve",
            "segment",
            "source",
            "spec",
            "storage",
            "threads",
            "truth",
        ],
    ),
    // What makes an index, and measures it.
    (
        "build",
        &[
            "cache",
            "calibration",
            "delta",
            "error",
            "execution",
            "filter",
            "index",
            "layout",
            "manifest",
            "memory",
            "options",
            "plan",
            "presets",
            "resolve",
            "segment",
            "source",
            "spec",
            "storage",
            "threads",
            "truth",
        ],
    ),
    // What changes it.
    (
        "update",
        &[
            "build",
            "calibration",
            "delta",
            "error",
            "execution",
            "filter",
            "index",
            "manifest",
            "memory",
            "options",
            "presets",
            "resolve",
            "segment",
            "source",
            "spec",
            "threads",
        ],
    ),
    // What asks the machine.
    ("doctor", &["error", "index", "resolve", "threads"]),
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    let Some(module) = file
        .path
        .strip_prefix(ENGINE)
        .and_then(|path| path.strip_suffix(".rs"))
    else {
        return;
    };
    let top = top_of(module);
    if top == ROOT {
        return;
    }
    let Some((_, allowed)) = ORDER.iter().find(|(name, _)| *name == top) else {
        findings.fail(
            1,
            format!("module {top} is not in the table of xtask's engine-edge check"),
        );
        return;
    };
    for (line, used) in used_modules(file, module) {
        if used != top && !allowed.contains(&used.as_str()) {
            findings.fail(line, format!("{top} may not use crate::{used}"));
        }
    }
}

/// The top module that a module belongs to.
fn top_of(module: &str) -> &str {
    module.split('/').next().unwrap_or(module)
}

/// Numbered top modules that production code names by `crate::` or by a chain of `super::`.
fn used_modules(file: &SourceFile, module: &str) -> Vec<(usize, String)> {
    let code = file.code();
    let to_root = "super::".repeat(depth(module));
    let mut found = Vec::new();
    for prefix in ["crate::", to_root.as_str()] {
        for (start, _) in code.match_indices(prefix) {
            let line = file.line_at(start);
            let rest = code.get(start + prefix.len()..).unwrap_or("");
            if file.is_production(line) && !rest.starts_with("super::") {
                found.extend(first_names(rest).into_iter().map(|name| (line, name)));
            }
        }
    }
    found.retain(|(_, name)| name.starts_with(char::is_lowercase));
    found
}

/// How many `super::` lead from this module to the crate root.
fn depth(module: &str) -> usize {
    let path = module.strip_suffix("/mod").unwrap_or(module);
    path.split('/').count()
}

/// The names a path starts with: one, or those at the top of a `{…}` group.
fn first_names(rest: &str) -> Vec<String> {
    if !rest.starts_with('{') {
        return word::words(rest)
            .next()
            .map(str::to_owned)
            .into_iter()
            .collect();
    }
    let end = crate::tidy::function::group_end(rest, 0).unwrap_or(rest.len());
    let group = rest.get(1..end).unwrap_or("");
    let pieces = crate::tidy::function::top_level(group);
    pieces
        .into_iter()
        .filter_map(|piece| word::words(piece).next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{ENGINE, ORDER, top_of, used_modules};
    use crate::tidy::check::messages;
    use crate::tidy::run::{repository, text_files};

    fn found(path: &str, code: &str) -> Vec<String> {
        messages(super::check, &format!("{ENGINE}{path}"), code)
    }

    #[test]
    fn every_module_uses_only_what_stands_before_it() {
        for (place, (module, used)) in ORDER.iter().enumerate() {
            let before: Vec<&str> = ORDER.iter().take(place).map(|(name, _)| *name).collect();
            for name in *used {
                assert!(before.contains(name), "{module} uses {name}");
            }
            assert!(used.is_sorted(), "{module}");
        }
    }

    #[test]
    fn every_edge_of_the_table_is_used() {
        let files = text_files(&repository()).unwrap();
        let mut edges = HashSet::new();
        for file in &files {
            let Some(module) = file.path.strip_prefix(ENGINE) else {
                continue;
            };
            let module = module.trim_end_matches(".rs");
            for (_, used) in used_modules(file, module) {
                edges.insert((top_of(module).to_owned(), used));
            }
        }
        for (module, used) in ORDER {
            for name in used {
                let edge = (module.to_owned(), (*name).to_owned());
                assert!(edges.contains(&edge), "{module} does not use {name}");
            }
        }
    }

    #[test]
    fn a_forbidden_edge_fails_however_it_is_written() {
        for code in [
            "use crate::update::Edit;",
            "use crate::{spec::Shape, build::pipeline};",
            "fn f() { crate::update::merge() }",
            "use super::super::update::Edit;",
        ] {
            assert_eq!(found("execution/traversal.rs", code).len(), 1, "{code}");
        }
        assert_eq!(
            found("presets/mod.rs", "use super::layout::Codec;").len(),
            1
        );
    }

    #[test]
    fn allowed_edges_own_names_and_tests_pass() {
        assert!(
            found(
                "execution/traversal.rs",
                "use crate::layout::codec; use super::scratch;"
            )
            .is_empty()
        );
        assert!(found("execution/mod.rs", "pub use crate::Error;").is_empty());
        assert!(found("lib.rs", "use crate::update::Edit;").is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    use crate::update::Edit;\n}\n";
        assert!(found("execution/a.rs", test).is_empty());
    }

    #[test]
    fn an_unknown_module_fails() {
        assert_eq!(found("novelty.rs", "").len(), 1);
    }
}

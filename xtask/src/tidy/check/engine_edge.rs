//! Which module of the engine may use which; edit the table as the engine grows.
//!
//! Axes know the spec and each other's data, never the other way round; presets are data over the
//! spec; searching never uses building or updating. The files that put an index together may use
//! everything.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

const ENGINE: &str = "crates/engine/src/";

/// Top module of the engine, and the other top modules it may use.
const ALLOWED: [(&str, &[&str]); 15] = [
    // What everything else speaks. The public error is made from the errors of the lower modules.
    ("error", &["layout", "source", "spec", "storage", "truth"]),
    ("memory", &["error"]),
    // Files of the user.
    ("source", &["error"]),
    ("truth", &["error", "memory", "source"]),
    // Choices as data.
    ("spec", &["error", "memory"]),
    ("presets", &["error", "spec"]),
    (
        "options",
        &["error", "execution", "memory", "presets", "source", "spec"],
    ),
    // The five axes.
    ("storage", &["error", "layout", "memory", "spec"]),
    ("layout", &["error", "spec", "storage"]),
    ("cache", &["error", "layout", "memory", "spec", "storage"]),
    (
        "execution",
        &["cache", "error", "layout", "memory", "spec", "storage"],
    ),
    (
        "update",
        &["error", "execution", "layout", "memory", "spec", "storage"],
    ),
    // What asks the machine.
    ("doctor", &["error", "index", "memory", "resolve"]),
    // What makes an index, and what measures a finished one.
    (
        "build",
        &[
            "cache",
            "calibration",
            "error",
            "index",
            "layout",
            "memory",
            "options",
            "presets",
            "resolve",
            "source",
            "spec",
            "storage",
            "truth",
        ],
    ),
    (
        "calibration",
        &["error", "index", "options", "source", "truth"],
    ),
];

/// Modules that put the parts together and may use every other.
const ASSEMBLY: [&str; 3] = ["lib", "index", "resolve"];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    let Some(module) = file
        .path
        .strip_prefix(ENGINE)
        .and_then(|path| path.strip_suffix(".rs"))
    else {
        return;
    };
    let top = module.split('/').next().unwrap_or(module);
    if ASSEMBLY.contains(&top) {
        return;
    }
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == top) else {
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
    use crate::tidy::check::messages;

    fn found(path: &str, code: &str) -> Vec<String> {
        messages(super::check, &format!("crates/engine/src/{path}"), code)
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
        assert!(found("resolve.rs", "use crate::update::Edit;").is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    use crate::update::Edit;\n}\n";
        assert!(found("execution/a.rs", test).is_empty());
    }

    #[test]
    fn an_unknown_module_fails() {
        assert_eq!(found("novelty.rs", "").len(), 1);
    }
}

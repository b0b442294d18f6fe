//! Crates depend in one direction only; the table below is the whole truth.
//!
//! `store` knows bytes and never vectors, `quant` and `graph` never touch a file, the engine alone
//! knows both, and the plan, the lab, the server, the command line and Python see nothing of ours
//! but the engine; the command line makes plans too. The programs share a shell and not each other.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;

/// Package, and the packages of ours that it may depend on. Development dependencies are free.
const ALLOWED: &[(&str, &[&str])] = &[
    ("pageway-types", &[]),
    ("pageway-kernels", &["pageway-types"]),
    ("pageway-quant", &["pageway-types", "pageway-kernels"]),
    (
        "pageway-graph",
        &["pageway-types", "pageway-kernels", "pageway-quant"],
    ),
    ("pageway-store", &["pageway-types"]),
    ("pageway-attributes", &["pageway-store"]),
    ("pageway-testkit", &["pageway-types", "pageway-store"]),
    (
        "pageway",
        &[
            "pageway-types",
            "pageway-kernels",
            "pageway-quant",
            "pageway-graph",
            "pageway-store",
            "pageway-attributes",
        ],
    ),
    ("pageway-advisor", &["pageway"]),
    ("pageway-shell", &["pageway"]),
    ("pageway-formats", &["pageway"]),
    ("pageway-object", &["pageway", "pageway-store"]),
    (
        "pageway-lab",
        &["pageway", "pageway-formats", "pageway-shell"],
    ),
    ("pageway-server", &["pageway", "pageway-shell"]),
    ("pageway-import", &["pageway", "pageway-shell"]),
    (
        "pageway-cli",
        &[
            "pageway",
            "pageway-advisor",
            "pageway-formats",
            "pageway-object",
            "pageway-shell",
        ],
    ),
    ("pageway-python", &["pageway", "pageway-object"]),
    (
        "pageway-fuzz",
        &[
            "pageway",
            "pageway-formats",
            "pageway-graph",
            "pageway-kernels",
            "pageway-quant",
            "pageway-store",
            "pageway-testkit",
        ],
    ),
    ("pageway-suites", &[]),
    ("xtask", &[]),
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    let Some(package) = package_name(file) else {
        return;
    };
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package) else {
        findings.fail(
            1,
            format!("package {package} is not in the table of xtask's crate-edge check"),
        );
        return;
    };
    for (line, dependency) in own_dependencies(&file.text) {
        if !allowed.contains(&dependency) {
            findings.fail(line, format!("{package} may not depend on {dependency}"));
        }
    }
}

fn package_name(file: &SourceFile) -> Option<&str> {
    let in_package = file.path.ends_with("/Cargo.toml");
    let name = file
        .text
        .lines()
        .find_map(|line| line.strip_prefix("name = "))?;
    in_package.then_some(name.trim_matches('"'))
}

/// Numbered packages of ours under `[dependencies]` and the `[target.….dependencies]` tables.
fn own_dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut in_dependencies = false;
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            in_dependencies = table == "dependencies" || table.ends_with(".dependencies");
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or("");
        if in_dependencies && name.starts_with("pageway") {
            found.push((index + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(package: &str, tables: &str) -> usize {
        let manifest = format!("[package]\nname = \"{package}\"\n{tables}");
        messages(super::check, "crates/x/Cargo.toml", &manifest).len()
    }

    #[test]
    fn a_forbidden_edge_fails() {
        assert_eq!(
            found(
                "pageway-store",
                "[dependencies]\npageway-quant.workspace = true\n"
            ),
            1
        );
        let target = "[target.'cfg(unix)'.dependencies]\npageway = { path = \"a\" }\n";
        assert_eq!(found("pageway-graph", target), 1);
        assert_eq!(
            found(
                "pageway-cli",
                "[dependencies]\npageway-store.workspace = true\n"
            ),
            1
        );
    }

    #[test]
    fn allowed_edges_and_development_dependencies_pass() {
        assert_eq!(
            found(
                "pageway-quant",
                "[dependencies]\npageway-kernels.workspace = true\n"
            ),
            0
        );
        assert_eq!(
            found(
                "pageway-store",
                "[dev-dependencies]\npageway-testkit = \"1\"\n"
            ),
            0
        );
    }

    #[test]
    fn an_unknown_package_fails() {
        assert_eq!(found("pageway-new", ""), 1);
    }
}

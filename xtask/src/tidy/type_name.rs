//! One thing for one word: a type that other files of a crate can name shares its name with no
//! other type of the crate.

use std::collections::BTreeMap;
use std::path::Path;

use super::finding::{Finding, Severity};
use super::source::SourceFile;

/// Crates whose folders are the same machine again for other processors.
const MIRRORED: [&str; 1] = ["crates/kernels/"];

const KEYWORDS: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

/// Where a type is defined.
struct Site<'f> {
    path: &'f str,
    line: usize,
    is_shared: bool,
}

/// A failure for each definition of a name that a shared type has too.
pub(super) fn judge(files: &[SourceFile]) -> Vec<Finding> {
    let mut sites: BTreeMap<(&str, &str), Vec<Site<'_>>> = BTreeMap::new();
    for file in files {
        let Some(of_crate) = crate_of(&file.path) else {
            continue;
        };
        for (line, code) in file.code_lines() {
            let Some((name, is_shared)) = definition(code) else {
                continue;
            };
            if file.is_production(line) {
                let path = file.path.as_str();
                sites.entry((of_crate, name)).or_default().push(Site {
                    path,
                    line,
                    is_shared,
                });
            }
        }
    }
    sites
        .iter()
        .filter(|(_, sites)| sites.len() > 1 && sites.iter().any(|site| site.is_shared))
        .flat_map(|((_, name), sites)| sites.iter().map(move |site| finding(name, site)))
        .collect()
}

/// The crate of a source file, where names of types are held apart.
fn crate_of(path: &str) -> Option<&str> {
    let is_test = path.contains("/tests/")
        || ["/tests.rs", "/testing.rs"]
            .iter()
            .any(|name| path.ends_with(name));
    if is_test || MIRRORED.iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let (folder, file) = path.split_once("/src/")?;
    let is_rust = Path::new(file).extension().is_some_and(|it| it == "rs");
    (folder.starts_with("crates/") && is_rust).then_some(folder)
}

/// The type that a line of a module defines, and whether other files can name it. Indented lines
/// belong to traits, functions and inner modules.
fn definition(line: &str) -> Option<(&str, bool)> {
    let (is_shared, rest) = match line.strip_prefix("pub") {
        Some(rest) => (true, rest.split_once(' ')?.1),
        None => (false, line),
    };
    let name = KEYWORDS
        .iter()
        .find_map(|keyword| rest.strip_prefix(keyword))?;
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    Some((name.get(..end)?, is_shared))
}

fn finding(name: &str, site: &Site<'_>) -> Finding {
    Finding {
        check: "type-name",
        severity: Severity::Failure,
        path: site.path.to_owned(),
        line: site.line,
        message: format!("two types of this crate are called {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, judge};

    fn found(one: (&str, &str), other: (&str, &str)) -> usize {
        let files = [one, other].map(|(path, code)| SourceFile::new(path, code));
        judge(&files).len()
    }

    #[test]
    fn a_name_that_leaves_its_file_is_that_of_one_type() {
        let shared = ("crates/x/src/a.rs", "pub(crate) struct Scratch<'s> {\n}\n");
        let private = ("crates/x/src/b.rs", "enum Scratch {\n}\n");
        assert_eq!(found(shared, private), 2);
        assert_eq!(found(private, ("crates/x/src/c.rs", private.1)), 0);
        assert_eq!(found(shared, ("crates/y/src/b.rs", private.1)), 0);
        let inner = "mod a {\n    struct Scratch;\n}\n";
        assert_eq!(found(shared, ("crates/x/src/b.rs", inner)), 0);
        let test = "#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(found(shared, ("crates/x/src/b.rs", test)), 0);
    }
}

//! The checks, one per file. Each sees one file of the repository and adds to its findings.

mod crate_edge;
mod encoding;
mod engine_edge;
mod file_size;
mod function_size;
mod leftover;
mod line_width;
mod machine_path;
mod module_doc;
mod name;
mod os_access;
mod preset_branch;
mod python_function;
mod struct_size;
mod vocabulary;

use super::finding::Findings;
use super::source::SourceFile;

/// A rule with the name that findings and exceptions use.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&SourceFile, &mut Findings<'_>),
}

/// Every rule of the house that is checked here.
pub(crate) const ALL: [Check; 15] = [
    Check {
        name: "crate-edge",
        run: crate_edge::check,
    },
    Check {
        name: "encoding",
        run: encoding::check,
    },
    Check {
        name: "engine-edge",
        run: engine_edge::check,
    },
    Check {
        name: "file-size",
        run: file_size::check,
    },
    Check {
        name: "function-size",
        run: function_size::check,
    },
    Check {
        name: "leftover",
        run: leftover::check,
    },
    Check {
        name: "line-width",
        run: line_width::check,
    },
    Check {
        name: "machine-path",
        run: machine_path::check,
    },
    Check {
        name: "module-doc",
        run: module_doc::check,
    },
    Check {
        name: "name",
        run: name::check,
    },
    Check {
        name: "os-access",
        run: os_access::check,
    },
    Check {
        name: "preset-branch",
        run: preset_branch::check,
    },
    Check {
        name: "python-function",
        run: python_function::check,
    },
    Check {
        name: "struct-size",
        run: struct_size::check,
    },
    Check {
        name: "vocabulary",
        run: vocabulary::check,
    },
];

/// Runs one check on a made-up file and returns the messages, for the tests of the checks.
#[cfg(test)]
fn messages(check: fn(&SourceFile, &mut Findings<'_>), path: &str, text: &str) -> Vec<String> {
    let file = SourceFile::new(path, text);
    let mut findings = Findings::new("test", path);
    check(&file, &mut findings);
    findings
        .into_list()
        .into_iter()
        .map(|finding| finding.to_string())
        .collect()
}

//! Runs every check on every file that git knows or would add, and prints what they found.

#![expect(
    clippy::disallowed_methods,
    reason = "a repository chore reads the repository, not an index"
)]
#![expect(
    clippy::print_stdout,
    reason = "the terminal is the only reader of the report"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::check;
use super::exceptions::{self, Exception};
use super::finding::{Finding, Findings, Severity};
use super::policy;
use super::source::SourceFile;
use super::type_name;

/// Files above this size are data, whatever their name says.
const TEXT_BYTES_MAX: u64 = 1 << 20;
const EXTENSIONS: [&str; 8] = ["rs", "py", "pyi", "md", "toml", "sh", "yml", "yaml"];

/// Checks the repository around this package. Exit code 1 if a check failed or git could not be
/// asked.
pub(crate) fn run() -> ExitCode {
    let root = repository();
    match text_files(&root) {
        Ok(files) => report(files.len(), judge(&files, exceptions::ALL)),
        Err(message) => {
            println!("tidy: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Cargo tells where this package lies; the repository is around it.
pub(crate) fn repository() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."))
        .to_owned()
}

/// Every file of text that git knows or would add.
pub(crate) fn text_files(root: &Path) -> Result<Vec<SourceFile>, String> {
    let listing = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !listing.status.success() {
        return Err(String::from_utf8_lossy(&listing.stderr).into_owned());
    }
    let names = String::from_utf8_lossy(&listing.stdout).into_owned();
    let paths = names.split('\0').filter(|path| is_text(path));
    Ok(paths.filter_map(|path| read(root, path)).collect())
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.contains(&extension),
        None => matches!(name, "Makefile" | "run"),
    }
}

/// Nothing for a file that is listed but gone, or too large to be text.
fn read(root: &Path, path: &str) -> Option<SourceFile> {
    let full = root.join(path);
    let size = fs::metadata(&full).ok()?.len();
    let bytes = (size <= TEXT_BYTES_MAX).then(|| fs::read(&full).ok())??;
    Some(SourceFile::new(path, String::from_utf8_lossy(&bytes)))
}

/// All findings that no exception lifts, and a failure for every exception that lifted nothing.
fn judge(files: &[SourceFile], exceptions: &[Exception]) -> Vec<Finding> {
    let mut found: Vec<Finding> = files.iter().flat_map(findings_of).collect();
    found.extend(policy::judge(files));
    found.extend(type_name::judge(files));
    let stale = exceptions
        .iter()
        .filter(|exception| !found.iter().any(|finding| exception.lifts(finding)));
    let stale: Vec<Finding> = stale.map(stale_exception).collect();
    let is_lifted = |finding: &Finding| exceptions.iter().any(|exception| exception.lifts(finding));
    found
        .into_iter()
        .filter(|finding| !is_lifted(finding))
        .chain(stale)
        .collect()
}

fn stale_exception(exception: &Exception) -> Finding {
    Finding {
        check: exception.check,
        severity: Severity::Failure,
        path: exception.path.to_owned(),
        line: 1,
        message: "this exception is not needed any more".to_owned(),
    }
}

fn findings_of(file: &SourceFile) -> Vec<Finding> {
    let run = |check: &check::Check| {
        let mut findings = Findings::new(check.name, &file.path);
        (check.run)(file, &mut findings);
        findings.into_list()
    };
    check::ALL.iter().flat_map(run).collect()
}

fn report(file_count: usize, findings: Vec<Finding>) -> ExitCode {
    let failures = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Failure)
        .count();
    let warnings = findings.len() - failures;
    for finding in findings {
        println!("{finding}");
    }
    println!("tidy: {file_count} files, {warnings} warnings, {failures} failures");
    if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::{Exception, SourceFile, is_text, judge};

    const LONG: Exception = Exception {
        check: "module-doc",
        path: "crates/x/",
        reason: "a test",
    };

    fn checks(exceptions: &[Exception]) -> Vec<&'static str> {
        let files = [SourceFile::new("crates/x/src/a.rs", "use b;\n")];
        judge(&files, exceptions)
            .into_iter()
            .map(|finding| finding.check)
            .collect()
    }

    #[test]
    fn an_exception_lifts_its_finding_and_no_other() {
        assert_eq!(checks(&[]), ["module-doc"]);
        assert!(checks(&[LONG]).is_empty());
        assert_eq!(
            checks(&[Exception {
                check: "name",
                ..LONG
            }]),
            ["module-doc", "name"]
        );
    }

    #[test]
    fn an_exception_that_lifts_nothing_fails() {
        let elsewhere = Exception {
            path: "crates/y/",
            ..LONG
        };
        assert_eq!(checks(&[LONG, elsewhere]), ["module-doc"]);
    }

    #[test]
    fn data_is_not_read_as_text() {
        assert!(is_text("Makefile") && is_text(".ci/run") && is_text("a/b.rs"));
        assert!(!is_text("data/demo/a.npy") && !is_text("data/demo/a.txt"));
    }
}

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
use super::exceptions;
use super::finding::{Finding, Findings, Severity};
use super::source::SourceFile;

/// Files above this size are data, whatever their name says.
const TEXT_BYTES_MAX: u64 = 1 << 20;
const EXTENSIONS: [&str; 8] = ["rs", "py", "pyi", "md", "toml", "sh", "yml", "yaml"];

/// Checks the repository around this package. Exit code 1 if a check failed or git could not be
/// asked.
pub(crate) fn run() -> ExitCode {
    let root = root();
    match text_files(&root) {
        Ok(files) => report(files.len(), judge(&files)),
        Err(message) => {
            println!("tidy: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Cargo tells where this package lies; the repository is around it.
fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."))
        .to_owned()
}

fn text_files(root: &Path) -> Result<Vec<SourceFile>, String> {
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
fn judge(files: &[SourceFile]) -> Vec<Finding> {
    let mut used = vec![false; exceptions::ALL.len()];
    let mut left: Vec<Finding> = files.iter().flat_map(findings_of).collect();
    left.retain(|finding| {
        let lifted = exceptions::ALL.iter().position(|exception| {
            exception.check == finding.check && finding.path.starts_with(exception.path)
        });
        if let Some(used) = lifted.and_then(|index| used.get_mut(index)) {
            *used = true;
        }
        lifted.is_none()
    });
    let stale = exceptions::ALL.iter().zip(used).filter(|&(_, used)| !used);
    left.extend(stale.map(|(exception, _)| Finding {
        check: exception.check,
        severity: Severity::Failure,
        path: exception.path.to_owned(),
        line: 1,
        message: "this exception is not needed any more".to_owned(),
    }));
    left
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

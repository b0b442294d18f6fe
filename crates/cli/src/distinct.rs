//! Refuses to write a file over what is read, or over another one that is written.

use std::path::{Path, PathBuf};

use pageway::{Error, Result};

/// A file, and the argument that names it.
pub(crate) type Named<'f> = (&'f str, &'f Path);

/// Compares files as the system finds them, by whatever path they are given.
///
/// # Errors
/// `InvalidInput` that names both arguments where one of `written` is among the others or `read`.
pub(crate) fn check_distinct(written: &[Named<'_>], read: &[Named<'_>]) -> Result<()> {
    for (number, (to, path)) in written.iter().enumerate() {
        let found = resolved(path);
        let earlier = written.iter().take(number);
        let same = |other: &&Named<'_>| resolved(other.1) == found;
        if let Some((other, _)) = read.iter().chain(earlier).find(same) {
            return Err(Error::invalid(format!(
                "{other} and {to} are the same file, {}, which would be lost: give {to} another \
                 name",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Refuses to write a directory into that of an index, whose files may be removed at any change.
///
/// # Errors
/// `InvalidInput` that names both.
pub(crate) fn check_outside(index: &Path, out: &Path) -> Result<()> {
    if !resolved(out).starts_with(resolved(index)) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "--out {} lies in the directory of the index {}: name one outside of it",
        out.display(),
        index.display()
    )))
}

/// The path without links; that of its directory where there is no such file yet.
fn resolved(path: &Path) -> PathBuf {
    let beside = || {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(dir.join(path.file_name()?))
    };
    let found = path.canonicalize().ok().or_else(beside);
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_by_any_path_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let [a, b] = ["a.npy", "b.npy"].map(|name| root.path().join(name));
        let again = root.path().join(".").join("a.npy");
        assert!(check_distinct(&[("TO", &a), ("--ids", &b)], &[]).is_ok());
        for (written, read) in [
            (vec![("TO", a.as_path()), ("--ids", &again)], vec![]),
            (vec![("--ids", again.as_path())], vec![("TO", a.as_path())]),
        ] {
            let refused = check_distinct(&written, &read).unwrap_err().to_string();
            assert!(refused.contains("TO and --ids are the same"), "{refused}");
        }
    }
}

//! A file out of a `.tar.gz` archive, streamed.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use pageway::lab::OpenMode;
use pageway::{Error, ErrorKind, Progress, Result};
use tar::{Archive, Entry};

use crate::files::{self, Counted, FileBytes, PROGRESS_BYTES};

const BLOCK_BYTES: usize = 1 << 20;

/// Writes the file of the archive whose path is `member` or ends with it to `to`.
///
/// # Errors
/// `NotFound` with the files that there are; `Corrupt` for bytes that are no archive; `Io`;
/// `Cancelled`.
pub(in crate::data) fn take_member(
    archive: &Path,
    member: &str,
    to: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let corrupt = |error: std::io::Error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{}: is no tar.gz archive: {error}", archive.display()),
        )
    };
    let mut tar = Archive::new(MultiGzDecoder::new(FileBytes::open(archive)?));
    let mut names = Vec::new();
    for entry in tar.entries().map_err(corrupt)? {
        progress.check()?;
        let mut entry = entry.map_err(corrupt)?;
        let name = entry.path().map_err(corrupt)?.display().to_string();
        if entry.header().entry_type().is_file() && is_member(&name, member) {
            return write(&mut entry, to, progress);
        }
        names.push(name);
    }
    let what = format!(
        "{}: has no {member}; it has {}",
        archive.display(),
        names.join(", ")
    );
    Err(Error::new(ErrorKind::NotFound, what))
}

fn is_member(name: &str, member: &str) -> bool {
    name.strip_suffix(member)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn write<R: Read>(entry: &mut Entry<'_, R>, to: &Path, progress: &dyn Progress) -> Result<()> {
    progress.stage("unpack (MB)", entry.size().div_ceil(PROGRESS_BYTES));
    let mut counted = Counted::new(progress);
    let partial = files::with_suffix(to, ".partial");
    files::remove(&partial)?;
    let file = files::open(&partial, OpenMode::CreateNew)?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut offset = 0;
    loop {
        progress.check()?;
        let read = entry.read(&mut block).map_err(files::at(to))?;
        if read == 0 {
            return files::publish(&partial, to);
        }
        let bytes = block.get(..read).unwrap_or_default();
        file.write_all_at(bytes, offset)
            .map_err(files::at(&partial))?;
        offset += read as u64;
        counted.add(read as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use pageway::NoProgress;

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
        let mut encoder = builder.into_inner().unwrap();
        encoder.flush().unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_member_is_found_by_the_end_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        let bytes = archive(&[
            ("sift/xbase.fvecs", b"wrong"),
            ("sift/base.fvecs", b"right"),
        ]);
        files::write(&path, &bytes).unwrap();
        let to = folder.path().join("base.fvecs");
        take_member(&path, "base.fvecs", &to, &NoProgress).unwrap();
        assert_eq!(files::read_text(&to).unwrap(), "right");

        let error = take_member(&path, "query.fvecs", &to, &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.context().contains("sift/xbase.fvecs"), "{error}");
    }

    #[test]
    fn what_is_no_archive_is_corrupt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        files::write(&path, b"not an archive at all").unwrap();
        let error = take_member(&path, "a", &folder.path().join("a"), &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}

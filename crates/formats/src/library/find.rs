//! Which library wrote a file: by its first bytes, whatever it is called.

use std::path::Path;
use std::sync::Arc;

use pageway::lab::VfsFile;
use pageway::{ElementType, Error, Result, Vfs};

use super::fields::Fields;
use super::found::Found;
use super::{diskann, faiss, hnswlib};
use crate::reader::open_file;

/// Extensions of the engine whose files are never looked into. `.bin` is: hnswlib uses it too.
const OWN: [&str; 9] = [
    "npy", "fbin", "f16bin", "bf16bin", "u8bin", "i8bin", "fvecs", "bvecs", "ibin",
];

/// The vectors of `path`, where it is an index file of a library that is known.
///
/// # Errors
/// `InvalidInput` where such a file holds no vectors or is damaged; `NotFound` and `Io`.
pub(crate) fn find(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    element: Option<ElementType>,
) -> Result<Option<Found>> {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let extension = extension.to_string_lossy();
    if OWN.contains(&extension.as_ref()) {
        return Ok(None);
    }
    let (file, name) = (open_file(vfs, path)?, path.display().to_string());
    let fields = || Fields::new(Arc::clone(&file), &name);
    if extension == "data" {
        return diskann::read_memory(fields()?, vfs, path, element).map(Some);
    }
    if extension == "faiss" || faiss::claims(first_letters(file.as_ref())) {
        return faiss::read(fields()?).map(Some);
    }
    if hnswlib::claims(&mut fields()?)? {
        let element = element.unwrap_or(ElementType::F32);
        return hnswlib::read(fields()?, element).map(Some);
    }
    if name.ends_with("_disk.index") || diskann::claims(&mut fields()?)? {
        return diskann::read_disk(fields()?, vfs, path, element).map(Some);
    }
    Ok(None)
}

/// What a file begins with, in words.
///
/// # Errors
/// `NotFound` and `Io`.
pub(crate) fn begin_of(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<String> {
    let file = open_file(vfs, path)?;
    let mut letters = [0; 8];
    let read = file.read_at(&mut letters, 0);
    let read = read.map_err(|error| Error::from(error).within(path.display()))?;
    let letters = letters.get(..read).unwrap_or_default();
    if letters.is_empty() {
        return Ok("is empty".to_owned());
    }
    Ok(format!("begins with \"{}\"", letters.escape_ascii()))
}

/// Zeros where there are none.
fn first_letters(file: &dyn VfsFile) -> [u8; 4] {
    let mut letters = [0; 4];
    match file.read_exact_at(&mut letters, 0) {
        Ok(()) => letters,
        Err(_) => [0; 4],
    }
}

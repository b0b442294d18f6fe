//! From a file of an entry to a plain file on this machine: found, fetched, unpacked or imported.

use std::path::{Path, PathBuf};

use pageway::{Error, ErrorKind, Progress, Result};

use super::cut::Cut;
use super::entry::{Container, DataSet, QuerySource, SetFile, Whereabouts};
use super::fetch::{Prefix, Wanted, fetch as fetch_file, take_member};
use super::import::Import;
use super::place::Place;
use crate::files;

/// Files that the program carries, by name.
const BUILTIN: [(&str, &[u8]); 2] = [
    (
        "wordnet-10k.npy",
        include_bytes!("../../../../data/demo/wordnet-10k.npy"),
    ),
    (
        "wordnet-queries.npy",
        include_bytes!("../../../../data/demo/wordnet-queries.npy"),
    ),
];
/// Letters of a fingerprint that tell two versions of a file apart.
const MARK_LETTERS: usize = 12;

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Base,
    Queries,
    Truth,
}

/// A set whose files are wanted.
#[derive(Clone, Copy)]
pub(super) struct Obtain<'a> {
    pub(super) set: &'a DataSet,
    pub(super) place: &'a Place,
    pub(super) progress: &'a dyn Progress,
}

/// Fetches the files of a set that are published elsewhere, or as much of them as a cut needs, and
/// checks those that are here. Gives their paths.
///
/// # Errors
/// `Io` with address and path for what cannot be reached; `Corrupt` for wrong bytes; `NotFound`
/// for local files that are missing and for the programs that are needed; `Cancelled`.
pub fn fetch(
    set: &DataSet,
    cut: Cut,
    place: &Place,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>> {
    let obtain = Obtain {
        set,
        place,
        progress,
    };
    let rows = cut.rows.map(|rows| rows + set.held_out());
    let mut paths = obtain.sources(&set.base, Role::Base, rows)?;
    if let QuerySource::File(file) = &set.queries {
        paths.extend(obtain.sources(file, Role::Queries, None)?);
    }
    if let Some(file) = published_truth(set, cut) {
        paths.extend(obtain.sources(file, Role::Truth, None)?);
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The published neighbours that are for this part of the base, if there are any.
pub(super) fn published_truth(set: &DataSet, cut: Cut) -> Option<&SetFile> {
    let whole = cut.rows.is_none() || cut.rows == set.rows;
    let fits = |file: &&SetFile| match file.rows {
        None => whole,
        Some(rows) => cut.rows.or(set.rows) == Some(rows),
    };
    let uncut = cut.dimensions.is_none() || cut.dimensions == set.dimension;
    set.truth.iter().filter(|_| uncut).find(fits)
}

impl Obtain<'_> {
    /// The file as one that the engine reads; with `rows`, perhaps no more than its first rows.
    pub(super) fn plain(&self, file: &SetFile, role: Role, rows: Option<u64>) -> Result<PathBuf> {
        let sources = self.sources(file, role, rows)?;
        let Some(first) = sources.first() else {
            return Err(self.wrong(file, "stands for no file"));
        };
        match file.container() {
            Container::Plain => Ok(first.clone()),
            Container::TarGz => self.unpacked(file, first),
            container @ (Container::Hdf5 | Container::Parquet) => {
                let import = Import {
                    python: &self.place.python,
                    container,
                    member: self.member(file)?,
                    files: &sources,
                };
                self.imported(&import, role, rows)
            }
        }
    }

    fn unpacked(&self, file: &SetFile, archive: &Path) -> Result<PathBuf> {
        let member = self.member(file)?;
        let name = member.rsplit('/').next().unwrap_or(member);
        let to = self.plain_path(archive, name)?;
        if !files::exists(&to)? {
            take_member(archive, member, &to, self.progress)?;
        }
        Ok(to)
    }

    fn imported(&self, import: &Import<'_>, role: Role, rows: Option<u64>) -> Result<PathBuf> {
        let extension = if role == Role::Truth { "ibin" } else { "fbin" };
        let member = import.member.replace('/', "_");
        let first = rows.map_or_else(String::new, |rows| format!(".first-{rows}"));
        let name = format!("{member}{first}.{extension}");
        let source = import.files.first().map_or(Path::new(""), PathBuf::as_path);
        let to = self.plain_path(source, &name)?;
        if !files::exists(&to)? {
            import.write(&to, rows, self.progress)?;
        }
        Ok(to)
    }

    /// A path that changes when the file it is made from does.
    fn plain_path(&self, from: &Path, name: &str) -> Result<PathBuf> {
        let directory = self.place.plain(&self.set.name);
        files::create_directory(&directory)?;
        let mut mark = files::fingerprint(from)?;
        mark.truncate(MARK_LETTERS);
        Ok(directory.join(format!("{mark}-{name}")))
    }

    fn member<'f>(&self, file: &'f SetFile) -> Result<&'f str> {
        let needed = || self.wrong(file, "needs a `member`: which file, data set or column");
        file.member.as_deref().ok_or_else(needed)
    }

    fn wrong(&self, file: &SetFile, what: &str) -> Error {
        Error::invalid(format!("data set {}: {} {what}", self.set.name, file.from))
    }

    /// The files as they are published.
    fn sources(&self, file: &SetFile, role: Role, rows: Option<u64>) -> Result<Vec<PathBuf>> {
        let whereabouts = file.whereabouts(&self.set.home)?;
        let count = match &whereabouts {
            Whereabouts::Builtin(_) => 1,
            Whereabouts::Addresses(addresses) => addresses.len(),
            Whereabouts::Paths(paths) => paths.len(),
        };
        if count > 1 && file.container() != Container::Parquet {
            return Err(self.wrong(file, "stands for many files, which only Parquet may be"));
        }
        match whereabouts {
            Whereabouts::Builtin(name) => Ok(vec![self.builtin(file, &name)?]),
            Whereabouts::Addresses(addresses) => self.fetched(file, &addresses, role, rows),
            Whereabouts::Paths(paths) => {
                paths.iter().try_for_each(|path| self.look(file, path))?;
                Ok(paths)
            }
        }
    }

    fn look(&self, file: &SetFile, path: &Path) -> Result<()> {
        if !files::exists(path)? {
            let (name, path) = (&self.set.name, path.display());
            let what = format!("{path}: is not there; data set {name} is declared with it");
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        let Some(expected) = &file.sha256 else {
            return Ok(());
        };
        let found = files::checksum(path, self.progress)?;
        if found.eq_ignore_ascii_case(expected) {
            return Ok(());
        }
        let path = path.display();
        let what = format!("{path}: has the sha256 {found}, {expected} was declared");
        Err(Error::new(ErrorKind::Corrupt, what))
    }

    fn builtin(&self, file: &SetFile, name: &str) -> Result<PathBuf> {
        let Some((_, bytes)) = BUILTIN.iter().find(|(known, _)| *known == name) else {
            return Err(self.wrong(file, "is not inside this program"));
        };
        let directory = self.place.fetched(&self.set.name);
        let path = directory.join(name);
        if !files::exists(&path)? || files::length(&path)? != bytes.len() as u64 {
            files::create_directory(&directory)?;
            files::write(&path, bytes)?;
        }
        Ok(path)
    }

    /// Fetches one address after the other, until there are rows enough.
    fn fetched(
        &self,
        file: &SetFile,
        addresses: &[String],
        role: Role,
        rows: Option<u64>,
    ) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        let mut found = 0;
        for address in addresses {
            let wanted = self.wanted(file, address, role, rows)?;
            fetch_file(&wanted, self.place, self.progress)?;
            paths.push(wanted.to);
            let many = addresses.len() > 1;
            let Some(rows) = rows.filter(|_| many) else {
                continue;
            };
            found += self.parquet_rows(file, paths.last())?;
            if found >= rows {
                break;
            }
        }
        Ok(paths)
    }

    fn parquet_rows(&self, file: &SetFile, path: Option<&PathBuf>) -> Result<u64> {
        let import = Import {
            python: &self.place.python,
            container: Container::Parquet,
            member: self.member(file)?,
            files: path.map(std::slice::from_ref).unwrap_or_default(),
        };
        import.rows()
    }

    /// What to fetch: the first rows, where the format allows it and the whole is not here.
    fn wanted<'w>(
        &self,
        file: &'w SetFile,
        address: &'w str,
        role: Role,
        rows: Option<u64>,
    ) -> Result<Wanted<'w>> {
        let whole = self.whole_path(file, address);
        let shape = (self.set.shape())
            .filter(|_| role == Role::Base && file.container() == Container::Plain);
        let stated = shape.zip(self.set.rows).and_then(|(shape, rows)| {
            let rows = rows + self.set.held_out();
            Prefix::of(&whole, shape, rows).map(|all| all.bytes())
        });
        let part = shape.zip(rows).filter(|_| rows < self.all_rows());
        let prefix = part.and_then(|(shape, rows)| Prefix::of(&whole, shape, rows));
        let mut wanted = Wanted {
            address,
            bytes: file.bytes.or(stated),
            sha256: file.sha256.as_deref(),
            prefix: None,
            to: whole,
        };
        if prefix.is_some() && !files::exists(&wanted.to)? {
            wanted.to = first_rows_path(&wanted.to, rows.unwrap_or(0));
            (wanted.prefix, wanted.sha256) = (prefix, None);
        }
        Ok(wanted)
    }

    /// Rows of the file of the base.
    fn all_rows(&self) -> Option<u64> {
        Some(self.set.rows? + self.set.held_out())
    }

    fn whole_path(&self, file: &SetFile, address: &str) -> PathBuf {
        whole_path(self.place, self.set, file, address)
    }
}

/// Where the file at an address is kept.
pub(super) fn whole_path(place: &Place, set: &DataSet, file: &SetFile, address: &str) -> PathBuf {
    place.fetched(&set.name).join(file.kept_name(address))
}

/// `base.u8bin` -> `base.first-1000.u8bin`.
fn first_rows_path(whole: &Path, rows: u64) -> PathBuf {
    let extension = whole.extension().unwrap_or_default().to_string_lossy();
    whole.with_extension(format!("first-{rows}.{extension}"))
}

//! Checks of crash images, none of which runs twice on what it cannot tell apart.

use std::collections::{HashMap, HashSet};

use super::SimVfs;
use super::digest::Digest;

/// How many images were judged.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// All of them.
    pub images: u64,
    /// Those that differ in some byte, length or name.
    pub distinct: u64,
    /// Those that the check ran on: they differ in a name, or in a file that it opened.
    pub checked: u64,
}

/// What a check says of crash images.
///
/// A check sees names and the files that it opens, and nothing else. So an image that agrees in
/// these with one that was checked gets the same verdict without another run. That rests on a check
/// that does the same whenever it sees the same, and on digests of 64 bits that do not collide.
#[derive(Debug)]
pub struct Verdicts<T> {
    tally: Tally,
    seen: HashSet<u64>,
    /// Runs on images of the same names.
    runs: HashMap<u64, Runs<T>>,
}

/// Verdicts by the places of the files that were opened, and by what those held.
type Runs<T> = HashMap<Vec<usize>, HashMap<u64, T>>;

impl<T> Default for Verdicts<T> {
    fn default() -> Self {
        Self {
            tally: Tally::default(),
            seen: HashSet::new(),
            runs: HashMap::new(),
        }
    }
}

impl<T: Clone> Verdicts<T> {
    /// How many images were judged so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// What `check` says of an image, of which nobody else may have a file open.
    pub fn judge(&mut self, image: &SimVfs, check: impl FnOnce() -> T) -> T {
        let digest = image.digest();
        self.tally.images += 1;
        if self.seen.insert(digest.whole()) {
            self.tally.distinct += 1;
        }
        if let Some(known) = self.known(&digest) {
            return known;
        }
        self.tally.checked += 1;
        let verdict = check();
        let places = digest.places(&image.opened());
        let part = digest.part(&places);
        let runs = self.runs.entry(digest.names).or_default();
        let verdicts = runs.entry(places).or_default();
        verdicts.insert(part, verdict.clone());
        verdict
    }

    fn known(&self, digest: &Digest) -> Option<T> {
        let runs = self.runs.get(&digest.names)?;
        let same = |(places, verdicts): (&Vec<usize>, &HashMap<u64, T>)| {
            verdicts.get(&digest.part(places)).cloned()
        };
        runs.iter().find_map(same)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pageway_store::{OpenMode, Vfs};

    use super::*;

    fn write(vfs: &SimVfs, name: &str, bytes: &[u8]) {
        let file = vfs.open(Path::new(name), OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    }

    fn read(vfs: &SimVfs, name: &str) -> Option<Vec<u8>> {
        let file = vfs.open(Path::new(name), OpenMode::Read).ok()?;
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        Some(bytes)
    }

    /// Reads one file, and the second where the first is there.
    fn check(vfs: &SimVfs) -> Option<Vec<u8>> {
        read(vfs, "/a").and_then(|_| read(vfs, "/b"))
    }

    #[test]
    fn what_a_check_cannot_tell_apart_is_checked_once_and_judged_as_if_each_was() {
        let vfs = SimVfs::new();
        vfs.record();
        for name in ["/c", "/a", "/b"] {
            write(&vfs, name, &[1; 1024]);
        }
        let mut verdicts = Verdicts::default();
        for moment in vfs.take_boundaries() {
            for image in moment.images(200, 3) {
                let verdict = verdicts.judge(&image, || check(&image));
                assert_eq!(verdict, check(&image));
            }
        }
        let Tally {
            images,
            distinct,
            checked,
        } = verdicts.tally();
        assert_eq!(images, 7 * 200);
        assert!(
            checked * 2 < distinct && distinct < images,
            "{checked} {distinct}"
        );
    }

    #[test]
    fn names_of_one_file_are_told_from_files_that_hold_the_same() {
        let (one, two) = (SimVfs::new(), SimVfs::new());
        for vfs in [&one, &two] {
            write(vfs, "/a", b"x");
        }
        one.hard_link(Path::new("/a"), Path::new("/b")).unwrap();
        write(&two, "/b", b"x");
        assert_ne!(one.digest().names, two.digest().names);
    }
}

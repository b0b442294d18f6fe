//! The data of the demo: sentence embeddings and the sentences, line by row.

use std::ops::Range;
use std::path::{Path, PathBuf};

use pageway::source::Selection;
use pageway::{Error, ErrorKind, NoProgress, Result, VectorRead};
use pageway_formats::Vectors;

use crate::system;

const DEFINITIONS: &str = "wordnet-10k";
const SENTENCES: &str = "wordnet-queries";
/// Where the repository keeps the data.
const HOME: &str = "data/demo";

/// The sentences from this row on measure recall; those before it calibrate the index, because
/// sentences are unlike definitions.
const FIRST_QUERY: u64 = 100;

/// Definitions to search, and sentences to search for.
pub(super) struct Library {
    pub(super) definitions: Collection,
    pub(super) sentences: Collection,
}

/// Vectors and what each stands for.
pub(super) struct Collection {
    pub(super) vectors: Vectors,
    texts: Vec<String>,
}

impl Library {
    /// Opens the data in `directory`, or in the `data/demo` nearest to where we are or were built.
    pub(super) fn open(directory: Option<&Path>) -> Result<Self> {
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => find()?,
        };
        Ok(Self {
            definitions: Collection::open(&directory, DEFINITIONS)?,
            sentences: Collection::open(&directory, SENTENCES)?,
        })
    }
}

/// The sentences in two parts that share none.
pub(super) struct Split {
    /// To calibrate the index with.
    pub(super) sample: Vectors,
    /// To measure recall with.
    pub(super) queries: Vectors,
}

impl Split {
    /// Writes both parts into a directory.
    pub(super) fn write(sentences: &Collection, directory: &Path) -> Result<Self> {
        let count = sentences.vectors.count();
        let cut = |rows: Range<u64>, name: &str| sentences.cut(rows, &directory.join(name));
        Ok(Self {
            sample: cut(0..FIRST_QUERY.min(count), "sample.npy")?,
            queries: cut(FIRST_QUERY..count, "queries.npy")?,
        })
    }
}

impl Collection {
    fn open(directory: &Path, name: &str) -> Result<Self> {
        let path = directory.join(name).with_extension("npy");
        let vectors = system::open_vectors(&path, &system::plain(None), &NoProgress)?;
        let text_path = path.with_extension("txt");
        let texts: Vec<String> = system::read_text(&text_path)?
            .lines()
            .map(str::to_owned)
            .collect();
        if texts.len() as u64 != vectors.count() {
            return Err(Error::invalid(format!(
                "{}: {} lines for {} rows of {}",
                text_path.display(),
                texts.len(),
                vectors.count(),
                path.display()
            )));
        }
        Ok(Self { vectors, texts })
    }

    /// Writes some of the rows to a file of their own.
    fn cut(&self, rows: Range<u64>, to: &Path) -> Result<Vectors> {
        let mut selection = Selection::whole(&self.vectors, self.vectors.name());
        selection.rows = rows;
        system::convert(&selection, to, None, &NoProgress)?;
        system::open_vectors(to, &system::plain(None), &NoProgress)
    }

    /// What a row stands for.
    pub(super) fn text(&self, row: u64) -> &str {
        self.texts.get(row as usize).map_or("", String::as_str)
    }
}

/// Looks for `data/demo` in the working directory, and beside the program, upwards.
fn find() -> Result<PathBuf> {
    let current = std::env::current_dir().ok();
    let program = std::env::current_exe().ok();
    let mut places = current
        .iter()
        .chain(program.iter())
        .flat_map(|place| place.ancestors())
        .map(|place| place.join(HOME));
    places.find(|place| place.join(DEFINITIONS).with_extension("npy").is_file()).ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            format!(
                "{HOME}/{DEFINITIONS}.npy is neither here nor above the program: run from a copy of \
                 the repository, or say where the data is with --data-dir"
            ),
        )
    })
}

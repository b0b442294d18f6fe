//! The data of the demo: sentence embeddings and the sentences, line by row.

use std::path::{Path, PathBuf};

use pageway::source::{OpenAs, VectorFile};
use pageway::{Error, ErrorKind, Result, VectorRead};

use crate::system;

const DEFINITIONS: &str = "wordnet-10k";
const SENTENCES: &str = "wordnet-queries";
/// Where the repository keeps the data.
const HOME: &str = "data/demo";

/// Definitions to search, and sentences to search for.
pub(super) struct Library {
    pub(super) definitions: Collection,
    pub(super) sentences: Collection,
}

/// Vectors and what each stands for.
pub(super) struct Collection {
    pub(super) path: PathBuf,
    pub(super) vectors: VectorFile,
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

impl Collection {
    fn open(directory: &Path, name: &str) -> Result<Self> {
        let path = directory.join(name).with_extension("npy");
        let vectors = system::open_vectors(&path, OpenAs::default())?;
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
        Ok(Self {
            path,
            vectors,
            texts,
        })
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

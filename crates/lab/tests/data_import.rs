//! HDF5 and Parquet by way of Python. What needs its packages is ignored unless asked for:
//! `PAGEWAY_TEST_PYTHON=.venv/bin/python cargo test -p pageway-lab --test data_import -- --ignored`

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at files as a user would"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile};
use pageway::truth::TruthFile;
use pageway::{ErrorKind, NoProgress, OsVfs, Result, VectorRead, Vfs};
use pageway_lab::data::{Place, Prepared, Registry, prepare};

/// Writes both formats: 400 rows and 10 queries of 12 dimensions.
const WRITE: &str = r#"
import sys
import h5py, numpy, pyarrow, pyarrow.parquet

rng = numpy.random.default_rng(5)
base = rng.normal(size=(400, 12)).astype("f4")
queries = rng.normal(size=(10, 12)).astype("f4")
squares = ((queries[:, None, :].astype("f8") - base[None]) ** 2).sum(-1)
with h5py.File(sys.argv[1] + "/set.hdf5", "w") as file:
    file["train"], file["test"] = base, queries
    file["neighbors"] = squares.argsort(1, kind="stable")[:, :100].astype("i4")
    file["distances"] = numpy.sqrt(numpy.sort(squares, 1)[:, :100])

def write(name, rows, kind):
    column = pyarrow.array([list(row) for row in rows], pyarrow.list_(kind))
    ids = pyarrow.array(range(len(rows)))
    table = pyarrow.table({"id": ids, "emb": column})
    pyarrow.parquet.write_table(table, f"{sys.argv[1]}/{name}.parquet", row_group_size=64)

write("part-00", base[:150], pyarrow.float32())
write("part-01", base[150:], pyarrow.float64())
write("test", queries, pyarrow.float32())
"#;

const SETS: &str = r#"
[hdf]
metric = "l2"
base = { from = "set.hdf5", member = "train" }
queries = { from = "set.hdf5", member = "test" }
truth = { from = "set.hdf5", member = "neighbors" }
[parquet]
metric = "l2"
base = { from = "part-{00..01}.parquet", member = "emb" }
queries = { from = "test.parquet", member = "emb" }
[column]
metric = "l2"
base = { from = "test.parquet", member = "embedding" }
queries = { from = "test.parquet", member = "emb" }
"#;

fn prepare_with(python: &Path, folder: &Path, name: &str) -> Result<Prepared> {
    let mut registry = Registry::default();
    registry.add(SETS, folder, "a test").unwrap();
    let (set, cut) = registry.find(name)?;
    let place = Place {
        python: python.to_owned(),
        threads: 1,
        ..Place::new(&folder.join("place"))
    };
    prepare(set, cut, &place, &NoProgress)
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let vectors = VectorFile::open(&vfs, path, OpenAs::default()).unwrap();
    let mut bytes = vec![0; vectors.count() as usize * vectors.shape().row_bytes()];
    vectors.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
#[ignore = "needs Python with h5py and pyarrow, named by PAGEWAY_TEST_PYTHON"]
fn both_formats_give_the_same_vectors() {
    let python = PathBuf::from(std::env::var("PAGEWAY_TEST_PYTHON").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut write = Command::new(&python);
    let written = write.args(["-c", WRITE]).arg(folder.path()).status();
    assert!(written.unwrap().success());

    let hdf = prepare_with(&python, folder.path(), "hdf").unwrap();
    let parquet = prepare_with(&python, folder.path(), "parquet").unwrap();
    assert_eq!((hdf.rows, hdf.dimensions), (400, 12));
    assert_eq!(bytes_of(&hdf.base), bytes_of(&parquet.base));
    assert_eq!(bytes_of(&hdf.queries), bytes_of(&parquet.queries));
    let truth = |ready: &Prepared| {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let file = TruthFile::open(&vfs, &ready.truth, Some(ready.rows)).unwrap();
        file.read_all().unwrap().ids
    };
    assert_eq!(truth(&hdf), truth(&parquet));

    let cut = prepare_with(&python, folder.path(), "parquet-200").unwrap();
    assert_eq!(bytes_of(&cut.base), bytes_of(&hdf.base)[..200 * 48]);

    let error = prepare_with(&python, folder.path(), "column").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.context().contains("it has id, emb"), "{error}");
}

#[test]
fn a_missing_interpreter_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("set.hdf5"), b"").unwrap();
    let error = prepare_with(Path::new("/no/such/python"), folder.path(), "hdf").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.context().contains("/no/such/python"), "{error}");
}

#[test]
fn a_missing_package_is_told_as_the_program_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("set.hdf5"), b"").unwrap();
    let python = folder.path().join("python");
    let script = "#!/bin/sh\ncat >/dev/null\necho 'needs the Python package h5py' >&2\nexit 3\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = prepare_with(&python, folder.path(), "hdf").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.context(), "needs the Python package h5py");
}

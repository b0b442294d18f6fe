//! The first rows of a file of vectors whose header or framing is known.

use std::path::Path;

use pageway::lab::OpenMode;
use pageway::source::{FormatFamily, VectorFormat};
use pageway::{Error, ErrorKind, Result, VectorShape};

use crate::files;

const BIN_HEADER_BYTES: u64 = 8;
const ROW_PREFIX_BYTES: u64 = 4;

/// The first rows of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::data) struct Prefix {
    rows: u32,
    shape: VectorShape,
    family: FormatFamily,
}

impl Prefix {
    /// The first `rows` of a file of this name; `None` for formats that must be whole.
    pub(in crate::data) fn of(name: &Path, shape: VectorShape, rows: u64) -> Option<Self> {
        let family = VectorFormat::of(name).ok()?.family;
        let rows = u32::try_from(rows).ok()?;
        (family != FormatFamily::Npy).then_some(Self {
            rows,
            shape,
            family,
        })
    }

    /// Bytes of the file that holds them.
    pub(in crate::data) fn bytes(&self) -> u64 {
        let (rows, row_bytes) = (u64::from(self.rows), self.shape.row_bytes() as u64);
        match self.family {
            FormatFamily::Vecs => rows * (ROW_PREFIX_BYTES + row_bytes),
            FormatFamily::Bin | FormatFamily::Npy | _ => BIN_HEADER_BYTES + rows * row_bytes,
        }
    }

    /// Makes the first bytes of a longer file a file of their own: its header gets their number.
    /// Doing it twice changes nothing.
    pub(in crate::data) fn finish(&self, path: &Path) -> Result<()> {
        if self.family != FormatFamily::Bin {
            return Ok(());
        }
        let file = files::open(path, OpenMode::ReadWrite)?;
        let mut header = [0; BIN_HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0)
            .map_err(files::at(path))?;
        let [a, b, c, d, dimension @ ..] = header;
        let rows = u32::from_le_bytes([a, b, c, d]);
        let dimension = u32::from_le_bytes(dimension);
        if dimension != self.shape.dimension || rows < self.rows {
            let what = format!(
                "{}: the header says {rows} rows of {dimension} dimensions, {} of {} were asked for",
                path.display(),
                self.rows,
                self.shape.dimension
            );
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
        file.write_all_at(&self.rows.to_le_bytes(), 0)
            .map_err(files::at(path))
    }
}

#[cfg(test)]
mod tests {
    use pageway::ElementType;

    use super::*;

    const SHAPE: VectorShape = VectorShape {
        dimension: 3,
        element: ElementType::U8,
    };

    #[test]
    fn sizes_follow_from_rows_and_shape() {
        let bytes = |name: &str| Prefix::of(Path::new(name), SHAPE, 5).map(|prefix| prefix.bytes());
        assert_eq!(bytes("a.u8bin"), Some(8 + 15));
        assert_eq!(bytes("a.bvecs"), Some(5 * 7));
        assert_eq!(bytes("a.npy"), None);
        assert_eq!(bytes("a.ibin"), None);
    }

    #[test]
    fn the_header_gets_the_number_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.u8bin");
        let mut whole = vec![9, 0, 0, 0, 3, 0, 0, 0];
        whole.extend(0..6);
        files::write(&path, &whole).unwrap();
        let prefix = Prefix::of(&path, SHAPE, 2).unwrap();
        prefix.finish(&path).unwrap();
        prefix.finish(&path).unwrap();
        let vectors = files::open_vectors(&path, None).unwrap();
        assert_eq!(pageway::VectorRead::count(&vectors), 2);

        let more = Prefix::of(&path, SHAPE, 10).unwrap();
        assert_eq!(more.finish(&path).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

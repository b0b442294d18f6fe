//! What a set will be, before it is here: for estimates, and to leave out cuts that there are not.

use pageway::{Result, VectorRead, VectorShape};

use super::cut::Cut;
use super::entry::{Container, DataSet, QuerySource, SetFile, Whereabouts};
use super::registry::Registry;
use crate::files;

/// Sizes of a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Rows of the base.
    pub rows: u64,
    /// Dimension and element.
    pub shape: VectorShape,
    /// Queries, where known.
    pub queries: Option<u64>,
}

/// Sizes of a cut of a set, from its entry or from its files where those are plain and here; none
/// where nobody knows, or where the set is smaller than the cut.
///
/// # Errors
/// As a file of the set cannot be read.
pub fn header(set: &DataSet, cut: Cut) -> Result<Option<Header>> {
    let stated = set.rows.zip(set.shape());
    let Some((rows, shape)) = stated.map_or_else(|| of_file(set, &set.base), |s| Ok(Some(s)))?
    else {
        return Ok(None);
    };
    let rows = rows.saturating_sub(if stated.is_some() { 0 } else { set.held_out() });
    let dimension = cut.dimensions.unwrap_or(shape.dimension);
    let wanted = cut.rows.unwrap_or(rows);
    if wanted > rows || dimension > shape.dimension {
        return Ok(None);
    }
    let queries = match &set.queries {
        QuerySource::HeldOut { held_out } => Some(*held_out),
        QuerySource::File(file) => match file.rows {
            Some(rows) => Some(rows),
            None => of_file(set, file)?.map(|(rows, _)| rows),
        },
    };
    let shape = VectorShape { dimension, ..shape };
    Ok(Some(Header {
        rows: wanted,
        shape,
        queries,
    }))
}

impl Registry {
    /// The name of a data set if it has at most `rows`, or of the cut of it that has so many. A
    /// name that is none stays as it is: whoever uses it is told.
    pub fn at_most(&self, name: &str, rows: u64) -> String {
        let cut = || {
            let (set, cut) = self.find(name).ok()?;
            let header = header(set, cut).ok()??;
            (header.rows > rows).then(|| format!("{}-{rows}", set.name))
        };
        cut().unwrap_or_else(|| name.to_owned())
    }
}

/// Rows and shape of a plain file that is here.
fn of_file(set: &DataSet, file: &SetFile) -> Result<Option<(u64, VectorShape)>> {
    let (Whereabouts::Paths(paths), Container::Plain) =
        (file.whereabouts(&set.home)?, file.container())
    else {
        return Ok(None);
    };
    let mut all = None;
    for path in &paths {
        let vectors = files::open_vectors(path, set.element)?;
        let (rows, shape) = all.unwrap_or((0, vectors.shape()));
        all = Some((rows + vectors.count(), shape));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use pageway::ElementType;

    use super::*;

    #[test]
    fn a_cut_is_as_large_as_it_says_if_the_set_is() {
        let registry = Registry::builtin().unwrap();
        let (demo, cut) = registry.find("demo-5k").unwrap();
        let found = header(demo, cut).unwrap().unwrap();
        assert_eq!((found.rows, found.shape.dimension), (5000, 384));
        let narrow = Cut {
            rows: None,
            dimensions: Some(100),
        };
        assert_eq!(header(demo, narrow).unwrap().unwrap().shape.dimension, 100);
        let wide = Cut {
            rows: None,
            dimensions: Some(1000),
        };
        assert_eq!(header(demo, wide).unwrap(), None);
        assert_eq!(registry.at_most("demo", 20_000), "demo");
        assert_eq!(registry.at_most("demo-9k", 3000), "demo-3000");
        assert_eq!(registry.at_most("no-such-set", 3000), "no-such-set");
        let (demo, cut) = registry.find("demo-50k").unwrap();
        assert_eq!(header(demo, cut).unwrap(), None);
    }

    #[test]
    fn files_that_are_here_tell_their_rows() {
        let dir = tempfile::tempdir().unwrap();
        for (name, rows) in [("base.u8bin", 7_u32), ("queries.u8bin", 2)] {
            let mut bytes = [rows.to_le_bytes(), 3_u32.to_le_bytes()].concat();
            bytes.resize(8 + rows as usize * 3, 1);
            let path = dir.path().join(name);
            files::write(&path, &bytes).unwrap();
        }
        let mut registry = Registry::default();
        let text = "[own]\nmetric=\"l2\"\nbase=\"base.u8bin\"\nqueries=\"queries.u8bin\"\n";
        registry.add(text, dir.path(), "a test").unwrap();
        let (own, cut) = registry.find("own").unwrap();
        let found = header(own, cut).unwrap().unwrap();
        assert_eq!(
            (found.rows, found.queries, found.shape.element),
            (7, Some(2), ElementType::U8)
        );
        let (_, cut) = registry.find("own-8").unwrap();
        assert_eq!(header(own, cut).unwrap(), None);
    }
}

//! File formats by extension: one table.
//!
//! | family | layout | extensions |
//! |---|---|---|
//! | `Bin` | `u32 rows, u32 dimension`, then rows | `.fbin` and others by element type, `.bin` |
//! | `Vecs` | per row `i32 dimension`, then its components | `.fvecs .bvecs` |
//! | `Npy` | NumPy's header, then the rows in C order | `.npy` |

use std::path::Path;

use pageway_types::ElementType;

use super::error::SourceError;

/// How the rows of a file are framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormatFamily {
    /// One header of row count and dimension.
    Bin,
    /// The dimension in front of every row.
    Vecs,
    /// NumPy's array file.
    Npy,
}

/// Format of a file of vectors, as its extension tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorFormat {
    /// How rows are framed.
    pub family: FormatFamily,
    /// Element type where the extension implies one; `.bin` and `.npy` imply none.
    pub element: Option<ElementType>,
}

const TABLE: [(&str, FormatFamily, Option<ElementType>); 10] = [
    ("fbin", FormatFamily::Bin, Some(ElementType::F32)),
    ("f16bin", FormatFamily::Bin, Some(ElementType::F16)),
    ("bf16bin", FormatFamily::Bin, Some(ElementType::Bf16)),
    ("u8bin", FormatFamily::Bin, Some(ElementType::U8)),
    ("i8bin", FormatFamily::Bin, Some(ElementType::I8)),
    ("bitbin", FormatFamily::Bin, Some(ElementType::Bit)),
    ("bin", FormatFamily::Bin, None),
    ("fvecs", FormatFamily::Vecs, Some(ElementType::F32)),
    ("bvecs", FormatFamily::Vecs, Some(ElementType::U8)),
    ("npy", FormatFamily::Npy, None),
];

impl VectorFormat {
    /// The format of `path`, by extension; upper and lower case are one.
    ///
    /// # Errors
    /// Unknown extensions, with the list of known ones; `.ibin` and `.ivecs`, which hold ids.
    pub fn of(path: &Path) -> Result<Self, SourceError> {
        let extension = lowercase_extension(path);
        let known = TABLE.iter().find(|(name, ..)| *name == extension);
        if let Some(&(_, family, element)) = known {
            return Ok(Self { family, element });
        }
        let file = path.display().to_string();
        let known = known_extensions();
        Err(match extension.as_str() {
            "ibin" | "ivecs" => SourceError::HoldsIds { file, known },
            _ => SourceError::UnknownExtension { file, known },
        })
    }
}

/// The extension of the bin family that stands for an element type.
pub const fn bin_extension(element: ElementType) -> &'static str {
    match element {
        ElementType::F32 => "fbin",
        ElementType::F16 => "f16bin",
        ElementType::Bf16 => "bf16bin",
        ElementType::U8 => "u8bin",
        ElementType::I8 => "i8bin",
        ElementType::Bit => "bitbin",
    }
}

/// The extension of `path` in lower case, without the dot; empty when there is none.
pub(crate) fn lowercase_extension(path: &Path) -> String {
    path.extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default()
}

fn known_extensions() -> String {
    TABLE.map(|(name, ..)| format!(".{name}")).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_family_and_element() {
        let of = |name: &str| VectorFormat::of(Path::new(name));
        let bytes = VectorFormat {
            family: FormatFamily::Bin,
            element: Some(ElementType::U8),
        };
        assert_eq!(of("a/b.U8BIN"), Ok(bytes));
        for element in ElementType::ALL {
            let name = format!("x.{}", bin_extension(element));
            assert_eq!(of(&name).unwrap().element, Some(element));
        }
        assert_eq!(of("x.npy").unwrap().element, None);
        assert!(matches!(of("gt.ibin"), Err(SourceError::HoldsIds { .. })));
        let unknown = of("x.parquet").unwrap_err().to_string();
        for (name, ..) in TABLE {
            assert!(unknown.contains(&format!(".{name}")), "{unknown}");
        }
        assert!(matches!(
            of("none"),
            Err(SourceError::UnknownExtension { .. })
        ));
    }
}

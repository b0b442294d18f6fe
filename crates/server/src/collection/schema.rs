//! The vectors of a collection: their names, lengths and distances.

use pageway::source::{Inspection, VectorSlice, inspect_rows};
use pageway::{ElementType, ErrorKind, Metric, NoProgress, VectorShape};
use serde_json::Value;

use super::change::PutRow;
use super::commit::bytes_of;
use crate::failure::{Failure, Outcome};
use crate::wire::VectorValue;

/// Bytes of the name of a vector at most.
const MAX_NAME_BYTES: usize = 200;
/// Dense vectors of a point at most.
const MAX_VECTORS: usize = 16;
/// Numbers of a vector at most.
const MAX_SIZE: u64 = VectorShape::MAX_DIMENSION as u64;

/// How far apart vectors are, in the words of the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distance {
    Cosine,
    Dot,
    Euclid,
    Manhattan,
}

impl Distance {
    /// The metric of the engine.
    pub(crate) const fn metric(self) -> Metric {
        match self {
            Self::Cosine => Metric::Cosine,
            Self::Dot => Metric::InnerProduct,
            Self::Euclid => Metric::L2,
            Self::Manhattan => Metric::L1,
        }
    }

    /// The score that a distance of the engine stands for.
    pub(crate) fn score(self, distance: f32) -> f32 {
        match self {
            Self::Cosine => 1.0 - distance,
            Self::Dot => -distance,
            Self::Euclid => distance.max(0.0).sqrt(),
            Self::Manhattan => distance.max(0.0),
        }
    }

    /// The score of a vector for a query.
    pub(crate) fn score_of(self, query: &[f32], vector: &[f32]) -> f32 {
        let similarity = self.similarity(query, vector);
        match self {
            Self::Cosine => similarity,
            Self::Dot | Self::Euclid | Self::Manhattan => self.score(-similarity),
        }
    }

    /// Scores in the order of these numbers are best first.
    pub(crate) fn rank(self, score: f32) -> f32 {
        if self.passes(1.0, 0.0) { -score } else { score }
    }

    /// Whether a score is as good as a threshold.
    pub(crate) fn passes(self, score: f32, threshold: f32) -> bool {
        match self {
            Self::Cosine | Self::Dot => score >= threshold,
            Self::Euclid | Self::Manhattan => score <= threshold,
        }
    }

    /// How like one another two vectors are; more is more.
    pub(crate) fn similarity(self, one: &[f32], other: &[f32]) -> f32 {
        let sum = |term: fn(f32, f32) -> f32, other: &[f32]| -> f32 {
            one.iter()
                .zip(other)
                .map(|(own, next)| term(*own, *next))
                .sum()
        };
        let product = |own: f32, next: f32| own * next;
        match self {
            Self::Dot => sum(product, other),
            Self::Cosine => {
                let squares: f32 = other.iter().map(|own| own * own).sum();
                sum(product, other) / (sum(product, one) * squares).sqrt()
            }
            Self::Euclid => -sum(|own, next| (own - next).powi(2), other),
            Self::Manhattan => -sum(|own, next| (own - next).abs(), other),
        }
    }

    /// A vector for rows that have none.
    pub(crate) fn absent(self, size: usize) -> Vec<f32> {
        let mut vector = vec![0.0; size];
        // A vector without a direction has no cosine.
        if let (Self::Cosine, Some(first)) = (self, vector.first_mut()) {
            *first = 1.0;
        }
        vector
    }
}

/// A dense vector.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DenseField {
    /// Its name, empty for the only one of a collection without names.
    pub(crate) name: String,
    /// Numbers.
    pub(crate) size: usize,
    pub(crate) distance: Distance,
    /// Edges of a node, where they are said.
    pub(crate) degree: Option<u32>,
}

/// The vectors that points may have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Schema {
    /// In the order of their names.
    pub(crate) dense: Vec<DenseField>,
    /// Names of those that are kept and not searched.
    pub(crate) sparse: Vec<String>,
    /// Whether the only dense vector has no name.
    pub(crate) is_unnamed: bool,
}

impl Schema {
    /// What vectors there are, in words: equal words are of equal vectors.
    pub(crate) fn describe(&self) -> String {
        let dense = self.dense.iter().map(|field| {
            let DenseField {
                name,
                size,
                distance,
                ..
            } = field;
            let name = if self.is_unnamed { "one" } else { name };
            format!("{name} of {size} by {distance:?}")
        });
        let sparse = self.sparse.iter().map(|name| format!("{name}, sparse"));
        let all: Vec<String> = dense.chain(sparse).collect();
        format!("vectors [{}]", all.join("; "))
    }

    /// The schema that settings describe.
    ///
    /// # Errors
    /// 422 for sizes out of range, 400 for what is not supported.
    pub(crate) fn of(config: &Value) -> Outcome<Self> {
        let params = config.get("params").unwrap_or(&Value::Null);
        let vectors = params.get("vectors").unwrap_or(&Value::Null);
        let degree = |own: &Value| {
            let m = |value: &Value| value.get("hnsw_config")?.get("m")?.as_u64();
            let m = m(own).or_else(|| m(config).filter(|m| *m != DEFAULT_M));
            m.map(|m| m.saturating_mul(2).clamp(8, 128) as u32)
        };
        let mut dense = Vec::new();
        let own = |key| vectors.get(key).is_some_and(|value| !value.is_object());
        let is_unnamed = own("size") || own("distance");
        if is_unnamed {
            dense.push(field("", vectors, "vectors", degree(vectors))?);
        } else {
            let all = vectors.as_object().into_iter().flatten();
            for (name, own) in all {
                check_name(name)?;
                let path = format!("vectors.{name}");
                dense.push(field(name, own, &path, degree(own))?);
            }
        }
        if dense.len() > MAX_VECTORS {
            let words = format!(
                "`vectors`: {} of a point, {MAX_VECTORS} are possible",
                dense.len()
            );
            return Err(Failure::unsupported(words));
        }
        let sparse = params.get("sparse_vectors").and_then(Value::as_object);
        let sparse: Vec<String> = sparse
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        for name in &sparse {
            check_name(name)?;
            if name.is_empty() {
                return Err(Failure::wrong("Sparse vector name cannot be empty"));
            }
            if dense.iter().any(|own| own.name == *name) {
                return Err(Failure::wrong(format_args!(
                    "Dense and sparse vector names must be unique - duplicate found with '{name}'"
                )));
            }
        }
        Ok(Self {
            dense,
            sparse,
            is_unnamed,
        })
    }

    /// Whether points of another are of this one too: graphs may differ.
    pub(crate) fn has_points_of(&self, other: &Self) -> bool {
        let own = self.dense.iter().zip(&other.dense);
        self.dense.len() == other.dense.len()
            && (&self.sparse, self.is_unnamed) == (&other.sparse, other.is_unnamed)
            && own.into_iter().all(|(own, other)| {
                (&own.name, own.size, own.distance) == (&other.name, other.size, other.distance)
            })
    }

    /// The number of the dense vector of a name.
    pub(crate) fn dense_at(&self, name: &str) -> Option<usize> {
        self.dense.iter().position(|own| own.name == name)
    }

    /// Whether a vector is dense; none where there is no such.
    pub(crate) fn is_dense(&self, name: &str) -> Option<bool> {
        let is_sparse = self.sparse.iter().any(|own| own == name);
        let dense = self.dense_at(name).map(|_| true);
        dense.or(is_sparse.then_some(false))
    }

    /// Bytes of the longest vector of a row.
    pub(super) fn longest_bytes(&self) -> usize {
        let bytes = self.dense.iter().map(|field| field.shape().row_bytes());
        bytes.max().unwrap_or(0)
    }

    /// Whether indexes can hold the vectors of a row, however much memory they have.
    pub(super) fn takes(&self, row: &PutRow) -> Outcome<bool> {
        for (field, vector) in self.dense.iter().zip(&row.vectors) {
            let Some(vector) = vector else { continue };
            match field.check_row(vector, &field.name) {
                Err(failure) if failure.status == 422 => return Ok(false),
                checked => checked?,
            }
        }
        Ok(true)
    }

    /// The dense vector that a query uses, by its number.
    pub(crate) fn using(&self, name: Option<&str>) -> Outcome<(usize, &DenseField)> {
        let name = name.unwrap_or("");
        if self.sparse.iter().any(|own| own == name) {
            return Err(Failure::unsupported("`using`: searching sparse vectors"));
        }
        let at = self
            .dense_at(name)
            .ok_or_else(|| Failure::no_vector(name))?;
        let field = self.dense.get(at).ok_or_else(|| Failure::no_vector(name))?;
        Ok((at, field))
    }
}

impl DenseField {
    /// The shape of its vectors.
    pub(super) fn shape(&self) -> VectorShape {
        VectorShape {
            dimension: self.size as u32,
            element: ElementType::F32,
        }
    }

    /// Refuses the bytes of a vector that an index refuses in a row.
    fn check_row(&self, row: &[u8], path: &str) -> Outcome<()> {
        let vectors = VectorSlice::new(row, self.shape());
        let inspected = vectors.and_then(|vectors| {
            let inspection = Inspection {
                vectors: &vectors,
                name: path,
                metric: self.distance.metric(),
            };
            inspect_rows(inspection, row.len(), &NoProgress)
        });
        match inspected {
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Failure::invalid(
                path,
                "a vector so long that distances are not finite in 32 bits",
            )),
            inspected => Ok(inspected.map(drop)?),
        }
    }

    /// Refuses numbers that are no vector of this field.
    pub(crate) fn check(&self, numbers: &[f32], path: &str) -> Outcome<()> {
        if numbers.len() != self.size {
            return Err(Failure::wrong(format_args!(
                "Vector dimension error: expected dim: {}, got {}",
                self.size,
                numbers.len()
            )));
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(Failure::invalid(path, "a number is not finite in 32 bits"));
        }
        if self.distance == Distance::Cosine && numbers.iter().all(|number| *number == 0.0) {
            let words = format!("{path}: a vector of zeros has no cosine with others");
            return Err(Failure::wrong(words));
        }
        Ok(())
    }

    /// The numbers of a vector of this field, as they are kept.
    pub(crate) fn take(&self, value: VectorValue, path: &str) -> Outcome<Vec<f32>> {
        match value {
            VectorValue::Dense(mut numbers) => {
                self.check(&numbers, path)?;
                if self.distance == Distance::Cosine {
                    normalise(&mut numbers);
                }
                self.check_row(&bytes_of(&numbers), path)?;
                Ok(numbers)
            }
            VectorValue::Sparse(_) => Err(Failure::wrong(format_args!(
                "Conversion between sparse and regular vectors failed: {path}"
            ))),
            VectorValue::Multi => Err(Failure::wrong(format_args!(
                "Conversion between multi and regular vectors failed: {path}"
            ))),
        }
    }
}

/// Makes a vector one of length 1, as clients expect to get it back.
fn normalise(numbers: &mut [f32]) {
    let squares = numbers.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    for number in numbers {
        *number = (f64::from(*number) / length) as f32;
    }
}

/// What `m` is where nobody sets it.
const DEFAULT_M: u64 = 16;

fn check_name(name: &str) -> Outcome<()> {
    if name.len() > MAX_NAME_BYTES {
        let words = format!(
            "a name of {} bytes, {MAX_NAME_BYTES} are possible",
            name.len()
        );
        return Err(Failure::invalid("vectors", words));
    }
    Ok(())
}

fn field(name: &str, own: &Value, path: &str, degree: Option<u32>) -> Outcome<DenseField> {
    let format = |what: &str| Failure::format(format_args!("{path}.{what}"));
    let size = own.get("size").and_then(Value::as_u64);
    let size = size.ok_or_else(|| format("size: a whole number is expected"))?;
    if size == 0 || size > MAX_SIZE {
        let words = format!("value {size} invalid, must be from 1 to {MAX_SIZE}");
        return Err(Failure::invalid(&format!("{path}.size"), words));
    }
    if own
        .get("multivector_config")
        .is_some_and(|value| !value.is_null())
    {
        return Err(Failure::unsupported(format_args!(
            "`{path}.multivector_config`"
        )));
    }
    let kind = own.get("datatype").and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| *kind != "float32") {
        return Err(Failure::unsupported(format_args!(
            "`{path}.datatype`: {kind}"
        )));
    }
    let distance = match own.get("distance").and_then(Value::as_str) {
        Some("Cosine") => Distance::Cosine,
        Some("Dot") => Distance::Dot,
        Some("Euclid") => Distance::Euclid,
        Some("Manhattan") => Distance::Manhattan,
        Some(other) => {
            return Err(format(&format!(
                "distance: unknown variant `{other}`, expected one of `Cosine`, \
                 `Euclid`, `Dot`, `Manhattan`"
            )));
        }
        None => {
            let words = "distance: one of Cosine, Euclid, Dot, Manhattan is expected";
            return Err(format(words));
        }
    };
    Ok(DenseField {
        name: name.to_owned(),
        size: size as usize,
        distance,
        degree,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn vectors_are_found_by_name() {
        let config = json!({"params": {
            "vectors": {"b": {"size": 3, "distance": "Euclid"}, "a": {"size": 2, "distance": "Cosine"}},
            "sparse_vectors": {"s": {}},
        }});
        let schema = Schema::of(&config).unwrap();
        assert_eq!(
            (schema.dense_at("a"), schema.dense_at("b")),
            (Some(0), Some(1))
        );
        assert_eq!(
            (schema.is_dense("s"), schema.is_dense("x")),
            (Some(false), None)
        );
        assert!(
            schema
                .using(None)
                .unwrap_err()
                .text
                .contains("Not existing vector name error")
        );
        let (_, field) = schema.using(Some("a")).unwrap();
        assert!(field.check(&[1.0, 2.0], "v").is_ok());
        let wrong = field.check(&[1.0], "v").unwrap_err();
        assert!(wrong.text.ends_with("expected dim: 2, got 1"), "{wrong:?}");
        assert_eq!(
            field.check(&[f32::INFINITY, 1.0], "v").unwrap_err().status,
            422
        );
    }

    #[test]
    fn vectors_that_no_index_takes_are_refused() {
        for (distance, size) in [("Dot", 2), ("Euclid", 2), ("Manhattan", 2), ("Dot", 16_384)] {
            let config = json!({"params": {"vectors": {"size": size, "distance": distance}}});
            let schema = Schema::of(&config).unwrap();
            let field = &schema.dense[0];
            let numbers = |first: f32| {
                let mut numbers = vec![1.0; size];
                numbers[0] = first;
                numbers
            };
            let take = |first| field.take(VectorValue::Dense(numbers(first)), "points[3].vector");
            assert!(take(9e18).is_ok(), "{distance}");
            let refused = take(1e19).unwrap_err();
            assert_eq!(refused.status, 422);
            assert!(refused.text.contains("points[3].vector"), "{refused:?}");
            let row = |first| PutRow {
                id: crate::wire::PointId::Number(1),
                document: "{}".to_owned(),
                vectors: vec![Some(bytes_of(&numbers(first)))],
            };
            assert_eq!(schema.takes(&row(9e18)), Ok(true));
            assert_eq!(schema.takes(&row(1e19)), Ok(false));
        }
        let config = json!({"params": {"vectors": {"size": 2, "distance": "Cosine"}}});
        let field = &Schema::of(&config).unwrap().dense[0];
        for numbers in [[3e38, 3e38], [1e-45, 0.0]] {
            let kept = field
                .take(VectorValue::Dense(numbers.to_vec()), "v")
                .unwrap();
            let squares: f32 = kept.iter().map(|own| own * own).sum();
            assert!((squares - 1.0).abs() < 1e-6, "{numbers:?}");
        }
    }

    #[test]
    fn scores_are_those_of_the_wire() {
        let pair = ([3.0, 4.0].as_slice(), [4.0, 3.0].as_slice());
        assert_eq!(Distance::Dot.similarity(pair.0, pair.1), 24.0);
        assert_eq!(Distance::Cosine.similarity(pair.0, pair.1), 0.96);
        assert_eq!(Distance::Euclid.similarity(pair.0, pair.1), -2.0);
        assert_eq!(Distance::Manhattan.similarity(pair.0, pair.1), -2.0);
        assert_eq!(Distance::Euclid.score(4.0), 2.0);
        assert_eq!(Distance::Manhattan.score(4.0), 4.0);
        assert_eq!(Distance::Dot.score(-3.0), 3.0);
        assert_eq!(Distance::Cosine.score(0.25), 0.75);
        let score_of = |distance: Distance| distance.score_of(pair.0, pair.1);
        let all = [Distance::Dot, Distance::Cosine, Distance::Manhattan];
        assert_eq!(all.map(score_of), [24.0, 0.96, 2.0]);
        assert_eq!(score_of(Distance::Euclid), 2.0_f32.sqrt());
        assert!(Distance::Dot.rank(2.0) < Distance::Dot.rank(1.0));
        assert!(Distance::Euclid.rank(1.0) < Distance::Euclid.rank(2.0));
        assert!(Distance::Euclid.passes(1.0, 2.0) && !Distance::Dot.passes(1.0, 2.0));
    }
}

//! What a server or a snapshot says of a collection.

use std::collections::BTreeMap;

use pageway::{ElementType, Error, Metric, Result, VectorShape};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::source::{Source, ask};

/// The dense vectors of a name; the empty name where points have one vector without.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dense {
    pub(crate) name: String,
    pub(crate) shape: VectorShape,
    pub(crate) metric: Metric,
}

/// A collection.
#[derive(PartialEq, Debug)]
pub(crate) struct Collection {
    pub(crate) vectors: Vec<Dense>,
    /// Vectors that no index holds, with the reason.
    pub(crate) left_out: Vec<String>,
}

#[derive(Deserialize)]
struct Described {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    params: Parameters,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    vectors: Value,
    #[serde(default)]
    sparse_vectors: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct OneVector {
    size: u32,
    distance: String,
    datatype: Option<String>,
    multivector_config: Option<Value>,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
}

impl Collection {
    /// Asks for a description, and takes the vectors of a name, or all.
    ///
    /// # Errors
    /// No such vector, or none at all that an index holds; a distance that is not known.
    pub(crate) fn describe(source: &dyn Source, only: Option<&str>) -> Result<Self> {
        let described: Described = ask(source, "", None)?;
        Self::of(described.config.params, only)
    }

    fn of(parameters: Parameters, only: Option<&str>) -> Result<Self> {
        let named = named(parameters.vectors)?;
        let mut own = Self {
            vectors: Vec::new(),
            left_out: Vec::new(),
        };
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        for (name, one) in named {
            if one.multivector_config.is_some() && wanted(&name) {
                own.left_out
                    .push(format!("'{name}' (several vectors of a point)"));
            } else if wanted(&name) {
                own.vectors.push(dense(name, &one)?);
            }
        }
        let sparse = parameters.sparse_vectors.unwrap_or_default();
        let sparse = sparse.into_keys().filter(|name| wanted(name));
        own.left_out
            .extend(sparse.map(|name| format!("'{name}' (sparse)")));
        if own.vectors.is_empty() {
            let what = only.map_or_else(String::new, |name| format!(" '{name}'"));
            let mut words = format!("the collection has no dense vector{what}");
            if !own.left_out.is_empty() {
                words.push_str(&format!("; not imported: {}", own.left_out.join(", ")));
            }
            return Err(Error::invalid(words));
        }
        Ok(own)
    }
}

/// How many points there are, exactly.
pub(crate) fn count(source: &dyn Source) -> Result<u64> {
    let body = json!({"exact": true});
    let counted: Counted = ask(source, "/points/count", Some(&body))?;
    Ok(counted.count)
}

/// Vectors by their names.
fn named(vectors: Value) -> Result<BTreeMap<String, OneVector>> {
    let named = if vectors.is_null() {
        Ok(BTreeMap::new())
    } else if vectors.get("size").is_some_and(Value::is_number) {
        serde_json::from_value(vectors).map(|own| BTreeMap::from([(String::new(), own)]))
    } else {
        serde_json::from_value(vectors)
    };
    named.map_err(|error| Error::invalid(format!("vectors of the collection: {error}")))
}

fn dense(name: String, one: &OneVector) -> Result<Dense> {
    let wrong = |what: &str, own: &str| Error::invalid(format!("vector '{name}': {what} {own}"));
    let metric = match one.distance.as_str() {
        "Cosine" => Metric::Cosine,
        "Dot" => Metric::InnerProduct,
        "Euclid" => Metric::L2,
        "Manhattan" => Metric::L1,
        other => return Err(wrong("no index compares by", other)),
    };
    let element = match one.datatype.as_deref() {
        None | Some("float32") => ElementType::F32,
        Some("float16") => ElementType::F16,
        Some("uint8") => ElementType::U8,
        Some(other) => return Err(wrong("no index holds", other)),
    };
    let shape = VectorShape {
        dimension: one.size,
        element,
    };
    Ok(Dense {
        name,
        shape,
        metric,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: Value, only: Option<&str>) -> Result<Collection> {
        Collection::of(serde_json::from_value(parameters).unwrap(), only)
    }

    #[test]
    fn vectors_are_described() {
        let one = of(json!({"vectors": {"size": 4, "distance": "Dot"}}), None).unwrap();
        assert_eq!(one.vectors.first().unwrap().metric, Metric::InnerProduct);
        assert_eq!(one.vectors.first().unwrap().name, "");
        let several = json!({
            "vectors": {
                "b": {"size": 4, "distance": "Cosine", "datatype": "uint8"},
                "a": {"size": 3, "distance": "Euclid", "on_disk": true},
                "size": {"size": 3, "distance": "Euclid", "multivector_config": {}},
            },
            "sparse_vectors": {"s": {}},
        });
        let all = of(several.clone(), None).unwrap();
        let names: Vec<&str> = all.vectors.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            all.left_out,
            ["'size' (several vectors of a point)", "'s' (sparse)"]
        );
        let only = of(several.clone(), Some("b")).unwrap();
        assert_eq!((only.vectors.len(), only.left_out.len()), (1, 0));
        let error = of(several, Some("s")).unwrap_err().to_string();
        assert!(
            error.contains("no dense vector 's'") && error.contains("sparse"),
            "{error}"
        );
        for wrong in [
            json!({"size": 4, "distance": "Jaccard"}),
            json!({"size": 4}),
            json!({}),
        ] {
            of(json!({"vectors": wrong}), None).unwrap_err();
        }
    }
}

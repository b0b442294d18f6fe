//! Bodies of searches as clients asked before there were queries, rewritten as those of queries.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

type Object = Map<String, Value>;

/// Rewrites a body.
pub(crate) type Rewrite = fn(Value) -> Outcome<Value>;

/// Reads a body as that of the operation of today.
pub(crate) fn read<T: DeserializeOwned>(
    body: Value,
    rewrite: impl FnOnce(Value) -> Outcome<Value>,
) -> Outcome<T> {
    serde_json::from_value(rewrite(body)?).map_err(Failure::format)
}

/// A search for the nearest of a vector, which may name what it is compared with.
pub(crate) fn search(body: Value) -> Outcome<Value> {
    let mut own = object(body)?;
    let (vector, using) = match own.remove("vector") {
        Some(Value::Object(mut named)) if named.contains_key("name") => {
            (named.remove("vector"), named.remove("name"))
        }
        vector => (vector, None),
    };
    let vector = match vector {
        Some(vector @ (Value::Array(_) | Value::Object(_))) => vector,
        None => return Err(Failure::format("missing field `vector`")),
        Some(_) => return Err(Failure::format("vector: expected a list of numbers")),
    };
    if let Some(using) = using {
        own.insert("using".to_owned(), using);
    }
    Ok(queried(own, "nearest", vector))
}

/// A search for what is like some points and unlike others.
pub(crate) fn recommend(body: Value) -> Outcome<Value> {
    let mut own = object(body)?;
    let mut examples = Object::new();
    for name in ["positive", "negative", "strategy"] {
        if let Some(value) = own.remove(name) {
            examples.insert(name.to_owned(), value);
        }
    }
    Ok(queried(own, "recommend", examples.into()))
}

/// Several of a kind.
pub(crate) fn several(body: Value, one: Rewrite) -> Outcome<Value> {
    let Value::Object(mut own) = body else {
        return Err(Failure::format("expected an object"));
    };
    if let Some(Value::Array(searches)) = own.get_mut("searches") {
        for (at, search) in searches.iter_mut().enumerate() {
            let within = |failure: Failure| failure.within(format_args!("searches[{at}]"));
            *search = one(search.take()).map_err(within)?;
        }
    }
    Ok(own.into())
}

/// The entries of a body, without those that only queries have.
fn object(body: Value) -> Outcome<Object> {
    let Value::Object(mut own) = body else {
        return Err(Failure::format("expected an object"));
    };
    if !own.contains_key("limit") {
        return Err(Failure::format("missing field `limit`"));
    }
    own.remove("prefetch");
    Ok(own)
}

/// The body of a query of a kind.
fn queried(mut own: Object, kind: &str, value: Value) -> Value {
    let query = Object::from_iter([(kind.to_owned(), value)]);
    own.insert("query".to_owned(), query.into());
    own.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn older_bodies_become_queries() {
        let plain = json!({"vector": [1, 2], "limit": 3, "with_vector": true});
        let expected = json!({"query": {"nearest": [1, 2]}, "limit": 3, "with_vector": true});
        assert_eq!(search(plain.clone()).unwrap(), expected);
        let named = json!({"vector": {"name": "a", "vector": [1]}, "limit": 3, "prefetch": []});
        let using = json!({"query": {"nearest": [1]}, "using": "a", "limit": 3});
        assert_eq!(search(named).unwrap(), using);
        let like = json!({"positive": [1], "negative": [2], "limit": 3, "using": "a"});
        let query = json!({"recommend": {"positive": [1], "negative": [2]}});
        let expected_like = json!({"query": query, "limit": 3, "using": "a"});
        assert_eq!(recommend(like).unwrap(), expected_like);
        let many = several(json!({"searches": [plain]}), search).unwrap();
        assert_eq!(many, json!({"searches": [expected]}));
    }

    #[test]
    fn what_lacks_is_named() {
        for (body, word) in [
            (json!([]), "an object"),
            (json!({"vector": [1]}), "`limit`"),
            (json!({"limit": 1}), "`vector`"),
            (json!({"vector": {"name": "a"}, "limit": 1}), "`vector`"),
            (json!({"vector": 7, "limit": 1}), "a list of numbers"),
        ] {
            let failure = search(body.clone()).unwrap_err();
            assert!(failure.text.contains(word), "{failure:?}");
            let failure = several(json!({"searches": [body]}), search).unwrap_err();
            assert!(failure.text.contains("searches[0]"), "{failure:?}");
        }
        assert!(several(json!(1), search).is_err());
    }
}

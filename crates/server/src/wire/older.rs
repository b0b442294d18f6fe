//! Bodies of searches as clients asked before there were queries, read as queries.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::asked::Asked;
use super::either::Either;
use super::example::Recommend;
use super::query::{Batch, Query};
use super::vector::VectorValue;
use crate::failure::{Failure, Outcome};

/// What a body has beside that of a query, from which it is read apart.
pub(crate) trait Older: DeserializeOwned {
    /// Has a query ask for it.
    fn ask(self, query: &mut Query) -> Outcome<()>;
}

/// A search for the nearest of a vector, which may name what it is compared with.
#[derive(Deserialize)]
pub(crate) struct Search {
    vector: Option<Either<VectorValue, NamedVector>>,
}

#[derive(Deserialize)]
struct NamedVector {
    name: String,
    vector: VectorValue,
}

impl Older for Search {
    fn ask(self, query: &mut Query) -> Outcome<()> {
        let vector = match self.vector {
            Some(Either::Plain(vector)) => vector,
            Some(Either::Object(own)) => {
                query.using = Some(own.name);
                own.vector
            }
            None => return Err(Failure::format("missing field `vector`")),
        };
        query.asked = Some(Asked::Vector(vector));
        Ok(())
    }
}

/// A search for what is like some points and unlike others.
impl Older for Recommend {
    fn ask(self, query: &mut Query) -> Outcome<()> {
        query.asked = Some(Asked::recommend(self));
        Ok(())
    }
}

/// The query that a body means, of which what only queries have is left out.
pub(crate) fn query<T: Older>(mut query: Query, own: T) -> Outcome<Query> {
    if query.limit.is_none() {
        return Err(Failure::format("missing field `limit`"));
    }
    query.prefetch.clear();
    own.ask(&mut query)?;
    Ok(query)
}

/// Those of several.
pub(crate) fn batch<T: Older>(queries: Batch<Query>, own: Batch<T>) -> Outcome<Batch<Query>> {
    let pairs = queries.searches.into_iter().zip(own.searches);
    let searches = pairs.enumerate().map(|(at, (one, own))| {
        query(one, own).map_err(|failure| failure.within(format_args!("searches[{at}]")))
    });
    let searches = searches.collect::<Outcome<_>>()?;
    Ok(Batch { searches })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: DeserializeOwned>(body: &Value) -> Outcome<T> {
        serde_json::from_value(body.clone()).map_err(Failure::format)
    }

    fn one<T: Older>(body: &Value) -> Outcome<Query> {
        query::<T>(read(body)?, read(body)?)
    }

    fn several(body: &Value) -> Outcome<Batch<Query>> {
        batch::<Search>(read(body)?, read(body)?)
    }

    #[test]
    fn older_bodies_are_queries() {
        let plain = json!({"vector": [1, 2], "limit": 3, "with_vector": true});
        let expected = read(&json!({"query": [1, 2], "limit": 3, "with_vector": true})).unwrap();
        assert_eq!(one::<Search>(&plain).unwrap(), expected);
        let many = several(&json!({"searches": [plain]})).unwrap();
        assert_eq!(many.searches, [expected]);
        let named = json!({"vector": {"name": "a", "vector": [1]}, "limit": 3, "prefetch": {}});
        let using = read(&json!({"query": [1], "using": "a", "limit": 3}));
        assert_eq!(one::<Search>(&named).unwrap(), using.unwrap());
        let like = json!({"positive": [1], "negative": [2], "limit": 3, "using": "a"});
        let query = json!({"recommend": {"positive": [1], "negative": [2]}});
        let expected = read(&json!({"query": query, "limit": 3, "using": "a"}));
        assert_eq!(one::<Recommend>(&like).unwrap(), expected.unwrap());
    }

    #[test]
    fn what_lacks_is_named() {
        for (body, word) in [
            (json!(7), "struct Query"),
            (json!({"vector": [1]}), "`limit`"),
            (json!({"vector": {"name": "a"}, "limit": 1}), "`vector`"),
            (json!({"vector": {"vector": [1]}, "limit": 1}), "`name`"),
            (json!({"vector": 7, "limit": 1}), "a list of numbers"),
        ] {
            let failure = one::<Search>(&body).unwrap_err();
            assert!(failure.text.contains(word), "{failure:?}");
        }
        let failure = several(&json!({"searches": [{"limit": 1}]})).unwrap_err();
        let words = "missing field `vector` (searches[0])";
        assert!(failure.text.ends_with(words), "{failure:?}");
    }
}

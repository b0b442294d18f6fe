//! Predicates as Qdrant's filters write them: JSON with `must`, `should`, `must_not` and
//! `min_should`.
//!
//! <https://qdrant.tech/documentation/concepts/filtering/>. `has_vector` and `slice` are refused.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{Result, invalid};
use crate::geo::{Area, Place};
use crate::instant::Moment;
use crate::name::{check_row_name, name_id};
use crate::number::Number;
use crate::path::Path;
use crate::predicate::{Bounds, MAX_DEPTH, Predicate, Scalar, Test, Words};
use crate::text::tokens;

type Object = Map<String, Value>;

impl Predicate {
    /// The predicate, in canonical form, that a filter of Qdrant's stands for.
    ///
    /// # Errors
    /// Names the place in the filter, and what is wrong there.
    pub fn from_qdrant(filter: &Value) -> Result<Self> {
        read_filter(filter, &At::root())?.canonical()
    }
}

/// A place in a filter.
struct At {
    words: String,
    depth: usize,
}

impl At {
    fn root() -> Self {
        Self {
            words: "filter".to_owned(),
            depth: 1,
        }
    }

    fn key(&self, name: &str) -> Self {
        Self {
            words: format!("{}.{name}", self.words),
            depth: self.depth,
        }
    }

    fn element(&self, at: usize) -> Self {
        Self {
            words: format!("{}[{at}]", self.words),
            depth: self.depth,
        }
    }

    /// A key of a filter: one level deeper.
    fn inside(&self, name: &str) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.key(name)
        }
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(invalid(self.words.clone(), what))
    }

    fn object<'v>(&self, value: &'v Value) -> Result<&'v Object> {
        match value.as_object() {
            Some(object) => Ok(object),
            None => self.wrong("an object is expected"),
        }
    }

    /// The object, refused where it has other keys than these.
    fn object_of<'v>(&self, value: &'v Value, known: &[&str]) -> Result<&'v Object> {
        let object = self.object(value)?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => self.wrong(format!(
                "unknown key {key:?}, known are {}",
                known.join(", ")
            )),
            None => Ok(object),
        }
    }

    fn text<'v>(&self, value: &'v Value) -> Result<&'v str> {
        match value.as_str() {
            Some(text) => Ok(text),
            None => self.wrong("a string is expected"),
        }
    }

    fn array<'v>(&self, value: &'v Value) -> Result<&'v [Value]> {
        match value.as_array() {
            Some(array) => Ok(array),
            None => self.wrong("an array is expected"),
        }
    }
}

fn read_filter(value: &Value, at: &At) -> Result<Predicate> {
    if at.depth > MAX_DEPTH {
        return at.wrong(format!("more than {MAX_DEPTH} levels"));
    }
    let object = at.object_of(value, &["must", "should", "must_not", "min_should"])?;
    let mut all = Vec::new();
    if let Some(must) = object.get("must") {
        all.extend(read_conditions(must, &at.inside("must"))?);
    }
    if let Some(should) = object.get("should") {
        let some = read_conditions(should, &at.inside("should"))?;
        if !some.is_empty() {
            all.push(Predicate::Or(some));
        }
    }
    if let Some(must_not) = object.get("must_not") {
        let none = read_conditions(must_not, &at.inside("must_not"))?;
        all.extend(none.into_iter().map(|one| Predicate::Not(Box::new(one))));
    }
    if let Some(min_should) = object.get("min_should").filter(|value| !value.is_null()) {
        all.push(read_min_should(min_should, &at.inside("min_should"))?);
    }
    Ok(Predicate::And(all))
}

fn read_min_should(value: &Value, at: &At) -> Result<Predicate> {
    let object = at.object_of(value, &["conditions", "min_count"])?;
    let of = object.get("conditions").unwrap_or(&Value::Null);
    let of = read_conditions(of, &at.key("conditions"))?;
    let count = object.get("min_count").and_then(Value::as_u64);
    match count.and_then(|count| usize::try_from(count).ok()) {
        Some(count) => Ok(Predicate::AtLeast { count, of }),
        None => at
            .key("min_count")
            .wrong("a number of conditions is expected"),
    }
}

/// A list of conditions, or one, or none.
fn read_conditions(value: &Value, at: &At) -> Result<Vec<Predicate>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(of) => of
            .iter()
            .enumerate()
            .map(|(place, one)| read_condition(one, &at.element(place)))
            .collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Ok(vec![read_condition(value, at)?])
        }
    }
}

/// Keys of a condition on a field, beside the field itself.
const FIELD: [&str; 8] = [
    "match",
    "range",
    "geo_bounding_box",
    "geo_radius",
    "geo_polygon",
    "values_count",
    "is_empty",
    "is_null",
];

fn read_condition(value: &Value, at: &At) -> Result<Predicate> {
    let object = at.object(value)?;
    if object.contains_key("key") {
        return read_field(value, at);
    }
    if let Some(nested) = object.get("nested") {
        return read_nested(nested, &at.key("nested"));
    }
    if let Some(ids) = object.get("has_id") {
        return read_ids(ids, &at.key("has_id"));
    }
    for (name, test) in [("is_empty", Test::Empty), ("is_null", Test::Null)] {
        if let Some(of) = object.get(name) {
            let at = at.key(name);
            let path = read_path(at.object_of(of, &["key"])?, &at)?;
            return Ok(Predicate::Field { path, test });
        }
    }
    for name in ["has_vector", "slice"] {
        if object.contains_key(name) {
            return at.key(name).wrong("this condition is not supported");
        }
    }
    read_filter(value, at)
}

fn read_path(object: &Object, at: &At) -> Result<Path> {
    let at = at.key("key");
    let text = at.text(object.get("key").unwrap_or(&Value::Null))?;
    Path::parse(text).or_else(|error| at.wrong(error.to_string()))
}

fn read_nested(value: &Value, at: &At) -> Result<Predicate> {
    let object = at.object_of(value, &["key", "filter"])?;
    let of = object.get("filter").unwrap_or(&Value::Null);
    Ok(Predicate::Nested {
        path: read_path(object, at)?,
        of: Box::new(read_filter(of, &at.key("filter"))?),
    })
}

fn read_ids(value: &Value, at: &At) -> Result<Predicate> {
    let ids = at.array(value)?.iter().enumerate();
    let ids: Result<BTreeSet<u64>> = ids
        .map(|(place, id)| match (id.as_u64(), id.as_str()) {
            (Some(id), _) => Ok(id),
            (None, Some(name)) => match check_row_name(name) {
                Ok(()) => Ok(name_id(name)),
                Err(error) => at.element(place).wrong(error.to_string()),
            },
            (None, None) => at
                .element(place)
                .wrong("an id is a whole number from 0 on, or the name of a row"),
        })
        .collect();
    Ok(Predicate::HasId(ids?))
}

fn read_field(value: &Value, at: &At) -> Result<Predicate> {
    let mut known = vec!["key"];
    known.extend(FIELD);
    let object = at.object_of(value, &known)?;
    let path = read_path(object, at)?;
    let mut given = FIELD
        .iter()
        .filter_map(|name| Some((*name, object.get(*name)?)))
        .filter(|(_, value)| !value.is_null());
    let Some((name, of)) = given.next() else {
        return at.wrong(format!("one of {} is expected", FIELD.join(", ")));
    };
    if let Some((second, _)) = given.next() {
        return at.wrong(format!(
            "{name} and {second} are two conditions: give one each"
        ));
    }
    let at = at.key(name);
    let test = match name {
        "match" => read_match(of, &at)?,
        "range" => read_range(of, &at)?,
        "values_count" => Test::Count(read_bounds(of, &at, &|value| value.as_u64())?),
        "is_empty" | "is_null" => return read_flag(of, path, &at),
        _ => Test::Geo(read_area(name, of, &at)?),
    };
    Ok(Predicate::Field { path, test })
}

fn read_flag(value: &Value, path: Path, at: &At) -> Result<Predicate> {
    let Some(wanted) = value.as_bool() else {
        return at.wrong("true or false is expected");
    };
    let is_null = at.words.ends_with("is_null");
    let test = if is_null { Test::Null } else { Test::Empty };
    let field = Predicate::Field { path, test };
    Ok(if wanted {
        field
    } else {
        Predicate::Not(Box::new(field))
    })
}

fn read_match(value: &Value, at: &At) -> Result<Test> {
    let object = at.object(value)?;
    let mut keys = object.iter();
    let (Some((name, of)), None) = (keys.next(), keys.next()) else {
        return at.wrong("one of value, any, except, text, text_any, phrase, prefix is expected");
    };
    let at = at.key(name);
    let words = |how| Ok(Test::Words(how, tokens(at.text(of)?).collect()));
    match name.as_str() {
        "value" => Ok(Test::In([read_scalar(of, &at)?].into())),
        "any" => Ok(Test::In(read_scalars(of, &at)?)),
        "except" => Ok(Test::Except(read_scalars(of, &at)?)),
        "text" => words(Words::All),
        "text_any" => words(Words::Any),
        "phrase" => words(Words::Phrase),
        "prefix" => Ok(Test::Prefix(at.text(of)?.to_owned())),
        _ => at.wrong("unknown; known are value, any, except, text, text_any, phrase, prefix"),
    }
}

fn read_scalar(value: &Value, at: &At) -> Result<Scalar> {
    match Scalar::of(value) {
        Some(scalar) => Ok(scalar),
        None => at.wrong("a string, an integer of 64 bits, true or false is expected"),
    }
}

fn read_scalars(value: &Value, at: &At) -> Result<BTreeSet<Scalar>> {
    let values = at.array(value)?.iter().enumerate();
    values
        .map(|(place, value)| read_scalar(value, &at.element(place)))
        .collect()
}

fn read_range(value: &Value, at: &At) -> Result<Test> {
    let object = at.object(value)?;
    if object.values().any(Value::is_string) {
        let moment = |value: &Value| value.as_str().and_then(Moment::parse);
        return Ok(Test::Time(read_bounds(value, at, &moment)?));
    }
    Ok(Test::Range(read_bounds(value, at, &Number::of)?))
}

fn read_bounds<T: Copy>(
    value: &Value,
    at: &At,
    read: &dyn Fn(&Value) -> Option<T>,
) -> Result<Bounds<T>> {
    let object = at.object_of(value, &["gt", "gte", "lt", "lte"])?;
    let bound = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match read(value) {
            Some(bound) => Ok(Some(bound)),
            None => at
                .key(name)
                .wrong("a number, or a date as RFC 3339 writes it, is expected"),
        },
    };
    Ok(Bounds {
        gt: bound("gt")?,
        gte: bound("gte")?,
        lt: bound("lt")?,
        lte: bound("lte")?,
    })
}

fn read_area(name: &str, value: &Value, at: &At) -> Result<Area> {
    let place = |object: &Object, key: &str| {
        let found = object.get(key).and_then(Place::of);
        found.map_or_else(
            || at.key(key).wrong("an object with lat and lon is expected"),
            Ok,
        )
    };
    match name {
        "geo_bounding_box" => {
            let object = at.object_of(value, &["top_left", "bottom_right"])?;
            Ok(Area::Box {
                top_left: place(object, "top_left")?,
                bottom_right: place(object, "bottom_right")?,
            })
        }
        "geo_radius" => {
            let object = at.object_of(value, &["center", "radius"])?;
            let metres = object.get("radius").and_then(Value::as_f64);
            let Some(metres) = metres.filter(|metres| *metres >= 0.0) else {
                return at.key("radius").wrong("a number of metres is expected");
            };
            let center = place(object, "center")?;
            Ok(Area::Radius { center, metres })
        }
        _ => {
            let object = at.object_of(value, &["exterior", "interiors"])?;
            let exterior = object.get("exterior").unwrap_or(&Value::Null);
            let interiors = match object.get("interiors") {
                None | Some(Value::Null) => &[][..],
                Some(rings) => at.key("interiors").array(rings)?,
            };
            let rings = interiors.iter().enumerate();
            Ok(Area::Polygon {
                exterior: read_ring(exterior, &at.key("exterior"))?,
                interiors: rings
                    .map(|(number, ring)| read_ring(ring, &at.key("interiors").element(number)))
                    .collect::<Result<_>>()?,
            })
        }
    }
}

fn read_ring(value: &Value, at: &At) -> Result<Vec<Place>> {
    let object = at.object_of(value, &["points"])?;
    let at = at.key("points");
    let corners = at.array(object.get("points").unwrap_or(&Value::Null))?;
    let ring: Option<Vec<Place>> = corners.iter().map(Place::of).collect();
    match ring.filter(|ring| ring.len() >= 4 && ring.first() == ring.last()) {
        Some(ring) => Ok(ring),
        None => at.wrong("four places at least are expected, the last of them the first"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_deep_is_refused_by_its_place() {
        let deep = |levels: usize| {
            let inner = json!({"key": "a", "match": {"value": 1}});
            (1..levels).fold(json!({"must": [inner]}), |of, _| json!({"must": [of]}))
        };
        assert!(Predicate::from_qdrant(&deep(MAX_DEPTH - 1)).is_ok());
        let error = Predicate::from_qdrant(&deep(MAX_DEPTH + 8)).unwrap_err();
        let place = format!("filter{}: more than", ".must[0]".repeat(MAX_DEPTH));
        assert!(error.to_string().starts_with(&place), "{error}");
    }
}

//! Choices by name: what the caller writes as a dict, as the engine's `Overrides`.
//!
//! A value is a name, or a dict of fields that may name its choice by `kind`, in the form in which
//! the manifest has it. Fields that are left out have the values that the engine gives them; where
//! no choice is named, the preset's own stays and keeps them.

use pageway::choices::{
    CODES, ENTRIES, HARVESTS, LISTS, PLACEMENTS, QUANTIZERS, REFINES, STOPS, VECTORS, codecs,
    graphs, schedules,
};
use pageway::spec::{CacheOverrides, CacheSpec, QuantizerSpec, RotationSpec, Shape, VectorStorage};
use pageway::{Error, ErrorKind, Overrides, Preset, Result, Sizes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, from_value, to_value};

/// Each policy that is a choice, and where a spec has it.
const POLICIES: [(&str, &str); 13] = [
    ("graph", "/graph"),
    ("vectors", "/storage/vectors"),
    ("codes", "/storage/codes"),
    ("quantizer", "/storage/quantizer"),
    ("codec", "/layout/codec"),
    ("placement", "/layout/placement"),
    ("lists", "/layout/lists"),
    ("cache", "/cache"),
    ("entry", "/execution/entry"),
    ("schedule", "/execution/schedule"),
    ("harvest", "/execution/harvest"),
    ("refine", "/execution/refine"),
    ("stop", "/execution/stop"),
];

/// The policies that are numbers, and the one that is true or false.
const SECOND_CODE: &str = "second_code_bytes";
const SLACK: &str = "slack";
const IDS_IN_MEMORY: &str = "ids_in_memory";

/// Fields that name a choice.
const TAGS: [&str; 2] = ["kind", "algorithm"];

/// What an index would be without overrides.
#[derive(Clone, Copy)]
pub(crate) struct Design {
    pub(crate) preset: Preset,
    pub(crate) shape: Shape,
    pub(crate) sizes: Sizes,
}

/// The choices of `wishes`, a JSON object of policies, over `design`.
///
/// # Errors
/// `InvalidInput` naming the policy, and the field where one is wrong.
pub(crate) fn overrides(wishes: &str, design: &Design) -> Result<Overrides> {
    let wishes: Map<String, Value> =
        serde_json::from_str(wishes).map_err(|error| refusal(&error.to_string()))?;
    let names = POLICIES.map(|(policy, _)| policy);
    let is_known =
        |key: &str| [SECOND_CODE, SLACK, IDS_IN_MEMORY].contains(&key) || names.contains(&key);
    if let Some(unknown) = wishes.keys().find(|key| !is_known(key)) {
        let names = names.join(", ");
        return Err(refusal(&format!(
            "there is no '{unknown}'; choose {names}, {SECOND_CODE}, {SLACK} or {IDS_IN_MEMORY}"
        )));
    }
    let spec = design.preset.spec(design.shape, &design.sizes);
    let choices = Choices {
        wishes,
        own: to_value(spec).map_err(defect)?,
    };
    let vectors = choices.choice("vectors", &VECTORS)?;
    Ok(Overrides {
        graph: choices.choice("graph", &graphs(&design.sizes))?,
        vectors,
        codes: choices.choice("codes", &CODES)?,
        quantizer: choices.choice("quantizer", &QUANTIZERS)?,
        second_quantizer: choices
            .second_code_bytes()?
            .map(|code_bytes| second_quantizer(vectors, code_bytes)),
        ids_in_memory: choices.ids_in_memory()?,
        codec: choices.choice("codec", &codecs(&design.sizes))?,
        placement: choices.choice("placement", &PLACEMENTS)?,
        lists: choices.choice("lists", &LISTS)?,
        cache: choices
            .choice::<CacheSpec>("cache", &[])?
            .map_or_else(CacheOverrides::default, CacheOverrides::from),
        entry: choices.choice("entry", &ENTRIES)?,
        schedule: choices.choice("schedule", &schedules(&design.sizes))?,
        harvest: choices.choice("harvest", &HARVESTS)?,
        refine: choices.choice("refine", &REFINES)?,
        stop: choices.choice("stop", &STOPS)?,
        slack: choices.slack()?,
    })
}

struct Choices {
    wishes: Map<String, Value>,
    /// The spec of the preset.
    own: Value,
}

impl Choices {
    /// The wish for `policy`, if any, whose choices by name are `known`.
    fn choice<T>(&self, policy: &str, known: &[T]) -> Result<Option<T>>
    where
        T: Serialize + DeserializeOwned,
    {
        let Some(wish) = self.wishes.get(policy).filter(|wish| !wish.is_null()) else {
            return Ok(None);
        };
        let Wish { name, fields } = Wish::new(policy, wish)?;
        let whole = match name {
            Some(name) => named(policy, name, known)?,
            None => self.own(policy)?,
        };
        let mut choice = whole.clone();
        for (field, value) in fields {
            let usual =
                field_of(&whole, field).ok_or_else(|| no_such_field(policy, field, &whole))?;
            if let Some(place) = choice.get_mut(field) {
                *place = value.clone();
            }
            from_value::<T>(choice.clone())
                .map_err(|error| no_such_value(policy, (field, value, usual), &error))?;
        }
        from_value(choice).map(Some).map_err(defect)
    }

    /// The preset's choice for `policy`.
    fn own(&self, policy: &str) -> Result<Value> {
        let pointer = POLICIES.iter().find(|(name, _)| *name == policy);
        pointer
            .and_then(|(_, pointer)| self.own.pointer(pointer).cloned())
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("a spec has no {policy}")))
    }

    /// Whether rows and ids are in memory, if the caller says anything about it.
    fn ids_in_memory(&self) -> Result<Option<bool>> {
        let Some(wish) = self
            .wishes
            .get(IDS_IN_MEMORY)
            .filter(|wish| !wish.is_null())
        else {
            return Ok(None);
        };
        let told = wish.as_bool();
        told.map(Some)
            .ok_or_else(|| refusal(&format!("{IDS_IN_MEMORY} is {wish}: give True or False")))
    }

    /// How far residence counts, if the caller says anything about it.
    fn slack(&self) -> Result<Option<f32>> {
        let Some(wish) = self.wishes.get(SLACK).filter(|wish| !wish.is_null()) else {
            return Ok(None);
        };
        let share = wish.as_f64().map(|share| Some(share as f32));
        share.ok_or_else(|| refusal(&format!("{SLACK} is {wish}: give a number from 0 to 1")))
    }

    /// Bytes of the second code, if the caller says anything about it.
    fn second_code_bytes(&self) -> Result<Option<u32>> {
        let Some(wish) = self.wishes.get(SECOND_CODE).filter(|wish| !wish.is_null()) else {
            return Ok(None);
        };
        let bytes = wish.as_u64().and_then(|bytes| u32::try_from(bytes).ok());
        bytes.map(Some).ok_or_else(|| {
            let ask = "give a number of bytes, 0 for no second code";
            refusal(&format!("{SECOND_CODE} is {wish}: {ask}"))
        })
    }
}

/// The choice of `known` that is called `name`.
fn named<T: Serialize>(policy: &str, name: &str, known: &[T]) -> Result<Value> {
    let known = known
        .iter()
        .map(to_value)
        .collect::<serde_json::Result<_>>();
    let known: Vec<Value> = known.map_err(defect)?;
    let choice = known.iter().find(|choice| name_of(choice) == Some(name));
    choice.cloned().ok_or_else(|| {
        let names: Vec<&str> = known.iter().filter_map(name_of).collect();
        let ask = if names.is_empty() {
            "give a dict of its parts".to_owned()
        } else {
            format!("choose {}", names.join(", "))
        };
        refusal(&format!("{policy}: there is no '{name}'; {ask}"))
    })
}

/// No bytes are no second code; beside lists it is a fine one, with error bounds.
fn second_quantizer(vectors: Option<VectorStorage>, code_bytes: u32) -> Option<QuantizerSpec> {
    let fine = QuantizerSpec::RaBitQ {
        code_bytes,
        rotation: RotationSpec::Principal,
    };
    (code_bytes > 0).then_some(match vectors {
        Some(VectorStorage::Coded) => fine,
        Some(VectorStorage::InRecord | VectorStorage::Separate) | None => {
            QuantizerSpec::Pq { code_bytes }
        }
    })
}

/// A wish, taken apart.
struct Wish<'w> {
    name: Option<&'w str>,
    fields: Vec<(&'w str, &'w Value)>,
}

impl<'w> Wish<'w> {
    fn new(policy: &str, wish: &'w Value) -> Result<Self> {
        if let Some(name) = wish.as_str() {
            return Ok(Self {
                name: Some(name),
                fields: Vec::new(),
            });
        }
        let Some(fields) = wish.as_object() else {
            let ask = "give a name or a dict of fields";
            return Err(refusal(&format!("{policy} is {wish}: {ask}")));
        };
        let tag = TAGS.iter().find_map(|tag| fields.get(*tag));
        if let Some(tag) = tag.filter(|tag| !tag.is_string()) {
            let ask = "give the name of a choice";
            return Err(refusal(&format!("{policy}: kind is {tag}: {ask}")));
        }
        let name = name_of(wish);
        let fields = fields.iter().map(|(field, value)| (field.as_str(), value));
        let is_field = |field: &str| !TAGS.contains(&field) && Some(field) != name;
        Ok(Self {
            name,
            fields: fields.filter(|(field, _)| is_field(field)).collect(),
        })
    }
}

/// What a choice is called: its text, its tag, or the one field that holds all others.
fn name_of(choice: &Value) -> Option<&str> {
    let fields = choice.as_object();
    let tag = fields.and_then(|fields| TAGS.iter().find_map(|tag| fields.get(*tag)));
    let named = choice.as_str().or_else(|| tag?.as_str());
    let whole = fields.and_then(|fields| fields.iter().find(|(_, value)| value.is_object()));
    named.or_else(|| Some(whole?.0))
}

/// Fields of a choice that a caller may set.
fn fields_of(choice: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = choice.as_object().into_iter().flatten();
    fields.filter(|(field, value)| !TAGS.contains(&field.as_str()) && !value.is_object())
}

fn field_of<'c>(choice: &'c Value, field: &str) -> Option<&'c Value> {
    let (_, value) = fields_of(choice).find(|(name, _)| *name == field)?;
    Some(value)
}

/// The names of these fields, for a sentence.
fn names_of_fields(choice: &Value) -> String {
    let names: Vec<&str> = fields_of(choice).map(|(field, _)| field.as_str()).collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

fn no_such_field(policy: &str, field: &str, choice: &Value) -> Error {
    let name = name_of(choice).map_or(String::new(), |name| format!(" {name}"));
    let names = names_of_fields(choice);
    refusal(&format!(
        "{policy}{name} has no field '{field}'; its fields: {names}"
    ))
}

/// A field that cannot have this value; `usual` is one that it can have.
fn no_such_value(
    policy: &str,
    (field, value, usual): (&str, &Value, &Value),
    error: &serde_json::Error,
) -> Error {
    let ask = if usual.is_u64() {
        format!("give a whole number, such as {usual}")
    } else if usual.is_number() {
        format!("give a number, such as {usual}")
    } else {
        error.to_string()
    };
    refusal(&format!("{policy}: {field} is {value}: {ask}"))
}

fn refusal(sentence: &str) -> Error {
    Error::invalid(format!("overrides: {sentence}"))
}

fn defect(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}

//! Choices as users of Python write them: a name, or fields that may name their choice by `kind`,
//! in the form in which the manifest has it.
//!
//! Fields that are left out have the values of the known choice. Where no choice is named, the
//! design's own stays and keeps them: so a wish has a meaning only over a design in its form.

use serde_json::{Map, Value};

use super::choice::{Names, Reading};
use super::overrides::{Overrides, Patch};
use super::table::{Policy, choices, stored};
use super::text::{ChoiceText, NAMES, name_of, perhaps};
use crate::error::{Error, Result};
use crate::spec::{IndexSpec, Sizes};

/// Policies that are wished together, as the parts of one: their names begin with its own.
const GROUP: &str = "cache";

/// What is wished, policy by policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Wishes(Vec<(String, Value)>);

impl Wishes {
    /// Reads a JSON object of policies.
    ///
    /// # Errors
    /// `InvalidInput` for a policy that there is not, with those that there are.
    pub fn read(text: &str) -> Result<Self> {
        let wishes: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| refusal(&error.to_string()))?;
        let mut all = Vec::new();
        for (name, wish) in wishes {
            if name == GROUP {
                all.extend(parts(&wish)?);
            } else if !choices().any(|policy| policy.name == name && part(policy).is_none()) {
                return Err(no_such_policy(&name));
            } else {
                all.push((name, wish));
            }
        }
        all.retain(|(_, wish)| !wish.is_null());
        Ok(Self(all))
    }

    /// Whether what is wished depends on the design that it is wished over.
    pub fn depend_on_design(&self) -> bool {
        let depends = |policy: &Policy, wish: &Value| match policy.reading {
            Reading::Named(_) => wish.is_object() && tag(wish).is_none(),
            Reading::CodeBytes => true,
            Reading::Share | Reading::Flag | Reading::Size | Reading::Told => false,
        };
        self.wishes().any(|(policy, wish)| depends(policy, wish))
    }

    /// The choices that are wished over `design`.
    ///
    /// # Errors
    /// `InvalidInput` naming the policy, and the field where one is wrong.
    pub fn over(&self, design: &IndexSpec, sizes: &Sizes) -> Result<Overrides> {
        let own = stored(design);
        let patch = |(policy, wish): (&'static Policy, &Value)| -> Result<Patch> {
            let own = own.pointer(policy.path).cloned().unwrap_or_default();
            Ok((policy, wished(policy, wish, own, sizes)?))
        };
        let patches = self.wishes().map(patch).collect::<Result<_>>()?;
        Overrides::told(patches, Some(design.storage.vectors))
    }

    fn wishes(&self) -> impl Iterator<Item = (&'static Policy, &Value)> {
        let policy = |name: &str| choices().find(|policy| policy.name == name);
        self.0
            .iter()
            .filter_map(move |(name, wish)| Some((policy(name)?, wish)))
    }
}

/// The name of a policy within the group, where it belongs to that.
fn part(policy: &Policy) -> Option<&'static str> {
    let part = policy.path.strip_prefix('/')?.strip_prefix(GROUP)?;
    part.strip_prefix('/')
}

/// The parts of a wish for the whole group.
fn parts(wish: &Value) -> Result<Vec<(String, Value)>> {
    if wish.is_null() {
        return Ok(Vec::new());
    }
    let Some(fields) = wish.as_object() else {
        return Err(match wish.as_str() {
            Some(name) => refusal(&format!(
                "{GROUP}: there is no '{name}'; give a dict of its parts"
            )),
            None => refusal(&format!("{GROUP} is {wish}: give a dict of its parts")),
        });
    };
    let policy = |field: &str| choices().find(|policy| part(policy) == Some(field));
    let named = |(field, wish): (&String, &Value)| {
        let known = policy(field).map(|policy| (policy.name.to_owned(), wish.clone()));
        known.ok_or_else(|| {
            let parts: Vec<&str> = choices().filter_map(part).collect();
            no_such_field(GROUP, field, &parts)
        })
    };
    fields.iter().map(named).collect()
}

/// What a policy is wished to be, as a spec stores it; a second code by its bytes.
fn wished(policy: &Policy, wish: &Value, own: Value, sizes: &Sizes) -> Result<Value> {
    let ask = |told: bool, words: &str| {
        let refuse = || refusal(&format!("{} is {wish}: {words}", policy.name));
        told.then(|| wish.clone()).ok_or_else(refuse)
    };
    let fits = |bytes: u64| u32::try_from(bytes).is_ok();
    match policy.reading {
        Reading::Named(names) => Named { policy, names }.wished(wish, own, sizes),
        Reading::Share => ask(wish.is_number(), "give a number from 0 to 1"),
        Reading::Flag => ask(wish.is_boolean(), "give True or False"),
        Reading::CodeBytes => ask(
            wish.as_u64().is_some_and(fits),
            "give a number of bytes, 0 for no second code",
        ),
        Reading::Size | Reading::Told => ask(false, "it is no choice"),
    }
}

/// A policy whose choices have names.
#[derive(Clone, Copy)]
struct Named<'p> {
    policy: &'p Policy,
    names: Names,
}

impl Named<'_> {
    /// What it is wished to be: the choice that is named, or its `own`, with other fields.
    fn wished(self, wish: &Value, own: Value, sizes: &Sizes) -> Result<Value> {
        let policy = self.policy.name;
        if let Some(name) = wish.as_str() {
            return self.named(name, sizes);
        }
        let Some(fields) = wish.as_object() else {
            let ask = "give a name or a dict of fields";
            return Err(refusal(&format!("{policy} is {wish}: {ask}")));
        };
        let kind = NAMES.iter().find_map(|tag| fields.get(*tag));
        if let Some(kind) = kind.filter(|kind| !kind.is_string()) {
            let ask = "give the name of a choice";
            return Err(refusal(&format!("{policy}: kind is {kind}: {ask}")));
        }
        let name = tag(wish);
        let mut choice = match name {
            Some(name) => self.named(name, sizes)?,
            None => own,
        };
        let is_key = |key: &str| !NAMES.contains(&key) && Some(key) != name;
        for (key, value) in fields.iter().filter(|(key, _)| is_key(key)) {
            self.set(&mut choice, key, value)?;
        }
        Ok(choice)
    }

    /// The choice of that name.
    fn named(self, name: &str, sizes: &Sizes) -> Result<Value> {
        let known = (self.names.known)(sizes);
        let names: Vec<String> = known.iter().map(name_of).collect();
        let found = known.into_iter().find(|choice| name_of(choice) == name);
        found.ok_or_else(|| {
            let (all, perhaps) = (names.join(", "), perhaps(name, &names));
            let policy = self.policy.name;
            refusal(&format!(
                "{policy}: there is no '{name}'; choose {all}{perhaps}"
            ))
        })
    }

    fn set(self, choice: &mut Value, key: &str, value: &Value) -> Result<()> {
        let form = ChoiceText::of(choice.clone());
        let keys: Vec<&str> = form.keys().map(|(key, _)| key.as_str()).collect();
        let policy = self.policy.name;
        let Some(place) = choice.get_mut(key).filter(|_| keys.contains(&key)) else {
            return Err(no_such_field(
                &format!("{policy} {}", form.name),
                key,
                &keys,
            ));
        };
        let usual = std::mem::replace(place, value.clone());
        let check = (self.names.check)(choice);
        check.map_err(|error| {
            let ask = if usual.is_u64() {
                format!("give a whole number, such as {usual}")
            } else if usual.is_number() {
                format!("give a number, such as {usual}")
            } else {
                error.to_string()
            };
            refusal(&format!("{policy}: {key} is {value}: {ask}"))
        })
    }
}

/// The choice that a dict names: by its tag, or by the one field that holds all others.
fn tag(wish: &Value) -> Option<&str> {
    let fields = wish.as_object()?;
    let tag = NAMES.iter().find_map(|name| fields.get(*name)?.as_str());
    let whole = fields.iter().find(|(_, value)| value.is_object());
    tag.or_else(|| Some(whole?.0))
}

fn no_such_policy(name: &str) -> Error {
    let mut names: Vec<&str> = Vec::new();
    for policy in choices() {
        let name = part(policy).map_or(policy.name, |_| GROUP);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (all, perhaps) = (names.join(", "), perhaps(name, &names));
    refusal(&format!("there is no '{name}'; choose {all}{perhaps}"))
}

fn no_such_field(choice: &str, field: &str, fields: &[&str]) -> Error {
    let perhaps = perhaps(field, fields);
    let all = if fields.is_empty() {
        "none".to_owned()
    } else {
        fields.join(", ")
    };
    refusal(&format!(
        "{choice} has no field '{field}'; its fields: {all}{perhaps}"
    ))
}

fn refusal(sentence: &str) -> Error {
    Error::invalid(format!("overrides: {sentence}"))
}

//! Values of one type or another, told apart by how they begin.
//!
//! An untagged enum of serde keeps all of a value before it tells, at 32 bytes for a number. This
//! reads it as it comes, as `http/weight.rs` counts on.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// An object, or what is none.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Either<P, O> {
    Plain(P),
    Object(O),
}

impl<'de, P: Deserialize<'de>, O: Deserialize<'de>> Deserialize<'de> for Either<P, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherVisitor(PhantomData))
    }
}

struct EitherVisitor<P, O>(PhantomData<(P, O)>);

impl<'de, P: Deserialize<'de>, O: Deserialize<'de>> Visitor<'de> for EitherVisitor<P, O> {
    type Value = Either<P, O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or an object")
    }

    fn visit_bool<E: Error>(self, own: bool) -> Result<Self::Value, E> {
        P::deserialize(own.into_deserializer()).map(Either::Plain)
    }

    fn visit_u64<E: Error>(self, own: u64) -> Result<Self::Value, E> {
        P::deserialize(own.into_deserializer()).map(Either::Plain)
    }

    fn visit_i64<E: Error>(self, own: i64) -> Result<Self::Value, E> {
        P::deserialize(own.into_deserializer()).map(Either::Plain)
    }

    fn visit_f64<E: Error>(self, own: f64) -> Result<Self::Value, E> {
        P::deserialize(own.into_deserializer()).map(Either::Plain)
    }

    fn visit_str<E: Error>(self, own: &str) -> Result<Self::Value, E> {
        P::deserialize(own.into_deserializer()).map(Either::Plain)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        P::deserialize(().into_deserializer()).map(Either::Plain)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        P::deserialize(SeqAccessDeserializer::new(seq)).map(Either::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        O::deserialize(MapAccessDeserializer::new(map)).map(Either::Object)
    }
}

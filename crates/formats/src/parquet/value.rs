//! Values of Parquet as values of JSON.

use pageway::{Moment, Uuid};
use parquet::record::Field;
use serde_json::{Map, Number, Value};

/// What the library does not tell from plain bytes and numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// Sixteen bytes.
    Uuid,
    /// Nanoseconds since 1970.
    Nanos,
}

/// The value of a field.
///
/// # Errors
/// A sentence for what JSON does not know.
pub(super) fn value_of(field: &Field, special: Option<Special>) -> Result<Value, String> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(own) => Value::Bool(*own),
        Field::Byte(own) => Value::from(*own),
        Field::Short(own) => Value::from(*own),
        Field::Int(own) => Value::from(*own),
        Field::Long(nanos) if special.is_some() => moment(nanos.div_euclid(1000), *nanos)?,
        Field::Long(own) => Value::from(*own),
        Field::UByte(own) => Value::from(*own),
        Field::UShort(own) => Value::from(*own),
        Field::UInt(own) => Value::from(*own),
        Field::ULong(own) => Value::from(*own),
        Field::Float16(own) => number(&own.to_string())?,
        Field::Float(own) => number(&own.to_string())?,
        Field::Double(own) => number(&own.to_string())?,
        Field::Decimal(_) => number(&field.to_string())?,
        Field::Str(own) => Value::String(own.clone()),
        Field::Bytes(own) if special.is_some() => uuid(own.data())?,
        Field::Bytes(own) => text(own.data())?,
        Field::Date(days) => date(*days)?,
        Field::TimeMillis(millis) => time(i64::from(*millis) * 1000),
        Field::TimeMicros(micros) => time(*micros),
        Field::TimestampMillis(millis) => moment(millis.saturating_mul(1000), 0)?,
        Field::TimestampMicros(micros) => moment(*micros, 0)?,
        Field::Group(row) => {
            let fields = row.get_column_iter().map(|(name, own)| (name.clone(), own));
            object(fields, special)?
        }
        Field::ListInternal(list) => {
            let values = list.elements().iter().map(|own| value_of(own, special));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Field::MapInternal(map) => {
            let key = |own: &Field| {
                if let Field::Str(text) = own {
                    text.clone()
                } else {
                    own.to_string()
                }
            };
            let fields = map.entries().iter().map(|(name, own)| (key(name), own));
            object(fields, special)?
        }
    })
}

/// An object without what is null.
fn object<'f>(
    fields: impl Iterator<Item = (String, &'f Field)>,
    special: Option<Special>,
) -> Result<Value, String> {
    let mut found = Map::new();
    for (name, own) in fields {
        let value = value_of(own, special)?;
        if !value.is_null() {
            found.insert(name, value);
        }
    }
    Ok(Value::Object(found))
}

/// The number with these digits, so that a float32 of .1 is .1.
fn number(digits: &str) -> Result<Value, String> {
    let found: Option<f64> = digits.parse().ok();
    let found = found.and_then(Number::from_f64);
    let words = || format!("holds {digits}, which is no number");
    found.map(Value::Number).ok_or_else(words)
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    let found = std::str::from_utf8(bytes).map_err(|_| "holds bytes that are no text");
    Ok(Value::String(found?.to_owned()))
}

fn uuid(bytes: &[u8]) -> Result<Value, String> {
    let own = bytes.try_into().map(Uuid);
    let words = |_| format!("holds a UUID of {} bytes", bytes.len());
    Ok(Value::String(own.map_err(words)?.to_string()))
}

fn time(micros: i64) -> Value {
    let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let fraction = if rest == 0 {
        String::new()
    } else {
        format!(".{rest:06}")
    };
    Value::String(format!(
        "{hours:02}:{minutes:02}:{:02}{fraction}",
        seconds % 60
    ))
}

fn date(days: i32) -> Result<Value, String> {
    let micros = i64::from(days) * 86_400_000_000;
    let day = Moment { micros, nanos: 0 }.text();
    let day = day.and_then(|text| text.get(..10).map(str::to_owned));
    let words = || format!("holds a date {days} days from 1970, outside of the years 1 to 9999");
    day.map(Value::String).ok_or_else(words)
}

/// A moment, by microseconds and by the nanoseconds that are below one.
fn moment(micros: i64, nanos: i64) -> Result<Value, String> {
    let nanos = nanos.rem_euclid(1000) as u16;
    let text = Moment { micros, nanos }.text();
    let words = || "holds a moment outside of the years 1 to 9999".to_owned();
    text.map(Value::String).ok_or_else(words)
}

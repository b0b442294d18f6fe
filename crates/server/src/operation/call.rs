//! A request as operations see it, and what they answer with.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pageway::server::{VfsFile, clock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::collection::{SearchSettings, SearchTrace};
use crate::failure::{Failure, Outcome};
use crate::room::AnswerRoom;
use crate::service::Service;
use crate::wire::PointId;

/// Time of a request where it asks for none, and at most.
const MOST_TIME: Duration = Duration::from_secs(60);
/// Time of what copies whole collections.
const LONG_TIME: Duration = Duration::from_secs(3600);

/// What an envelope begins with.
pub(crate) const RESULT: &[u8] = b"{\"result\":";

/// A request.
pub(crate) struct Call<'c> {
    pub(crate) service: &'c Service,
    /// Names in the path, decoded.
    pub(crate) path: &'c [(String, String)],
    pub(crate) query: &'c Parameters,
    /// Whether a router asks, which knows the shard of each point.
    pub(crate) is_routed: bool,
    pub(crate) body: &'c [u8],
    /// The file that was sent, where the operation takes one.
    pub(crate) upload: Option<&'c Path>,
    /// When its time is up.
    pub(crate) deadline: Instant,
    /// What its searches cost.
    pub(crate) trace: &'c SearchTrace,
    /// Memory of its answer.
    pub(crate) room: &'c AnswerRoom,
}

/// What an operation answers with.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The beginning of an envelope, with JSON as its result.
    Json(Vec<u8>),
    /// JSON as it is.
    Bare(Vec<u8>),
    Text(String),
    /// Nothing yet: it is done later.
    Accepted,
    /// A file, as it is.
    File(Arc<dyn VfsFile>, u64),
}

impl Reply {
    /// A result in the envelope.
    pub(crate) fn of(result: &impl Serialize) -> Outcome<Self> {
        let mut bytes = RESULT.to_vec();
        let written = serde_json::to_writer(&mut bytes, result);
        written.map_err(Failure::internal)?;
        Ok(Self::Json(bytes))
    }

    /// A result as it is.
    pub(crate) fn bare(result: &impl Serialize) -> Outcome<Self> {
        serde_json::to_vec(result)
            .map(Self::Bare)
            .map_err(Failure::internal)
    }
}

impl Call<'_> {
    /// A name of the path.
    pub(crate) fn name(&self, of: &str) -> &str {
        let found = self.path.iter().find(|(name, _)| name == of);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The id of a point in the path.
    pub(crate) fn id(&self) -> Outcome<PointId> {
        PointId::of_path(self.name("id"))
    }

    /// The body, read as JSON.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Outcome<T> {
        let body = if self.body.trim_ascii().is_empty() {
            b"{}"
        } else {
            self.body
        };
        serde_json::from_slice(body).map_err(Failure::format)
    }

    /// The body, an object.
    pub(crate) fn object(&self) -> Outcome<serde_json::Map<String, Value>> {
        self.read()
    }

    /// How to search the next query.
    pub(crate) fn settings(&self) -> SearchSettings<'_> {
        if self.service.recall_samples.is_due() {
            self.trace.want_sample();
        }
        SearchSettings {
            recall: self.service.recall_of(self.name("collection")),
            deadline: self.deadline,
            trace: self.trace,
            room: self.room,
            known: None,
        }
    }
}

/// Parameters behind the question mark.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads them.
    ///
    /// # Errors
    /// 400 where they are no UTF-8.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        };
        let all: Option<Vec<_>> = pairs.map(pair).collect();
        all.map(Self).ok_or_else(|| Failure::parameter("no UTF-8"))
    }

    /// The last value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut own = self.0.iter().rev().filter(|(own, _)| own == name);
        own.next().map(|(_, value)| value.as_str())
    }

    /// A value that is true or false.
    pub(crate) fn flag(&self, name: &str, absent: bool) -> Outcome<bool> {
        match self.get(name) {
            None => Ok(absent),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(Failure::parameter(format_args!(
                "{name}: provided string was not `true` or `false`: {other:?}"
            ))),
        }
    }

    /// When the time of a request that begins now is up; refuses values that are not known.
    pub(crate) fn deadline(&self, is_long: bool) -> Outcome<Instant> {
        self.check()?;
        let most = if is_long { LONG_TIME } else { MOST_TIME };
        let time = match self.get("timeout") {
            None => most,
            Some(text) => {
                let seconds: Option<u64> = text.parse().ok();
                match seconds {
                    None => {
                        let words = format!("timeout: invalid digit found in string: {text:?}");
                        return Err(Failure::parameter(words));
                    }
                    Some(0) => {
                        let words = "value 0 invalid, must be 1 or larger";
                        return Err(Failure::invalid_parameter("timeout", words));
                    }
                    Some(seconds) => Duration::from_secs(seconds).min(most),
                }
            }
        };
        Ok(clock::now() + time)
    }

    fn check(&self) -> Outcome<()> {
        self.flag("wait", false)?;
        let known = ["weak", "medium", "strong"];
        if let Some(other) = self.get("ordering").filter(|own| !known.contains(own)) {
            return Err(Failure::parameter(format_args!(
                "ordering: unknown variant `{other}`, expected one of `weak`, `medium`, `strong`"
            )));
        }
        let known = ["majority", "quorum", "all"];
        let is_number = |own: &&str| own.parse::<u64>().is_ok_and(|own| own > 0);
        let consistency = self.get("consistency");
        let wrong = consistency.filter(|own| !known.contains(own) && !is_number(own));
        match wrong {
            None => Ok(()),
            Some(other) => Err(Failure::parameter(format_args!(
                "consistency: {other:?} is neither a number nor majority, quorum or all"
            ))),
        }
    }
}

/// Text with `+` for spaces and `%` before two digits.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_checked() {
        let read = |text: &str| Parameters::parse(text).unwrap();
        let own = read("wait=true&timeout=5&a=b%20c+d&wait=false&x");
        assert_eq!(own.get("a"), Some("b c d"));
        assert!(!own.flag("wait", true).unwrap());
        assert!(own.deadline(false).is_ok() && read("").flag("wait", true).unwrap());
        for (text, status) in [
            ("wait=maybe", 400),
            ("timeout=x", 400),
            ("timeout=-1", 400),
            ("timeout=0", 422),
            ("ordering=none", 400),
            ("consistency=0", 400),
        ] {
            assert_eq!(
                read(text).deadline(false).unwrap_err().status,
                status,
                "{text}"
            );
        }
        assert!(
            read("timeout=1000000000000&ordering=strong&consistency=majority")
                .deadline(false)
                .is_ok()
        );
        assert!(Parameters::parse("a=%ff").is_err() && Parameters::parse("a=%4").is_err());
    }
}

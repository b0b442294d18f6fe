//! Checks a filter against the index: its fields, kinds of values, and memory.

use pageway_attributes::{Condition, Kinds, Path, compile_bytes, has_value};
use pageway_types::did_you_mean;

use super::Version;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::Filter;
use crate::memory::{MemoryPart, format_bytes};

/// What segments know about the field of a condition.
struct FieldSeen<'p> {
    condition: Condition<'p>,
    is_known: bool,
    kinds: Kinds,
}

impl FieldSeen<'_> {
    /// Why no value can match the condition; `None` if one can.
    fn refusal(&self) -> Option<String> {
        self.kinds.refusal(&self.condition)
    }

    /// Whether other rows may still match the condition.
    fn is_open(&self) -> bool {
        !self.is_known || self.refusal().is_some()
    }
}

impl Version {
    /// Bytes that a filter takes. Refuses conditions on fields that no row has, or on values of
    /// kinds that a field does not hold, and filters that take too much memory.
    pub(super) fn check_filter(&self, filter: &Filter) -> Result<u64> {
        let attributes = self.segments.iter().any(|one| one.attributes.is_some());
        let conditions = filter.predicate().conditions();
        if !attributes && !conditions.is_empty() && !self.any_document(|_| true) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this index has no attributes to filter by: build it with attributes, or put rows \
                 in that have some",
            ));
        }
        if filter.knows_fields() {
            self.check_fields(conditions)?;
        }
        let longest = self.segments.iter().map(|one| one.node_count()).max();
        let longest = longest.unwrap_or(0);
        let ids = filter.id_set().map_or(0, |_| u64::from(longest) / 8 + 8);
        let needed = self.set_bytes() + ids + compile_bytes(filter.predicate(), longest);
        let given = self.filter_room();
        if needed <= given || !attributes {
            return Ok(needed);
        }
        Err(Error::invalid(format!(
            "this filter takes {} ({needed} B) of memory, and {} are set aside for filters: write \
             it with fewer levels",
            format_bytes(needed),
            format_bytes(given)
        )))
    }

    /// Bytes set aside for filters.
    pub(super) fn filter_room(&self) -> u64 {
        self.ledger.reserved_for(&[MemoryPart::Filters])
    }

    /// Refuses conditions on fields that no row has, and on values that none has there.
    fn check_fields(&self, conditions: Vec<Condition<'_>>) -> Result<()> {
        let mut fields = Vec::with_capacity(conditions.len());
        for condition in conditions {
            fields.push(self.seen(condition)?);
        }
        let is_open = |fields: &[FieldSeen<'_>]| fields.iter().any(FieldSeen::is_open);
        if is_open(&fields) {
            self.any_document(|document| {
                for field in &mut fields {
                    field.is_known |= has_value(document, &field.condition.path);
                    field.kinds.add_document(document, &field.condition.path);
                }
                !is_open(&fields)
            });
        }
        for field in &fields {
            let path = &field.condition.path;
            if !field.is_known {
                return Err(self.unknown(path)?);
            }
            let schema = self.manifest.schema.as_ref();
            let ruled_out = || schema.and_then(|own| own.refusal(&field.condition));
            if let Some(words) = field.refusal().or_else(ruled_out) {
                return Err(Error::invalid(format!("filter: {path} {words}")));
            }
        }
        Ok(())
    }

    /// What the segments know of a field.
    fn seen<'p>(&self, condition: Condition<'p>) -> Result<FieldSeen<'p>> {
        let (mut is_known, mut kinds) = (false, Kinds::default());
        let attributes = self.segments.iter();
        for own in attributes.filter_map(|one| one.attributes.as_ref()) {
            if own.knows(&condition.path)? {
                is_known = true;
                own.add_kinds(&condition.path, &mut kinds)?;
            }
        }
        Ok(FieldSeen {
            condition,
            is_known,
            kinds,
        })
    }

    fn unknown(&self, path: &Path) -> Result<Error> {
        let fields = self.fields()?;
        let name = path.to_string();
        let known: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
        Ok(Error::invalid(format!(
            "filter: no row has a field {name}{}",
            did_you_mean(&name, &known)
        )))
    }
}

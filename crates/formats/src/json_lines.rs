//! JSON lines: an object per line with a list of numbers in one field, or the list alone; also
//! `.gz`.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

use pageway::source::without_mark;
use pageway::{ElementType, Error, Result, Vfs};
use serde_json::{Map, Value};

use crate::attributes::Take;
use crate::number::put;
use crate::open::Wish;
use crate::reader::read_buffered;
use crate::stream::{Batch, RowStream, rows_per_batch};

/// Bytes of a line at most: room for 16,384 long numbers, and much text beside them.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Vectors of a file of JSON lines.
pub(crate) struct JsonLines {
    name: String,
    input: Box<dyn BufRead>,
    element: ElementType,
    column: Option<String>,
    id_column: Option<String>,
    line: u64,
    dimension: Option<u32>,
}

impl JsonLines {
    /// Opens the file; reads nothing yet.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, path: &Path, wish: &Wish) -> Result<Self> {
        Ok(Self {
            name: path.display().to_string(),
            input: read_buffered(vfs, path)?,
            element: wish.element.unwrap_or(ElementType::F32),
            column: wish.column.clone(),
            id_column: wish.id_column.clone(),
            line: 0,
            dimension: None,
        })
    }

    fn refuse(&self, words: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}, line {}: {words}", self.name, self.line))
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            let mut bounded = self.input.by_ref().take(LINE_BYTES_MAX);
            let read = bounded.read_until(b'\n', &mut line);
            let read = read.map_err(|error| Error::from(error).within(&self.name))?;
            self.line += 1;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == LINE_BYTES_MAX {
                return Err(self.refuse("is longer than 64 MiB"));
            }
            if self.line == 1 {
                line = without_mark(&line).to_vec();
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    /// The objects of all lines, without the fields of vectors and ids.
    pub(crate) fn each_document(mut self, take: &mut Take<'_>) -> Result<()> {
        while let Some(line) = self.next_line()? {
            let Value::Object(mut fields) = self.parsed(&line)? else {
                return Err(self.refuse("has no fields: it is no JSON object"));
            };
            fields.remove(&self.column_of(&fields)?);
            if let Some(column) = &self.id_column {
                fields.remove(column);
            }
            take(fields)?;
        }
        Ok(())
    }

    fn parsed(&self, line: &[u8]) -> Result<Value> {
        let value = serde_json::from_slice(line.trim_ascii_end());
        value.map_err(|error| {
            let words = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let words = words.strip_suffix(&place).unwrap_or(&words);
            self.refuse(format!("no JSON: {words} at column {}", error.column()))
        })
    }

    fn add(&mut self, line: &[u8], batch: &mut Batch) -> Result<()> {
        let vector = match self.parsed(line)? {
            Value::Object(mut fields) => {
                if let Some(column) = &self.id_column {
                    batch.ids.push(self.id_of(&fields, column)?);
                }
                let column = self.column_of(&fields)?;
                fields.remove(&column).unwrap_or_default()
            }
            other if self.column.is_none() && self.id_column.is_none() => other,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Err(self.refuse("has no fields: it is no JSON object")),
        };
        self.add_vector(&vector, batch)
    }

    fn id_of(&self, fields: &Map<String, Value>, column: &str) -> Result<u64> {
        let Some(found) = fields.get(column) else {
            return Err(self.refuse(format!("no field '{column}'")));
        };
        let id = found.as_u64().filter(|id| *id < u64::MAX);
        id.ok_or_else(|| {
            self.refuse(format!(
                "field '{column}' is {found}, which is no id: ids are whole numbers from 0 to \
                 2^64 - 2, without quotes; names come from a file of their own, one per line, \
                 with --names"
            ))
        })
    }

    /// The field that was named, or the only one with a list; the first line decides.
    fn column_of(&mut self, fields: &Map<String, Value>) -> Result<String> {
        let found = if let Some(column) = &self.column {
            column.clone()
        } else {
            let mut lists = fields.iter().filter(|(_, value)| value.is_array());
            let (Some((only, _)), None) = (lists.next(), lists.next()) else {
                let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                return Err(self.refuse(format!(
                    "say which field holds the vector with --column, of queries beside other \
                     vectors with --queries-column; there are {}",
                    names.join(", ")
                )));
            };
            only.clone()
        };
        if !fields.contains_key(&found) {
            return Err(self.refuse(format!("no field '{found}'")));
        }
        self.column = Some(found.clone());
        Ok(found)
    }

    fn add_vector(&mut self, vector: &Value, batch: &mut Batch) -> Result<()> {
        let numbers = vector.as_array().filter(|numbers| !numbers.is_empty());
        let numbers = numbers.ok_or_else(|| self.refuse("no list of numbers"))?;
        let length = numbers.len() as u32;
        let dimension = *self.dimension.get_or_insert(length);
        if length != dimension {
            return Err(self.refuse(format!(
                "has {length} components, the lines before it have {dimension}"
            )));
        }
        batch.dimension = dimension;
        let mut values = Vec::with_capacity(numbers.len());
        for (component, number) in numbers.iter().enumerate() {
            let value = number.as_f64();
            values.push(
                value.ok_or_else(|| self.refuse(format!("component {component} is no number")))?,
            );
        }
        put(&values, self.element, &mut batch.rows).map_err(|component| {
            let value = values.get(component).copied().unwrap_or_default();
            let element = self.element;
            self.refuse(format!(
                "component {component} is {value}, which is no {element}"
            ))
        })
    }
}

impl RowStream for JsonLines {
    fn element(&self) -> ElementType {
        self.element
    }

    fn count(&self) -> Option<u64> {
        None
    }

    fn next_batch(&mut self) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        let rows = rows_per_batch(self.dimension);
        for _ in 0..rows {
            let Some(line) = self.next_line()? else { break };
            self.add(&line, &mut batch)?;
        }
        Ok(Some(batch).filter(|batch| !batch.rows.is_empty()))
    }
}

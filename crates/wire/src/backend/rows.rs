//! The bodies that describe and hold results: RowDescription, DataRow, ParameterDescription.
//! Read only by who asks (control sessions, `\gset`); the load itself never looks inside a row.

use super::message::Reader;
use crate::protocol_error::ProtocolError;

/// RowDescription: the columns of the rows to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDescription<'a> {
    body: &'a [u8],
}

impl<'a> RowDescription<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        RowDescription { body }
    }

    /// The columns in order; a malformed body ends the iteration with an error.
    pub fn fields(&self) -> Fields<'a> {
        let mut reader = Reader::new(self.body, "RowDescription");
        let (left, failed) = count(reader.u16());
        Fields { reader, left, failed }
    }
}

/// One column of a RowDescription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The column's name; UTF-8 only if the client encoding is.
    pub name: &'a [u8],
    /// The table it comes from, or 0.
    pub table_oid: u32,
    /// The attribute number in that table, or 0.
    pub column_id: i16,
    /// The data type.
    pub type_oid: u32,
    /// The type's size in bytes; negative for variable ones.
    pub type_size: i16,
    /// The type's modifier.
    pub type_modifier: i32,
    /// True for the binary format.
    pub is_binary: bool,
}

/// The columns of a RowDescription.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    left: u16,
    failed: Option<ProtocolError>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        next(&mut self.reader, &mut self.left, &mut self.failed, |reader| {
            Ok(Field {
                name: reader.text()?,
                table_oid: reader.u32()?,
                column_id: reader.i16()?,
                type_oid: reader.u32()?,
                type_size: reader.i16()?,
                type_modifier: reader.i32()?,
                is_binary: reader.i16()? == 1,
            })
        })
    }
}

/// DataRow: one row. Its columns are there only if the decoder keeps rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRow<'a> {
    body: Option<&'a [u8]>,
    length: u32,
}

impl<'a> DataRow<'a> {
    pub(super) fn kept(body: &'a [u8], length: u32) -> Self {
        DataRow { body: Some(body), length }
    }

    pub(super) fn skipped(length: u32) -> Self {
        DataRow { body: None, length }
    }

    /// The length of the body in bytes, known also of a row that was skipped.
    pub fn body_length(&self) -> u32 {
        self.length
    }

    /// The values in order, `None` for NULL; a malformed body ends the iteration with an error, and so does a
    /// row that was skipped.
    pub fn columns(&self) -> Columns<'a> {
        let mut reader = Reader::new(self.body.unwrap_or_default(), "DataRow");
        let first = if self.body.is_some() { reader.u16() } else { Err(ProtocolError::RowNotKept) };
        let (left, failed) = count(first);
        Columns { reader, left, failed }
    }
}

/// The values of a DataRow.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    reader: Reader<'a>,
    left: u16,
    failed: Option<ProtocolError>,
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<Option<&'a [u8]>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        next(&mut self.reader, &mut self.left, &mut self.failed, |reader| {
            let length = reader.i32()?;
            if length == -1 {
                return Ok(None);
            }
            let length = usize::try_from(length).map_err(|_| reader.malformed())?;
            reader.take(length).map(Some)
        })
    }
}

/// ParameterDescription: the types of a prepared statement's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterTypes<'a> {
    pub(super) body: &'a [u8],
}

impl<'a> ParameterTypes<'a> {
    /// The types' object identifiers in order.
    pub fn oids(&self) -> impl Iterator<Item = u32> + use<'a> {
        let words = self.body.get(2..).unwrap_or_default();
        words.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    }
}

fn count(first: Result<u16, ProtocolError>) -> (u16, Option<ProtocolError>) {
    match first {
        Ok(count) => (count, None),
        Err(error) => (0, Some(error)),
    }
}

/// The step that both iterators share: an error is given out once, then nothing more.
fn next<'a, T>(
    reader: &mut Reader<'a>,
    left: &mut u16,
    failed: &mut Option<ProtocolError>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, ProtocolError>,
) -> Option<Result<T, ProtocolError>> {
    if let Some(error) = failed.take() {
        return Some(Err(error));
    }
    *left = left.checked_sub(1)?;
    let item = read(reader);
    if item.is_err() {
        *left = 0;
    } else if *left == 0 && !reader.is_empty() {
        *failed = Some(reader.malformed());
    }
    Some(item)
}

//! The bodies that describe and hold results: RowDescription, DataRow, ParameterDescription.
//! Read only by who asks (control sessions, `\gset`); the load itself never looks inside a row.

use super::body::Reader;
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
    words: &'a [[u8; 4]],
}

impl<'a> ParameterTypes<'a> {
    pub(super) fn new(body: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(body, "ParameterDescription");
        let count = usize::from(reader.u16()?);
        let (words, odd) = reader.take(body.len() - 2)?.as_chunks();
        if words.len() == count && odd.is_empty() {
            Ok(ParameterTypes { words })
        } else {
            Err(reader.malformed())
        }
    }

    /// The types' object identifiers in order.
    pub fn oids(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.words.iter().map(|word| u32::from_be_bytes(*word))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two columns: `x` and NULL.
    const ROW: &[u8] = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";

    #[test]
    fn a_kept_row_gives_its_values_and_its_nulls() {
        let columns: Result<Vec<_>, _> = DataRow::kept(ROW, 11).columns().collect();
        assert_eq!(columns.unwrap(), [Some(&b"x"[..]), None]);
    }

    #[test]
    fn a_skipped_row_says_so_instead_of_looking_empty() {
        let columns: Vec<_> = DataRow::skipped(11).columns().collect();
        assert_eq!(columns, [Err(ProtocolError::RowNotKept)]);
    }

    #[test]
    fn a_row_cut_anywhere_ends_in_an_error() {
        for length in 0..ROW.len() {
            let last = DataRow::kept(&ROW[..length], 0).columns().last();
            assert_eq!(last, Some(Err(ProtocolError::Malformed { message: "DataRow" })), "cut at {length}");
        }
    }

    #[test]
    fn a_row_with_bytes_left_over_or_an_impossible_length_ends_in_an_error() {
        let longer = [ROW, b"!"].concat();
        assert!(DataRow::kept(&longer, 12).columns().last().unwrap().is_err());
        let negative = b"\0\x01\xff\xff\xff\xfe";
        assert!(DataRow::kept(negative, 6).columns().last().unwrap().is_err());
        let beyond = b"\0\x01\x7f\xff\xff\xff";
        assert!(DataRow::kept(beyond, 6).columns().last().unwrap().is_err());
    }

    #[test]
    fn a_description_gives_names_and_types() {
        let body = b"\0\x01id\0\0\0\0\x07\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
        let fields: Result<Vec<_>, _> = RowDescription::new(body).fields().collect();
        let field = fields.unwrap()[0];
        assert_eq!((field.name, field.type_oid, field.type_size), (&b"id"[..], 23, 4));
        assert_eq!((field.table_oid, field.type_modifier, field.is_binary), (7, -1, false));
        assert!(RowDescription::new(&body[..9]).fields().last().unwrap().is_err());
    }

    #[test]
    fn parameter_types_must_be_as_many_as_announced() {
        let types = ParameterTypes::new(b"\0\x01\0\0\0\x17").unwrap();
        assert_eq!(types.oids().collect::<Vec<_>>(), [23]);
        for wrong in [&b""[..], b"\0", b"\0\x01", b"\0\x01\0\0\0", b"\0\0\0\0\0\x17"] {
            assert!(ParameterTypes::new(wrong).is_err(), "{wrong:?}");
        }
    }
}

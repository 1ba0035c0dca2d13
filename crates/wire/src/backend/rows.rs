//! RowDescription and DataRow. Parsed on demand by control sessions, `\gset` and the parser of values; otherwise the
//! workload does not read the contents of rows.

use super::reader::Reader;
use crate::protocol_error::ProtocolError;

/// RowDescription: the columns of the following rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDescription<'a> {
    body: &'a [u8],
}

/// Length of a column's fields after its name: table, attribute number, type OID, type size, type modifier, format.
const DESCRIPTION_LENGTH: usize = 18;

impl<'a> RowDescription<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        RowDescription { body }
    }

    /// Column names in order, UTF-8 only if the client encoding is; a malformed body ends the iteration with an error.
    pub fn names(&self) -> Parts<'a, &'a [u8]> {
        Parts::new(Reader::new(self.body, "RowDescription"), Reader::u16, |reader| Ok(column(reader)?.0))
    }

    /// Column names with the OIDs of their types.
    pub fn columns(&self) -> Parts<'a, (&'a [u8], u32)> {
        Parts::new(Reader::new(self.body, "RowDescription"), Reader::u16, |reader| {
            column(reader).map(|(name, type_oid, _)| (name, type_oid))
        })
    }

    /// The OIDs of the columns' types, and whether their values are binary.
    pub(super) fn formats(&self) -> Parts<'a, (u32, bool)> {
        Parts::new(Reader::new(self.body, "RowDescription"), Reader::u16, |reader| {
            column(reader).map(|(_, type_oid, is_binary)| (type_oid, is_binary))
        })
    }
}

/// A column's name, the OID of its type, and whether its values are binary.
fn column<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], u32, bool), ProtocolError> {
    let name = reader.text()?;
    let fields = reader.take(DESCRIPTION_LENGTH)?;
    let type_oid = fields.get(6..10).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    Ok((name, type_oid.ok_or_else(|| reader.malformed())?, fields.ends_with(&[0, 1])))
}

/// DataRow: one row. It has columns only if the decoder keeps rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRow<'a> {
    body: Option<&'a [u8]>,
    length: u32,
}

impl<'a> DataRow<'a> {
    pub(super) fn new(body: Option<&'a [u8]>, length: u32) -> Self {
        DataRow { body, length }
    }

    /// Length of the body in bytes, also for a skipped row.
    pub fn body_length(&self) -> u32 {
        self.length
    }

    /// The values in order, `None` for NULL; a malformed body or a skipped row ends the iteration with an error.
    pub fn columns(&self) -> Parts<'a, Option<&'a [u8]>> {
        let count =
            if self.body.is_some() { Reader::u16 } else { |_: &mut _| Err(ProtocolError::RowNotKept) };
        Parts::new(Reader::new(self.body.unwrap_or_default(), "DataRow"), count, |reader| {
            let length = reader.i32()?;
            if length == -1 {
                return Ok(None);
            }
            let length = usize::try_from(length).map_err(|_| reader.malformed())?;
            reader.take(length).map(Some)
        })
    }
}

/// Reads a part of a body.
type Read<'a, T> = fn(&mut Reader<'a>) -> Result<T, ProtocolError>;

/// The parts of a body that starts with their number.
#[derive(Clone, Debug)]
pub struct Parts<'a, T> {
    reader: Reader<'a>,
    left: u16,
    failed: Option<ProtocolError>,
    read: Read<'a, T>,
}

impl<'a, T> Parts<'a, T> {
    fn new(mut reader: Reader<'a>, count: Read<'a, u16>, read: Read<'a, T>) -> Self {
        let count = count(&mut reader);
        Parts { reader, left: count.unwrap_or(0), failed: count.err(), read }
    }
}

impl<T> Iterator for Parts<'_, T> {
    type Item = Result<T, ProtocolError>;

    /// An error ends the iteration.
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        self.left = self.left.checked_sub(1)?;
        let part = (self.read)(&mut self.reader);
        if part.is_err() {
            self.left = 0;
        } else if self.left == 0 && !self.reader.is_empty() {
            self.failed = Some(self.reader.malformed());
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two columns: `x` and NULL.
    const ROW: &[u8] = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";

    #[test]
    fn a_kept_row_gives_its_values_and_its_nulls() {
        let columns: Result<Vec<_>, _> = DataRow::new(Some(ROW), 11).columns().collect();
        assert_eq!(columns.unwrap(), [Some(&b"x"[..]), None]);
    }

    #[test]
    fn a_skipped_row_says_so_instead_of_looking_empty() {
        let columns: Vec<_> = DataRow::new(None, 11).columns().collect();
        assert_eq!(columns, [Err(ProtocolError::RowNotKept)]);
    }

    #[test]
    fn a_row_cut_anywhere_ends_in_an_error() {
        for length in 0..ROW.len() {
            let last = DataRow::new(Some(&ROW[..length]), 0).columns().last();
            assert_eq!(last, Some(Err(ProtocolError::Malformed { message: "DataRow" })), "cut at {length}");
        }
    }

    #[test]
    fn a_row_with_bytes_left_over_or_an_impossible_length_ends_in_an_error() {
        let longer = [ROW, b"!"].concat();
        assert!(DataRow::new(Some(&longer), 12).columns().last().unwrap().is_err());
        let negative = b"\0\x01\xff\xff\xff\xfe";
        assert!(DataRow::new(Some(negative), 6).columns().last().unwrap().is_err());
        let beyond = b"\0\x01\x7f\xff\xff\xff";
        assert!(DataRow::new(Some(beyond), 6).columns().last().unwrap().is_err());
    }

    #[test]
    fn a_description_gives_names_and_types() {
        let body = b"\0\x01id\0\0\0\0\x07\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
        let names: Result<Vec<_>, _> = RowDescription::new(body).names().collect();
        assert_eq!(names.unwrap(), [b"id"]);
        let columns: Result<Vec<_>, _> = RowDescription::new(body).columns().collect();
        assert_eq!(columns.unwrap(), [(&b"id"[..], 23)]);
        assert!(RowDescription::new(&body[..9]).names().last().unwrap().is_err());
    }
}

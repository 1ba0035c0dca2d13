//! Rows of the generator in the text format of COPY: the crate's structs, written field by field into one buffer.
//! Their texts have no character that COPY would need escaped, which a test checks.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::LazyLock;

use tpchgen::dates::{MIN_GENERATE_DATE, TOTAL_DATE_RANGE, TPCHDate};
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{Customer, LineItem, Nation, Order, Part, PartSupp, Region, Supplier};

/// A row that can be written as a line.
pub(super) trait CopyRow {
    /// Appends all fields.
    fn write(&self, line: &mut Line<'_>);
}

/// A line that grows field by field; each field ends with a tab until [`Line::finish`].
pub(super) struct Line<'a> {
    out: &'a mut Vec<u8>,
    numbers: &'a mut itoa::Buffer,
}

/// The dates of the generator as text, by their index.
static DATES: LazyLock<Vec<String>> = LazyLock::new(|| {
    (0..TOTAL_DATE_RANGE).map(|index| TPCHDate::new(MIN_GENERATE_DATE + index).to_string()).collect()
});

impl<'a> Line<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, numbers: &'a mut itoa::Buffer) -> Line<'a> {
        Line { out, numbers }
    }

    fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.out.extend_from_slice(self.numbers.format(number.into()).as_bytes());
        self.end_field()
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.out.extend_from_slice(text.as_bytes());
        self.end_field()
    }

    fn shown(&mut self, value: impl Display) -> &mut Self {
        // Writing to memory does not fail.
        let _ = write!(self.out, "{value}");
        self.end_field()
    }

    fn decimal(&mut self, decimal: TPCHDecimal) -> &mut Self {
        let hundredths = decimal.into_inner();
        if hundredths < 0 {
            self.out.push(b'-');
        }
        let (whole, rest) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
        self.out.extend_from_slice(self.numbers.format(whole).as_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "below 100")]
        let rest = rest as u8;
        self.out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
        self.end_field()
    }

    fn date(&mut self, date: TPCHDate) -> &mut Self {
        let known = usize::try_from(date.into_inner()).ok().and_then(|index| DATES.get(index));
        match known {
            Some(text) => self.text(text),
            None => self.shown(date),
        }
    }

    fn end_field(&mut self) -> &mut Self {
        self.out.push(b'\t');
        self
    }

    pub(super) fn finish(self) {
        if let Some(last) = self.out.last_mut() {
            *last = b'\n';
        }
    }
}

impl CopyRow for Region<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.r_regionkey).text(self.r_name).text(self.r_comment);
    }
}

impl CopyRow for Nation<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.n_nationkey).text(self.n_name).number(self.n_regionkey).text(self.n_comment);
    }
}

impl CopyRow for Part<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.p_partkey).shown(&self.p_name).shown(self.p_mfgr).shown(self.p_brand);
        line.text(self.p_type).number(self.p_size).text(self.p_container);
        line.decimal(self.p_retailprice).text(self.p_comment);
    }
}

impl CopyRow for Supplier {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.s_suppkey).shown(self.s_name).shown(&self.s_address).number(self.s_nationkey);
        line.shown(&self.s_phone).decimal(self.s_acctbal).text(&self.s_comment);
    }
}

impl CopyRow for PartSupp<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.ps_partkey).number(self.ps_suppkey).number(self.ps_availqty);
        line.decimal(self.ps_supplycost).text(self.ps_comment);
    }
}

impl CopyRow for Customer<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.c_custkey).shown(self.c_name).shown(&self.c_address).number(self.c_nationkey);
        line.shown(&self.c_phone).decimal(self.c_acctbal).text(self.c_mktsegment).text(self.c_comment);
    }
}

impl CopyRow for Order<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.o_orderkey).number(self.o_custkey).text(self.o_orderstatus.as_str());
        line.decimal(self.o_totalprice).date(self.o_orderdate).text(self.o_orderpriority);
        line.shown(self.o_clerk).number(self.o_shippriority).text(self.o_comment);
    }
}

impl CopyRow for LineItem<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.number(self.l_orderkey).number(self.l_partkey).number(self.l_suppkey).number(self.l_linenumber);
        line.number(self.l_quantity).decimal(self.l_extendedprice).decimal(self.l_discount);
        line.decimal(self.l_tax).text(self.l_returnflag).text(self.l_linestatus);
        line.date(self.l_shipdate).date(self.l_commitdate).date(self.l_receiptdate);
        line.text(self.l_shipinstruct).text(self.l_shipmode).text(self.l_comment);
    }
}

//! The rows of each table, as clause 4.3.3 of TPC-C's specification describes them. All times are the same fixed time,
//! because the rows depend on the scale and the seed alone.

use script::permute;

use super::{CUSTOMERS, DELIVERED, DISTRICTS, ITEMS, Unit};
use crate::shelf::computed::stream;
use crate::shelf::fields::Fields;

/// The time of the load, of all orders and of all deliveries.
const LOADED: &str = "2020-01-01 00:00:00";
/// The constant C of the last names while loading. The scripts have 223: the difference must be in 65..=119, without 96
/// and 112 (clause 2.1.6.1).
const NAMES_CONSTANT: i64 = 157;
/// The random numbers that `orders` and `order_line` have in common; the tables have the numbers from 0.
const LINES_STREAM: u64 = 100;
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A unit of a table with a number of rows for each district: the number in the district, the district and the
/// warehouse, each from 1.
fn place(unit: Unit, per_district: u64) -> (u64, i64, i64) {
    let district = unit.number / per_district;
    (unit.number % per_district + 1, signed(district % DISTRICTS + 1), signed(district / DISTRICTS + 1))
}

fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// Street, city, state and zip code.
fn address(fields: &mut Fields<'_>) {
    fields.letters(10, 20).letters(10, 20).letters(10, 20);
    let state = [fields.draw(0, 25), fields.draw(0, 25)];
    let letter = |number: i64| char::from(b'A' + u8::try_from(number).unwrap_or_default());
    fields.text(&state.map(letter).iter().collect::<String>()).digits(4).then("11111");
}

pub(super) fn warehouse(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    fields.number(signed(unit.number + 1)).letters(6, 10);
    address(fields);
    let tax = fields.draw(0, 2000);
    fields.decimal(tax, 4).text("300000.00").end_row();
    1
}

pub(super) fn district(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (_, district, warehouse) = place(unit, 1);
    fields.number(district).number(warehouse).letters(6, 10);
    address(fields);
    let tax = fields.draw(0, 2000);
    fields.decimal(tax, 4).text("30000.00").number(signed(CUSTOMERS + 1)).end_row();
    1
}

pub(super) fn customer(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (id, district, warehouse) = place(unit, CUSTOMERS);
    let name = match id {
        1..=1000 => signed(id - 1),
        _ => ((fields.draw(0, 255) | fields.draw(0, 999)) + NAMES_CONSTANT) % 1000,
    };
    fields.number(signed(id)).number(district).number(warehouse).letters(8, 16).text("OE");
    fields.text(&last_name(name));
    address(fields);
    let credit = if fields.draw(1, 10) == 1 { "BC" } else { "GC" };
    fields.digits(16).text(LOADED).text(credit).text("50000.00");
    let discount = fields.draw(0, 5000);
    fields.decimal(discount, 4).text("-10.00").text("10.00").number(1).number(0);
    fields.letters(300, 500).end_row();
    1
}

/// Three syllables, by the digits of a number below 1000.
fn last_name(number: i64) -> String {
    let syllable = |digit: i64| SYLLABLES[usize::try_from(digit % 10).unwrap_or_default()];
    [number / 100, number / 10, number].map(syllable).concat()
}

pub(super) fn history(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (customer, district, warehouse) = place(unit, CUSTOMERS);
    fields.number(signed(customer)).number(district).number(warehouse).number(district).number(warehouse);
    fields.text(LOADED).text("10.00").letters(12, 24).end_row();
    1
}

/// The number of lines of an order. The tables `orders` and `order_line` have it in common.
fn line_count(unit: Unit) -> i64 {
    stream(unit.seed, LINES_STREAM, unit.number).integer(5, 15)
}

pub(super) fn order(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (id, district, warehouse) = place(unit, CUSTOMERS);
    let permutation = unit.seed.wrapping_add(unit.number / CUSTOMERS);
    let customer = permute(signed(id - 1), signed(CUSTOMERS), signed(permutation)) + 1;
    fields.number(signed(id)).number(district).number(warehouse).number(customer).text(LOADED);
    let carrier = fields.draw(1, 10);
    if id <= DELIVERED {
        fields.number(carrier)
    } else {
        fields.null()
    };
    fields.number(line_count(unit)).number(1).end_row();
    1
}

pub(super) fn order_lines(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (order, district, warehouse) = place(unit, CUSTOMERS);
    let lines = line_count(unit);
    for line in 1..=lines {
        let (item, amount) = (fields.draw(1, signed(ITEMS)), fields.draw(1, 999_999));
        fields.number(signed(order)).number(district).number(warehouse).number(line).number(item);
        fields.number(warehouse);
        if order <= DELIVERED {
            fields.text(LOADED)
        } else {
            fields.null()
        };
        fields.number(5).decimal(if order <= DELIVERED { 0 } else { amount }, 2).letters(24, 24).end_row();
    }
    lines.unsigned_abs()
}

pub(super) fn new_order(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (number, district, warehouse) = place(unit, CUSTOMERS - DELIVERED);
    fields.number(signed(DELIVERED + number)).number(district).number(warehouse).end_row();
    1
}

pub(super) fn item(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (image, price) = (fields.draw(1, 10_000), fields.draw(100, 10_000));
    fields.number(signed(unit.number + 1)).number(image).letters(14, 24).decimal(price, 2);
    fields.letters_or_word(26, 50, "ORIGINAL").end_row();
    1
}

pub(super) fn stock(fields: &mut Fields<'_>, unit: Unit) -> u64 {
    let (item, warehouse) = (unit.number % ITEMS + 1, unit.number / ITEMS + 1);
    let quantity = fields.draw(10, 100);
    fields.number(signed(item)).number(signed(warehouse)).number(quantity);
    (0..DISTRICTS).for_each(|_| {
        fields.letters(24, 24);
    });
    fields.number(0).number(0).number(0).letters_or_word(26, 50, "ORIGINAL").end_row();
    1
}

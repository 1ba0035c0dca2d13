//! Constraints about several columns of a described schema that rows meet by construction.
//! The server is not asked; the tests read the conditions themselves.

use std::collections::HashSet;

use pgmeter_datagen::Special;

use crate::described::{Constraints, constraints, made, table, values};
use crate::table::{distinct, rows};

#[test]
fn each_row_takes_a_case_of_the_conditions_about_several_columns() {
    let all = || table("all", "id integer not null").key("id");
    let t = || {
        let t = table("t", "id integer not null; a integer; b integer; c text; d text; e text not null");
        t.key("id")
            .references("a", 0, "id")
            .check("((a IS NULL) <> (b IS NULL))", "a, b")
            .check("((e = 'closed'::text) = (c IS NULL))", "c, e")
            .check("((e = 'new'::text) OR (e = 'open'::text) OR (d IS NOT NULL))", "d, e")
    };
    let generation = made(vec![all(), t()], "", 300.0);
    assert_eq!(constraints(&generation, "t"), None);
    let rows = rows(&generation, "t");
    for row in &rows {
        let state = row[5].as_deref();
        assert_ne!(row[1].is_none(), row[2].is_none(), "{row:?}");
        assert_eq!(state == Some("closed"), row[3].is_none(), "{row:?}");
        assert!(matches!(state, Some("new" | "open")) || row[4].is_some(), "{row:?}");
    }
    let shares: HashSet<_> = rows.iter().map(|row| (row[1].is_none(), row[3].is_none())).collect();
    assert_eq!(shares.len(), 4);
    // Directives come first: the server judges their rows.
    let generation = made(vec![all(), t()], "-- df t=t a=b: null=0.2\n", 50.0);
    assert_eq!(constraints(&generation, "t").as_deref(), Some("check_0, check_1, check_2"));
}

#[test]
fn cases_with_unique_values_are_judged_with_the_right_columns_null() {
    let t = table("t", "id integer not null; a integer; b integer; mode text not null").key("id").key("mode");
    let expression = "(((a IS NULL) AND (b IS NOT NULL) AND (mode <> 'all'::text)) OR ((a IS NOT NULL) AND (b IS NULL) AND (mode <> 'all'::text)))";
    let generation = made(vec![t.check(expression, "a, b, mode")], "", 100.0);
    assert_eq!(constraints(&generation, "t").as_deref(), Some("check_0"));
    assert!(rows(&generation, "t").iter().all(|row| row[1].is_none() != row[2].is_none()));
}

#[test]
fn ranges_of_exclusion_constraints_do_not_overlap() {
    for (kind, first, second) in [
        ("int4range", "[1,2)", "[3,4)"),
        ("tstzrange", "[J2451545,J2451546)", "[J2451547,J2451548)"),
        ("daterange", "[J2451545,J2451546)", "[J2451547,J2451548)"),
    ] {
        let room =
            table("room", &format!("id integer not null; during {kind} not null; who integer not null"));
        let room = room.key("id").special("who, during", Special::Exclusion);
        let generation = made(vec![room], "", 100.0);
        assert_eq!(constraints(&generation, "room"), None);
        let ranges = values(&generation, "room", "during");
        assert_eq!((&*ranges[0], &*ranges[1]), (first, second));
        assert_eq!(distinct(&ranges), 100);
    }
    let own = table("room", "during int4range not null").special("during", Special::Exclusion);
    let text = "-- df t=room a=during: pattern='[\\[]1,[2-9]\\)'\n";
    assert_eq!(constraints(&made(vec![own], text, 9.0), "room").as_deref(), Some("exclusion"));
}

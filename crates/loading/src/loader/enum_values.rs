//! Values that a schema adds to its enum types. Before version 17, PostgreSQL does not let a transaction use a value that
//! ALTER TYPE has added in it, and a schema is created in one transaction; so CREATE TYPE gets these values.

use crate::contract::sql_names::{EnumChange, enum_change};
use crate::loader::execution::LoadStatement;

/// Since this version, a transaction may use the values that it adds to types that it has created.
const USABLE_FROM: u32 = 170_000;

/// Moves added values into CREATE TYPE, where a server of this version needs it. Other statements stay as they are.
pub(crate) fn add_early(statements: &mut Vec<LoadStatement>, version: u32) {
    if version >= USABLE_FROM {
        return;
    }
    // The types by their present names, with the numbers of their statements.
    let mut types = Vec::new();
    let mut is_needless = vec![false; statements.len()];
    for number in 0..statements.len() {
        let sql = statements[number].sql.clone();
        let Some((name, change)) = enum_change(&sql) else { continue };
        if let EnumChange::Create(_) = change {
            types.push((name, number));
            continue;
        }
        let mut alike = types.iter().enumerate().filter(|(_, (own, _))| name.may_be(own));
        // Of several, only the server knows which one the search path finds.
        let (Some((known, _)), None) = (alike.next(), alike.next()) else { continue };
        match change {
            EnumChange::Rename(new) => types[known].0.name = new,
            EnumChange::Add { .. } => {
                let created = &mut statements[types[known].1].sql;
                if let Some(changed) = with_value(created, &change) {
                    (*created, is_needless[number]) = (changed, true);
                }
            }
            EnumChange::Create(_) | EnumChange::Leave => {
                types.remove(known);
            }
        }
    }
    let mut is_needless = is_needless.into_iter();
    statements.retain(|_| !is_needless.next().unwrap_or_default());
}

/// CREATE TYPE with one more value; `None` if the server must decide.
fn with_value(created: &str, change: &EnumChange<'_>) -> Option<String> {
    let (_, EnumChange::Create(values)) = enum_change(created)? else { return None };
    let EnumChange::Add { value, is_if_not_exists, beside } = change else { return None };
    if values.contains(value) {
        return is_if_not_exists.then(|| created.to_owned());
    }
    // A value is a part of the statement.
    let start = |value: &str| value.as_ptr().addr() - created.as_ptr().addr();
    let (at, text) = match beside {
        Some((is_before, other)) => {
            let other = values.iter().find(|own| *own == other)?;
            let after = (start(other) + other.len(), format!(", {value}"));
            if *is_before { (start(other), format!("{value}, ")) } else { after }
        }
        None => match values.last() {
            Some(last) => (start(last) + last.len(), format!(", {value}")),
            None => (created.rfind(')')?, (*value).to_owned()),
        },
    };
    Some(format!("{}{text}{}", created.get(..at)?, created.get(at..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(statements: &[&str], expected: &[&str]) {
        let mut changed: Vec<_> = statements.iter().map(|sql| LoadStatement::new(*sql)).collect();
        add_early(&mut changed, USABLE_FROM);
        let texts = |all: &[LoadStatement]| all.iter().map(|one| one.sql.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&changed), statements);
        add_early(&mut changed, USABLE_FROM - 1);
        assert_eq!(texts(&changed), expected);
    }

    #[test]
    fn a_type_is_created_with_the_values_that_it_gets_later() {
        let add = ["alter type s add value 'd'", "ALTER TYPE s ADD VALUE IF NOT EXISTS 'a'"];
        let created = "create type s as enum ('a') -- 'x'";
        check(
            &[created, add[0], "select 1", add[1]],
            &["create type s as enum ('a', 'd') -- 'x'", "select 1"],
        );
        let beside =
            ["alter type public.s add value 'b' after 'a'", "alter type s add value 'O''C' before 'a'"];
        let created = "create type s as enum ('a', 'c')";
        check(&[created, beside[0], beside[1]], &["create type s as enum ('O''C', 'a', 'b', 'c')"]);
        check(&["create type s as enum ()", add[0]], &["create type s as enum ('d')"]);
    }

    #[test]
    fn names_are_followed_and_what_is_wrong_is_left_to_the_server() {
        let rename = "alter type \"New\" rename to s";
        let [created, add] = ["create type \"New\" as enum ('a')", "alter type s add value 'b'"];
        check(&[created, rename, add], &["create type \"New\" as enum ('a', 'b')", rename]);
        for kept in [
            &["create type s as enum ('a')", "alter type s add value 'a'"][..],
            &["create type s as enum ('a')", "alter type s add value 'c' after 'b'"],
            &["create type s as enum ('a')", "drop type s", add],
            &["create type s as enum (E'a')", add],
            &["create type s as (a int)", add],
            &["create type a.s as enum ('a')", "create type b.s as enum ('a')", add],
        ] {
            check(kept, kept);
        }
    }
}

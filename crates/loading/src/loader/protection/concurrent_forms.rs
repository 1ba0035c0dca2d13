//! Statements with CONCURRENTLY that run outside of transactions only. Tables that were just loaded have no other users, so
//! such a statement can run within a transaction, where it is rolled back if it has changed objects of others.

use sql::{StatementWord, statement_words};

/// The same statement without CONCURRENTLY; `None` if it has no such form, as REFRESH MATERIALIZED VIEW, which runs in
/// transactions. The word decides only at its place in the grammar, not in comments, strings and names.
pub(crate) fn in_transaction(sql: &str) -> Option<String> {
    let statements = statement_words(sql.as_bytes());
    let [words] = statements.as_slice() else { return None };
    let (at, replacement) = place(words)?;
    let text = words.get(at)?.text;
    // A word is a part of the text.
    let start = text.as_ptr().addr() - sql.as_ptr().addr();
    Some(format!("{}{replacement}{}", sql.get(..start)?, sql.get(start + text.len()..)?))
}

/// The number of the word, and what takes its place.
fn place(words: &[StatementWord<'_>]) -> Option<(usize, &'static str)> {
    let is = |at: usize, word: &str| words.get(at).is_some_and(|own| own.is(word));
    let has = |at: usize| is(at, "concurrently").then_some((at, ""));
    if is(0, "create") {
        let index = if is(1, "unique") { 2 } else { 1 };
        return if is(index, "index") { has(index + 1) } else { None };
    }
    if is(0, "drop") && is(1, "index") {
        return has(2);
    }
    if is(0, "alter") && is(1, "table") {
        let detaches = (0..words.len()).any(|at| is(at, "detach"));
        return if detaches { has(words.len() - 1) } else { None };
    }
    if is(0, "reindex") {
        // In the list of options it has a value.
        let options = words.iter().skip(1).take_while(|word| word.depth > 0).count();
        let option = (1..=options).find(|at| is(*at, "concurrently"));
        return option.map(|at| (at, "concurrently false")).or_else(|| has(options + 2));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: Option<&str>) {
        assert_eq!(in_transaction(sql).as_deref(), expected, "{sql}");
    }

    #[test]
    fn the_word_is_left_out_where_the_grammar_has_it() {
        check("create index concurrently i on t (f(a))", Some("create index  i on t (f(a))"));
        check("CREATE UNIQUE INDEX\nCONCURRENTLY ON t (a)", Some("CREATE UNIQUE INDEX\n ON t (a)"));
        check("drop /* é */ index concurrently i", Some("drop /* é */ index  i"));
        check("reindex table concurrently t", Some("reindex table  t"));
        check(
            "reindex (verbose, concurrently) index i",
            Some("reindex (verbose, concurrently false) index i"),
        );
        check("alter table t detach partition p concurrently", Some("alter table t detach partition p "));
    }

    #[test]
    fn it_decides_nothing_elsewhere() {
        for sql in [
            "create materialized view v as select f() /* built concurrently by hand */",
            "alter index staff_name /* concurrently */ rename to gone",
            "refresh materialized view concurrently v",
            "create index i on t (a) where b <> ' concurrently '",
            "create index \"concurrently\" on t (a)",
            "select f(), ' concurrently '",
            "drop index concurrently i; select f()",
        ] {
            check(sql, None);
        }
    }
}

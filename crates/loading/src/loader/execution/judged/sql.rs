//! The rules by which a server judges the rows of a table, and the statements that apply them to staged rows.
//! Conditions are judged with the search path `pg_catalog`, for which the server has written them. Rows are inserted
//! with the search path of the schema, because triggers may need it: there, all names have their schemas.

use std::ops::Range;

use connect::quote::literal;

/// The staging table: the texts of rows, each with its number.
const STAGING: &str = "pg_temp.pgmeter_staging";

/// How the server judges the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judge {
    /// Quoted names of the columns that are copied, and their types as SQL with schemas. At least one.
    pub(crate) columns: Vec<(String, String)>,
    /// Conditions that a row must not violate: SQL over the names of the columns, for the search path `pg_catalog`.
    pub(crate) conditions: Vec<String>,
    /// Foreign keys that a row must meet.
    pub(crate) references: Vec<JudgedReference>,
    /// Names of the constraints, for messages.
    pub(crate) constraints: Vec<String>,
    /// The message about a row that the server has refused although it should have met all constraints.
    pub(crate) refusal: Option<String>,
    /// Whether rows may violate further foreign keys, which can be compared only when all tables have their rows.
    pub(crate) has_open_keys: bool,
    /// Whether no two rows have the same primary key.
    pub(crate) primary_is_met: bool,
    /// Whether the values of a column follow directives. They are at fault if the server accepts none of the rows that should
    /// have met all constraints.
    pub(crate) is_directed: bool,
}

/// The types of staged values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staging {
    /// Those of the table.
    Typed,
    /// Texts, so that COPY accepts each value.
    Texts,
}

/// A foreign key of a judged table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedReference {
    /// Quoted names of its columns.
    pub(crate) columns: Vec<String>,
    /// The referenced relation as FROM takes it, with its schema: `only "shop"."customer"`.
    pub(crate) referenced: String,
    /// Quoted names of the referenced columns, in the order of `columns`.
    pub(crate) referenced_columns: Vec<String>,
    /// Whether it is MATCH FULL.
    pub(crate) is_full: bool,
    /// Whether all its columns may be NULL.
    pub(crate) is_nullable: bool,
    /// Whether it references its own table, so that a row may reference itself.
    pub(crate) is_to_itself: bool,
}

impl Judge {
    /// The column of the staging table that has the number of the row.
    fn number_column(&self) -> String {
        self.free_name("pgmeter_row")
    }

    /// A name that no column has.
    fn free_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.has_column(&format!("\"{name}\"")) || self.has_column(&name) {
            name.push('_');
        }
        name
    }

    fn has_column(&self, quoted: &str) -> bool {
        self.columns.iter().any(|(column, _)| column == quoted)
    }

    /// Whether rows can be accepted because of rows of the same table that were accepted just before.
    pub(super) fn references_own_rows(&self) -> bool {
        self.references.iter().any(|key| self.may_reference_itself(key))
    }

    /// Whether a row can reference itself. Without the referenced key among the columns, a row that is inserted twice would
    /// be there twice.
    fn may_reference_itself(&self, key: &JudgedReference) -> bool {
        key.is_to_itself && key.referenced_columns.iter().all(|name| self.has_column(name))
    }

    /// Creates the staging table.
    pub(super) fn create_staging(&self, staging: Staging) -> String {
        let column = |(name, sql_type): &(String, String)| match staging {
            Staging::Typed => format!(", {name} {sql_type}"),
            Staging::Texts => format!(", {name} pg_catalog.text"),
        };
        let columns: String = self.columns.iter().map(column).collect();
        let number = self.number_column();
        format!("create temporary table {STAGING} ({number} pg_catalog.int8{columns}) on commit drop")
    }

    /// Drops the staging table.
    pub(super) fn drop_staging() -> String {
        format!("drop table {STAGING}")
    }

    /// Empties the staging table.
    pub(super) fn empty_staging() -> String {
        format!("truncate {STAGING}")
    }

    /// Fills the staging table.
    pub(super) fn copy_to_staging() -> String {
        format!("copy {STAGING} from stdin")
    }

    /// Counts the staged rows: otherwise the server may compare each row with each other one.
    pub(super) fn analyze_staging(&self) -> String {
        format!("analyze {STAGING} ({})", self.number_column())
    }

    /// Removes a staged row.
    pub(super) fn drop_row(&self, number: u64) -> String {
        format!("delete from {STAGING} where {} operator(pg_catalog.=) {number}", self.number_column())
    }

    /// The staged rows of these numbers with the types of the table, as an item of FROM with the name `t`.
    fn typed(&self, rows: &Range<u64>, staging: Staging) -> String {
        let number = self.number_column();
        let column = |(name, sql_type): &(String, String)| match staging {
            Staging::Typed => format!(", {name}"),
            Staging::Texts => format!(", cast({name} as {sql_type}) as {name}"),
        };
        let columns: String = self.columns.iter().map(column).collect();
        format!(
            "(select {number}{columns} from {STAGING} where {number} operator(pg_catalog.>=) {} \
             and {number} operator(pg_catalog.<) {}) as t",
            rows.start, rows.end
        )
    }

    /// Removes the staged rows of these numbers that violate a condition; `None` without conditions. `search_path` is
    /// set afterwards, as a literal.
    pub(super) fn refuse(&self, rows: &Range<u64>, staging: Staging, search_path: &str) -> Option<String> {
        let violated: Vec<String> =
            self.conditions.iter().map(|condition| format!("({condition}) is false")).collect();
        let (number, typed) = (self.number_column(), self.typed(rows, staging));
        (!violated.is_empty()).then(|| {
            let delete = format!(
                "delete from {STAGING} as s using (select t.{number} from {typed} where {}) as refused \
                 where s.{number} = refused.{number}",
                violated.join(" or ")
            );
            with_catalogs(&delete, search_path)
        })
    }

    /// Makes references NULL whose rows are missing. One that must not be NULL references its own row, if it may.
    pub(super) fn forget_references(
        &self,
        rows: &Range<u64>,
        staging: Staging,
    ) -> impl Iterator<Item = String> {
        let (number, typed) = (self.number_column(), self.typed(rows, staging));
        let replaced = |key: &JudgedReference| match key.is_nullable {
            true => Some(vec!["null".to_owned(); key.columns.len()]),
            false if self.may_reference_itself(key) => {
                Some(key.referenced_columns.iter().map(|name| format!("s.{name}")).collect())
            }
            false => None,
        };
        self.references.iter().filter_map(move |key| {
            let values = replaced(key)?;
            let pairs = key.columns.iter().zip(values).map(|(column, value)| format!("{column} = {value}"));
            Some(format!(
                "update {STAGING} as s set {} from (select t.{number} from {typed} where not {}) as missing \
                 where s.{number} operator(pg_catalog.=) missing.{number}",
                pairs.collect::<Vec<_>>().join(", "),
                key.met(false)
            ))
        })
    }

    /// Removes staged rows with a value that its type or domain does not accept. Needs PostgreSQL 16.
    pub(super) fn refuse_invalid(&self, search_path: &str) -> String {
        let is_invalid = |(name, sql_type): &(String, String)| {
            format!("not pg_input_is_valid({name}, {})", literal(sql_type))
        };
        let invalid: Vec<String> = self.columns.iter().map(is_invalid).collect();
        with_catalogs(&format!("delete from {STAGING} where {}", invalid.join(" or ")), search_path)
    }

    /// Inserts the staged rows of these numbers, at most `limit`, that have what they reference. Each row of the result has
    /// the number of inserted rows, the number of rows to insert, and the number of a row that was inserted as it was
    /// staged, if any. Without `finds_rows`, that is the number of a row to insert, and no row leaves the staging table.
    pub(super) fn insert(&self, relation: &str, rows: &Range<u64>, form: InsertForm) -> String {
        let (number, content) = (self.number_column(), self.free_name("pgmeter_content"));
        let (names, own) = (self.listed(""), self.listed("t."));
        let typed = self.typed(rows, form.staging);
        let references: Vec<String> =
            self.references.iter().map(|key| key.met(self.may_reference_itself(key))).collect();
        let met = if references.is_empty() {
            String::new()
        } else {
            format!(" where {}", references.join(" and "))
        };
        let limit = form.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
        let overriding = if form.overrides_identity { " overriding system value" } else { "" };
        let on_conflict = if form.ignores_conflicts { " on conflict do nothing" } else { "" };
        if !form.finds_rows {
            return format!(
                "with tried as (select t.* from {typed}{met} order by t.{number}{limit}), \
                 done as (insert into {relation} as pgmeter_target ({names}){overriding} \
                 select {own} from tried as t order by t.{number}{on_conflict} returning 1) \
                 select (select pg_catalog.count(*) from done), (select pg_catalog.count(*) from tried), t.{number} \
                 from (values (0)) as one left join tried as t on true"
            );
        }
        format!(
            "with tried as (select t.*, row({own})::pg_catalog.text as {content} from {typed}{met} \
             order by t.{number}{limit}), \
             done as (insert into {relation} as pgmeter_target ({names}){overriding} \
             select {own} from tried as t order by t.{number}{on_conflict} \
             returning row({target})::pg_catalog.text as {content}), \
             gone as (delete from {STAGING} as s using (select {number} from tried \
             where {content} operator(pg_catalog.=) any (select {content} from done)) as there \
             where s.{number} operator(pg_catalog.=) there.{number} returning s.{number}) \
             select (select pg_catalog.count(*) from done), (select pg_catalog.count(*) from tried), gone.{number} \
             from (values (0)) as one left join gone on true",
            target = self.listed("pgmeter_target."),
        )
    }

    fn listed(&self, prefix: &str) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| format!("{prefix}{name}")).collect();
        names.join(", ")
    }
}

impl JudgedReference {
    /// The condition that a row of `t` meets the foreign key, maybe by itself.
    pub(in crate::loader::execution) fn met(&self, by_itself: bool) -> String {
        let nulls: Vec<String> = self.columns.iter().map(|column| format!("t.{column} is null")).collect();
        let nulls = if self.is_full { format!("({})", nulls.join(" and ")) } else { nulls.join(" or ") };
        let equal = |table: &str| {
            let pairs = self.columns.iter().zip(&self.referenced_columns);
            let pairs = pairs.map(|(own, other)| format!("{table}.{other} operator(pg_catalog.=) t.{own}"));
            pairs.collect::<Vec<_>>().join(" and ")
        };
        let itself = if by_itself { format!(" or ({})", equal("t")) } else { String::new() };
        format!("({nulls} or exists (select 1 from {} as r where {}){itself})", self.referenced, equal("r"))
    }
}

/// A statement with the search path `pg_catalog`.
fn with_catalogs(sql: &str, search_path: &str) -> String {
    format!(
        "set local search_path to pg_catalog; {sql}; \
         select pg_catalog.set_config('search_path', {search_path}, true)"
    )
}

/// The parts of INSERT that depend on the server and on the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsertForm {
    /// Whether identity columns take the given values. Needs PostgreSQL 10.
    pub(super) overrides_identity: bool,
    /// ON CONFLICT DO NOTHING, which some tables do not allow.
    pub(super) ignores_conflicts: bool,
    /// The most rows that are inserted.
    pub(super) limit: Option<u64>,
    /// Whether the server finds out which rows were inserted; otherwise all or an unknown part.
    pub(super) finds_rows: bool,
    pub(super) staging: Staging,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: InsertForm = InsertForm {
        overrides_identity: false,
        ignores_conflicts: true,
        limit: None,
        finds_rows: true,
        staging: Staging::Texts,
    };

    fn column(name: &str, sql_type: &str) -> (String, String) {
        (format!("\"{name}\""), sql_type.to_owned())
    }

    fn judge(columns: Vec<(String, String)>) -> Judge {
        Judge {
            columns,
            conditions: Vec::new(),
            references: Vec::new(),
            constraints: Vec::new(),
            refusal: None,
            has_open_keys: false,
            primary_is_met: false,
            is_directed: true,
        }
    }

    fn reference(columns: &[&str], referenced_columns: &[&str]) -> JudgedReference {
        let quoted = |names: &[&str]| names.iter().map(|name| format!("\"{name}\"")).collect();
        JudgedReference {
            columns: quoted(columns),
            referenced: "only \"s\".\"r\"".to_owned(),
            referenced_columns: quoted(referenced_columns),
            is_full: false,
            is_nullable: true,
            is_to_itself: false,
        }
    }

    #[test]
    fn staged_values_are_texts_with_a_number_whose_column_has_a_free_name() {
        let own = judge(vec![column("a b", "integer"), column("c", "\"s\".\"d\"")]);
        assert_eq!(
            own.create_staging(Staging::Texts),
            "create temporary table pg_temp.pgmeter_staging (pgmeter_row pg_catalog.int8, \"a b\" pg_catalog.text, \
             \"c\" pg_catalog.text) on commit drop"
        );
        let own = judge(vec![column("pgmeter_row", "integer")]);
        assert!(
            own.create_staging(Staging::Texts)
                .contains("(pgmeter_row_ pg_catalog.int8, \"pgmeter_row\" pg_catalog.text)")
        );
        assert_eq!(
            own.drop_row(7),
            "delete from pg_temp.pgmeter_staging where pgmeter_row_ operator(pg_catalog.=) 7"
        );
    }

    #[test]
    fn conditions_are_judged_with_the_names_of_the_catalogs_only() {
        let mut own = judge(vec![column("a", "integer"), column("b", "integer")]);
        assert_eq!(own.refuse(&(0..10), Staging::Texts, "'public'"), None);
        own.conditions = vec!["(a < b)".to_owned(), "public.is_even(a)".to_owned()];
        assert_eq!(
            own.refuse(&(0..10), Staging::Texts, "'public'").as_deref(),
            Some(
                "set local search_path to pg_catalog; delete from pg_temp.pgmeter_staging as s using (select \
                 t.pgmeter_row from (select pgmeter_row, cast(\"a\" as integer) as \"a\", cast(\"b\" as integer) as \
                 \"b\" from pg_temp.pgmeter_staging where pgmeter_row operator(pg_catalog.>=) 0 and pgmeter_row \
                 operator(pg_catalog.<) 10) as t where ((a < b)) is false or (public.is_even(a)) is false) as refused \
                 where s.pgmeter_row = refused.pgmeter_row; select pg_catalog.set_config('search_path', 'public', true)"
            )
        );
    }

    #[test]
    fn values_are_judged_before_they_are_converted() {
        let own = judge(vec![column("a", "integer"), column("b", "\"it's\".\"d\"")]);
        assert_eq!(
            own.refuse_invalid("'public'"),
            "set local search_path to pg_catalog; delete from pg_temp.pgmeter_staging where not \
             pg_input_is_valid(\"a\", 'integer') or not pg_input_is_valid(\"b\", '\"it''s\".\"d\"'); select \
             pg_catalog.set_config('search_path', 'public', true)"
        );
    }

    #[test]
    fn rows_are_inserted_without_names_of_the_search_path() {
        let own = judge(vec![column("a", "integer")]);
        assert_eq!(
            own.insert("s.t", &(5..6), FORM),
            "with tried as (select t.*, row(t.\"a\")::pg_catalog.text as pgmeter_content from (select \
             pgmeter_row, cast(\"a\" as integer) as \"a\" from pg_temp.pgmeter_staging where pgmeter_row \
             operator(pg_catalog.>=) 5 and pgmeter_row operator(pg_catalog.<) 6) as t order by t.pgmeter_row), \
             done as (insert into s.t as pgmeter_target (\"a\") select t.\"a\" from tried as t order by \
             t.pgmeter_row on conflict do nothing returning row(pgmeter_target.\"a\")::pg_catalog.text as \
             pgmeter_content), gone as (delete from pg_temp.pgmeter_staging as s using (select pgmeter_row from \
             tried where pgmeter_content operator(pg_catalog.=) any (select pgmeter_content from done)) as there \
             where s.pgmeter_row operator(pg_catalog.=) there.pgmeter_row returning s.pgmeter_row) select (select \
             pg_catalog.count(*) from done), (select pg_catalog.count(*) from tried), gone.pgmeter_row from \
             (values (0)) as one left join gone on true"
        );
        let form = InsertForm { overrides_identity: true, ignores_conflicts: false, limit: Some(3), ..FORM };
        let sql = own.insert("s.t", &(0..9), form);
        assert!(sql.contains("order by t.pgmeter_row limit 3), done as"), "{sql}");
        assert!(sql.contains("(\"a\") overriding system value select"), "{sql}");
        assert!(!sql.contains("on conflict"), "{sql}");
    }

    #[test]
    fn a_row_without_all_values_of_a_foreign_key_meets_it_as_its_match_says() {
        let mut key = reference(&["a", "b"], &["x", "y"]);
        let exists = "exists (select 1 from only \"s\".\"r\" as r where r.\"x\" operator(pg_catalog.=) t.\"a\" and \
                      r.\"y\" operator(pg_catalog.=) t.\"b\")";
        assert_eq!(key.met(false), format!("(t.\"a\" is null or t.\"b\" is null or {exists})"));
        key.is_full = true;
        assert_eq!(key.met(false), format!("((t.\"a\" is null and t.\"b\" is null) or {exists})"));
    }

    #[test]
    fn a_row_may_reference_itself_if_its_key_is_copied() {
        let mut own = judge(vec![column("a", "integer"), column("parent", "integer")]);
        own.references = vec![JudgedReference { is_to_itself: true, ..reference(&["parent"], &["a"]) }];
        assert!(own.references_own_rows());
        let met_by = |own: &Judge| own.insert("s.t", &(0..1), FORM);
        assert!(met_by(&own).contains(" or (t.\"a\" operator(pg_catalog.=) t.\"parent\")) order"));
        own.references[0].referenced_columns = vec!["\"serial\"".to_owned()];
        assert!(!own.references_own_rows());
        assert!(met_by(&own).contains("operator(pg_catalog.=) t.\"parent\")) order"));
    }
}

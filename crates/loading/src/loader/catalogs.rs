//! Reads the tables of a schema from the catalogs of a server, 9.6 to 19, into a [`Description`]: columns, types, keys,
//! conditions, partitions, and rows that foreign keys refer to but that are not generated. Values of tables are read only
//! for the latter.

use std::collections::{BTreeMap, BTreeSet};

use connect::quote::identifier;
use connect::{Row, Session, value_formats};
use datagen::{
    CheckDescription, ColumnDescription, Description, KeptRows, KeyDescription, Partitioning,
    ReferenceDescription, Special, TableDescription, TypeDescription, TypeKind,
};

use crate::WorkloadError;
use crate::contract::load::{query, query_catalogs, text};
use crate::contract::table_name::TableName;

/// Versions with partitions and identity columns, INCLUDE in indexes, generated columns, NULLS NOT DISTINCT, and WITHOUT
/// OVERLAPS.
const PARTITIONS_VERSION: u32 = 100_000;
const INCLUDE_VERSION: u32 = 110_000;
const GENERATED_VERSION: u32 = 120_000;
const NULLS_VERSION: u32 = 150_000;
const TEMPORAL_VERSION: u32 = 180_000;
/// Most rows of a table whose values foreign keys draw from.
const KEPT_ROWS_MAX: u32 = 10_000;

/// A table by its OID, with the index of its description.
type Places = BTreeMap<u32, usize>;

/// The OIDs of all ordinary and partitioned tables of users. The rows of an extension's own tables are its own.
pub(crate) fn table_oids(session: &mut Session) -> Result<BTreeSet<u32>, WorkloadError> {
    let rows = query_catalogs(
        session,
        "select c.oid from pg_class c where c.relkind in ('r', 'p') and c.relpersistence <> 't' \
         and c.oid >= 16384 and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass \
         and d.objid = c.oid and d.deptype = 'e')",
    )?;
    Ok(rows.iter().map(|row| parsed(row, 0)).collect())
}

/// Describes the tables that the statements of a schema have made in the present transaction: those that were not there
/// before. `written` are their names in the schema. Rows that are in them are those of its statements, and stay.
pub(crate) fn describe(
    session: &mut Session,
    before: &BTreeSet<u32>,
    written: &[TableName],
) -> Result<Description, WorkloadError> {
    let visible = visible_tables(session)?;
    let own: BTreeSet<u32> = table_oids(session)?.difference(before).copied().collect();
    let referenced = query_catalogs(
        session,
        &format!(
            "select distinct confrelid from pg_constraint where contype = 'f' and conrelid in ({})",
            list(own.iter())
        ),
    )?;
    let mut all = own.clone();
    all.extend(referenced.iter().map(|row| parsed::<u32>(row, 0)));
    let mut reader = Reader::new(session, &all, &visible, written)?;
    reader.with_rows = all.difference(&own).copied().collect();
    let types = reader.read()?;
    reader.tables_with_rows()?;
    reader.kept_rows()?;
    Ok(Description { tables: reader.tables, types })
}

/// Describes these tables alone, in the order of their OIDs. No value of them is read.
pub fn describe_tables(session: &mut Session, oids: &BTreeSet<u32>) -> Result<Description, WorkloadError> {
    let visible = visible_tables(session)?;
    let mut reader = Reader::new(session, oids, &visible, &[])?;
    let types = reader.read()?;
    Ok(Description { tables: reader.tables, types })
}

/// The tables that the schema's own search path finds. The other questions set another one for the transaction, so this is the
/// first.
fn visible_tables(session: &mut Session) -> Result<BTreeSet<u32>, WorkloadError> {
    let rows = query(
        session,
        "select c.oid from pg_catalog.pg_class c where c.relkind in ('r', 'p', 'm') \
         and pg_catalog.pg_table_is_visible(c.oid)",
    )?;
    Ok(rows.iter().map(|row| parsed(row, 0)).collect())
}

struct Reader<'a> {
    session: &'a mut Session,
    version: u32,
    /// Of the tables and of those that they reference, as a list for IN.
    oids: String,
    places: Places,
    tables: Vec<TableDescription>,
    /// Tables whose rows stay as they are.
    with_rows: BTreeSet<u32>,
}

impl<'a> Reader<'a> {
    fn new(
        session: &'a mut Session,
        all: &BTreeSet<u32>,
        visible: &BTreeSet<u32>,
        written: &[TableName],
    ) -> Result<Reader<'a>, WorkloadError> {
        let version = session.server_version_num();
        let is_partition = if version >= PARTITIONS_VERSION { "c.relispartition" } else { "false" };
        let rows = query_catalogs(
            session,
            &format!(
                "select c.oid, n.nspname, c.relname, c.relkind = 'p', {is_partition}, \
                 quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c \
                 join pg_namespace n on n.oid = c.relnamespace where c.oid in ({}) order by c.oid",
                list(all.iter())
            ),
        )?;
        let mut reader = Reader {
            session,
            version,
            oids: list(all.iter()),
            places: Places::new(),
            tables: Vec::new(),
            with_rows: BTreeSet::new(),
        };
        for row in &rows {
            let (oid, schema, name) = (parsed(row, 0), text(row, 1), text(row, 2));
            let is_it =
                |own: &&TableName| own.name == name && own.schema.as_ref().is_none_or(|own| *own == schema);
            // Two tables of different schemas may have been created by one name.
            let is_visible = visible.contains(&oid);
            let schema = match written.iter().find(is_it) {
                Some(written) if is_visible || written.schema.is_some() => written.schema.clone(),
                _ => (!is_visible).then_some(schema),
            };
            reader.places.insert(oid, reader.tables.len());
            reader.tables.push(TableDescription {
                schema,
                name,
                is_partitioned: truth(row, 3),
                is_partition: truth(row, 4),
                relation: text(row, 5),
                ..TableDescription::default()
            });
        }
        Ok(reader)
    }

    /// Everything but rows; returns the types.
    fn read(&mut self) -> Result<Vec<TypeDescription>, WorkloadError> {
        self.columns()?;
        self.keys()?;
        self.foreign_keys()?;
        self.checks()?;
        self.partitioning()?;
        self.types()
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, WorkloadError> {
        query_catalogs(self.session, sql)
    }

    /// The table of the OID in this column of a row.
    fn table(&mut self, row: &Row, column: usize) -> Option<&mut TableDescription> {
        self.places.get(&parsed(row, column)).map(|place| &mut self.tables[*place])
    }

    fn columns(&mut self) -> Result<(), WorkloadError> {
        let identity = if self.version >= PARTITIONS_VERSION { "a.attidentity <> ''" } else { "false" };
        let computed = if self.version >= GENERATED_VERSION { "a.attgenerated <> ''" } else { "false" };
        let rows = self.rows(&format!(
            "select a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
             {identity} or (not {computed} and coalesce(pg_get_expr(d.adbin, d.adrelid) like 'nextval(%', false)), \
             {computed}, d.oid is not null \
             from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum \
             where a.attrelid in ({}) and a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum",
            self.oids
        ))?;
        for row in &rows {
            let column = ColumnDescription {
                name: text(row, 1),
                type_name: text(row, 2),
                not_null: truth(row, 3),
                sequence: truth(row, 4),
                computed: truth(row, 5),
                has_default: truth(row, 6),
            };
            self.table(row, 0).into_iter().for_each(|table| table.columns.push(column.clone()));
        }
        Ok(())
    }

    fn keys(&mut self) -> Result<(), WorkloadError> {
        let own = if self.version >= INCLUDE_VERSION { "i.indnkeyatts" } else { "i.indnatts" };
        let temporal =
            if self.version >= TEMPORAL_VERSION { "coalesce(k.conperiod, false)" } else { "false" };
        // Such a key may have one NULL.
        let equal_nulls = if self.version >= NULLS_VERSION {
            "i.indnullsnotdistinct and exists (select from pg_attribute a where a.attrelid = i.indrelid \
             and a.attnum = any (i.indkey::int2[]) and not a.attnotnull) and not exists \
             (select from pg_constraint f where f.contype = 'f' and f.conindid = i.indexrelid)"
        } else {
            "false"
        };
        let of_key = names("i.indrelid", "i.indkey::int2[]", &format!("k.at <= {own}"));
        // An expression index depends on the columns of its expressions.
        let of_expression = format!(
            "(select string_agg({}, ',' order by a.attnum) \
             from pg_depend d join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid \
             where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid \
             and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid and d.refobjsubid > 0)",
            escaped("a.attname")
        );
        let rows = self.rows(&format!(
            "select i.indrelid, x.relname, case when i.indexprs is null then {of_key} else {of_expression} end, \
             i.indisprimary, {temporal}, i.indisexclusion, i.indexprs is not null or {equal_nulls}, i.indpred is not null \
             from pg_index i join pg_class x on x.oid = i.indexrelid \
             left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid \
             and k.contype in ('p', 'u', 'x') \
             where i.indrelid in ({}) and (i.indisunique or i.indisexclusion) \
             order by i.indrelid, not i.indisprimary, i.indexrelid",
            self.oids
        ))?;
        for row in &rows {
            let is_temporal = truth(row, 4);
            let special = if truth(row, 5) && !is_temporal {
                Some(Special::Exclusion)
            } else if truth(row, 6) {
                Some(Special::Expression)
            } else {
                truth(row, 7).then_some(Special::Partial)
            };
            let key = KeyDescription {
                name: text(row, 1),
                columns: names_of(&text(row, 2)),
                primary: truth(row, 3),
                temporal: is_temporal,
                special,
            };
            self.table(row, 0).into_iter().for_each(|table| table.keys.push(key.clone()));
        }
        Ok(())
    }

    fn foreign_keys(&mut self) -> Result<(), WorkloadError> {
        // Those that a partition has from its table.
        let inherited = if self.version >= INCLUDE_VERSION { "and c.conparentid = 0" } else { "" };
        let rows = self.rows(&format!(
            "select c.conrelid, c.conname, {}, c.confrelid, {}, c.confmatchtype = 'f' from pg_constraint c \
             where c.contype = 'f' and c.conrelid in ({}) {inherited} order by c.conrelid, c.oid",
            names("c.conrelid", "c.conkey", "true"),
            names("c.confrelid", "c.confkey", "true"),
            self.oids
        ))?;
        for row in &rows {
            let Some(place) = self.places.get(&parsed(row, 3)).copied() else { continue };
            let key = ReferenceDescription {
                name: text(row, 1),
                columns: names_of(&text(row, 2)),
                table: place,
                referenced: names_of(&text(row, 4)),
                full: truth(row, 5),
            };
            self.table(row, 0).into_iter().for_each(|table| table.foreign_keys.push(key.clone()));
        }
        Ok(())
    }

    fn checks(&mut self) -> Result<(), WorkloadError> {
        let rows = self.rows(&format!(
            "select c.conrelid, c.conname, pg_get_expr(c.conbin, c.conrelid), {} from pg_constraint c \
             where c.contype = 'c' and c.conrelid in ({}) order by c.conrelid, c.conname",
            names("c.conrelid", "c.conkey", "true"),
            self.oids
        ))?;
        for row in &rows {
            let check = CheckDescription {
                name: text(row, 1),
                expression: text(row, 2),
                columns: names_of(&text(row, 3)),
            };
            self.table(row, 0).into_iter().for_each(|table| table.checks.push(check.clone()));
        }
        Ok(())
    }

    /// Gives each partitioned table its own level, and those below it.
    fn partitioning(&mut self) -> Result<(), WorkloadError> {
        if self.version < PARTITIONS_VERSION {
            return Ok(());
        }
        let rows = self.rows(&format!(
            "select p.partrelid, a.attname, (select string_agg({}, ',' order by c.oid) \
             from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = p.partrelid), \
             (select i.inhparent from pg_inherits i where i.inhrelid = p.partrelid) \
             from pg_partitioned_table p left join pg_attribute a \
             on a.attrelid = p.partrelid and a.attnum = p.partattrs[0] and a.attnum > 0 \
             where p.partrelid in ({}) order by p.partrelid",
            escaped("pg_get_expr(c.relpartbound, c.oid)"),
            self.oids
        ))?;
        let parents: BTreeMap<u32, u32> =
            rows.iter().filter_map(|row| Some((parsed(row, 0), row.get(3)?.parse().ok()?))).collect();
        for row in &rows {
            let level = Partitioning {
                column: row.get(1).map(str::to_owned),
                bounds: names_of(row.get(2).unwrap_or_default()),
            };
            let mut root: u32 = parsed(row, 0);
            while let Some(parent) = parents.get(&root) {
                root = *parent;
            }
            if let Some(place) = self.places.get(&root) {
                self.tables[*place].partitioning.push(level);
            }
        }
        Ok(())
    }

    /// The types of the columns that are not PostgreSQL's own, and the types that these consist of.
    fn types(&mut self) -> Result<Vec<TypeDescription>, WorkloadError> {
        let columns = format!(
            "select atttypid from pg_attribute where attrelid in ({}) and attnum > 0 and not attisdropped",
            self.oids
        );
        let rows = self.rows(&format!(
            "{} select t.oid, format_type(t.oid, null), t.typtype::text, t.typname, \
             (select string_agg({}, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid), \
             (select string_agg({}, ',' order by f.attnum) from pg_attribute f \
              where t.typtype = 'c' and f.attrelid = t.typrelid and f.attnum > 0 and not f.attisdropped), \
             case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) end, t.typnotnull, \
             (select format_type(r.rngsubtype, null) from pg_range r where r.rngtypid = t.oid) \
             from part p join pg_type t on t.oid = p.oid \
             where t.typnamespace <> 'pg_catalog'::regnamespace and (t.typcategory <> 'A' or t.typtype = 'd') order by t.oid",
            parts_of_types(&columns),
            escaped("e.enumlabel"),
            escaped("format_type(f.atttypid, f.atttypmod)"),
        ))?;
        let checks = self.rows(
            "select c.contypid, c.conname, pg_get_expr(c.conbin, 0) from pg_constraint c \
             where c.contypid <> 0 and c.contype = 'c' order by c.oid",
        )?;
        let checks_of = |oid: &str| {
            let own = checks.iter().filter(|row| row.get(0) == Some(oid));
            own.map(|row| CheckDescription {
                name: text(row, 1),
                expression: text(row, 2),
                columns: Vec::new(),
            })
            .collect()
        };
        let described = |row: &Row| {
            let kind = match row.get(2) {
                Some("e") => TypeKind::Enum(names_of(&text(row, 4))),
                Some("c") => TypeKind::Composite(names_of(&text(row, 5))),
                Some("d") => TypeKind::Domain {
                    base: text(row, 6),
                    not_null: truth(row, 7),
                    checks: checks_of(&text(row, 0)),
                },
                Some("r") => TypeKind::Range(text(row, 8)),
                _ => TypeKind::Base(text(row, 3)),
            };
            TypeDescription { name: text(row, 1), kind }
        };
        Ok(rows.iter().map(described).collect())
    }

    /// Tables into which the transaction has inserted rows. Those of partitions are those of the partitioned table.
    fn tables_with_rows(&mut self) -> Result<(), WorkloadError> {
        let rows = self.rows(&format!(
            "select c.oid from pg_class c where c.oid in ({}) \
             and pg_stat_get_xact_tuples_inserted(c.oid) > 0",
            self.oids
        ))?;
        self.with_rows.extend(rows.iter().map(|row| parsed::<u32>(row, 0)));
        let Some(parents) =
            (self.version >= PARTITIONS_VERSION).then_some("select inhrelid, inhparent from pg_inherits")
        else {
            return Ok(());
        };
        let parents: BTreeMap<u32, u32> =
            self.rows(parents)?.iter().map(|row| (parsed(row, 0), parsed(row, 1))).collect();
        let places = &self.places;
        let is_partition = |oid: &u32| places.get(oid).is_some_and(|place| self.tables[*place].is_partition);
        let root = |mut oid: u32| {
            while let Some(parent) = parents.get(&oid).filter(|_| is_partition(&oid)) {
                oid = *parent;
            }
            oid
        };
        let roots: BTreeSet<u32> = self.with_rows.iter().map(|oid| root(*oid)).collect();
        self.with_rows.extend(roots);
        Ok(())
    }

    /// Reads the columns that foreign keys refer to.
    fn kept_rows(&mut self) -> Result<(), WorkloadError> {
        for oid in self.with_rows.clone() {
            let Some(place) = self.places.get(&oid).copied() else { continue };
            let mut columns: Vec<String> = Vec::new();
            let keys = self.tables.iter().flat_map(|table| &table.foreign_keys);
            for name in keys.filter(|key| key.table == place).flat_map(|key| &key.referenced) {
                if !columns.contains(name) {
                    columns.push(name.clone());
                }
            }
            let relation = self.tables[place].relation.clone();
            let rows =
                if columns.is_empty() { Vec::new() } else { values(self.session, &relation, &columns)? };
            self.tables[place].kept = Some(KeptRows { columns, rows });
        }
        Ok(())
    }
}

/// Reads the rows that stay again, with the relations of the description. Returns whether they have changed.
pub(crate) fn read_kept_again(
    session: &mut Session,
    description: &mut Description,
) -> Result<bool, WorkloadError> {
    let mut have_changed = false;
    for table in &mut description.tables {
        let Some(kept) = table.kept.as_mut().filter(|kept| !kept.columns.is_empty()) else { continue };
        let rows = values(session, &table.relation, &kept.columns)?;
        have_changed |= rows != kept.rows;
        kept.rows = rows;
    }
    Ok(have_changed)
}

/// Values of the columns in some rows without NULL, as texts: the first ones of the referenced key's index, because the table
/// may be a large one of others.
fn values(
    session: &mut Session,
    relation: &str,
    columns: &[String],
) -> Result<Vec<Vec<String>>, WorkloadError> {
    let quoted: Vec<String> = columns.iter().map(|column| identifier(column)).collect();
    let texts: Vec<String> = quoted.iter().map(|column| format!("{column}::text")).collect();
    let present: Vec<String> = quoted.iter().map(|column| format!("{column} is not null")).collect();
    let sql = format!(
        "{}; select {} from {relation} where {} order by {} limit {KEPT_ROWS_MAX}",
        value_formats(),
        texts.join(", "),
        present.join(" and "),
        quoted.join(", "),
    );
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.iter().map(|row| (0..columns.len()).map(|at| text(row, at)).collect()).collect())
}

/// An expression: the names of the columns with these numbers, for [`names_of`].
pub(crate) fn names(relation: &str, numbers: &str, condition: &str) -> String {
    format!(
        "(select string_agg({}, ',' order by k.at) from unnest({numbers}) with ordinality as k(number, at) \
         join pg_attribute a on a.attrelid = {relation} and a.attnum = k.number where {condition})",
        escaped("a.attname")
    )
}

/// An expression: a text with a backslash before commas and backslashes. A schema may have changed what a backslash in a
/// literal means.
fn escaped(text: &str) -> String {
    format!("replace(replace({text}, chr(92), chr(92) || chr(92)), ',', chr(92) || ',')")
}

/// Names that are separated by commas; a backslash stands before a comma or backslash in a name.
pub(crate) fn names_of(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut names = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ',' => names.push(String::new()),
            '\\' => names.iter_mut().rev().take(1).for_each(|name| name.extend(characters.next())),
            _ => names.iter_mut().rev().take(1).for_each(|name| name.push(character)),
        }
    }
    names
}

/// A query of all types that the values of a type consist of: elements, fields, base types of domains.
pub fn parts_of_types(start: &str) -> String {
    format!(
        "with recursive part(oid) as ({start} union \
         select x.oid from part p join pg_type t on t.oid = p.oid, lateral ( \
           select t.typelem where t.typcategory = 'A' union all select t.typbasetype where t.typtype = 'd' \
           union all select f.atttypid from pg_attribute f \
             where t.typtype = 'c' and f.attrelid = t.typrelid and f.attnum > 0 and not f.attisdropped \
           union all select r.rngsubtype from pg_range r where r.rngtypid = t.oid) x(oid) \
         where x.oid <> 0) "
    )
}

/// Numbers for IN; never empty.
fn list<'a>(oids: impl Iterator<Item = &'a u32>) -> String {
    let numbers: Vec<String> = oids.map(u32::to_string).collect();
    if numbers.is_empty() { "0".to_owned() } else { numbers.join(", ") }
}

/// A boolean of a row; false if it is NULL.
pub fn truth(row: &Row, column: usize) -> bool {
    row.get(column) == Some("t")
}

/// A value of a row; its default if it is NULL.
pub fn parsed<T: std::str::FromStr + Default>(row: &Row, column: usize) -> T {
    row.get(column).and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_commas() {
        assert_eq!(names_of("a,b"), ["a", "b"]);
        assert_eq!(names_of("a\\,b,c\\\\"), ["a,b", "c\\"]);
        assert!(names_of("").is_empty());
    }
}

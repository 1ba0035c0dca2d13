//! Described schemas at random: no guess is an error, and rows that no server judges meet all keys and foreign keys.
//! The schemas are not executed by a server.

use std::collections::HashSet;

use pgmeter_datagen::{
    ColumnDescription, Description, Generation, KeptRows, KeyDescription, NoFiles, Options,
    ReferenceDescription, Schema, Source, Special, TableDescription,
};

use crate::table::{options, rows};

const TYPES: [&str; 14] = [
    "integer",
    "integer",
    "bigint",
    "smallint",
    "text",
    "character varying(5)",
    "boolean",
    "uuid",
    "numeric(6,2)",
    "date",
    "timestamp with time zone",
    "integer[]",
    "jsonb",
    "\"char\"",
];
const NAMES: [&str; 12] =
    ["id", "code", "status", "city", "email", "age", "price", "name", "title", "created", "active", "x"];

/// A linear congruential generator: the schemas are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }

    fn some(&mut self, columns: &[ColumnDescription], most: usize) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for _ in 0..=self.below(most) {
            let name = &columns[self.below(columns.len())].name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn table(&mut self, number: usize) -> TableDescription {
        let count = 1 + self.below(6);
        let columns: Vec<ColumnDescription> = (0..count)
            .map(|column| ColumnDescription {
                name: format!("{}_{column}", NAMES[self.below(NAMES.len())]),
                type_name: TYPES[self.below(TYPES.len())].to_owned(),
                not_null: self.below(2) == 0,
                ..ColumnDescription::default()
            })
            .collect();
        let keys = (0..self.below(4)).map(|key| KeyDescription {
            name: format!("key_{number}_{key}"),
            columns: self.some(&columns, 3),
            primary: false,
            temporal: false,
            special: [None, None, None, Some(Special::Partial), Some(Special::Expression)][self.below(5)],
        });
        let keys = keys.collect();
        TableDescription { name: format!("t{number}"), columns, keys, ..TableDescription::default() }
    }

    /// Foreign keys of this table to keys of all tables, and columns of the same types for them.
    fn add_references(&mut self, tables: &mut [TableDescription], index: usize) {
        for number in 0..self.below(3) {
            let table = self.below(tables.len());
            let plain: Vec<KeyDescription> =
                tables[table].keys.iter().filter(|key| key.special.is_none()).cloned().collect();
            if plain.is_empty() {
                continue;
            }
            let referenced = plain[self.below(plain.len())].columns.clone();
            let mut columns = Vec::new();
            for name in &referenced {
                let target =
                    tables[table].columns.iter().find(|column| column.name == *name).expect("a column");
                let type_name = target.type_name.clone();
                let own = tables[index].columns.iter().find(|own| {
                    own.type_name == type_name && !columns.contains(&own.name) && own.name != *name
                });
                let shared = own.map(|own| own.name.clone()).filter(|_| self.below(2) == 0);
                columns.push(shared.unwrap_or_else(|| {
                    let name = format!("f{number}_{}", columns.len());
                    let not_null = self.below(2) == 0;
                    let own =
                        ColumnDescription { name: name.clone(), type_name, not_null, ..Default::default() };
                    tables[index].columns.push(own);
                    name
                }));
            }
            let name = format!("fk_{index}_{number}");
            let full = self.below(8) == 0;
            tables[index].foreign_keys.push(ReferenceDescription { name, columns, table, referenced, full });
        }
    }

    fn description(&mut self) -> Description {
        let mut tables: Vec<TableDescription> =
            (0..1 + self.below(5)).map(|number| self.table(number)).collect();
        for index in 0..tables.len() {
            self.add_references(&mut tables, index);
        }
        if self.below(4) == 0 {
            let own = &mut tables[0];
            let columns: Vec<String> = own.columns.iter().map(|column| column.name.clone()).collect();
            let row = |row: usize| columns.iter().map(|_| row.to_string()).collect();
            own.kept = Some(KeptRows { rows: (0..self.below(4)).map(row).collect(), columns });
        }
        Description { tables, types: Vec::new() }
    }
}

/// The values of these columns in all rows without NULL among them.
fn tuples(generation: &Generation, own: &TableDescription, columns: &[String]) -> Vec<Vec<String>> {
    if let Some(kept) = &own.kept {
        return kept.rows.iter().map(|row| vec![row[0].clone(); columns.len()]).collect();
    }
    let Ok(table) = generation.table(&own.name) else { return Vec::new() };
    let at = |name: &String| table.columns().position(|own| own == name).expect("a column");
    let at: Vec<usize> = columns.iter().map(at).collect();
    let rows = rows(generation, &own.name);
    rows.iter().filter_map(|row| at.iter().map(|at| row[*at].clone()).collect()).collect()
}

/// Returns the number of tables whose constraints must be met by the rows alone.
fn check(description: &Description, generation: &Generation, seed: u64) -> usize {
    let mut checked = 0;
    for own in &description.tables {
        let Ok(table) = generation.table(&own.name) else { continue };
        let judged = table.judgement().is_some();
        checked += usize::from(!judged);
        for key in own.keys.iter().filter(|key| !judged && key.special != Some(Special::Expression)) {
            let values = tuples(generation, own, &key.columns);
            let distinct: HashSet<_> = values.iter().collect();
            assert_eq!(distinct.len(), values.len(), "seed {seed}, {}", key.name);
        }
        for key in own.foreign_keys.iter().filter(|_| !judged) {
            let values: HashSet<_> = tuples(generation, own, &key.columns).into_iter().collect();
            let target = &description.tables[key.table];
            let known: HashSet<_> = tuples(generation, target, &key.referenced).into_iter().collect();
            assert!(values.is_subset(&known), "seed {seed}, {} of {description:#?}", key.name);
        }
    }
    checked
}

#[test]
fn rows_of_random_schemas_meet_their_keys() {
    check_schemas(0..120);
}

mod nightly {
    #[test]
    fn rows_of_many_random_schemas_meet_their_keys() {
        super::check_schemas(120..400);
    }
}

fn check_schemas(seeds: std::ops::Range<u64>) {
    let (mut errors, mut checked) = (0, 0);
    for seed in seeds.clone() {
        let description = Numbers(seed).description();
        let schema = Schema::new(&description, &Source::new("", "s.sql")).expect("a schema");
        let made = |attempt: u32| Generation::new(&schema, &Options { attempt, ..options(150.0) }, &NoFiles);
        match made(0) {
            Ok(generation) => {
                checked += check(&description, &generation, seed);
                let again = made(1).expect("another attempt");
                check(&description, &again, seed);
                let counts = |own: &Generation| own.tables().iter().map(|own| own.rows()).collect::<Vec<_>>();
                assert_eq!(counts(&generation), counts(&again), "seed {seed}");
            }
            Err(error) => {
                assert!(
                    error.message.contains("is part of the cycle"),
                    "seed {seed}: {error}\n{description:#?}"
                );
                errors += 1;
            }
        }
    }
    assert!(checked > usize::try_from(seeds.end - seeds.start).expect("they are few"), "{checked} tables");
    assert!(errors < 10, "{errors} cycles");
}

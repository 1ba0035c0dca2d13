//! From statements to tables, types and keys, by the crate sqlparser, one statement at a time. A CREATE TABLE is parsed up
//! to the end of its list of columns: the options behind it do not matter for its rows.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption,
    ConstraintReferenceMatchKind, CreateDomain, CreateIndex, CreateTable, Expr, GeneratedAs, Ident,
    IndexColumn, ObjectName, Statement, TableConstraint, UserDefinedTypeRepresentation,
};
use sqlparser::tokenizer::Token;

use super::bounds::{self, Bounds};
use super::changes::{self, Written};
use super::column_type::{self, Type, TypeName};
use super::names::plain;
use super::partitions;
use super::parts::Element;
use super::split::Piece;
use super::tokens::Tokens;
use super::{Column, Described, ForeignKey, Name, NamedType, Scope, StatementKind, Table, Unique, find};
use crate::error::{Checked, Fault, Place, nearest};

/// What the statements define, while they are read.
#[derive(Default)]
pub(crate) struct Reader {
    tables: Vec<Table>,
    types: Vec<NamedType>,
    scopes: Vec<(Place, Scope)>,
    /// Foreign keys may name a table that comes later.
    references: Vec<Reference>,
    written: Vec<Written>,
    has_other_conditions: bool,
}

/// A foreign key with names.
struct Reference {
    table: usize,
    columns: Vec<(String, Place)>,
    target: Name,
    target_columns: Vec<String>,
    full: bool,
    place: Place,
}

/// The result of a [`Reader`].
pub(crate) struct Objects {
    pub tables: Vec<Table>,
    pub types: Vec<NamedType>,
    /// In the order of the places.
    pub scopes: Vec<(Place, Scope)>,
    /// Tables that statements of the schema fill.
    pub written: Vec<Written>,
    /// Whether a constraint requires more than the bounds of its columns say.
    pub has_other_conditions: bool,
}

fn name_of(object: &ObjectName) -> Name {
    let mut parts = object.0.iter().rev().filter_map(|part| part.as_ident()).map(plain);
    let name = parts.next().unwrap_or_default();
    Name { schema: parts.next(), name }
}

impl Reader {
    /// Reads one statement, and says its purpose.
    pub fn statement(&mut self, piece: &Piece<'_>) -> Checked<StatementKind> {
        self.scopes.push((piece.place, Scope::Schema));
        let start = sql::first_words(piece.text, 3);
        let start: Vec<&str> = start.iter().map(String::as_str).collect();
        match start[..] {
            // Temporary tables exist in the session of the schema alone, and get no rows.
            ["create", "table", ..] | ["create", "unlogged", "table", ..] => {
                self.create_table(&Tokens::read(piece)?)
            }
            ["alter", "table", ..] => self.alter_table(&Tokens::read(piece)?),
            ["drop", "table", ..] => {
                changes::check_drop(piece, &self.tables)?;
                Ok(StatementKind::Other)
            }
            ["insert" | "copy", ..] => {
                self.written.extend(changes::written(piece));
                Ok(StatementKind::Other)
            }
            ["create", "type" | "domain", ..] => self.create_type(&Tokens::read(piece)?),
            ["create", "unique", "index", ..] => self.unique_index(&Tokens::read(piece)?),
            ["create", "index", ..] => Ok(StatementKind::Index),
            _ => Ok(StatementKind::Other),
        }
    }

    fn create_table(&mut self, tokens: &Tokens<'_>) -> Checked<StatementKind> {
        let open = tokens.tokens.iter().position(|token| token.token == Token::LParen);
        if let Some(at) = tokens.find(&["PARTITION", "OF"]).filter(|at| open.is_none_or(|open| *at < open)) {
            self.partition(tokens, &tokens.name(at + 2));
            return Ok(StatementKind::Table);
        }
        // CREATE TABLE … AS fills its table itself.
        if tokens.find(&["AS"]).is_some_and(|at| open.is_none_or(|open| at < open)) {
            return Ok(StatementKind::Table);
        }
        let close = open.and_then(|open| tokens.closing(open));
        let Some(close) = close else { return Err(tokens.fault("the list of columns has no end")) };
        let Statement::CreateTable(created) = tokens.parse(close + 1)? else {
            return Err(tokens.fault("this is not a CREATE TABLE"));
        };
        self.table(tokens, close, created)?;
        Ok(StatementKind::Table)
    }

    fn table(&mut self, tokens: &Tokens<'_>, close: usize, created: CreateTable) -> Checked<()> {
        let name = name_of(&created.name);
        let place = created.name.0.last().and_then(|part| part.as_ident()).map(|name| tokens.place(name));
        let place = place.unwrap_or(tokens.piece.place);
        if self.tables.iter().any(|table| table.name == name) {
            if created.if_not_exists {
                return Ok(());
            }
            return Err(Fault::new(place, format!("the table {} is created twice", name.plain())));
        }
        let index = self.tables.len();
        self.scopes.push((place, Scope::Table(index)));
        let table = Table {
            name,
            place,
            columns: Vec::new(),
            uniques: Vec::new(),
            foreign_keys: Vec::new(),
            partition_column: None,
            is_partition: false,
            is_partitioned: tokens.find(&["PARTITION", "BY"]).is_some_and(|at| at > close),
            kept: None,
            lacks_partitions: false,
            judgement: None,
            cases: super::Cases::default(),
        };
        self.tables.push(table);
        self.inherited(tokens, close, index)?;
        tokens.elements().filter_map(Element::like).for_each(|other| self.copy_columns(&other, index));
        for definition in created.columns {
            self.column(tokens, index, definition)?;
        }
        for constraint in &created.constraints {
            self.constraint(tokens, index, constraint)?;
        }
        for name in tokens.elements().filter_map(Element::not_null) {
            let at = position(&self.tables[index], &name, place)?;
            self.tables[index].columns[at].not_null = true;
        }
        if let Some(at) = tokens.find(&["PARTITION", "BY"]).filter(|at| *at > close)
            && let Some(Token::Word(word)) = tokens.tokens.get(at + 4).map(|token| &token.token)
        {
            let column =
                if word.quote_style.is_some() { word.value.clone() } else { word.value.to_ascii_lowercase() };
            let table = &mut self.tables[index];
            table.partition_column = table.columns.iter().position(|own| own.name == column);
        }
        Ok(())
    }

    /// INHERITS (parent, …): the columns of the parents come first.
    fn inherited(&mut self, tokens: &Tokens<'_>, close: usize, index: usize) -> Checked<()> {
        let Some(at) = tokens.find(&["INHERITS"]).filter(|at| *at > close) else { return Ok(()) };
        let end = tokens.closing(at + 1).unwrap_or(tokens.tokens.len());
        let names: Vec<Ident> = tokens.tokens[at..end]
            .iter()
            .filter_map(|token| match &token.token {
                Token::Word(word) => {
                    Some(Ident { value: word.value.clone(), quote_style: word.quote_style, span: token.span })
                }
                _ => None,
            })
            .skip(1)
            .collect();
        for name in names {
            self.copy_columns(&Name { schema: None, name: plain(&name) }, index);
        }
        Ok(())
    }

    /// Appends the columns of another table. Its keys are taken over, too: LIKE may include them.
    fn copy_columns(&mut self, from: &Name, index: usize) {
        if let Some(other) = find(&self.tables, from).filter(|other| *other != index) {
            let Table { columns, uniques, .. } = self.tables[other].clone();
            let table = &mut self.tables[index];
            let first = table.columns.len();
            table.columns.extend(columns);
            for unique in uniques {
                let columns = unique.columns.iter().map(|column| first + column).collect();
                add_unique(table, Unique { columns, ..unique });
            }
        }
    }

    /// CREATE TABLE … PARTITION OF, and ATTACH PARTITION: the parent gets the rows, within the bounds of its partitions.
    fn partition(&mut self, tokens: &Tokens<'_>, parent: &Name) {
        if let Some(table) = find(&self.tables, parent).map(|index| &mut self.tables[index])
            && let Some(column) = table.partition_column
        {
            table.columns[column].bounds.add_partition(&partitions::bounds(tokens));
        }
    }

    /// ALTER TABLE parent ATTACH PARTITION table, as `pg_dump` writes it.
    fn attach(&mut self, tokens: &Tokens<'_>, at: usize) {
        let parent = (2..at).find(|index| !matches!(&*tokens.word(*index), "ONLY" | "IF" | "EXISTS"));
        self.partition(tokens, &tokens.name(parent.unwrap_or(2)));
        if let Some(table) = find(&self.tables, &tokens.name(at + 2)) {
            self.tables[table].is_partition = true;
        }
    }

    fn column(&mut self, tokens: &Tokens<'_>, table: usize, definition: ColumnDef) -> Checked<()> {
        let place = tokens.place(&definition.name);
        let name = plain(&definition.name);
        let position = self.tables[table].columns.len();
        if self.tables[table].columns.iter().any(|column| column.name == name) {
            return Err(Fault::new(place, format!("the column {name} is defined twice")));
        }
        let type_name = definition.data_type.to_string();
        let resolved = self.resolve(&type_name);
        let mut column = Column {
            name,
            place,
            kind: resolved.kind,
            not_null: resolved.not_null,
            sequence: column_type::serial(&TypeName::read(&type_name).base).is_some(),
            type_name,
            computed: false,
            bounds: resolved.bounds,
            described: Described::default(),
        };
        self.scopes.push((place, Scope::Column(table, position)));
        column.not_null |= column.sequence;
        let mut uniques = Vec::new();
        for option in &definition.options {
            match &option.option {
                ColumnOption::NotNull => column.not_null = true,
                ColumnOption::PrimaryKey(_) => {
                    uniques.push(Unique::new(vec![position], true, place));
                }
                ColumnOption::Unique(_) => {
                    uniques.push(Unique::new(vec![position], false, place));
                }
                ColumnOption::Check(check) => {
                    self.has_other_conditions |= !bounds::is_complete(&check.expr);
                    for (_, bounds) in
                        bounds::of_condition(&check.expr).into_iter().filter(|(name, _)| *name == column.name)
                    {
                        column.bounds.add(&bounds);
                    }
                }
                ColumnOption::Default(Expr::Function(function))
                    if function.name.to_string().eq_ignore_ascii_case("nextval") =>
                {
                    column.sequence = true;
                }
                ColumnOption::Generated { generation_expr: Some(_), .. } => column.computed = true,
                ColumnOption::Generated {
                    generated_as: GeneratedAs::Always | GeneratedAs::ByDefault,
                    ..
                } => {
                    column.sequence = true;
                    column.not_null = true;
                }
                ColumnOption::ForeignKey(key) => self.references.push(Reference {
                    table,
                    columns: vec![(column.name.clone(), place)],
                    target: name_of(&key.foreign_table),
                    target_columns: key.referred_columns.iter().map(plain).collect(),
                    full: false,
                    place,
                }),
                _ => {}
            }
        }
        let table = &mut self.tables[table];
        table.columns.push(column);
        uniques.into_iter().for_each(|unique| add_unique(table, unique));
        Ok(())
    }

    fn constraint(
        &mut self,
        tokens: &Tokens<'_>,
        table: usize,
        constraint: &TableConstraint,
    ) -> Checked<StatementKind> {
        match constraint {
            TableConstraint::PrimaryKey(key) => self.unique(tokens, table, &key.columns, true)?,
            TableConstraint::Unique(key) => self.unique(tokens, table, &key.columns, false)?,
            TableConstraint::ForeignKey(key) => {
                let columns: Vec<_> =
                    key.columns.iter().map(|name| (plain(name), tokens.place(name))).collect();
                self.references.push(Reference {
                    table,
                    place: columns.first().map_or(tokens.piece.place, |(_, place)| *place),
                    columns,
                    target: name_of(&key.foreign_table),
                    target_columns: key.referred_columns.iter().map(plain).collect(),
                    full: key.match_kind == Some(ConstraintReferenceMatchKind::Full),
                });
                return Ok(StatementKind::ForeignKey);
            }
            TableConstraint::Check(check) => {
                self.has_other_conditions |= !bounds::is_complete(&check.expr);
                for (name, bounds) in bounds::of_condition(&check.expr) {
                    if let Some(column) =
                        self.tables[table].columns.iter_mut().find(|column| column.name == name)
                    {
                        column.bounds.add(&bounds);
                    }
                }
                return Ok(StatementKind::Other);
            }
            _ => return Ok(StatementKind::Other),
        }
        Ok(StatementKind::Key)
    }

    fn unique(
        &mut self,
        tokens: &Tokens<'_>,
        table: usize,
        columns: &[IndexColumn],
        primary: bool,
    ) -> Checked<()> {
        let mut place = tokens.piece.place;
        let mut positions = Vec::new();
        let mut temporal = false;
        for column in columns {
            // An index on lower(email) makes the column unique, too.
            let Some(name) = first_column(&column.column.expr) else {
                self.has_other_conditions = true;
                return Ok(());
            };
            if positions.is_empty() {
                place = tokens.place(name);
            }
            positions.push(position(&self.tables[table], &plain(name), tokens.place(name))?);
            temporal = positions.len() > 1 && tokens.is_without_overlaps(name);
        }
        if !positions.is_empty() {
            let unique = Unique { temporal, ..Unique::new(positions, primary, place) };
            add_unique(&mut self.tables[table], unique);
        }
        Ok(())
    }

    fn unique_index(&mut self, tokens: &Tokens<'_>) -> Checked<StatementKind> {
        let Statement::CreateIndex(CreateIndex { table_name, columns, .. }) =
            tokens.parse(tokens.tokens.len())?
        else {
            return Err(tokens.fault("this is not a CREATE UNIQUE INDEX"));
        };
        if let Some(table) = find(&self.tables, &name_of(&table_name)) {
            self.unique(tokens, table, &columns, false)?;
        }
        Ok(StatementKind::Index)
    }

    fn alter_table(&mut self, tokens: &Tokens<'_>) -> Checked<StatementKind> {
        if let Some(at) = tokens.find(&["ATTACH", "PARTITION"]) {
            self.attach(tokens, at);
            return Ok(StatementKind::Other);
        }
        changes::check_alter(tokens, &self.tables)?;
        if let Some(column) = tokens.added_not_null() {
            if let Some(table) = find(&self.tables, &changes::altered(tokens).0) {
                let at = position(&self.tables[table], &column, tokens.piece.place)?;
                self.tables[table].columns[at].not_null = true;
            }
            return Ok(StatementKind::Other);
        }
        let altered = match tokens.parse(tokens.tokens.len()) {
            Ok(Statement::AlterTable(altered)) => altered,
            Ok(_) => return Ok(StatementKind::Other),
            Err(fault) => {
                // Only new keys and columns matter; the server judges all other forms.
                let matters = tokens.words().any(|word| word == "ADD");
                return if matters { Err(fault) } else { Ok(StatementKind::Other) };
            }
        };
        let AlterTable { name, operations, .. } = altered;
        let mut kind = StatementKind::Other;
        let Some(table) = find(&self.tables, &name_of(&name)) else { return Ok(kind) };
        for operation in operations {
            match operation {
                AlterTableOperation::AddConstraint { constraint, .. } => {
                    kind = self.constraint(tokens, table, &constraint)?;
                }
                AlterTableOperation::AddColumn { column_def, .. } => {
                    self.column(tokens, table, column_def)?
                }
                AlterTableOperation::AlterColumn { column_name, op } => {
                    self.alter_column(tokens, table, &column_name, &op)?;
                }
                _ => {}
            }
        }
        Ok(kind)
    }

    fn alter_column(
        &mut self,
        tokens: &Tokens<'_>,
        table: usize,
        name: &Ident,
        operation: &AlterColumnOperation,
    ) -> Checked<()> {
        let place = tokens.place(name);
        let at = position(&self.tables[table], &plain(name), place)?;
        self.scopes.push((place, Scope::Column(table, at)));
        let column = &mut self.tables[table].columns[at];
        match operation {
            AlterColumnOperation::SetNotNull => column.not_null = true,
            AlterColumnOperation::DropNotNull => column.not_null = false,
            AlterColumnOperation::SetDataType { data_type, .. } => {
                column.type_name = data_type.to_string();
                column.kind = resolve(&self.types, &column.type_name).kind;
            }
            AlterColumnOperation::AddGenerated { .. } => column.sequence = true,
            AlterColumnOperation::SetDefault { value }
                if value.to_string().to_lowercase().starts_with("nextval") =>
            {
                column.sequence = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn create_type(&mut self, tokens: &Tokens<'_>) -> Checked<StatementKind> {
        match tokens.parse(tokens.tokens.len()) {
            Ok(Statement::CreateType { name, representation: Some(representation) }) => {
                let name = name_of(&name);
                let kind = match representation {
                    UserDefinedTypeRepresentation::Enum { labels } => {
                        Type::Enum(labels.into_iter().map(|label| label.value).collect())
                    }
                    UserDefinedTypeRepresentation::Composite { attributes } => {
                        let fields =
                            attributes.iter().map(|field| self.resolve(&field.data_type.to_string()).kind);
                        Type::Composite(name.name.clone(), fields.collect())
                    }
                    _ => Type::Other(name.name.clone()),
                };
                self.types.push(NamedType { name, kind, not_null: false, bounds: Bounds::default() });
            }
            Ok(Statement::CreateDomain(CreateDomain { name, data_type, constraints, .. })) => {
                let mut domain = self.resolve(&data_type.to_string());
                domain.name = name_of(&name);
                for constraint in &constraints {
                    if let TableConstraint::Check(check) = constraint {
                        self.has_other_conditions |= !bounds::is_complete(&check.expr);
                        let own =
                            bounds::of_condition(&check.expr).into_iter().filter(|(name, _)| name == "value");
                        own.for_each(|(_, bounds)| domain.bounds.add(&bounds));
                    }
                }
                self.types.push(domain);
            }
            Ok(_) => {}
            Err(fault) => return self.domain_not_null(tokens).ok_or(fault),
        }
        Ok(StatementKind::Other)
    }

    /// The parser does not know NOT NULL and NULL in a domain: they are read here and left out for it.
    fn domain_not_null(&mut self, tokens: &Tokens<'_>) -> Option<StatementKind> {
        let at = tokens.find(&["NOT", "NULL"]);
        let mut left = tokens.tokens.clone();
        match at {
            Some(at) => drop(left.drain(at..at + 2)),
            None => drop(left.remove(tokens.find(&["NULL"])?)),
        }
        self.create_type(&Tokens { piece: tokens.piece, tokens: left }).ok()?;
        self.types.last_mut()?.not_null |= at.is_some();
        Some(StatementKind::Other)
    }

    /// A type by its name in SQL: the schema's own types come before built-in ones.
    fn resolve(&self, sql: &str) -> NamedType {
        resolve(&self.types, sql)
    }

    /// Resolves foreign keys.
    pub fn finish(mut self) -> Checked<Objects> {
        for reference in std::mem::take(&mut self.references) {
            let key = self.foreign_key(&reference)?;
            self.tables[reference.table].foreign_keys.push(key);
        }
        for table in &mut self.tables {
            for unique in table.uniques.iter().filter(|unique| unique.primary) {
                unique.columns.iter().for_each(|column| table.columns[*column].not_null = true);
            }
            // Few tables have a partition for NULL.
            table.partition_column.iter().for_each(|column| table.columns[*column].not_null = true);
        }
        self.scopes.sort_by_key(|(place, _)| *place);
        let Self { tables, types, scopes, written, has_other_conditions, .. } = self;
        Ok(Objects { tables, types, scopes, written, has_other_conditions })
    }

    fn foreign_key(&self, reference: &Reference) -> Checked<ForeignKey> {
        let Reference { table, columns, target, target_columns, full, place } = reference;
        let Some(target_index) = find(&self.tables, target) else {
            let names = self.tables.iter().map(|table| table.name.name.as_str());
            let hint = nearest(&target.name, names);
            let message = format!(
                "the foreign key references the table {}, which the schema does not create{hint}",
                target.plain()
            );
            return Err(Fault::new(*place, message));
        };
        let target_table = &self.tables[target_index];
        let referenced: Vec<usize> = if target_columns.is_empty() {
            let primary = target_table.uniques.iter().find(|unique| unique.primary);
            primary.map(|unique| unique.columns.clone()).unwrap_or_default()
        } else {
            target_columns.iter().map(|name| position(target_table, name, *place)).collect::<Checked<_>>()?
        };
        if referenced.len() != columns.len() {
            let message = format!(
                "the foreign key has {} columns, and the key of {} has {}",
                columns.len(),
                target.plain(),
                referenced.len()
            );
            return Err(Fault::new(*place, message));
        }
        let own = &self.tables[*table];
        let columns =
            columns.iter().map(|(name, place)| position(own, name, *place)).collect::<Checked<_>>()?;
        let name = String::new();
        Ok(ForeignKey { name, columns, table: target_index, referenced, full: *full, place: *place })
    }
}

/// A type by its name in SQL: the schema's own types come before built-in ones.
pub(crate) fn resolve(types: &[NamedType], sql: &str) -> NamedType {
    let name = TypeName::read(sql);
    let exact = Name::of_sql(sql.trim()).map(|(name, _)| name);
    let wanted = Name::read(&name.base);
    // The directive type is written without quotes.
    let matches = |own: &&NamedType| {
        let own = Name { schema: own.name.schema.clone(), name: own.name.name.to_lowercase() };
        own.matches(&wanted)
    };
    let is_exact = |own: &&NamedType| exact.as_ref().is_some_and(|name| own.name.matches(name));
    let own = types.iter().rev().find(is_exact).or_else(|| types.iter().rev().find(matches));
    let mut resolved = own.cloned().unwrap_or_else(|| NamedType {
        name: wanted.clone(),
        kind: Type::built_in(&name),
        not_null: false,
        bounds: Bounds::default(),
    });
    if name.array {
        resolved.kind = Type::Array(Box::new(resolved.kind));
    }
    resolved
}

pub(super) fn add_unique(table: &mut Table, unique: Unique) {
    match table.uniques.iter_mut().find(|own| own.columns == unique.columns) {
        Some(own) => own.primary |= unique.primary,
        None => table.uniques.push(unique),
    }
}

fn position(table: &Table, name: &str, place: Place) -> Checked<usize> {
    table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let hint = nearest(name, table.columns.iter().map(|column| column.name.as_str()));
        Fault::new(place, format!("the table {} has no column {name}{hint}", table.name.plain()))
    })
}

/// The column that an expression of an index begins with.
fn first_column(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(name) => Some(name),
        Expr::Nested(inner) => first_column(inner),
        _ => None,
    }
}

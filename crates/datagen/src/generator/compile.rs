//! From the settings of a column or macro to a node. One function for each group of generators; `defaults` selects a
//! generator where the settings have none.

use std::cell::Cell as Counter;
use std::sync::Arc;

use super::address::Network;
use super::calendar::UNITS;
use super::check_digits::checked_number;
use super::defaults::{self, Choice};
use super::draw::{Draw, Lengths};
use super::float::Distribution;
use super::node::{FileMode, Float, Kind, Node, Operation, Part, PatternSequence, Words};
use super::numbers::{Space, TimeUnit, decimal, draw, int, lengths, plain, span};
use super::pattern::{self, character_set, unescaped};
use super::random_bits::key_of;
use super::target::{Target, limit, scale};
use super::text::{Chars, NumberFormat, Prefixed, digits_of};
use crate::directive::{self, Setting, Settings, keys};
use crate::error::{Checked, Fault, nearest};
use crate::schema::{Bounds, Schema, TYPE_NAMES, Type};

/// Nested macros; also the depth of the writers' calls.
const DEPTH_MAX: u32 = 30;

/// Nodes of one column: macros that name macros multiply.
const NODES_MAX: u32 = 10_000;

/// Longest value in bytes; PostgreSQL's limit is 1 GB, but a row must fit into memory several times.
const BYTES_MAX: u64 = 64 << 20;

/// Files that directives name (`word=/file`, `file=glob`); the caller decides which may be read.
pub trait Files {
    /// Contents of the files that a path or a pattern with `*` and `?` names, in the order of their names.
    ///
    /// # Errors
    /// A sentence: the file is not there, or may not be read.
    fn read(&self, pattern: &str) -> Result<Vec<Vec<u8>>, String>;
}

/// Compiles the columns of a schema.
pub(crate) struct Compiler<'a> {
    pub schema: &'a Schema,
    pub files: &'a dyn Files,
    /// Nodes of the current column.
    nodes: Counter<u32>,
}

impl<'a> Compiler<'a> {
    pub fn new(schema: &'a Schema, files: &'a dyn Files) -> Self {
        Self { schema, files, nodes: Counter::new(0) }
    }

    /// The node of a column.
    pub fn column(&self, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Node> {
        self.nodes.set(0);
        let node = self.node(settings, target, key)?;
        let bytes = node.bytes_max();
        if bytes > BYTES_MAX {
            let message = format!("a value may have {bytes} bytes; at most {BYTES_MAX} are possible");
            return Err(Fault::new(settings.place, message));
        }
        Ok(node)
    }

    /// Fails for a setting that the selected generator does not use.
    pub fn check_generator(&self, settings: &Settings) -> Checked<()> {
        settings.generator()?.map_or(Ok(()), |row| check_used(row, settings))
    }

    fn node(&self, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Node> {
        let target = Target { depth: target.depth + 1, ..target };
        self.nodes.set(self.nodes.get() + 1);
        if target.depth > DEPTH_MAX || self.nodes.get() > NODES_MAX {
            let message = "the macros are nested too deeply; does one use itself?";
            return Err(Fault::new(settings.place, message));
        }
        let key = settings.text("seed").map_or(key, |seed| key_of(key, seed));
        let share = settings.text("share").map(|name| self.shared(name, settings, target)).transpose()?;
        let kind = self.kind(settings, target, key)?;
        Ok(Node { key, null: settings.rate("null")?.unwrap_or(0.0), share, kind })
    }

    /// The draw that columns with the same `share` have in common.
    fn shared(&self, name: &str, settings: &Settings, target: Target<'_>) -> Checked<Arc<Draw>> {
        let own = self.find(name, settings, "share")?;
        let key = key_of(key_of(target.table_key, "share"), name);
        let target = Target { unique: false, offset: 0, ..target };
        match self.kind(&own, target, key)? {
            Kind::Int(draw) => Ok(Arc::new(draw)),
            _ => {
                Err(settings.fault("share", format!("share={name} names a macro whose generator is not int")))
            }
        }
    }

    fn find(&self, name: &str, settings: &Settings, key: &str) -> Checked<Settings> {
        let macros = &self.schema.directives.macros;
        if let Some(found) = macros.get(name) {
            return Ok(found.clone());
        }
        // A generator's name is a macro without parameters.
        let body = match defaults::built_in_macro(name) {
            Some(body) => body,
            None if keys::generator(name).is_some_and(|row| row.value != keys::ValueKind::Text) => name,
            None => {
                let hint = nearest(name, macros.keys().map(String::as_str));
                return Err(settings.fault(key, format!("{key}={name} names no macro{hint}")));
            }
        };
        self.text_settings(body, settings)
    }

    /// Settings from a text, at the place of others.
    fn text_settings(&self, body: &str, at: &Settings) -> Checked<Settings> {
        let mut list = directive::read(body, at.place, &self.schema.directives.macros)?;
        list.iter_mut().for_each(|setting| setting.place = at.place);
        Ok(Settings { list, place: at.place })
    }

    /// The generator of a macro that a setting names.
    fn named(
        &self,
        name: &str,
        settings: &Settings,
        from: &str,
        target: Target<'_>,
        key: u64,
    ) -> Checked<Node> {
        let own = self.find(name.trim(), settings, from)?;
        self.node(&own, target, key_of(key, name))
    }

    fn kind(&self, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        if let Some(row) = settings.generator()? {
            return self.generator(row, settings, target, key);
        }
        if let Some(name) = settings.text("type") {
            let resolved = self.schema.resolve(name);
            let list = settings.list.iter().filter(|setting| setting.key != "type").cloned().collect();
            let rest = Settings { list, place: settings.place };
            let target = Target { kind: &resolved.kind, type_name: name, bounds: &resolved.bounds, ..target };
            return self.kind(&rest, target, key);
        }
        match defaults::choose(settings, target, &self.schema.directives.macros) {
            Choice::Directives(body) => {
                let mut own = self.text_settings(&body, settings)?;
                own.list.extend(settings.list.iter().cloned());
                let row = own.generator()?.ok_or_else(|| Fault::new(settings.place, "no generator"))?;
                self.generator(row, &own, target, key)
            }
            Choice::Macro(name) => Ok(self.named(&name, settings, "type", target, key)?.kind),
            Choice::Words(words) => {
                let row =
                    keys::generator("word").ok_or_else(|| Fault::new(settings.place, "no generator"))?;
                check_used(row, settings)?;
                self.words(words.into_iter().map(String::into_bytes).collect(), settings, target, key)
            }
            Choice::Array(element) => {
                let own = Settings { list: Vec::new(), place: settings.place };
                let bounds = Bounds::default();
                let inner = Target {
                    kind: element,
                    type_name: "",
                    bounds: &bounds,
                    hint: None,
                    unique: false,
                    ..target
                };
                let node = self.node(&own, inner, key_of(key, "element"))?;
                let least = least_elements(&node, target);
                let lengths = lengths(settings, Lengths { min: least, max: least.max(5) })?;
                Ok(Kind::Array { node: Box::new(node), lengths })
            }
            Choice::Tuple(fields) => {
                let own = Settings { list: Vec::new(), place: settings.place };
                let bounds = Bounds::default();
                let node = |(at, kind): (usize, &Type)| {
                    let inner =
                        Target { kind, type_name: "", bounds: &bounds, hint: None, unique: false, ..target };
                    self.node(&own, inner, key_of(key, &at.to_string()))
                };
                Ok(Kind::Tuple(fields.iter().enumerate().map(node).collect::<Checked<_>>()?))
            }
            Choice::None => {
                let mut known: Vec<&str> =
                    self.schema.types.iter().map(|own| own.name.name.as_str()).collect();
                TYPE_NAMES.iter().copied().chain(defaults::type_names()).for_each(|name| known.push(name));
                let type_name = match target.kind {
                    // Of a field.
                    Type::Other(name) if target.type_name.is_empty() => name,
                    _ => target.type_name,
                };
                known.retain(|name| *name != type_name);
                let hint = nearest(type_name, known);
                let message = format!(
                    "the type {type_name} of the column {} has no generator{hint}; correct it, or write a generator after the column, as in -- df: pattern='[a-z]{{8}}'",
                    target.name
                );
                Err(Fault::new(settings.place, message))
            }
        }
    }

    fn generator(
        &self,
        row: &keys::GeneratorRow,
        settings: &Settings,
        target: Target<'_>,
        key: u64,
    ) -> Checked<Kind> {
        check_used(row, settings)?;
        let value = settings.text(row.name).unwrap_or_default();
        let serial = matches!(row.name, "int" | "date" | "timestamp" | "interval" | "string");
        let target = Target { serial: target.serial || serial, ..target };
        match row.name {
            "int" if settings.has("decimals") || settings.has("prec") => decimal(settings, target, key),
            "int" => Ok(Kind::Int(int(settings, target, key)?)),
            "bool" => Ok(Kind::Bool { rate: settings.rate("rate")?.unwrap_or(0.5) }),
            "float" => float(value, settings, target),
            "date" | "timestamp" | "time" => time(row.name, settings, target, key),
            "interval" => {
                let unit = settings.text("unit").unwrap_or("s");
                let Some((_, unit)) = UNITS.iter().find(|(name, _)| *name == unit) else {
                    return Err(settings.fault("unit", "unit is one of s, m, h, d, mon, y"));
                };
                Ok(Kind::Interval {
                    draw: int(settings, Target { bounds: &Bounds::default(), ..target }, key)?,
                    unit,
                })
            }
            "string" => {
                let prefix = settings.text("prefix").unwrap_or(target.name);
                let draw = plain(settings, target, key)?;
                let lengths = text_lengths(settings, target)?;
                if settings.has("ordered") {
                    let string = Prefixed::ordered(draw, prefix, lengths);
                    return string.map(Kind::String).ok_or_else(|| too_short(settings, lengths.max));
                }
                Ok(Kind::String(Prefixed::new(draw, prefix, lengths)))
            }
            "chars" => self.chars(value, settings, target, key),
            "word" => self.words(self.word_list(value, settings)?, settings, target, key),
            "text" => Ok(Kind::Text {
                source: Box::new(self.named(value, settings, "text", target, key)?),
                separator: unescaped(settings.text("separator").unwrap_or(" ")).into_bytes(),
                prefix: unescaped(settings.text("prefix").unwrap_or("")).into_bytes(),
                suffix: unescaped(settings.text("suffix").unwrap_or("")).into_bytes(),
                lengths: lengths(settings, Lengths { min: 5, max: 25 })?,
            }),
            "const" => Ok(Kind::Const(unescaped(value).into_bytes())),
            "count" => count(settings),
            "pattern" => self.pattern(value, settings, target, key),
            "uuid" => {
                let drawn = settings.list.iter().any(|setting| keys::REFERENCE.contains(&setting.key));
                let draw = drawn.then(|| plain(settings, target, key)).transpose()?;
                Ok(Kind::Uuid { draw, ordered: settings.has("ordered") })
            }
            "list" => {
                let words = value.split(',').map(|word| unescaped(word).into_bytes()).collect();
                self.words(words, settings, target, key)
            }
            "isnull" => Ok(Kind::Null),
            "bit" | "blob" | "inet" | "mac" | "luhn" | "ean" | "file" => {
                self.coded(row.name, value, settings, target, key)
            }
            "linear" => Err(settings.fault("linear", "linear is for a column, not for a macro")),
            _ => self.composed(row.name, value, settings, target, key),
        }
    }

    /// Generators that name macros.
    fn composed(
        &self,
        name: &str,
        value: &str,
        settings: &Settings,
        target: Target<'_>,
        key: u64,
    ) -> Checked<Kind> {
        let nodes = || -> Checked<Vec<Node>> {
            let parts = value.split(',').enumerate();
            parts
                .map(|(at, part)| self.named(part, settings, name, target, key_of(key, &at.to_string())))
                .collect()
        };
        match name {
            "cat" => {
                let parts = nodes()?.into_iter().map(|node| Part::Generator(Box::new(node))).collect();
                Ok(Kind::Pattern(PatternSequence::new(key, parts)))
            }
            "tuple" => Ok(Kind::Tuple(nodes()?)),
            "reduce" => {
                let operation = match settings.text("op").unwrap_or("+") {
                    "+" => Operation::Add,
                    "*" => Operation::Multiply,
                    "min" => Operation::Min,
                    "max" => Operation::Max,
                    "cat" => Operation::Concatenate,
                    _ => return Err(settings.fault("op", "op is one of +, *, min, max, cat")),
                };
                Ok(Kind::Reduce { nodes: nodes()?, operation })
            }
            "alt" => self.alternatives(value, settings, target, key),
            "repeat" => self.repetition(value, settings, target, key),
            "array" => Ok(Kind::Array {
                node: Box::new(self.named(value, settings, "array", target, key)?),
                lengths: lengths(settings, Lengths { min: 0, max: 5 })?,
            }),
            "value" => {
                let own = key_of(target.table_key, "value");
                let target = Target { unique: false, ..target };
                let node = self.named(value, settings, "value", target, own)?;
                if matches!(target.kind, Type::Date | Type::Timestamp { .. }) && node.is_number() {
                    let message = format!("value={value} gives numbers, and the column is a point in time");
                    return Err(
                        settings.fault("value", format!("{message}; use a macro with date or timestamp"))
                    );
                }
                Ok(Kind::Value(Box::new(node)))
            }
            _ => Err(settings.fault(name, format!("unknown generator {name}"))),
        }
    }

    fn alternatives(&self, value: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        let mut alternatives = Vec::new();
        for (at, part) in value.split(',').enumerate() {
            let (name, weight) = part.split_once(':').unwrap_or((part, "1"));
            let weight = weight.trim().parse::<u64>().ok().filter(|weight| (1..=1_000_000).contains(weight));
            let Some(weight) = weight else {
                return Err(settings.fault("alt", "a weight of alt is from 1 to 1000000, as in alt=a:3,b"));
            };
            alternatives
                .push((weight, self.named(name, settings, "alt", target, key_of(key, &at.to_string()))?));
        }
        let total = alternatives.iter().map(|(weight, _)| weight).sum();
        Ok(Kind::Alt { nodes: alternatives, total })
    }

    fn repetition(&self, value: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        let extent = settings.text("extent").unwrap_or("1");
        let (min, max) = extent.split_once('-').unwrap_or((extent, extent));
        let bounds = min.parse::<u32>().ok().zip(max.parse::<u32>().ok());
        let Some((min, max)) = bounds.filter(|(min, max)| min <= max && *max <= 1_000_000) else {
            return Err(settings.fault("extent", "extent is N or N-M with N ≤ M ≤ 1000000"));
        };
        let space = Space { size: u64::from(max - min) + 1, offset: 0, complete: true };
        let draw = draw(settings, &Target { unique: false, ..target }, key_of(key, "extent"), space)?;
        let node = self.named(value, settings, "repeat", Target { unique: false, ..target }, key)?;
        Ok(Kind::Repeat { node: Box::new(node), draw, min, max })
    }

    fn pattern(&self, text: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        /// Faults of the pattern have no place of their own.
        struct Wrapped(Result<String, Fault>);
        impl From<String> for Wrapped {
            fn from(message: String) -> Self {
                Self(Ok(message))
            }
        }
        let mut number = 0_u32;
        let mut embedded = |body: &str| {
            number += 1;
            let compile = || {
                let own = self.text_settings(body, settings)?;
                self.node(&own, target, key_of(key, &number.to_string()))
            };
            compile().map_err(|fault| Wrapped(Err(fault)))
        };
        let parsed = pattern::parse(text, key, &mut embedded);
        parsed.map(Kind::Pattern).map_err(|Wrapped(error)| match error {
            Ok(message) => settings.fault("pattern", message),
            Err(fault) => fault,
        })
    }

    fn chars(&self, set: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        let set = character_set(set).map_err(|message| settings.fault("chars", message))?;
        if set.is_empty() {
            return Err(settings.fault("chars", "chars needs at least one character"));
        }
        let picker = match settings.text("cgen") {
            None => None,
            Some(name) => {
                let size = Target { rows: set.len() as u64, unique: false, offset: 0, ..target };
                let node = self.named(name, settings, "cgen", size, key)?;
                match node.kind {
                    Kind::Int(draw) => Some(draw),
                    _ => {
                        return Err(settings
                            .fault("cgen", format!("cgen={name} names a macro whose generator is not int")));
                    }
                }
            }
        };
        Ok(Kind::Chars(Chars {
            draw: plain(settings, target, key)?,
            set,
            picker,
            lengths: text_lengths(settings, target)?,
        }))
    }

    fn word_list(&self, value: &str, settings: &Settings) -> Checked<Vec<Vec<u8>>> {
        let words: Vec<Vec<u8>> = match value.strip_prefix(':') {
            Some(list) => list.split(',').map(|word| word.trim().as_bytes().to_vec()).collect(),
            None => {
                let files = self.read_files(value, settings, "word")?;
                let lines = files.iter().flat_map(|file| file.split(|byte| *byte == b'\n'));
                let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
                lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
            }
        };
        if words.iter().any(|word| std::str::from_utf8(word).is_err() || word.contains(&0)) {
            return Err(settings.fault("word", format!("{value} is not UTF-8 text")));
        }
        if words.is_empty() {
            return Err(settings.fault("word", format!("{value} has no words")));
        }
        Ok(words)
    }

    fn read_files(&self, name: &str, settings: &Settings, key: &str) -> Checked<Vec<Vec<u8>>> {
        let files = self.files.read(name).map_err(|message| {
            let is_list = key == "word" && name.contains(',');
            let hint = if is_list { format!("; did you mean word=:{name}?") } else { String::new() };
            settings.fault(key, format!("{message}{hint}"))
        })?;
        if files.is_empty() {
            return Err(settings.fault(key, format!("{key}={name} names no file")));
        }
        Ok(files)
    }

    fn words(&self, list: Vec<Vec<u8>>, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
        if list.is_empty() {
            let message =
                format!("the type {} of the column {} has no values", target.type_name, target.name);
            return Err(Fault::new(settings.place, message));
        }
        let space = Space { size: list.len() as u64, offset: 0, complete: true };
        let draw = draw(settings, &target, key, space)?;
        let mut sorted: Vec<&Vec<u8>> = list.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let distinct = sorted.len() == list.len();
        Ok(Kind::Word { draw, words: Arc::new(Words { list, distinct }) })
    }

    /// Generators of codes, addresses and files.
    fn coded(
        &self,
        name: &str,
        value: &str,
        settings: &Settings,
        target: Target<'_>,
        key: u64,
    ) -> Checked<Kind> {
        match name {
            "bit" => {
                let default = match target.kind {
                    Type::Bit { length: Some(length), varying: false } => {
                        Lengths { min: *length, max: *length }
                    }
                    Type::Bit { length: Some(length), varying: true } => {
                        Lengths { min: 1.min(*length), max: *length }
                    }
                    _ => Lengths { min: 8, max: 32 },
                };
                Ok(Kind::Bit { draw: plain(settings, target, key)?, lengths: lengths(settings, default)? })
            }
            "blob" => {
                let lengths = lengths(settings, Lengths { min: 8, max: 16 })?;
                let (draw, ordered) = (plain(settings, target, key)?, settings.has("ordered"));
                if ordered && digits_of(draw.size, 256) > lengths.max {
                    return Err(too_short(settings, lengths.max));
                }
                Ok(Kind::Blob { draw, lengths, ordered })
            }
            "inet" => {
                let network = Network::read(value).ok_or_else(|| {
                    settings.fault("inet", format!("inet needs a network such as 10.0.0.0/8, not {value}"))
                })?;
                let space = Space { size: network.count, offset: 0, complete: true };
                Ok(Kind::Inet { draw: draw(settings, &target, key, space)?, network })
            }
            "mac" => {
                let bytes = if let Type::Mac { bytes } = target.kind { *bytes } else { 6 };
                Ok(Kind::Mac { draw: plain(settings, target, key)?, bytes })
            }
            "file" => {
                let mut files = Vec::new();
                for pattern in value.split(':').filter(|pattern| !pattern.is_empty()) {
                    files.extend(self.read_files(pattern, settings, "file")?);
                }
                let mode = match settings.text("mode").unwrap_or(if *target.kind == Type::Bytes {
                    "blob"
                } else {
                    "text"
                }) {
                    "blob" => FileMode::Blob,
                    "text" => FileMode::Text,
                    _ => return Err(settings.fault("mode", "mode is blob or text")),
                };
                if mode == FileMode::Text && files.iter().any(|file| std::str::from_utf8(file).is_err()) {
                    return Err(settings
                        .fault("file", format!("{value} has a file that is not UTF-8 text; use mode=blob")));
                }
                let space = Space { size: files.len() as u64, offset: 0, complete: true };
                Ok(Kind::File { draw: draw(settings, &target, key, space)?, files: Arc::new(files), mode })
            }
            _ => checked_number(name, settings, target, key),
        }
    }
}

/// So many elements make enough different arrays for a unique column.
fn least_elements(node: &Node, target: Target<'_>) -> u32 {
    const ELEMENTS_MAX: u32 = 32;
    let enough = |length: &u32| node.count().saturating_pow(*length) >= target.rows;
    if target.unique { (1..ELEMENTS_MAX).find(enough).unwrap_or(1) } else { 0 }
}

/// The draw of a row of the referenced table.
pub(crate) fn reference_draw(settings: &Settings, target: Target<'_>, key: u64, rows: u64) -> Checked<Draw> {
    draw(settings, &target, key, Space { size: rows, offset: 0, complete: true })
}

/// Fails for a setting that the generator does not use.
fn check_used(row: &keys::GeneratorRow, settings: &Settings) -> Checked<()> {
    let unused = |setting: &&Setting| !row.uses(setting.key);
    match settings.list.iter().find(unused) {
        None => Ok(()),
        Some(setting) => {
            let used = row.keys.iter().flat_map(|group| group.iter().copied());
            let hint = nearest(setting.key, used);
            let message =
                format!("the directive {} is not used by the generator {}{hint}", setting.key, row.name);
            Err(Fault::new(setting.place, message))
        }
    }
}

fn too_short(settings: &Settings, max: u32) -> Fault {
    settings.fault("ordered", format!("values of length {max} are too short to be different and in order"))
}

fn float(name: &str, settings: &Settings, target: Target<'_>) -> Checked<Kind> {
    let (alpha, beta) = (settings.number("alpha"), settings.number("beta"));
    let distribution =
        Distribution::new(name, alpha, beta).map_err(|message| settings.fault("float", message))?;
    Ok(Kind::Float(Float { distribution, scale: scale(target.kind), limit: limit(target.kind) }))
}

fn time(name: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
    let unit = match name {
        "date" => TimeUnit::Day,
        "time" => TimeUnit::SecondOfDay,
        _ => TimeUnit::Second,
    };
    let span = span(settings, &target, unit)?;
    // Without both ends, one value for each row, but not more than a century unless they must differ.
    let century = if unit == TimeUnit::Day { 36_524 } else { 36_524 * 86_400 } / span.step.unsigned_abs();
    let default = if target.unique { target.rows } else { target.rows.min(century.max(1)) };
    let space = Space { size: span.count.unwrap_or(default), offset: 0, complete: span.count.is_some() };
    let draw = draw(settings, &target, key, space)?;
    if unit != TimeUnit::SecondOfDay {
        span.check(&draw, unit, settings)?;
    }
    let zone = match settings.text("tz") {
        Some(zone) => format!(" {zone}").into_bytes(),
        None if matches!(target.kind, Type::Time { zone: true } | Type::Timestamp { zone: true }) => {
            b"+00".to_vec()
        }
        None => Vec::new(),
    };
    let super::numbers::Span { start, step, .. } = span;
    Ok(match unit {
        TimeUnit::Day => Kind::Date { draw, start, step },
        TimeUnit::Second => Kind::Timestamp { draw, start, step, zone },
        TimeUnit::SecondOfDay => Kind::Time { draw, start, step, zone },
    })
}

/// Lengths of a text, within those of the type.
fn text_lengths(settings: &Settings, target: Target<'_>) -> Checked<Lengths> {
    let default = match target.kind {
        Type::Text { max: Some(max), padded: true } => Lengths { min: *max, max: *max },
        // A larger limit says that texts may be long, not that they are.
        Type::Text { max: Some(max @ ..=1000), padded: false } => Lengths { min: max * 3 / 4, max: *max },
        _ => Lengths { min: 8, max: 16 },
    };
    let lengths = lengths(settings, default)?;
    match target.kind {
        Type::Text { max: Some(max), .. } if lengths.max > *max => {
            let message =
                format!("texts may have {} characters, and {} holds {max}", lengths.max, target.type_name);
            Err(Fault::new(settings.place, message))
        }
        _ => Ok(lengths),
    }
}

fn count(settings: &Settings) -> Checked<Kind> {
    let start = match settings.text("start") {
        None => 1,
        Some(text) => text
            .parse()
            .map_err(|_| settings.fault("start", format!("start of count is an integer, not {text}")))?,
    };
    let step = settings.integer("step").unwrap_or(1);
    let text = settings.text("format").unwrap_or("d");
    let format = NumberFormat::read(text).ok_or_else(|| {
        let message = format!("format is Python's format of an integer, such as d or 08X, not {text}");
        settings.fault("format", message)
    })?;
    Ok(Kind::Count { start, step, format })
}

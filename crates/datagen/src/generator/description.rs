//! Which generator fills a column, in the words of directives, and the reason: for `--explain`. It follows the same
//! choices as `compile`.

use super::calendar::{write_date, write_timestamp};
use super::compile::Compiler;
use super::defaults::{self, Choice};
use super::draw::{Draw, Sub};
use super::node::{Kind, Node};
use super::target::Target;
use crate::directive::{Settings, keys};
use crate::schema::Type;

/// A generator as directives, and where they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GeneratorDescription {
    pub directives: String,
    pub origin: String,
}

impl GeneratorDescription {
    pub fn new(directives: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { directives: directives.into(), origin: origin.into() }
    }
}

/// Most words of a list in a description.
const WORDS_MAX: usize = 8;

impl Compiler<'_> {
    /// The generator that [`Compiler::column`] compiles for the same settings.
    pub fn describe(&self, settings: &Settings, target: Target<'_>) -> GeneratorDescription {
        let own = text(settings);
        if settings.list.iter().any(|setting| keys::generator(setting.key).is_some()) {
            return GeneratorDescription::new(own, "its directives");
        }
        if let Some(name) = settings.text("type") {
            let resolved = self.schema.resolve(name);
            let list = settings.list.iter().filter(|setting| setting.key != "type").cloned().collect();
            let rest = Settings { list, place: settings.place };
            let target = Target { kind: &resolved.kind, type_name: name, bounds: &resolved.bounds, ..target };
            let GeneratorDescription { directives, .. } = self.describe(&rest, target);
            return GeneratorDescription::new(directives, format!("the directive type={name}"));
        }
        let origin =
            |by: &str| if own.is_empty() { by.to_owned() } else { format!("{by}, and its directives") };
        let with_own = |directives: &str| format!("{directives} {own}").trim_end().to_owned();
        match defaults::choose(settings, target, &self.schema.directives.macros) {
            Choice::Directives(body) => {
                // A rule for names says more than the generator alone.
                let by = if is_limited(target) || target.hint.is_some() {
                    "its CHECK constraint or partitions"
                } else if body.contains([' ', '=']) {
                    "its name and type"
                } else {
                    "its type"
                };
                GeneratorDescription::new(with_own(&body), origin(by))
            }
            Choice::Macro(name) => {
                GeneratorDescription::new(with_own(&format!("use={name}")), "the macro of its type")
            }
            Choice::Words(words) => {
                let more = if words.len() > WORDS_MAX { ",…" } else { "" };
                let words: Vec<&str> = words.iter().take(WORDS_MAX).map(String::as_str).collect();
                let by = match target.kind {
                    Type::Enum(_) if target.bounds.values.is_none() => "the labels of its type",
                    _ => "its CHECK constraint or partitions",
                };
                GeneratorDescription::new(with_own(&format!("word=:{}{more}", words.join(","))), origin(by))
            }
            Choice::Array(_) => {
                GeneratorDescription::new(with_own("an array of its element type"), origin("its type"))
            }
            Choice::Tuple(_) => {
                GeneratorDescription::new(with_own("a row of its field types"), origin("its type"))
            }
            Choice::None => GeneratorDescription::new(own, "its directives"),
        }
    }
}

/// Whether a constraint bounds the generator of the type.
fn is_limited(target: Target<'_>) -> bool {
    let is_ordered = matches!(
        target.kind,
        Type::Integer { .. }
            | Type::Numeric { .. }
            | Type::Float
            | Type::Money
            | Type::Date
            | Type::Time { .. }
            | Type::Timestamp { .. }
    );
    is_ordered && (target.bounds.min.is_some() || target.bounds.max.is_some())
}

/// Settings as they are written.
pub(crate) fn text(settings: &Settings) -> String {
    let words = settings.list.iter().map(|setting| {
        let takes_none = keys::key(setting.key).is_some_and(|(_, kind)| kind == keys::ValueKind::Flag);
        match setting.value.as_str() {
            _ if takes_none => setting.key.to_owned(),
            "" if keys::key(setting.key).is_some_and(|(_, kind)| kind == keys::ValueKind::OptionalText) => {
                setting.key.to_owned()
            }
            value if value.is_empty() || value.contains(char::is_whitespace) => {
                format!("{}='{value}'", setting.key)
            }
            value => format!("{}={value}", setting.key),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Node {
    /// The draw with all its parameters, as directives.
    pub fn draw_text(&self) -> Option<String> {
        let draw = self.draw()?;
        let Draw { size, sub, xor, step, shift, offset, .. } = draw;
        let sub = match sub {
            Sub::Serial => "sub=serial".to_owned(),
            Sub::Uniform => "sub=uniform".to_owned(),
            Sub::Serand => "sub=serand".to_owned(),
            Sub::Power { alpha } => format!("sub=power alpha={alpha:.4}"),
            Sub::Scale { alpha } => format!("sub=scale alpha={alpha:.4}"),
            Sub::Zipfian { parameter } => format!("sub=zipfian parameter={parameter}"),
            Sub::Gaussian { parameter } => format!("sub=gaussian parameter={parameter}"),
            Sub::Exponential { parameter } => format!("sub=exponential parameter={parameter}"),
            Sub::Growth { factor } => format!("sub=growth growth={factor}"),
            Sub::Drift { width } => format!("sub=drift width={width}"),
            Sub::Weighted(_) => "sub=weighted".to_owned(),
        };
        let mut text = format!("{sub} size={size} offset={offset}");
        for (name, value, plain) in [("step", step, 1), ("shift", shift, 0), ("xor", xor, 0)] {
            if *value != plain {
                text.push_str(&format!(" {name}={value}"));
            }
        }
        if let Kind::Date { start, step, .. } | Kind::Timestamp { start, step, .. } = &self.kind {
            let is_date = matches!(self.kind, Kind::Date { .. });
            let number = |of_draw: i64| start.saturating_add(step.saturating_mul(of_draw));
            let ends = [number(*offset), number(offset.saturating_add_unsigned(size - 1))];
            for (name, value) in [("start", ends[0].min(ends[1])), ("end", ends[0].max(ends[1]))] {
                text.push_str(&format!(" {name}={}", point_in_time(value, is_date)));
            }
        }
        Some(text)
    }
}

fn point_in_time(value: i64, is_date: bool) -> String {
    let mut out = Vec::new();
    if is_date {
        write_date(&mut out, value);
        return String::from_utf8_lossy(&out).into_owned();
    }
    write_timestamp(&mut out, value);
    format!("'{}'", String::from_utf8_lossy(&out))
}

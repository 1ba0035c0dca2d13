//! Strings: `\set name 'text'`, `random_string(min, max[, 'characters'])`, and `random_element('a,b,c')` or `(:list)`.
//! Created by `meta` in the extended dialect, also
//! for the values of `\copy_rows`; pgbench has no strings. A string is a value of a variable, and not a type of
//! expressions.

use crate::datum::Datum;
use crate::error::{EvaluationError, ParseErrorKind};
use crate::expression::{Expression, Scope};
use crate::random::Random;
use crate::symbols::Slot;
use crate::variables::TextKind;

/// Maximum number of characters of a random string. A statement with one then takes some megabytes.
const LENGTH_MAX: i64 = 1_000_000;

/// Characters of a random string without a third argument.
const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// `\set name string`
#[derive(Debug)]
pub struct SetString {
    /// The variable that is assigned.
    pub slot: Slot,
    pub(crate) value: StringValue,
}

/// Origin of a string.
#[derive(Debug)]
pub(crate) enum StringValue {
    Literal(Box<[u8]>),
    /// `random_string(min, max, characters)`
    Random {
        min: Expression,
        max: Expression,
        characters: Characters,
    },
    /// `random_element('a,b,c')`, split.
    ElementOf(Box<[Box<[u8]>]>),
    /// `random_element(:list)`
    ElementOfVariable(Slot),
}

/// Not empty.
#[derive(Debug)]
pub(crate) struct Characters(Box<[Box<[u8]>]>);

impl Characters {
    /// The characters of a text in UTF-8, otherwise its bytes.
    pub(crate) fn new(text: &[u8]) -> Result<Self, ParseErrorKind> {
        if text.is_empty() {
            return Err("random_string needs at least one character".into());
        }
        Ok(Self(match str::from_utf8(text) {
            Ok(text) => text.chars().map(|character| character.to_string().into_bytes().into()).collect(),
            Err(_) => text.iter().map(|&byte| [byte].into()).collect(),
        }))
    }

    pub(crate) fn letters_and_digits() -> Self {
        Self(LETTERS_AND_DIGITS.iter().map(|&byte| [byte].into()).collect())
    }

    /// Appends this number of random characters.
    fn draw(&self, length: i64, random: &mut Random, out: &mut Vec<u8>) {
        let last = self.0.len() as u64 - 1;
        (0..length).for_each(|_| out.extend_from_slice(&self.0[index(random.range(last))]));
    }
}

/// The elements of a list, without the spaces around them.
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// The list of `random_element('a,b,c')`.
pub(crate) fn element_of(list: &[u8]) -> Result<StringValue, ParseErrorKind> {
    if list.is_empty() {
        return Err("random_element needs a list with at least one element, such as 'a,b,c'".into());
    }
    Ok(StringValue::ElementOf(elements(list).map(Into::into).collect()))
}

impl SetString {
    /// Evaluates and assigns. Draws from the scope's random stream: the length and each character, or the element;
    /// nothing where there is only one possibility.
    pub fn execute(&self, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        match &self.value {
            StringValue::Literal(text) => scope.variables.set_string(self.slot, TextKind::String, |out| {
                out.extend_from_slice(text);
            }),
            StringValue::Random { min, max, characters } => {
                let length = random_length(min, max, scope)?;
                let Scope { variables, random, .. } = scope;
                variables.set_string(self.slot, TextKind::String, |out| characters.draw(length, random, out));
            }
            StringValue::ElementOf(_) | StringValue::ElementOfVariable(_) => {
                let mut text = Vec::new();
                self.value.write(scope, &mut text)?;
                scope.variables.set_text(self.slot, text);
            }
        }
        Ok(())
    }
}

impl StringValue {
    /// Appends the string. Draws as [`SetString::execute`] does.
    pub(crate) fn write(&self, scope: &mut Scope<'_>, out: &mut Vec<u8>) -> Result<(), EvaluationError> {
        match self {
            Self::Literal(text) => out.extend_from_slice(text),
            Self::Random { min, max, characters } => {
                let length = random_length(min, max, scope)?;
                characters.draw(length, scope.random, out);
            }
            Self::ElementOf(elements) => {
                let drawn = index(scope.random.range(elements.len() as u64 - 1));
                out.extend_from_slice(&elements[drawn]);
            }
            Self::ElementOfVariable(list) => {
                let mut text = Vec::new();
                if !scope.variables.write_list(*list, &mut text) {
                    return Err(EvaluationError::undefined(*list, scope.symbols));
                }
                if text.is_empty() {
                    let name = scope.symbols.name(*list);
                    return Err(EvaluationError::new(format!("variable \"{name}\" is an empty list")));
                }
                let drawn = index(scope.random.range(elements(&text).count() as u64 - 1));
                out.extend_from_slice(elements(&text).nth(drawn).unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// An index into a list in memory.
fn index(drawn: u64) -> usize {
    usize::try_from(drawn).expect("less than the length of a list")
}

fn random_length(min: &Expression, max: &Expression, scope: &mut Scope<'_>) -> Result<i64, EvaluationError> {
    let min = min.datum(scope).and_then(Datum::to_int)?;
    let max = max.datum(scope).and_then(Datum::to_int)?;
    if !(0..=LENGTH_MAX).contains(&min) || !(min..=LENGTH_MAX).contains(&max) {
        return Err(EvaluationError::new(format!(
            "the lengths of a random string must be in range [0, {LENGTH_MAX}], the lower one first (not {min} and {max})"
        )));
    }
    Ok(scope.random.integer(min, max))
}

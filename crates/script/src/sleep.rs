//! `\sleep`: computes the duration from the variable's value; the engine waits. Created by `meta`, which splits the
//! words.

use std::time::Duration;

use crate::error::EvaluationError;
use crate::number::leading_integer;
use crate::symbols::{Slot, Symbols};
use crate::variables::Variables;

/// `\sleep number|:variable [us|ms|s]`
#[derive(Debug)]
pub struct Sleep {
    pub(crate) time: Time,
    pub(crate) unit: Unit,
}

#[derive(Debug)]
pub(crate) enum Time {
    Fixed(Duration),
    Variable(Slot),
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    #[default]
    Seconds,
}

impl Unit {
    /// The unit of this name, in any case.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        [("us", Self::Microseconds), ("ms", Self::Milliseconds), ("s", Self::Seconds)]
            .into_iter()
            .find_map(|(unit, value)| name.eq_ignore_ascii_case(unit.as_bytes()).then_some(value))
    }

    /// A negative count is zero.
    fn times(self, count: i64) -> Duration {
        let count = u64::try_from(count).unwrap_or(0);
        match self {
            Self::Microseconds => Duration::from_micros(count),
            Self::Milliseconds => Duration::from_millis(count),
            Self::Seconds => Duration::from_secs(count),
        }
    }
}

impl Sleep {
    /// `number` is an optional sign and digits, saturated at 64 bits.
    pub(crate) fn of_number(number: &[u8], unit: Unit) -> Self {
        Self { time: Time::Fixed(unit.times(leading_integer(number).map_or(0, |(count, _)| count))), unit }
    }

    /// Whether the duration is a constant zero.
    pub fn is_none(&self) -> bool {
        matches!(self.time, Time::Fixed(Duration::ZERO))
    }

    /// The duration with this client's variables; negative numbers are zero. The leading integer of a text counts, as
    /// in C's `atoi`, but must exist. (pgbench overflows above 2147 seconds; this does not.)
    pub fn duration(&self, variables: &Variables, symbols: &Symbols) -> Result<Duration, EvaluationError> {
        let slot = match self.time {
            Time::Fixed(duration) => return Ok(duration),
            Time::Variable(slot) => slot,
        };
        let error = |reason: String| EvaluationError::of_command("sleep", reason);
        let name = symbols.name(slot);
        let mut text = Vec::new();
        if !variables.write_text(slot, &mut text) {
            return Err(error(format!("undefined variable \"{name}\"")));
        }
        let count = leading_integer(&text).map_or(0, |(count, _)| count);
        if count == 0 && !text.first().is_some_and(u8::is_ascii_digit) {
            let value = encoding::decode(&text);
            return Err(error(format!("invalid sleep time \"{value}\" for variable \"{name}\"")));
        }
        Ok(self.unit.times(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn seconds_of(set: impl Fn(&mut Variables, Slot)) -> Result<Duration, String> {
        let mut symbols = Symbols::new();
        let slot = symbols.intern("x");
        let mut variables = Variables::new(&symbols);
        set(&mut variables, slot);
        let sleep = Sleep { time: Time::Variable(slot), unit: Unit::Seconds };
        sleep.duration(&variables, &symbols).map_err(|error| error.to_string())
    }

    #[test]
    fn a_variable_is_read_as_atoi_reads() {
        let of_text = |text: &'static str| seconds_of(move |variables, slot| variables.set_text(slot, text));
        assert_eq!(of_text("12"), Ok(Duration::from_secs(12)));
        assert_eq!(of_text(" +2abc"), Ok(Duration::from_secs(2)));
        assert_eq!(of_text("0x"), Ok(Duration::ZERO));
        assert_eq!(of_text("-3"), Ok(Duration::ZERO));
        assert_eq!(of_text("99999999999999999999999"), Ok(Duration::from_secs(i64::MAX.unsigned_abs())));
        assert_eq!(of_text("abc").unwrap_err(), "sleep: invalid sleep time \"abc\" for variable \"x\"");
        assert_eq!(of_text(" 0").unwrap_err(), "sleep: invalid sleep time \" 0\" for variable \"x\"");
        assert_eq!(of_text("").unwrap_err(), "sleep: invalid sleep time \"\" for variable \"x\"");
    }

    #[test]
    fn a_typed_variable_counts_by_its_text() {
        let of_value = |value| seconds_of(move |variables, slot| variables.set(slot, value));
        assert_eq!(of_value(Value::Int(3)), Ok(Duration::from_secs(3)));
        assert_eq!(of_value(Value::Double(2.9)), Ok(Duration::from_secs(2)));
        assert_eq!(
            of_value(Value::Null).unwrap_err(),
            "sleep: invalid sleep time \"NULL\" for variable \"x\""
        );
        assert_eq!(seconds_of(|_, _| ()).unwrap_err(), "sleep: undefined variable \"x\"");
    }

    #[test]
    fn units_scale() {
        let fixed = |number, unit| {
            let symbols = Symbols::new();
            Sleep::of_number(str::as_bytes(number), unit)
                .duration(&Variables::new(&symbols), &symbols)
                .unwrap()
        };
        assert_eq!(fixed("5", Unit::Microseconds), Duration::from_micros(5));
        assert_eq!(fixed("+5", Unit::Milliseconds), Duration::from_millis(5));
        assert_eq!(fixed("3000", Unit::default()), Duration::from_secs(3000));
        assert_eq!(fixed("-5", Unit::Seconds), Duration::ZERO);
    }
}

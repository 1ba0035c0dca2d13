//! The functions of the language as a table: name, number of arguments, implementation. A new function is a row here
//! and a test. The parser resolves names and the evaluator calls; arguments are evaluated and never NULL.

use std::f64::consts::PI;

use crate::datum::Datum;
use crate::dialect::Dialect;
use crate::error::{EvaluationError, FixedPoint};
use crate::hash::{hash_fnv1a, hash_murmur2};
use crate::hot_keys::HotKeys;
use crate::permute::permute;
use crate::random::Random;

use super::arithmetic::Binary;

/// Maximum number of arguments of a call.
pub(super) const ARGUMENTS_MAX: usize = 16;

const GAUSSIAN_PARAMETER_MIN: f64 = 2.0;
const ZIPFIAN_PARAMETER_MIN: f64 = 1.001;
const ZIPFIAN_PARAMETER_MAX: f64 = 1000.0;

type Compute = fn(&[Datum], &mut Random) -> Result<Datum, EvaluationError>;

/// One row of the table.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The first dialect that has it.
    since: Dialect,
    pub(super) arity: Arity,
    pub(super) body: Body,
}

/// Number of arguments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// An optional last argument is the seed, by default the variable `default_seed`.
    AndSeed(usize),
    /// A further argument, which is not written, is the time of the transaction; see [`Symbols::transaction_time`].
    ///
    /// [`Symbols::transaction_time`]: crate::symbols::Symbols::transaction_time
    AndTime(usize),
}

/// Implementation of a function.
pub(super) enum Body {
    Compute(Compute),
    /// Shows its argument, which may be NULL, and returns it.
    Debug,
}

/// The table.
static FUNCTIONS: [Function; 23] = [
    row("abs", Arity::Exactly(1), abs),
    Function { body: Body::Debug, ..row("debug", Arity::Exactly(1), |of, _| Ok(of[0])) },
    row("double", Arity::Exactly(1), |of, _| Ok(Datum::double(of[0].to_double()?))),
    row("exp", Arity::Exactly(1), |of, _| Ok(Datum::double(of[0].to_double()?.exp()))),
    row("greatest", Arity::AtLeastOne, |of, _| extreme(of, i64::gt, f64::gt)),
    row("hash", Arity::AndSeed(1), murmur2),
    row("hash_fnv1a", Arity::AndSeed(1), |of, _| {
        Ok(Datum::int(hash_fnv1a(of[0].to_int()?, of[1].to_int()?)))
    }),
    row("hash_murmur2", Arity::AndSeed(1), murmur2),
    row("int", Arity::Exactly(1), |of, _| Ok(Datum::int(of[0].to_int()?))),
    row("least", Arity::AtLeastOne, |of, _| extreme(of, i64::lt, f64::lt)),
    row("ln", Arity::Exactly(1), |of, _| Ok(Datum::double(of[0].to_double()?.ln()))),
    row("mod", Arity::Exactly(2), |of, _| Binary::Remainder.apply(of[0], of[1])),
    row("permute", Arity::AndSeed(2), permuted),
    row("pi", Arity::Exactly(0), |_, _| Ok(Datum::double(PI))),
    row("pow", Arity::Exactly(2), power),
    row("power", Arity::Exactly(2), power),
    row("random", Arity::Exactly(2), |of, random| {
        let (low, high) = range(of)?;
        Ok(Datum::int(random.integer(low, high)))
    }),
    row("random_exponential", Arity::Exactly(3), exponential),
    row("random_gaussian", Arity::Exactly(3), gaussian),
    own("random_hot", Arity::AndTime(5), hot),
    own("random_latest", Arity::Exactly(3), latest),
    row("random_zipfian", Arity::Exactly(3), zipfian),
    row("sqrt", Arity::Exactly(1), |of, _| Ok(Datum::double(of[0].to_double()?.sqrt()))),
];

const fn row(name: &'static str, arity: Arity, compute: Compute) -> Function {
    Function { name, since: Dialect::Pgbench, arity, body: Body::Compute(compute) }
}

/// A function that pgbench does not have.
const fn own(name: &'static str, arity: Arity, compute: Compute) -> Function {
    Function { since: Dialect::Extended, ..row(name, arity, compute) }
}

/// Index of a function in the table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionId(u8);

impl FunctionId {
    /// `random`, for which the machine has operations.
    pub(super) const RANDOM: Self = Self(16);

    /// The function of this name, in any case, if the dialect has it.
    pub(super) fn find(name: &[u8], dialect: Dialect) -> Option<Self> {
        let row = FUNCTIONS.iter().position(|function| {
            name.eq_ignore_ascii_case(function.name.as_bytes())
                && (function.since == Dialect::Pgbench || dialect == Dialect::Extended)
        })?;
        Some(Self(u8::try_from(row).expect("the table has fewer than 256 rows")))
    }

    #[inline]
    pub(super) fn function(self) -> &'static Function {
        &FUNCTIONS[usize::from(self.0)]
    }
}

/// The lowest integer is unchanged. (pgbench accepts a boolean with an undefined result; this is an error here.)
fn abs(of: &[Datum], _: &mut Random) -> Result<Datum, EvaluationError> {
    if of[0].is_double() {
        return Ok(Datum::double(of[0].to_double()?.abs()));
    }
    Ok(Datum::int(of[0].to_int()?.wrapping_abs()))
}

fn murmur2(of: &[Datum], _: &mut Random) -> Result<Datum, EvaluationError> {
    Ok(Datum::int(hash_murmur2(of[0].to_int()?, of[1].to_int()?)))
}

fn power(of: &[Datum], _: &mut Random) -> Result<Datum, EvaluationError> {
    Ok(Datum::double(of[0].to_double()?.powf(of[1].to_double()?)))
}

fn permuted(of: &[Datum], _: &mut Random) -> Result<Datum, EvaluationError> {
    let (index, size, seed) = (of[0].to_int()?, of[1].to_int()?, of[2].to_int()?);
    if size <= 0 {
        return Err(EvaluationError::new("permute size parameter must be greater than zero"));
    }
    Ok(Datum::int(permute(index, size, seed)))
}

/// The minimum or maximum: of doubles if any argument is one, otherwise of integers. Of equal arguments, and with NaN,
/// the last one, as in pgbench.
fn extreme(
    of: &[Datum],
    stays: fn(&i64, &i64) -> bool,
    stays_double: fn(&f64, &f64) -> bool,
) -> Result<Datum, EvaluationError> {
    if of.iter().any(|value| value.is_double()) {
        let mut best = of[0].to_double()?;
        for value in &of[1..] {
            let value = value.to_double()?;
            best = if stays_double(&best, &value) { best } else { value };
        }
        return Ok(Datum::double(best));
    }
    let mut best = of[0].to_int()?;
    for value in &of[1..] {
        let value = value.to_int()?;
        best = if stays(&best, &value) { best } else { value };
    }
    Ok(Datum::int(best))
}

/// A random number from `low..=high`; `None` for an invalid range.
#[inline(always)]
pub(super) fn uniform(low: i64, high: i64, random: &mut Random) -> Option<i64> {
    let distance = high.checked_sub(low)?;
    (0..i64::MAX)
        .contains(&distance)
        .then(|| low.wrapping_add_unsigned(random.range(distance.cast_unsigned())))
}

/// The bounds of a random number: not empty, and with a size that is an i64.
#[inline]
fn range(of: &[Datum]) -> Result<(i64, i64), EvaluationError> {
    let (low, high) = (of[0].to_int()?, of[1].to_int()?);
    if low > high {
        return Err(EvaluationError::new("empty range given to random"));
    }
    match high.checked_sub(low) {
        Some(distance) if distance < i64::MAX => Ok((low, high)),
        _ => Err(EvaluationError::new("random range is too large")),
    }
}

/// (pgbench accepts NaN here and below; the function then does not return, or its result is undefined. This is an error
/// here.)
fn gaussian(of: &[Datum], random: &mut Random) -> Result<Datum, EvaluationError> {
    let ((low, high), parameter) = (range(of)?, of[2].to_double()?);
    if parameter >= GAUSSIAN_PARAMETER_MIN {
        return Ok(Datum::int(random.gaussian(low, high, parameter)));
    }
    let (least, given) = (FixedPoint(GAUSSIAN_PARAMETER_MIN), FixedPoint(parameter));
    Err(EvaluationError::new(format!("gaussian parameter must be at least {least} (not {given})")))
}

fn exponential(of: &[Datum], random: &mut Random) -> Result<Datum, EvaluationError> {
    let ((low, high), parameter) = (range(of)?, of[2].to_double()?);
    if parameter > 0.0 {
        return Ok(Datum::int(random.exponential(low, high, parameter)));
    }
    let given = FixedPoint(parameter);
    Err(EvaluationError::new(format!("exponential parameter must be greater than zero (not {given})")))
}

fn zipfian(of: &[Datum], random: &mut Random) -> Result<Datum, EvaluationError> {
    let ((low, high), parameter) = (range(of)?, of[2].to_double()?);
    if (ZIPFIAN_PARAMETER_MIN..=ZIPFIAN_PARAMETER_MAX).contains(&parameter) {
        return Ok(Datum::int(random.zipfian(low, high, parameter)));
    }
    let range = format!("[{ZIPFIAN_PARAMETER_MIN}, {ZIPFIAN_PARAMETER_MAX}]");
    Err(EvaluationError::new(format!(
        "zipfian parameter must be in range {range} (not {})",
        FixedPoint(parameter)
    )))
}

/// The bounds of keys. Their number may exceed an i64.
fn keys(function: &str, of: &[Datum]) -> Result<(i64, i64), EvaluationError> {
    let (low, high) = (of[0].to_int()?, of[1].to_int()?);
    if low <= high {
        return Ok((low, high));
    }
    Err(EvaluationError::new(format!(
        "{function} needs at least one key (not the range from {low} to {high})"
    )))
}

/// `random_hot(low, high, share, of, moves)`, with the time of the transaction in nanoseconds.
fn hot(of: &[Datum], random: &mut Random) -> Result<Datum, EvaluationError> {
    let (low, high) = keys("random_hot", of)?;
    let (share, fraction, moves_s) = (of[2].to_double()?, of[3].to_double()?, of[4].to_double()?);
    if !(0.0..=1.0).contains(&share) {
        let reason = format!("the share of random_hot must be in range [0, 1] (not {share})");
        return Err(EvaluationError::new(reason));
    }
    if !(fraction > 0.0 && fraction <= 1.0) {
        return Err(EvaluationError::new(format!(
            "the fraction of hot keys of random_hot must be greater than 0 and at most 1 (not {fraction})"
        )));
    }
    if moves_s.is_nan() || moves_s < 0.0 {
        return Err(EvaluationError::new(format!(
            "the time between moves of random_hot must be at least 0 seconds (not {moves_s})"
        )));
    }
    let hot = HotKeys::new(low, high, fraction, moves_s, of[5].to_int()?);
    Ok(Datum::int(hot.draw(share, random)))
}

/// `random_latest(low, high, parameter)`
fn latest(of: &[Datum], random: &mut Random) -> Result<Datum, EvaluationError> {
    let ((low, high), parameter) = (keys("random_latest", of)?, of[2].to_double()?);
    if (ZIPFIAN_PARAMETER_MIN..=ZIPFIAN_PARAMETER_MAX).contains(&parameter) {
        return Ok(Datum::int(random.latest(low, high, parameter)));
    }
    Err(EvaluationError::new(format!(
        "the parameter of random_latest must be in range [{ZIPFIAN_PARAMETER_MIN}, {ZIPFIAN_PARAMETER_MAX}] \
         (not {parameter})"
    )))
}

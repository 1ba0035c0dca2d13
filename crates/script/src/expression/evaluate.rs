//! The stack machine that runs compiled expressions. An operation pops its operands and pushes its result; jumps skip
//! parts of AND, OR and CASE. The parser guarantees that the stack neither underflows nor exceeds the computed depth.
//! Allocates only if an evaluation fails.

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::symbols::Slot;

use super::Scope;
use super::arithmetic::Binary;
use super::functions::{ARGUMENTS_MAX, Body, FunctionId, uniform};

/// One operation. Jumps only go forwards; their distance counts from the following operation.
#[derive(Copy, Clone, Debug)]
pub(super) enum Op {
    Push(Datum),
    Load(Slot),
    Binary(Binary),
    /// The most frequent operations with a constant right operand, without a dispatch on the operator.
    AddInt(i32),
    MultiplyInt(i32),
    /// With a constant right operand.
    BinaryInt {
        binary: Binary,
        right: i32,
    },
    /// With a variable right operand.
    BinaryVariable {
        binary: Binary,
        right: Slot,
    },
    Not,
    /// `random(low, high)` with a constant `low`.
    RandomFrom {
        low: i32,
    },
    /// `random(low, high)` with constants that form a valid range.
    RandomBetween {
        low: i32,
        high: i32,
    },
    /// `random(low, factor * variable)`, with which most scripts select a row.
    RandomScaled {
        low: i32,
        factor: i32,
        scale: Slot,
    },
    /// NULL if any argument is NULL, otherwise the function's result.
    Call {
        function: FunctionId,
        arguments: u8,
    },
    /// Fails: there are more arguments than any function has.
    TooManyArguments,
    Is(Test),
    /// NULL and false are kept and the right operand is skipped; true is popped.
    And {
        skip: u32,
    },
    /// NULL and true are kept and the right operand is skipped; false is popped.
    Or {
        skip: u32,
    },
    /// Fails unless the top value is a boolean or NULL.
    RequireBoolean,
    /// Pops a condition.
    JumpUnless {
        skip: u32,
    },
    Jump {
        skip: u32,
    },
    /// Fails: a variable of this name cannot be assigned.
    RefuseName(Slot),
}

/// Type and value tested by IS.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Null,
    True,
    False,
}

impl Test {
    fn holds(self, value: Datum) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::True => value == Datum::TRUE,
            Self::False => value == Datum::FALSE,
        }
    }
}

/// Maximum number of values in an evaluation, a power of two. Nested calls of sixteen arguments reach it first; it
/// takes 16 kB of the thread's stack.
pub(super) const STACK_MAX: usize = 1024;

/// Runs `code` on a stack for `depth` values.
#[inline]
pub(super) fn evaluate(code: &[Op], depth: usize, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    // Most expressions need only the topmost value.
    if depth <= 2 { run::<1>(code, scope) } else { run_higher(code, depth, scope) }
}

#[inline(never)]
fn run_higher(code: &[Op], depth: usize, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    // A small stack is cheap to clear, and sufficient for nearly all other expressions.
    match depth {
        0..=8 => run::<8>(code, scope),
        9..=64 => run::<64>(code, scope),
        _ => run_deep(code, scope),
    }
}

#[cold]
#[inline(never)]
fn run_deep(code: &[Op], scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    run::<STACK_MAX>(code, scope)
}

/// Values below the topmost one, which the machine stores separately. `N` is a power of two, and indexes are masked
/// with it: this is cheaper than a bounds check and never changes the index, since the parser computes the maximum
/// height. With an `N` of 1 no value below the topmost one is ever read, so nothing is stored.
struct Stack<'a, const N: usize> {
    values: &'a mut [Datum; N],
    height: usize,
}

impl<const N: usize> Stack<'_, N> {
    #[inline(always)]
    fn push(&mut self, value: Datum) {
        if N == 1 {
            return;
        }
        debug_assert!(self.height < N, "the parser computed the depth");
        self.values[self.height & (N - 1)] = value;
        self.height += 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Datum {
        if N == 1 {
            return Datum::NULL;
        }
        debug_assert!(self.height > 0, "the parser balanced the operations");
        self.height -= 1;
        self.values[self.height & (N - 1)]
    }
}

#[inline]
fn run<const N: usize>(code: &[Op], scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    let mut values = [Datum::NULL; N];
    // As if the first operand had pushed down another.
    let mut stack = Stack { values: &mut values, height: 1 };
    let (mut top, mut rest) = match code {
        [Op::Push(value), rest @ ..] => (*value, rest),
        [Op::Load(slot), rest @ ..] => (scope.variables.datum(*slot, scope.symbols)?, rest),
        [Op::RandomScaled { low, factor, scale }, rest @ ..] => {
            (draw_scaled(*low, *factor, *scale, scope)?, rest)
        }
        [Op::RandomBetween { low, high }, rest @ ..] => (draw_between(*low, *high, scope), rest),
        _ => {
            stack.height = 0;
            (Datum::NULL, code)
        }
    };
    while let Some((op, behind)) = rest.split_first() {
        rest = behind;
        match *op {
            Op::Push(value) => {
                stack.push(top);
                top = value;
            }
            Op::Load(slot) => {
                stack.push(top);
                top = scope.variables.datum(slot, scope.symbols)?;
            }
            Op::RandomScaled { low, factor, scale } => {
                stack.push(top);
                top = draw_scaled(low, factor, scale, scope)?;
            }
            Op::RandomBetween { low, high } => {
                stack.push(top);
                top = draw_between(low, high, scope);
            }
            Op::Binary(binary) => top = binary.apply(stack.pop(), top)?,
            Op::AddInt(right) => top = Binary::Add.apply(top, Datum::int(i64::from(right)))?,
            Op::MultiplyInt(right) => top = Binary::Multiply.apply(top, Datum::int(i64::from(right)))?,
            Op::RandomFrom { low } => top = draw(Datum::int(i64::from(low)), top, scope)?,
            Op::BinaryInt { binary, right } => top = binary.apply(top, Datum::int(i64::from(right)))?,
            Op::BinaryVariable { binary, right } => {
                let right = scope.variables.datum(right, scope.symbols)?;
                top = binary.apply(top, right)?;
            }
            Op::Call { function, arguments } if N == 1 => {
                top = call(function, &[top][..usize::from(arguments).min(N)], scope)?;
            }
            Op::Call { function, arguments } => {
                // The arguments are adjacent, the topmost one last.
                stack.push(top);
                let first = stack.height - usize::from(arguments);
                top = call(function, &stack.values[first..stack.height], scope)?;
                stack.height = first;
            }
            Op::And { skip } if top.is_null() || !top.to_boolean()? => rest = &rest[skip as usize..],
            Op::Or { skip } if top.is_null() || top.to_boolean()? => rest = &rest[skip as usize..],
            Op::And { .. } | Op::Or { .. } => top = stack.pop(),
            Op::JumpUnless { skip } => {
                if !top.is_true() {
                    rest = &rest[skip as usize..];
                }
                top = stack.pop();
            }
            Op::Jump { skip } => rest = &rest[skip as usize..],
            Op::RefuseName(slot) => return refuse_name(slot, scope),
            Op::Not | Op::Is(_) | Op::RequireBoolean | Op::TooManyArguments => top = unary(*op, top)?,
        }
    }
    Ok(top)
}

#[cold]
#[inline(never)]
fn refuse_name(slot: Slot, scope: &Scope<'_>) -> Result<Datum, EvaluationError> {
    Err(EvaluationError::of_assignment("set", &scope.symbols.name(slot)))
}

/// Operations on the topmost value alone.
#[inline(never)]
fn unary(op: Op, top: Datum) -> Result<Datum, EvaluationError> {
    match op {
        Op::Is(test) => Ok(Datum::boolean(test.holds(top))),
        Op::TooManyArguments => {
            Err(EvaluationError::new(format!("too many function arguments, maximum is {ARGUMENTS_MAX}")))
        }
        _ if top.is_null() => Ok(top),
        Op::Not => Ok(Datum::boolean(!top.to_boolean()?)),
        _ => Ok(Datum::boolean(top.to_boolean()?)),
    }
}

/// `random(low, high)`, the function of most scripts, without the function table.
#[inline(always)]
fn draw(low: Datum, high: Datum, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    match high.as_int().and_then(|last| uniform(low.as_int()?, last, scope.random)) {
        Some(drawn) => Ok(Datum::int(drawn)),
        None => call(FunctionId::RANDOM, &[low, high], scope),
    }
}

/// `random(low, factor * variable)`
#[inline(always)]
fn draw_scaled(low: i32, factor: i32, scale: Slot, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    let scale = scope.variables.datum(scale, scope.symbols)?;
    let high = Binary::Multiply.apply(scale, Datum::int(i64::from(factor)))?;
    draw(Datum::int(i64::from(low)), high, scope)
}

/// `random(low, high)` for a range that is not empty and cannot overflow.
#[inline(always)]
fn draw_between(low: i32, high: i32, scope: &mut Scope<'_>) -> Datum {
    Datum::int(scope.random.integer(i64::from(low), i64::from(high)))
}

#[inline(never)]
fn call(function: FunctionId, arguments: &[Datum], scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
    match function.function().body {
        Body::Debug => {
            if let Some(show) = &mut scope.debug {
                show(arguments[0].value());
            }
            Ok(arguments[0])
        }
        Body::Compute(_) if arguments.iter().any(|argument| argument.is_null()) => Ok(Datum::NULL),
        Body::Compute(compute) => compute(arguments, scope.random),
    }
}

/// Maximum number of values on the stack while `code` runs, plus one for the place below the first operand. Each branch
/// of a CASE stores its value in the same place, so the next branch after a jump starts without it.
pub(super) fn depth(code: &[Op]) -> usize {
    let mut height = 0;
    let mut deepest = 0;
    for op in code {
        match *op {
            Op::Push(_) | Op::Load(_) | Op::RandomBetween { .. } | Op::RandomScaled { .. } => height += 1,
            Op::Binary(_) | Op::And { .. } | Op::Or { .. } | Op::JumpUnless { .. } | Op::Jump { .. } => {
                height -= 1
            }
            Op::Call { arguments, .. } => height = height + 1 - usize::from(arguments),
            Op::AddInt(_) | Op::MultiplyInt(_) | Op::BinaryInt { .. } | Op::BinaryVariable { .. } => {}
            Op::RandomFrom { .. } | Op::RefuseName(_) => {}
            Op::Not | Op::Is(_) | Op::RequireBoolean | Op::TooManyArguments => {}
        }
        deepest = deepest.max(height);
    }
    debug_assert_eq!(height, 1, "an expression leaves one value");
    deepest + 1
}

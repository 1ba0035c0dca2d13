//! The stack machine that runs compiled expressions. Operands are pushed, an operation takes them and leaves its
//! result; jumps leave out what AND, OR and CASE need not evaluate. The parser guarantees that the stack neither
//! underflows nor grows beyond the depth it computed. No allocation unless an evaluation fails.

use std::ops;

use crate::error::EvaluationError;
use crate::symbols::Slot;
use crate::value::Value;

use super::Scope;
use super::arithmetic::{add, bits, compare, divide, multiply, remainder, shift_left, shift_right, subtract};
use super::functions::ARGUMENTS_MAX;
use super::functions::{Body, Function};

/// One operation. Distances of jumps count from the operation behind the jump.
#[derive(Copy, Clone, Debug)]
pub(super) enum Op {
    Push(Value),
    Load(Slot),
    Binary(Binary),
    Not,
    /// NULL if any argument is; else the function's result.
    Call {
        function: &'static Function,
        arguments: u8,
    },
    /// Fails: there are more arguments than a function takes.
    TooManyArguments,
    /// Whether the top is of the same type and value.
    Is(Value),
    /// NULL and false stay, and the right operand is left out; true makes room for it.
    And {
        skip: u32,
    },
    /// NULL and true stay, and the right operand is left out; false makes room for it.
    Or {
        skip: u32,
    },
    /// Fails unless the top is a boolean or NULL.
    RequireBoolean,
    /// Takes a condition.
    JumpUnless {
        skip: u32,
    },
    Jump {
        skip: u32,
    },
}

/// An operation on two values; NULL if either is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl Binary {
    #[inline(always)]
    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, EvaluationError> {
        if matches!(left, Value::Null) || matches!(right, Value::Null) {
            return Ok(Value::Null);
        }
        match self {
            Self::Add => add(left, right),
            Self::Subtract => subtract(left, right),
            Self::Multiply => multiply(left, right),
            Self::Divide => divide(left, right),
            Self::Remainder => remainder(left, right),
            Self::Equal => compare(left, right, i64::eq, f64::eq),
            Self::Unequal => compare(left, right, i64::ne, f64::ne),
            Self::Less => compare(left, right, i64::lt, f64::lt),
            Self::LessOrEqual => compare(left, right, i64::le, f64::le),
            Self::BitAnd => bits(left, right, ops::BitAnd::bitand),
            Self::BitOr => bits(left, right, ops::BitOr::bitor),
            Self::BitXor => bits(left, right, ops::BitXor::bitxor),
            Self::ShiftLeft => bits(left, right, shift_left),
            Self::ShiftRight => bits(left, right, shift_right),
        }
    }
}

/// Most values that an evaluation may hold at once. Nested calls of sixteen arguments reach it first; it takes
/// 16 kB of the thread's stack.
pub(super) const STACK_MAX: usize = 1024;

/// Runs `code` on a stack for `depth` values.
#[inline]
pub(super) fn evaluate(code: &[Op], depth: usize, scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
    // A small stack is cheap to clear, and nearly all expressions need no more.
    match depth {
        0..=4 => run(code, &mut [Value::Null; 4], scope),
        5..=16 => run(code, &mut [Value::Null; 16], scope),
        _ => evaluate_deep(code, scope),
    }
}

#[cold]
#[inline(never)]
fn evaluate_deep(code: &[Op], scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
    run(code, &mut [Value::Null; STACK_MAX], scope)
}

#[inline]
fn run(code: &[Op], stack: &mut [Value], scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
    let mut next = 0;
    // The number of values on the stack; the topmost stands right before.
    let mut height = 0;
    while let Some(op) = code.get(next) {
        next += 1;
        match *op {
            Op::Push(value) => {
                stack[height] = value;
                height += 1;
            }
            Op::Load(slot) => {
                stack[height] = scope.variables.value(slot, scope.symbols)?;
                height += 1;
            }
            Op::Binary(binary) => {
                height -= 1;
                stack[height - 1] = binary.apply(stack[height - 1], stack[height])?;
            }
            Op::Not => {
                let value = &mut stack[height - 1];
                if !matches!(value, Value::Null) {
                    *value = Value::Boolean(!value.to_boolean()?);
                }
            }
            Op::Call { function, arguments } => {
                let first = height - usize::from(arguments);
                let result = call(function, &stack[first..height], scope)?;
                stack[first] = result;
                height = first + 1;
            }
            Op::TooManyArguments => {
                return Err(EvaluationError::TooManyFunctionArguments { maximum: ARGUMENTS_MAX });
            }
            Op::Is(wanted) => stack[height - 1] = Value::Boolean(stack[height - 1] == wanted),
            Op::And { skip } => match stack[height - 1] {
                Value::Null => next += skip as usize,
                value if !value.to_boolean()? => next += skip as usize,
                _ => height -= 1,
            },
            Op::Or { skip } => match stack[height - 1] {
                Value::Null => next += skip as usize,
                value if value.to_boolean()? => next += skip as usize,
                _ => height -= 1,
            },
            Op::RequireBoolean => {
                if !matches!(stack[height - 1], Value::Null) {
                    stack[height - 1].to_boolean()?;
                }
            }
            Op::JumpUnless { skip } => {
                height -= 1;
                if !stack[height].is_true() {
                    next += skip as usize;
                }
            }
            Op::Jump { skip } => next += skip as usize,
        }
    }
    debug_assert_eq!(height, 1, "an expression leaves one value");
    Ok(stack[0])
}

#[inline]
fn call(function: &Function, arguments: &[Value], scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
    match function.body {
        Body::Debug => {
            if let Some(show) = &mut scope.debug {
                show(arguments[0]);
            }
            Ok(arguments[0])
        }
        Body::Compute(_) if arguments.iter().any(|argument| matches!(argument, Value::Null)) => {
            Ok(Value::Null)
        }
        Body::Compute(compute) => compute(arguments, scope.random),
    }
}

/// Most values on the stack at once while `code` runs. Each branch of a CASE leaves its value in the same place, so
/// that behind a jump the next branch begins without it.
pub(super) fn depth(code: &[Op]) -> usize {
    let mut height = 0;
    let mut deepest = 0;
    for op in code {
        match *op {
            Op::Push(_) | Op::Load(_) => height += 1,
            Op::Binary(_) | Op::And { .. } | Op::Or { .. } | Op::JumpUnless { .. } | Op::Jump { .. } => {
                height -= 1
            }
            Op::Call { arguments, .. } => height = height + 1 - usize::from(arguments),
            Op::Not | Op::Is(_) | Op::RequireBoolean | Op::TooManyArguments => {}
        }
        deepest = deepest.max(height);
    }
    debug_assert_eq!(height, 1, "an expression leaves one value");
    deepest
}

//! Compiles an expression in one pass, by operator precedence. Operands are compiled in the order of their evaluation,
//! so `a > b`, which is `b < a`, swaps the compiled code. Constants are folded unless the operation draws random
//! numbers or can fail. Called for `\set`.

use std::mem;

use crate::datum::Datum;
use crate::dialect::Dialect;
use crate::error::{Fault, NESTING_MAX, ParseErrorKind, shown};
use crate::symbols::{Symbols, TRANSACTION_TIME};

use super::Expression;
use super::arithmetic::Binary;
use super::evaluate::{Op, STACK_MAX, Test, depth};
use super::functions::{ARGUMENTS_MAX, Arity, Function, FunctionId};
use super::lexer::{Lexer, Token};

/// Start of an array.
pub(crate) const ARRAY: &str = "array";

/// Error for `array(…)` inside an expression.
pub(crate) const ARRAY_NOT_ALONE: &str = "array(number, expression) cannot be part of a larger expression";
/// Error for a string inside an expression.
pub(super) const STRING_NOT_ALONE: &str =
    "a string must be the whole value of \\set, it cannot be part of a larger expression";
/// Error for an unexpected token.
pub(crate) const SYNTAX_ERROR: &str = "syntax error";

/// Default seed of hashes and permutations.
const DEFAULT_SEED: &str = "default_seed";

/// Parses `text` from byte `from` to its end; `newline` is true if a newline follows the text.
pub(crate) fn parse(
    text: &[u8],
    from: usize,
    newline: bool,
    dialect: Dialect,
    symbols: &mut Symbols,
) -> Result<Expression, Fault> {
    let mut parser = Parser::new(Lexer::new(text, from, newline), dialect, symbols);
    parser.all().map_err(|kind| parser.fault(kind))
}

/// Parses `array(number, expression)` from byte `from` to the end of `text`. `None` if there is no array.
pub(crate) fn parse_array(
    text: &[u8],
    from: usize,
    newline: bool,
    symbols: &mut Symbols,
) -> Result<Option<(Expression, Expression)>, Fault> {
    let mut parser = Parser::new(Lexer::new(text, from, newline), Dialect::Extended, symbols);
    match parser.lexer.next() {
        Ok(Token::Word(word)) if word.eq_ignore_ascii_case(ARRAY.as_bytes()) => {}
        _ => return Ok(None),
    }
    parser.array().map(Some).map_err(|kind| parser.fault(kind))
}

/// Precedence of operators, lowest first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bits,
    Sum,
    Product,
    Unary,
}

impl Level {
    /// The minimum level of a right operand.
    fn tighter(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Is,
            Self::Is => Self::Comparison,
            Self::Comparison => Self::Bits,
            Self::Bits => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product | Self::Unary => Self::Unary,
        }
    }
}

/// Effect of an operator after an operand.
#[derive(Copy, Clone, Debug)]
enum Infix {
    Binary(Binary),
    /// The operands are swapped, and evaluated in the new order.
    Swapped(Binary),
    And,
    Or,
    Is,
    IsNull,
    NotNull,
}

const INFIXES: [(&str, Level, Infix); 22] = [
    ("or", Level::Or, Infix::Or),
    ("and", Level::And, Infix::And),
    ("is", Level::Is, Infix::Is),
    ("isnull", Level::Is, Infix::IsNull),
    ("notnull", Level::Is, Infix::NotNull),
    ("<", Level::Comparison, Infix::Binary(Binary::Less)),
    (">", Level::Comparison, Infix::Swapped(Binary::Less)),
    ("<=", Level::Comparison, Infix::Binary(Binary::LessOrEqual)),
    (">=", Level::Comparison, Infix::Swapped(Binary::LessOrEqual)),
    ("=", Level::Comparison, Infix::Binary(Binary::Equal)),
    ("<>", Level::Comparison, Infix::Binary(Binary::Unequal)),
    ("!=", Level::Comparison, Infix::Binary(Binary::Unequal)),
    ("|", Level::Bits, Infix::Binary(Binary::BitOr)),
    ("#", Level::Bits, Infix::Binary(Binary::BitXor)),
    ("&", Level::Bits, Infix::Binary(Binary::BitAnd)),
    ("<<", Level::Bits, Infix::Binary(Binary::ShiftLeft)),
    (">>", Level::Bits, Infix::Binary(Binary::ShiftRight)),
    ("+", Level::Sum, Infix::Binary(Binary::Add)),
    ("-", Level::Sum, Infix::Binary(Binary::Subtract)),
    ("*", Level::Product, Infix::Binary(Binary::Multiply)),
    ("/", Level::Product, Infix::Binary(Binary::Divide)),
    ("%", Level::Product, Infix::Binary(Binary::Remainder)),
];

fn infix(token: Token<'_>) -> Option<(Level, Infix)> {
    let Token::Symbol(symbol) = token else { return None };
    INFIXES.iter().find(|(spelling, ..)| *spelling == symbol).map(|&(_, level, infix)| (level, infix))
}

/// The operation, if this code has only one.
fn single(code: &[Op]) -> Option<Op> {
    if let [op] = code { Some(*op) } else { None }
}

/// The constant of an operation, if it fits into an operator's operation.
fn small_int(op: Op) -> Option<i32> {
    let Op::Push(constant) = op else { return None };
    constant.as_int().and_then(|value| i32::try_from(value).ok())
}

/// An operation with a constant on the right.
fn with_constant(binary: Binary, right: i32) -> Op {
    match binary {
        Binary::Add => Op::AddInt(right),
        Binary::Multiply => Op::MultiplyInt(right),
        _ => Op::BinaryInt { binary, right },
    }
}

/// Error for a wrong number of arguments.
pub(super) fn argument_count(function: &str) -> ParseErrorKind {
    format!("unexpected number of arguments ({function})").into()
}

type Parsed = Result<(), ParseErrorKind>;

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// The lookahead token. It is read as late as possible, because error messages point to the last token read.
    peeked: Option<Token<'a>>,
    code: Vec<Op>,
    nesting: usize,
    dialect: Dialect,
    pub(super) symbols: &'a mut Symbols,
}

impl<'a> Parser<'a> {
    pub(super) fn new(lexer: Lexer<'a>, dialect: Dialect, symbols: &'a mut Symbols) -> Self {
        Self { lexer, peeked: None, code: Vec::new(), nesting: 0, dialect, symbols }
    }

    /// An expression up to the end of the text.
    fn all(&mut self) -> Result<Expression, ParseErrorKind> {
        self.expression(Level::Or)?;
        self.expect(Token::End)?;
        self.compiled()
    }

    /// The part after `array`.
    fn array(&mut self) -> Result<(Expression, Expression), ParseErrorKind> {
        self.expect(Token::Symbol("("))?;
        self.expression(Level::Or)?;
        let length = self.compiled()?;
        if !self.accept(Token::Symbol(","))? {
            return Err(argument_count(ARRAY));
        }
        self.expression(Level::Or)?;
        let element = self.compiled()?;
        if self.accept(Token::Symbol(","))? {
            return Err(argument_count(ARRAY));
        }
        self.expect(Token::Symbol(")"))?;
        if self.accept(Token::End)? { Ok((length, element)) } else { Err(ARRAY_NOT_ALONE.into()) }
    }

    /// The code compiled since the last call.
    pub(super) fn compiled(&mut self) -> Result<Expression, ParseErrorKind> {
        let depth = depth(&self.code);
        if depth > STACK_MAX {
            return Err(ParseErrorKind::TooDeep);
        }
        Ok(Expression { code: mem::take(&mut self.code).into(), depth })
    }

    /// The fault for an error at the last token read. Like pgbench, which reads to the end of the line before it
    /// reports an error, it prefers the last invalid token.
    pub(super) fn fault(&mut self, kind: ParseErrorKind) -> Fault {
        let mut fault = Fault { kind, offset: Some(self.lexer.last_byte()) };
        loop {
            match self.lexer.next() {
                Ok(Token::End) => return fault,
                Ok(_) => {}
                Err(kind) => fault = Fault { kind, offset: Some(self.lexer.last_byte()) },
            }
        }
    }

    pub(super) fn peek(&mut self) -> Result<Token<'a>, ParseErrorKind> {
        match self.peeked {
            Some(token) => Ok(token),
            None => Ok(*self.peeked.insert(self.lexer.next()?)),
        }
    }

    pub(super) fn advance(&mut self) -> Result<Token<'a>, ParseErrorKind> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.lexer.next(),
        }
    }

    pub(super) fn accept(&mut self, token: Token<'_>) -> Result<bool, ParseErrorKind> {
        let found = self.peek()? == token;
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, token: Token<'_>) -> Parsed {
        if self.accept(token)? { Ok(()) } else { Err(SYNTAX_ERROR.into()) }
    }

    /// An operand and the following operators with at least the precedence `loosest`.
    pub(super) fn expression(&mut self, loosest: Level) -> Parsed {
        let start = self.code.len();
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(ParseErrorKind::TooDeep);
        }
        self.operand()?;
        let mut after_comparison = false;
        while let Some((level, infix)) = infix(self.peek()?).filter(|&(level, _)| level >= loosest) {
            if after_comparison && level == Level::Comparison {
                return Err(SYNTAX_ERROR.into());
            }
            self.peeked = None;
            self.infix(infix, level, start)?;
            after_comparison = level == Level::Comparison;
        }
        self.nesting -= 1;
        Ok(())
    }

    /// The rest of an operation whose left operand is the code from `start`.
    fn infix(&mut self, infix: Infix, level: Level, start: usize) -> Parsed {
        let middle = self.code.len();
        match infix {
            Infix::Binary(binary) => {
                self.expression(level.tighter())?;
                self.binary(binary, start, middle);
            }
            Infix::Swapped(binary) => {
                self.expression(level.tighter())?;
                // Jumps are relative and stay inside their operand, so both can be moved.
                let right_length = self.code.len() - middle;
                self.code[start..].rotate_right(right_length);
                self.binary(binary, start, start + right_length);
            }
            Infix::And | Infix::Or => {
                self.code.push(Op::Jump { skip: 0 });
                self.expression(level.tighter())?;
                self.code.push(Op::RequireBoolean);
                let skip = self.distance(middle)?;
                self.code[middle] = if let Infix::And = infix { Op::And { skip } } else { Op::Or { skip } };
            }
            Infix::Is => {
                let negated = self.accept(Token::Symbol("not"))?;
                let wanted = match self.advance()? {
                    Token::Symbol("null") => Test::Null,
                    Token::Symbol("true") => Test::True,
                    Token::Symbol("false") => Test::False,
                    _ => return Err(SYNTAX_ERROR.into()),
                };
                self.is(wanted, negated);
            }
            Infix::IsNull => self.is(Test::Null, false),
            Infix::NotNull => self.is(Test::Null, true),
        }
        Ok(())
    }

    fn is(&mut self, wanted: Test, negated: bool) {
        self.code.push(Op::Is(wanted));
        if negated {
            self.code.push(Op::Not);
        }
    }

    /// Compiles an operation on the code from `left` and the code from `right`: folded if both are constants and it
    /// succeeds; a single operation if an operand is a small constant or a variable.
    fn binary(&mut self, binary: Binary, left: usize, right: usize) {
        let (first, second) = (single(&self.code[left..right]), single(&self.code[right..]));
        if let (Some(Op::Push(first)), Some(Op::Push(second))) = (first, second)
            && let Ok(datum) = binary.apply(first, second)
        {
            self.code.truncate(left);
            self.code.push(Op::Push(datum));
        } else if let Some(right) = second.and_then(small_int) {
            self.code.pop();
            self.code.push(with_constant(binary, right));
        } else if let Some(right) = first.and_then(small_int).filter(|_| binary.commutes()) {
            // A constant has no side effects and cannot fail, so it may be evaluated second.
            self.code.remove(left);
            self.code.push(with_constant(binary, right));
        } else if let Some(Op::Load(right)) = second {
            self.code.pop();
            self.code.push(Op::BinaryVariable { binary, right });
        } else {
            self.code.push(Op::Binary(binary));
        }
    }

    /// Distance of a jump from `from` to the end of the code.
    fn distance(&self, from: usize) -> Result<u32, ParseErrorKind> {
        u32::try_from(self.code.len() - from - 1).map_err(|_| ParseErrorKind::TooDeep)
    }

    /// A constant, a variable, a call, a CASE, a parenthesized expression, or a prefix operator with its operand.
    fn operand(&mut self) -> Parsed {
        match self.advance()? {
            Token::Int(value) => self.constant(Datum::int(value)),
            Token::Double(value) => self.constant(Datum::double(value)),
            Token::Symbol("null") => self.constant(Datum::NULL),
            Token::Symbol("true") => self.constant(Datum::TRUE),
            Token::Symbol("false") => self.constant(Datum::FALSE),
            Token::Variable(name) => {
                let slot = self.symbols.intern(name);
                self.code.push(Op::Load(slot));
                Ok(())
            }
            Token::Symbol("(") => {
                self.expression(Level::Or)?;
                self.expect(Token::Symbol(")"))
            }
            Token::Symbol("+") => self.expression(Level::Unary),
            Token::Symbol("-") if self.peek()? == Token::LowestMagnitude => {
                self.peeked = None;
                self.constant(Datum::int(i64::MIN))
            }
            // −x is 0 − x, so that −0.0 is a positive zero; ~x is −1 # x, with the precedence of #.
            Token::Symbol("-") => self.prefix(Datum::int(0), Binary::Subtract, Level::Unary),
            Token::Symbol("~") => self.prefix(Datum::int(-1), Binary::BitXor, Level::Bits.tighter()),
            Token::Symbol("not") => {
                self.expression(Level::Not)?;
                self.code.push(Op::Not);
                Ok(())
            }
            Token::Symbol("case") => self.case(),
            Token::Word(name) => match FunctionId::find(name, self.dialect) {
                Some(function) => self.call(function),
                None => Err(ParseErrorKind::UnknownFunction(shown(name))),
            },
            Token::Text(_) => Err(STRING_NOT_ALONE.into()),
            Token::LowestMagnitude | Token::Symbol(_) | Token::End => Err(SYNTAX_ERROR.into()),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it ends the arms of `operand`")]
    fn constant(&mut self, value: Datum) -> Parsed {
        self.code.push(Op::Push(value));
        Ok(())
    }

    /// A prefix operator as a binary one with `left` as its left operand.
    fn prefix(&mut self, left: Datum, binary: Binary, level: Level) -> Parsed {
        let start = self.code.len();
        self.code.push(Op::Push(left));
        self.expression(level)?;
        self.binary(binary, start, start + 1);
        Ok(())
    }

    /// The part after CASE: WHEN condition THEN value, once or more; ELSE value, NULL if missing; END.
    fn case(&mut self) -> Parsed {
        self.expect(Token::Symbol("when"))?;
        let mut to_the_end = Vec::new();
        loop {
            self.expression(Level::Or)?;
            self.expect(Token::Symbol("then"))?;
            let condition = self.code.len();
            self.code.push(Op::Jump { skip: 0 });
            self.expression(Level::Or)?;
            to_the_end.push(self.code.len());
            self.code.push(Op::Jump { skip: 0 });
            self.code[condition] = Op::JumpUnless { skip: self.distance(condition)? };
            if !self.accept(Token::Symbol("when"))? {
                break;
            }
        }
        if self.accept(Token::Symbol("else"))? {
            self.expression(Level::Or)?;
        } else {
            self.code.push(Op::Push(Datum::NULL));
        }
        self.expect(Token::Symbol("end"))?;
        for jump in to_the_end {
            self.code[jump] = Op::Jump { skip: self.distance(jump)? };
        }
        Ok(())
    }

    /// The parenthesized arguments after a function's name.
    fn call(&mut self, function: FunctionId) -> Parsed {
        self.expect(Token::Symbol("("))?;
        let begin = self.code.len();
        let mut first_end = begin;
        let mut written = 0;
        if !self.accept(Token::Symbol(")"))? {
            // As in pgbench, a comma is allowed before the first argument.
            self.accept(Token::Symbol(","))?;
            loop {
                let start = self.code.len();
                self.expression(Level::Or)?;
                written += 1;
                if written == 1 {
                    first_end = self.code.len();
                }
                // Excess arguments are parsed but never evaluated.
                if written == ARGUMENTS_MAX + 1 {
                    self.code.truncate(start);
                    self.code.push(Op::TooManyArguments);
                } else if written > ARGUMENTS_MAX {
                    self.code.truncate(start);
                }
                if !self.accept(Token::Symbol(","))? {
                    break;
                }
            }
            self.expect(Token::Symbol(")"))?;
        }
        let arguments = self.check_arity(function, written)?;
        let first = single(&self.code[begin..first_end]).and_then(small_int);
        if let Some(low) = first.filter(|_| function == FunctionId::RANDOM) {
            // A constant has no side effects and cannot fail, so it need not be evaluated first.
            self.code.remove(begin);
            self.draw_from(low, begin);
            return Ok(());
        }
        self.code.push(Op::Call { function, arguments });
        Ok(())
    }

    /// `random(low, …)`, with an upper bound computed by the code from `begin` on.
    fn draw_from(&mut self, low: i32, begin: usize) {
        let at_once = match self.code[begin..] {
            [high @ Op::Push(_)] => {
                small_int(high).filter(|&high| low <= high).map(|high| Op::RandomBetween { low, high })
            }
            [Op::Load(scale), Op::MultiplyInt(factor)] => Some(Op::RandomScaled { low, factor, scale }),
            _ => None,
        };
        if at_once.is_some() {
            self.code.truncate(begin);
        }
        self.code.push(at_once.unwrap_or(Op::RandomFrom { low }));
    }

    /// Number of arguments on the stack, including a default seed and a time.
    fn check_arity(&mut self, function: FunctionId, written: usize) -> Result<u8, ParseErrorKind> {
        let Function { name, arity, .. } = *function.function();
        let on_stack = match arity {
            Arity::Exactly(count) if written == count => written,
            Arity::AtLeastOne if written > 0 => written.min(ARGUMENTS_MAX),
            Arity::AtLeastOne => return Err(format!("at least one argument expected ({name})").into()),
            Arity::AndSeed(count) if written == count + 1 => written,
            Arity::AndSeed(count) if written == count => self.load(DEFAULT_SEED, written),
            Arity::AndTime(count) if written == count => self.load(TRANSACTION_TIME, written),
            Arity::Exactly(_) | Arity::AndSeed(_) | Arity::AndTime(_) => return Err(argument_count(name)),
        };
        Ok(u8::try_from(on_stack).expect("at most sixteen"))
    }

    /// Adds a variable to the arguments; returns their number.
    fn load(&mut self, variable: &str, written: usize) -> usize {
        let slot = self.symbols.intern(variable);
        self.code.push(Op::Load(slot));
        written + 1
    }
}

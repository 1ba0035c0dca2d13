//! Values of the language and the rules that turn one type into another. Text is not a type: a variable set from
//! text is typed when an expression asks (see `variables`). Used by the evaluator and the variables.


/// A typed value.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// true or false.
    Boolean(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A binary64 number.
    Double(f64),
}

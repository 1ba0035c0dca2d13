//! Expressions and scripts from a seed, for the comparison of drawn values: every operator and function, with
//! constants that are rather small, so that most can be evaluated; the wild ones mix types as they come.

/// What scripts of this file expect by `-D`, each of another kind.
pub(crate) const DEFINED: [&str; 12] = [
    "whole=37",
    "negative=-12",
    "fraction=2.75",
    "huge=9223372036854775807",
    "yes=yes",
    "off=OFF",
    "truth=tRu",
    "nothing=Null",
    "infinite=inf",
    "hex=0x1.8p3",
    "padded= 42",
    "word=abc",
];

const WHOLE: [&str; 4] = [":whole", ":negative", ":client_id", ":scale"];
const ANY: [&str; 11] = [
    ":whole",
    ":fraction",
    ":huge",
    ":yes",
    ":off",
    ":truth",
    ":nothing",
    ":infinite",
    ":hex",
    ":padded",
    ":word",
];

/// Where the choices come from: a generator of its own, so that no fault of ours repeats in it.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let index = self.roll(from.len() as u64);
        from[usize::try_from(index).expect("it is an index")]
    }

    /// A keyword or a name, in a case of its own.
    fn cased(&mut self, word: &str) -> String {
        match self.roll(6) {
            0 => word.to_ascii_uppercase(),
            1 => word[..1].to_ascii_uppercase() + &word[1..],
            _ => word.to_owned(),
        }
    }

    /// Two operands around an operator, with parentheses or without.
    fn around(&mut self, left: String, operator: &str, right: String) -> String {
        let operator = if operator.as_bytes()[0].is_ascii_alphabetic() {
            self.cased(operator)
        } else {
            operator.to_owned()
        };
        match self.roll(4) {
            0 => format!("{left} {operator} {right}"),
            1 if !operator.as_bytes()[0].is_ascii_alphabetic() => format!("({left}){operator}({right})"),
            _ => format!("({left} {operator} {right})"),
        }
    }

    fn call(&mut self, name: &str, arguments: &[String]) -> String {
        let name = self.cased(name);
        let comma = self.pick(&[",", ", ", " , "]);
        format!("{name}({})", arguments.join(comma))
    }

    /// Bounds of a random function, low and high, and its parameter.
    fn bounds(&mut self, depth: u32, parameter: &str) -> Vec<String> {
        let low = i64::try_from(self.roll(2000)).expect("small") - 1000;
        let high = low + i64::try_from(self.roll(100_000)).expect("small");
        let mut bounds = if depth > 0 && self.roll(3) == 0 {
            let (one, other) = (self.tame(depth - 1), self.tame(depth - 1));
            vec![self.call("least", &[one.clone(), other.clone()]), self.call("greatest", &[one, other])]
        } else {
            vec![low.to_string(), high.to_string()]
        };
        if !parameter.is_empty() {
            bounds.push(parameter.to_owned());
        }
        bounds
    }

    /// An integer of moderate size.
    fn tame(&mut self, depth: u32) -> String {
        let inner = self.whole(depth);
        format!("({inner}) % {}", 1 + self.roll(5000))
    }

    /// An integer.
    pub(crate) fn whole(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.roll(3) {
                0 => self.pick(&WHOLE).to_owned(),
                _ => self.roll(1000).to_string(),
            };
        }
        let depth = depth - 1;
        match self.roll(20) {
            0..=3 => {
                let operator = self.pick(&["+", "-", "*", "&", "|", "#", "<<", ">>"]);
                let (left, right) = (self.tame(depth), self.tame(depth));
                self.around(format!("({left})"), operator, format!("({right})"))
            }
            4 => {
                let (left, right) = (self.whole(depth), 1 + self.roll(50));
                let operator = self.pick(&["/", "%"]);
                self.around(left, operator, right.to_string())
            }
            5 => format!("{}({})", self.pick(&["- ", "+", "~", "-"]), self.tame(depth)),
            6 => {
                let name = self.pick(&["greatest", "least"]);
                let arguments: Vec<String> = (0..1 + self.roll(4)).map(|_| self.whole(depth)).collect();
                self.call(name, &arguments)
            }
            7 | 8 => {
                let name = self.pick(&["hash", "hash_murmur2", "hash_fnv1a"]);
                let mut arguments = vec![self.whole(depth)];
                if self.roll(2) == 0 {
                    arguments.push(self.whole(depth));
                }
                self.call(name, &arguments)
            }
            9 => {
                let mut arguments = vec![self.whole(depth), format!("1 + abs({})", self.tame(depth))];
                if self.roll(2) == 0 {
                    arguments.push(self.whole(depth));
                }
                self.call("permute", &arguments)
            }
            10 => {
                let (left, right) = (self.whole(depth), (1 + self.roll(90)).to_string());
                self.call("mod", &[left, right])
            }
            11 => {
                let (condition, one, other) = (self.truth(depth), self.whole(depth), self.whole(depth));
                let more = if self.roll(2) == 0 {
                    format!("when {} then {} ", self.truth(0), self.whole(0))
                } else {
                    String::new()
                };
                format!("case when {condition} then {one} {more}{} {other} end", self.cased("else"))
            }
            12 => {
                let inner = self.tame(depth);
                let name = self.pick(&["abs", "debug", "int"]);
                self.call(name, &[inner])
            }
            _ => self.draw(depth),
        }
    }

    /// A random function.
    fn draw(&mut self, depth: u32) -> String {
        let hundredths = self.roll(900);
        let parameter =
            |base: f64| format!("{:.2}", base + f64::from(u32::try_from(hundredths).expect("small")) / 100.0);
        let (name, parameter) = match self.roll(4) {
            0 => ("random", String::new()),
            1 => ("random_gaussian", parameter(2.0)),
            2 => ("random_exponential", parameter(0.01)),
            _ => ("random_zipfian", parameter(1.01)),
        };
        let bounds = self.bounds(depth, &parameter);
        self.call(name, &bounds)
    }

    /// A fraction.
    pub(crate) fn fraction(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.roll(4) {
                0 => self.pick(&[":fraction", ":hex", "pi()"]).to_owned(),
                1 => self.pick(&["1.", ".5", "1e3", "1.5E-2", "0.1", "3e-7", "123456.789"]).to_owned(),
                _ => format!("{}.{}", self.roll(100), self.roll(1000)),
            };
        }
        let depth = depth - 1;
        match self.roll(9) {
            0 | 1 => {
                let (left, right) = (self.fraction(depth), self.fraction(depth));
                let operator = self.pick(&["+", "-", "*", "/"]);
                self.around(left, operator, right)
            }
            2 => {
                let (left, right) = (self.fraction(depth), self.tame(depth));
                let operator = self.pick(&["+", "-", "*", "/"]);
                self.around(left, operator, format!("({right})"))
            }
            3 => {
                let exponent = format!("({}) / 500.0", self.tame(depth));
                self.call("exp", &[exponent])
            }
            4 => {
                let name = self.pick(&["ln", "sqrt"]);
                let inner = self.fraction(depth);
                let inner = self.call("abs", &[inner]);
                self.call(name, &[inner])
            }
            5 => {
                let (base, exponent) = (self.fraction(depth), self.fraction(0));
                let name = self.pick(&["pow", "power"]);
                self.call(name, &[base, exponent])
            }
            6 => {
                let inner = self.whole(depth);
                self.call("double", &[inner])
            }
            7 => {
                let arguments = [self.fraction(depth), self.whole(depth)];
                let name = self.pick(&["greatest", "least"]);
                self.call(name, &arguments)
            }
            _ => format!("-({})", self.fraction(depth)),
        }
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.pick(&["true", "FALSE", ":yes", ":off", ":truth", "null is null"]).to_owned();
        }
        let depth = depth - 1;
        match self.roll(7) {
            0 | 1 => {
                let (left, right) = (self.whole(depth), self.whole(depth));
                let operator = self.pick(&["=", "<>", "!=", "<", "<=", ">", ">="]);
                format!("({left} {operator} ({right}))")
            }
            2 => {
                let (left, right) = (self.fraction(depth), self.whole(depth));
                let operator = self.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("({left} {operator} ({right}))")
            }
            3 | 4 => {
                let (left, right) = (self.truth(depth), self.truth(depth));
                let operator = self.pick(&["and", "or"]);
                self.around(left, operator, right)
            }
            5 => format!("{} ({})", self.cased("not"), self.truth(depth)),
            _ => {
                let inner = if self.roll(2) == 0 { self.whole(depth) } else { self.truth(depth) };
                let test =
                    self.pick(&["is null", "is not null", "is true", "is not FALSE", "ISNULL", "notnull"]);
                format!("(({inner}) {test})")
            }
        }
    }

    /// Whatever comes: types are mixed, and there are few parentheses.
    pub(crate) fn wild(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.roll(6) {
                0 | 1 => self.pick(&ANY).to_owned(),
                2 => self
                    .pick(&[
                        "null",
                        "true",
                        "false",
                        "0",
                        "-1",
                        "9223372036854775807",
                        "1e308",
                        "-9223372036854775808",
                    ])
                    .to_owned(),
                3 => self.fraction(0),
                _ => self.whole(0),
            };
        }
        let depth = depth - 1;
        match self.roll(10) {
            0..=3 => {
                let operators = [
                    "+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "<<", ">>", "&", "|", "#",
                    "and", "or",
                ];
                let operator = self.pick(&operators);
                format!("{} {operator} {}", self.wild(depth), self.wild(depth))
            }
            4 => format!("({})", self.wild(depth)),
            5 => format!("{} {}", self.pick(&["-", "+", "~", "not"]), self.wild(depth)),
            6 => format!(
                "{} {}",
                self.wild(depth),
                self.pick(&["is null", "is not true", "isnull", "notnull", "is false"])
            ),
            7 => {
                let names =
                    ["abs", "debug", "double", "int", "exp", "ln", "sqrt", "hash", "hash_fnv1a", "greatest"];
                let (name, inner) = (self.pick(&names), self.wild(depth));
                self.call(name, &[inner])
            }
            8 => {
                let names = ["mod", "pow", "hash", "least", "permute", "random", "greatest"];
                let (name, one, other) = (self.pick(&names), self.wild(depth), self.wild(depth));
                self.call(name, &[one, other])
            }
            _ => {
                let (condition, one) = (self.wild(depth), self.wild(depth));
                let other =
                    if self.roll(2) == 0 { format!(" else {}", self.wild(depth)) } else { String::new() };
                format!("case when {condition} then {one}{other} end")
            }
        }
    }
}

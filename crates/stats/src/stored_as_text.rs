//! Values that are stored in records as the user writes them: `String` from a value and back, by `Display` and `FromStr`.
//! For `#[serde(try_from = "String", into = "String")]`.

macro_rules! stored_as_text {
    ($($name:ty),+) => { $(
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+ };
}

pub(crate) use stored_as_text;

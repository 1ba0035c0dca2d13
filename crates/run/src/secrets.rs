//! Variables whose values are secret by their names: how they are recorded, and how texts that may quote their values are
//! masked. Which names are secret is decided by `results`.

use std::collections::BTreeMap;

use results::SafeText;

/// Variables as they are recorded: values that are secret by their names, and passwords in values, are masked.
pub fn recorded_variables<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> BTreeMap<String, String> {
    let recorded =
        |(name, value): (&String, &String)| (name.clone(), SafeText::named(name, value).as_str().to_owned());
    variables.into_iter().map(recorded).collect()
}

/// Shorter values occur everywhere, in figures too: masking them would hide nothing and spoil the text.
const SECRET_LENGTH_MIN: usize = 6;

/// The values of variables that are secret by their names, the longest first: another may be a part of it.
pub fn secret_values<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<&'a String> {
    let is_secret = |(name, value): &(&String, &String)| {
        value.len() >= SECRET_LENGTH_MIN && SafeText::named(name, value) == SafeText::masked()
    };
    let mut values: Vec<&String> = variables.into_iter().filter(is_secret).map(|(_, value)| value).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// A text that may quote values of variables, as an error of the server does, with the secret ones masked.
pub fn without_secret_values<'a>(
    text: &str,
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> String {
    secret_values(variables).into_iter().fold(text.to_owned(), |text, value| mask_value(&text, value))
}

/// A text with a secret value masked, in upper and lower case: a server folds names to lower case.
pub fn mask_value(text: &str, value: &str) -> String {
    let (lower, value) = (text.to_ascii_lowercase(), value.to_ascii_lowercase());
    let (mut out, mut shown) = (String::with_capacity(text.len()), 0);
    for (place, found) in lower.match_indices(&value) {
        out.push_str(&text[shown..place]);
        out.push_str(SafeText::masked().as_str());
        shown = place + found.len();
    }
    out + &text[shown..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_values_of_variables_are_not_recorded() {
        let recorded = |name: &str, value: &str| {
            let variable = (name.to_owned(), value.to_owned());
            recorded_variables([(&variable.0, &variable.1)]).remove(name)
        };
        assert_eq!(recorded("scale", "10").as_deref(), Some("10"));
        assert_eq!(recorded("api_Token", "abc").as_deref(), Some("***"));
        assert_eq!(recorded("dsn", "postgresql://u:abc@h/d").as_deref(), Some("postgresql://u:***@h/d"));
    }
}

//! Variables with secret values: how they are recorded, and how they are masked in texts that quote them. `results`
//! decides which names are secret.

use std::collections::BTreeMap;

use results::SafeText;

/// Variables as recorded: values are masked if the name is secret or the value contains a password.
pub fn recorded_variables<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> BTreeMap<String, String> {
    let recorded =
        |(name, value): (&String, &String)| (name.clone(), SafeText::named(name, value).as_str().to_owned());
    variables.into_iter().map(recorded).collect()
}

/// Shorter values occur everywhere, also in numbers; masking them would hide nothing and damage the text.
const SECRET_LENGTH_MIN: usize = 6;

/// The values of variables with secret names, the longest first, because one may contain another.
pub fn secret_values<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<&'a String> {
    let is_secret = |(name, value): &(&String, &String)| {
        value.len() >= SECRET_LENGTH_MIN && SafeText::named(name, value) == SafeText::masked()
    };
    let mut values: Vec<&String> = variables.into_iter().filter(is_secret).map(|(_, value)| value).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// Masks secret values in a text that may quote variables, such as a server error.
pub fn without_secret_values<'a>(
    text: &str,
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> String {
    secret_values(variables).into_iter().fold(text.to_owned(), |text, value| mask_value(&text, value))
}

/// Masks a value in upper and lower case, because a server folds names to lower case.
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

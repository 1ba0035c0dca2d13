//! Replies of a process manager, parsed from lines. They are foreign input: each field is checked when it is used.
//! Called by `job`.

use super::request::Request;
use crate::RanksError;

/// A reply: a command and its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    line: String,
}

impl Reply {
    /// A line as a reply to `request`, which is named in errors.
    ///
    /// # Errors
    /// It does not begin with a command.
    pub fn parse(line: String, request: &'static str) -> Result<Reply, RanksError> {
        let reply = Reply { line };
        if reply.line.starts_with("cmd=") && !reply.command().is_empty() {
            return Ok(reply);
        }
        let shown: String = reply.line.chars().take(80).collect();
        Err(RanksError::Protocol { request, problem: format!("\"{shown}\" does not begin with cmd=") })
    }

    /// Its command.
    pub fn command(&self) -> &str {
        self.field("cmd").unwrap_or_default()
    }

    /// A field's value: all up to the next space.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Whether the request succeeded. Hydra sends a code; Slurm sends only a word in replies about names.
    pub fn is_success(&self) -> bool {
        self.field("rc").is_none_or(|code| code == "0") && self.field("info").is_none_or(|info| info == "ok")
    }

    /// Checks that it answers `request` and reports success.
    ///
    /// # Errors
    /// It is another request's reply, or a refusal.
    pub fn expect(&self, request: &Request<'_>) -> Result<(), RanksError> {
        let command = request.command();
        if Some(self.command()) != request.reply() {
            let problem = format!("it is \"{}\"", self.command());
            return Err(RanksError::Protocol { request: command, problem });
        }
        if self.is_success() {
            return Ok(());
        }
        let words =
            ["rc", "info", "msg", "errmsg"].map(|name| self.field(name).map(|text| format!("{name}={text}")));
        let reason = words.into_iter().flatten().collect::<Vec<String>>().join(" ");
        Err(RanksError::Refused { request: command, reason })
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn require(&self, name: &str, request: &'static str) -> Result<&str, RanksError> {
        let problem = || format!("{} has no field {name}", self.command());
        self.field(name).ok_or_else(|| RanksError::Protocol { request, problem: problem() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::Lines;

    fn check(line: &str, request: Request<'_>, expected: Result<(), &str>) {
        let outcome =
            Reply::parse(line.to_owned(), request.command()).and_then(|reply| reply.expect(&request));
        let expected = expected.map_err(|text| format!("the process manager{text}"));
        assert_eq!(outcome.map_err(|error| error.to_string()), expected, "{line}");
    }

    #[test]
    fn success_is_a_code_of_zero_or_the_word_ok() {
        let publish = Request::Publish { name: "a", value: "b" };
        for line in [
            "cmd=publish_result info=ok rc=0 msg=success",
            "cmd=publish_result rc=0",
            "cmd=publish_result info=ok",
        ] {
            check(line, publish, Ok(()));
        }
        check("cmd=barrier_out tag=0", Request::Barrier, Ok(()));
        check("cmd=barrier_out", Request::Barrier, Ok(()));
    }

    #[test]
    fn refusals_show_the_code_and_the_message() {
        check(
            "cmd=publish_result info=ok rc=1 msg=key_already_present",
            Request::Publish { name: "a", value: "b" },
            Err(" refused \"publish_name\": rc=1 info=ok msg=key_already_present"),
        );
        check(
            "cmd=lookup_result info=fail",
            Request::Lookup { name: "a" },
            Err(" refused \"lookup_name\": info=fail"),
        );
    }

    #[test]
    fn other_replies_are_errors() {
        let lookup = Request::Lookup { name: "a" };
        check(
            "cmd=get_result rc=0",
            lookup,
            Err("'s reply to \"lookup_name\" is not PMI-1: it is \"get_result\""),
        );
        check("", lookup, Err("'s reply to \"lookup_name\" is not PMI-1: \"\" does not begin with cmd="));
        check(
            "cmd= rc=0",
            lookup,
            Err("'s reply to \"lookup_name\" is not PMI-1: \"cmd= rc=0\" does not begin with cmd="),
        );
        check(
            "HTTP/1.1 400",
            lookup,
            Err("'s reply to \"lookup_name\" is not PMI-1: \"HTTP/1.1 400\" does not begin with cmd="),
        );
    }

    #[test]
    fn a_field_ends_at_a_space_and_may_contain_an_equals_sign() {
        let reply = Reply::parse("cmd=lookup_result port=1.a+/=b info=ok".to_owned(), "lookup_name").unwrap();
        assert_eq!(reply.field("port"), Some("1.a+/=b"));
        assert_eq!(reply.field("por"), None);
        let missing = reply.require("value", "get").unwrap_err().to_string();
        assert!(missing.ends_with("lookup_result has no field value"), "{missing}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_replies_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut lines = Lines::default();
            lines.push(b"cmd=");
            lines.push(&bytes);
            while let Ok(Some(line)) = lines.next("get") {
                if let Ok(reply) = Reply::parse(line, "get") {
                    let request = Request::EndedProcesses { job_name: "kvs" };
                    let matches = reply.command() == "get_result" && reply.is_success();
                    prop_assert_eq!(reply.expect(&request).is_ok(), matches);
                }
            }
        }
    }
}

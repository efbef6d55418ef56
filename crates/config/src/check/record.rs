//! Whether the record can be signed, and its end sent.

use super::{Check, is_http};
use crate::RecordKey;

impl Check<'_> {
    pub(super) fn record(&mut self, is_set: &dyn Fn(&str) -> bool) {
        let record = &self.config.record;
        if let Some(RecordKey::Env(name)) = &record.key
            && !is_set(name)
        {
            self.wrong(
                &["record", "key", "env"],
                format!("the environment variable `{name}` is not set"),
                "set it to the signing key, or keep the key in a file: `key: { file: PATH }`",
            );
        }
        let Some(ship) = &record.ship else { return };
        if ship.file.is_none() && ship.webhook.is_none() && ship.syslog.is_none() {
            self.wrong(
                &["record", "ship"],
                "names no destination",
                "add `file`, `webhook` or `syslog`",
            );
        }
        if ship.every.get().is_zero() {
            self.wrong(
                &["record", "ship", "every"],
                "must be greater than zero",
                "use at least `1s`",
            );
        }
        if let Some(url) = &ship.webhook
            && !is_http(url)
        {
            self.wrong(
                &["record", "ship", "webhook"],
                "is not a web address",
                "write `https://HOST/PATH`",
            );
        }
        let is_address = |text: &str| {
            text.rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if let Some(address) = &ship.syslog
            && !is_address(address)
        {
            self.wrong(
                &["record", "ship", "syslog"],
                "is not an address",
                "write `HOST:PORT`, for example `log.example.org:514`",
            );
        }
    }
}

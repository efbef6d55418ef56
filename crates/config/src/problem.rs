//! What is wrong with a configuration, said so that it can be put right.

use std::fmt;
use std::path::PathBuf;

/// A place in the file. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

/// One thing that is wrong, or that is worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where, if it has a place.
    pub place: Option<Place>,
    /// The key, as `models.main.provider`; empty for the file as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        path: impl Into<String>,
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into().filter(|place| place.line > 0),
            path: path.into(),
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{}:{}: ", place.line, place.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is wrong in at least one place.
    #[error("{}", Listed { file, problems })]
    Wrong {
        /// The file.
        file: PathBuf,
        /// Everything that is wrong, in the order of the file.
        problems: Vec<Problem>,
    },
}

impl Error {
    /// Everything that is wrong, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Unreadable { .. } => &[],
            Self::Wrong { problems, .. } => problems,
        }
    }
}

struct Listed<'a> {
    file: &'a PathBuf,
    problems: &'a [Problem],
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let separator = if problem.place.is_some() { ":" } else { ": " };
            write!(f, "{}{separator}{problem}", self.file.display())?;
        }
        Ok(())
    }
}

/// The most similar of several names, if one is similar enough to be a slip of the hand.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    names
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| {
            let longest = name.len().max(candidate.len());
            *distance <= longest / 3 || plain(candidate).replace('_', "") == wanted.replace('_', "")
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_hand_is_understood_and_a_guess_is_not_made() {
        let names = ["max_iterations", "model", "tools", "instructions"];
        for (written, expected) in [
            ("max_iteration", Some("max_iterations")),
            ("maxIterations", Some("max_iterations")),
            ("max-iterations", Some("max_iterations")),
            ("modle", Some("model")),
            ("tool", Some("tools")),
            ("colour", None),
        ] {
            assert_eq!(nearest(written, names), expected, "{written}");
        }
    }
}

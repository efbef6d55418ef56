//! What can be asked of Prometheus.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Prometheus;
use super::value::{Answer, Found, Labels, Range, Sample, Series};
use crate::Error;
use crate::http::segment;

/// An alert, as Prometheus evaluates it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Its labels; `alertname` is one.
    #[serde(default)]
    pub labels: Labels,
    /// What is written about it.
    #[serde(default)]
    pub annotations: Labels,
    /// `firing` or `pending`.
    pub state: String,
    /// Since when.
    #[serde(default, rename = "activeAt")]
    pub active_at: Option<Timestamp>,
    /// The value that made it fire.
    #[serde(default)]
    pub value: String,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it evaluates.
    pub query: String,
    /// `alerting` or `recording`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `ok`, or what is wrong with it.
    #[serde(default)]
    pub health: String,
    /// For an alerting one: `firing`, `pending`, `inactive`.
    #[serde(default)]
    pub state: Option<String>,
    /// What it was evaluated wrong with.
    #[serde(default, rename = "lastError", skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What is written about it.
    #[serde(default)]
    pub annotations: Labels,
}

/// Something that is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its labels: `instance`, `job`.
    #[serde(default)]
    pub labels: Labels,
    /// `up`, `down` or `unknown`.
    pub health: String,
    /// Why it is down.
    #[serde(default, rename = "lastError")]
    pub last_error: String,
    /// When it was looked at last.
    #[serde(default, rename = "lastScrape")]
    pub last_scrape: Option<Timestamp>,
}

impl Prometheus {
    /// What is true now, or at another moment.
    pub async fn query(&self, question: &str, at: Option<Timestamp>) -> Result<Answer<Vec<Sample>>, Error> {
        let at = at.map(|at| at.as_second().to_string());
        let mut pairs = vec![("query", question)];
        pairs.extend(at.as_deref().map(|at| ("time", at)));
        let (found, warnings) = self.ask::<Found>("query", &pairs).await?;
        let data = match found {
            Found::Vector(found) => found
                .into_iter()
                .filter_map(|found| {
                    Some(Sample {
                        metric: found.metric,
                        value: found.value?,
                    })
                })
                .collect(),
            Found::Scalar(value) => vec![Sample {
                metric: Labels::new(),
                value,
            }],
            Found::Matrix(_) | Found::String(_) => return Err(self.other_kind()),
        };
        Ok(Answer { data, warnings })
    }

    /// How it was over time.
    pub async fn query_range(&self, question: &str, range: Range) -> Result<Answer<Vec<Series>>, Error> {
        let (from, to) = (
            range.from.as_second().to_string(),
            range.to.as_second().to_string(),
        );
        let step = range.step_seconds.max(1).to_string();
        let pairs = [
            ("query", question),
            ("start", from.as_str()),
            ("end", to.as_str()),
            ("step", step.as_str()),
        ];
        match self.ask::<Found>("query_range", &pairs).await? {
            (Found::Matrix(data), warnings) => Ok(Answer { data, warnings }),
            (Found::Vector(_) | Found::Scalar(_) | Found::String(_), _) => Err(self.other_kind()),
        }
    }

    /// The series that these selectors select, by their labels.
    pub async fn series(&self, selectors: &[&str]) -> Result<Answer<Vec<Labels>>, Error> {
        let pairs: Vec<(&str, &str)> = selectors.iter().map(|selector| ("match[]", *selector)).collect();
        let (data, warnings) = self.ask("series", &pairs).await?;
        Ok(Answer { data, warnings })
    }

    /// The names of all labels.
    pub async fn labels(&self) -> Result<Answer<Vec<String>>, Error> {
        let (data, warnings) = self.get("labels").await?;
        Ok(Answer { data, warnings })
    }

    /// The values that a label has.
    pub async fn label_values(&self, label: &str) -> Result<Answer<Vec<String>>, Error> {
        let path = format!("label/{}/values", segment(label));
        let (data, warnings) = self.get(&path).await?;
        Ok(Answer { data, warnings })
    }

    /// The alerts that fire or are about to.
    pub async fn alerts(&self) -> Result<Vec<Alert>, Error> {
        #[derive(Deserialize)]
        struct Alerts {
            alerts: Vec<Alert>,
        }
        let (found, _) = self.get::<Alerts>("alerts").await?;
        Ok(found.alerts)
    }

    /// The rules of all groups.
    pub async fn rules(&self) -> Result<Vec<Rule>, Error> {
        #[derive(Deserialize)]
        struct Groups {
            groups: Vec<Group>,
        }
        #[derive(Deserialize)]
        struct Group {
            rules: Vec<Rule>,
        }
        let (found, _) = self.get::<Groups>("rules").await?;
        Ok(found.groups.into_iter().flat_map(|group| group.rules).collect())
    }

    /// What is measured, and whether that works.
    pub async fn targets(&self) -> Result<Vec<Target>, Error> {
        #[derive(Deserialize)]
        struct Targets {
            #[serde(rename = "activeTargets")]
            active: Vec<Target>,
        }
        let (found, _) = self.get::<Targets>("targets").await?;
        Ok(found.active)
    }

    fn other_kind(&self) -> Error {
        Error::Protocol {
            connection: self.name().to_owned(),
            message: "it answered with another kind of result than the question has".to_owned(),
        }
    }
}

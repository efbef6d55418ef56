//! Models, and which of them stand in for each other.

use std::collections::{BTreeMap, BTreeSet};

use interlock_model::Provider;

use super::{Check, is_http};
use crate::tree::{Data, Node};

impl Check<'_> {
    pub(super) fn models(&mut self, is_set: &dyn Fn(&str) -> bool) {
        let config = self.config;
        let models = &config.models;
        if let Some(model) = &config.defaults.model {
            self.exists(&["defaults", "model"], model, "model", models.keys());
        } else if models.len() > 1 {
            self.warn(
                &["models"],
                "there are several models and no default one",
                "name one in `defaults.model`, or with --model",
            );
        }
        for (name, model) in models {
            let scripted = model.provider == Provider::Scripted;
            if scripted && model.script.is_none() {
                self.wrong(
                    &["models", name],
                    "a scripted model needs the key `script`",
                    "name the file to play",
                );
            }
            if !scripted && model.script.is_some() {
                self.wrong(
                    &["models", name, "script"],
                    "only a scripted model plays a script",
                    "write `provider: scripted`",
                );
            }
            if !scripted && model.model.trim().is_empty() {
                self.wrong(
                    &["models", name],
                    "needs the key `model`",
                    "give the provider's name for the model",
                );
            }
            if model.provider != Provider::Gemini
                && model.native_tools != interlock_model::NativeTools::default()
            {
                self.wrong(
                    &["models", name, "native_tools"],
                    "only `gemini` has native tools",
                    "leave the key out",
                );
            }
            if let Some(variable) = &model.api_key_env {
                let path = ["models", name.as_str(), "api_key_env"];
                if !is_variable(variable) {
                    self.wrong(
                        &path,
                        "is no name of an environment variable",
                        "put the key into a variable and give its name here",
                    );
                } else if !is_set(variable) {
                    self.warn(
                        &path,
                        format!("the environment variable `{variable}` is not set"),
                        "set it before the model is used",
                    );
                }
            }
            if let Some(url) = text_at(self.tree, &["models", name, "base_url"])
                && !is_http(url)
            {
                self.wrong(
                    &["models", name, "base_url"],
                    "is no address",
                    "begin with `http://` or `https://`",
                );
            }
            self.fallbacks(name);
            // What the room that talks to models says about it. Fallbacks are checked above, with their places.
            let alone = interlock_model::Options {
                fallback: Vec::new(),
                ..model.clone()
            };
            let before = self
                .problems
                .iter()
                .any(|problem| problem.path.starts_with(&format!("models.{name}")));
            if let (false, Err(error)) = (
                before,
                interlock_model::Models::new(BTreeMap::from([(name.clone(), alone)])),
            ) {
                self.problems.push(self.at(&["models", name], error.to_string()));
            }
        }
    }

    fn fallbacks(&mut self, name: &str) {
        let config = self.config;
        let Some(model) = config.models.get(name) else {
            return;
        };
        let mut seen = BTreeSet::new();
        for (index, other) in model.fallback.iter().enumerate() {
            let index = index.to_string();
            let path = ["models", name, "fallback", index.as_str()];
            if other == name {
                self.wrong(&path, "a model cannot stand in for itself", "remove it");
            } else if !seen.insert(other) {
                self.wrong(&path, format!("`{other}` is listed twice"), "remove one");
            } else {
                self.exists(&path, other, "model", config.models.keys());
                if let Some(fallback) = config
                    .models
                    .get(other)
                    .filter(|fallback| fallback.dialect() != model.dialect())
                {
                    let message = format!(
                        "`{other}` writes `{}` and `{name}` writes `{}`",
                        fallback.dialect(),
                        model.dialect()
                    );
                    self.wrong(
                        &path,
                        message,
                        "give both the same `dialect`: a conversation cannot change it",
                    );
                }
                if leads_back(&config.models, other, name) {
                    self.wrong(
                        &path,
                        format!("`{other}` falls back to `{name}` in turn"),
                        "remove one of the two",
                    );
                }
            }
        }
    }
}

/// Whether falling back from a model leads to another.
fn leads_back(models: &BTreeMap<String, interlock_model::Options>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(name) = next.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            next.extend(
                models
                    .get(name)
                    .into_iter()
                    .flat_map(|model| model.fallback.iter().map(String::as_str)),
            );
        }
    }
    false
}

fn text_at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    match (&node.data, path.split_first()) {
        (Data::Text(text), None) => Some(&text.value),
        (Data::Map(entries), Some((first, rest))) => {
            let (_, value) = entries.iter().find(|(name, _)| name.text == *first)?;
            text_at(value, rest)
        }
        _ => None,
    }
}

pub(super) fn is_variable(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

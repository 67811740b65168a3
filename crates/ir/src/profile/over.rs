//! One profile over another: what the first does not know is the second's.

use super::Profile;
use super::edit::{EditError, fact};
use toml::{Table, Value};

impl Profile {
    /// This profile, whose unknown facts are those of another one, with that one's name before their sources; so is its architecture.
    ///
    /// # Errors
    /// [`EditError`] where the two are no profile together, which two that were read always are.
    pub fn over(&self, base: &Self) -> Result<Self, EditError> {
        let refuse = |why: String| EditError::Value { key: self.name.clone(), value: base.name.clone(), why };
        let mut own = self.tree().map_err(refuse)?;
        let mut behind = base.tree().map_err(refuse)?;
        for (path, _) in base.facts() {
            let Some(theirs) = fact(&mut behind, &path).filter(|fact| !fact.contains_key("unknown")) else { continue };
            let Some(ours) = fact(&mut own, &path).filter(|fact| fact.contains_key("unknown")) else { continue };
            *ours = marked(theirs, &base.name);
        }
        let mut profile: Self = Value::Table(own).try_into().map_err(|error: toml::de::Error| refuse(error.message().to_owned()))?;
        profile.architecture = profile.architecture.or_else(|| base.architecture.clone());
        Ok(profile)
    }
}

/// A fact that says whose it is.
fn marked(fact: &Table, name: &str) -> Table {
    let of = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("cite" | "absent", Value::String(said)) => Value::String(format!("{name}: {said}")),
            (_, Value::Array(claims)) if key == "alternatives" => {
                let of = |claim: &Value| claim.as_table().map_or_else(|| claim.clone(), |claim| Value::Table(marked(claim, name)));
                Value::Array(claims.iter().map(of).collect())
            }
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    fact.iter().map(of).collect()
}

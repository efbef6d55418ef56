//! Templates of Go, as `docker inspect --format` takes them: which fields do they show?

/// Fields that hold the environment, alone or in what lies below them.
const WHOLE: &[&str] = &[
    "Config",
    "ContainerConfig",
    "ProcessConfig",
    "Spec",
    "Spec.TaskTemplate",
    "Spec.TaskTemplate.ContainerSpec",
    "PreviousSpec",
    "PreviousSpec.TaskTemplate",
    "PreviousSpec.TaskTemplate.ContainerSpec",
    "Settings",
    "Spec.Process",
    "spec",
    "process",
    "info",
    "status",
];

/// Whether a template asks for fields by their names, and for none that holds an environment or what it was started with. A
/// template that is not understood does not.
pub(super) fn asks_for_named_fields(template: &str) -> bool {
    let mut rest = template;
    let mut actions = 0;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((action, after)) = after.split_once("}}") else {
            return false;
        };
        actions += 1;
        if !action_is_named(action) {
            return false;
        }
        rest = after;
    }
    // Without an action it is the name of a format: `json` shows everything.
    actions > 0
}

fn action_is_named(action: &str) -> bool {
    // Texts between quotes are no fields, but `index . "Config"` has a dot that stands alone.
    let mut bare = String::new();
    for (at, piece) in action.split('"').enumerate() {
        if at % 2 == 0 {
            bare.push_str(piece);
            bare.push(' ');
        }
    }
    if action.matches('"').count() % 2 == 1 || bare.contains(['`', '\'']) {
        return false;
    }
    let end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$'));
    bare.split(end).filter(|word| !word.is_empty()).all(|word| {
        let Some(dot) = word.find('.') else {
            // A function, a variable of the template, or everything: `$`.
            return word != "$";
        };
        // A variable could be anything that holds more: `$c.Env`, and `$x.Config` as well.
        let path = &word[dot + 1..];
        let lower = path.to_ascii_lowercase();
        !path.is_empty()
            && !WHOLE.contains(&path)
            && !["env", "createcommand", "secret", "password", "data"]
                .iter()
                .any(|name| lower.split('.').any(|part| part.starts_with(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::asks_for_named_fields;

    #[test]
    fn only_templates_that_name_harmless_fields_are_harmless() {
        for fine in [
            "{{.State.Status}}",
            "{{json .State}}",
            "{{json .HostConfig}} {{.Name}}",
            "{{range .Mounts}}{{.Source}} -> {{.Destination}}{{println}}{{end}}",
            "{{range $k, $v := .NetworkSettings.Networks}}{{$k}} {{$v.IPAddress}}{{end}}",
            "{{index .Config.Labels \"com.docker.compose.project\"}}",
            "{{.Config.Image}}",
            "{{if eq .State.Running true}}up{{else}}down{{end}}",
            "{{(index (index .NetworkSettings.Ports \"80/tcp\") 0).HostPort}}",
            "{{.Spec.Mode.Replicated.Replicas}}",
        ] {
            assert!(asks_for_named_fields(fine), "{fine}");
        }
        for shows in [
            "{{.Config.Env}}",
            "{{json .Config}}",
            "{{json .}}",
            "{{.}}",
            "{{$}}",
            "{{range .Config.Env}}{{println .}}{{end}}",
            "{{index .Config \"Env\"}}",
            "{{index . \"Config\"}}",
            "{{with .Config}}{{.Env}}{{end}}",
            "{{$c := .Config}}{{json $c}}",
            "{{.Spec.TaskTemplate.ContainerSpec}}",
            "{{.Spec.TaskTemplate.ContainerSpec.Env}}",
            "{{.Config.CreateCommand}}",
            "{{index .Config `Env`}}",
            "json",
            "",
            "{{.State.Status",
        ] {
            assert!(!asks_for_named_fields(shows), "{shows}");
        }
    }
}

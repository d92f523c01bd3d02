//! Efforts of reasoning that templates read, refuse, or write as they are.

use crate::common::format;

/// The efforts that a template takes which begins with `head`, each with what it makes of it.
fn taken(head: &str) -> (Option<String>, Vec<(&'static str, String)>) {
    let format = format(&format!("{head}{{% for m in messages %}}{{{{ m.content }}}}{{% endfor %}}"));
    let efforts = format.efforts();
    (efforts.unset.clone(), efforts.taken.clone())
}

fn names(taken: &[(&'static str, String)]) -> Vec<&'static str> {
    taken.iter().map(|(effort, _)| *effort).collect()
}

#[test]
fn a_template_that_reads_no_effort_takes_all() {
    let (unset, all) = taken("{% if enable_thinking is defined and not enable_thinking %}off{% endif %}");
    assert_eq!(names(&all), prompt::EFFORTS);
    assert_eq!(unset.as_deref(), Some("q z"));
    assert!(all.iter().all(|(effort, prompt)| prompt == if *effort == "none" { "offq z" } else { "q z" }));
}

#[test]
fn efforts_that_the_template_refuses_are_left_out() {
    let known = "(reasoning_effort or 'high') not in ['none', 'high']";
    let (unset, some) = taken(&format!(
        "{{% if {known} %}}{{{{ raise_exception('no') }}}}{{% endif %}}{{{{ reasoning_effort }}}}"
    ));
    assert_eq!(some, [("none", "noneq z".to_owned()), ("high", "highq z".to_owned())]);
    assert_eq!(unset.as_deref(), Some("q z"));
}

#[test]
fn of_efforts_that_are_written_as_they_are_the_usual_ones_stay() {
    let (unset, usual) = taken("Reasoning: {{ reasoning_effort or 'medium' }}");
    assert_eq!(names(&usual), ["low", "medium", "high"]);
    assert_eq!(unset.as_deref(), Some("Reasoning: mediumq z"));
    let (_, with_off) =
        taken("{{ 'off' if enable_thinking is defined and not enable_thinking else reasoning_effort }}");
    assert_eq!(names(&with_off), ["none", "low", "medium", "high"]);
}

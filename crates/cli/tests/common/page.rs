//! Pages as tests read them.

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;
use std::collections::BTreeMap;

/// Well-formed.
pub fn parsed(html: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(html, options).unwrap_or_else(|error| panic!("{error}"))
}

/// All text in it.
pub fn words(node: Node) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect::<Vec<_>>().join(" ")
}

/// Nothing is fetched, and every number is one of these figures. How many there are, by figure.
pub fn sound(html: &str, figures: &Value) -> BTreeMap<String, usize> {
    let document = parsed(html);
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "embed", "base", "use", "image"].contains(&name), "{name}");
        for attribute in node.attributes() {
            assert!(!["src", "href", "srcset", "action", "background"].contains(&attribute.name()), "{name} {}", attribute.name());
            assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
        }
    }
    let style = words(document.descendants().find(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", "style"))).expect("a style"));
    assert!(!style.contains("url(") && !style.contains("@import"), "{style}");
    let mut found = BTreeMap::new();
    for node in document.descendants() {
        let Some(place) = node.attribute("data-at") else { continue };
        // Read as the JSON is: its parser may be off in the last bit.
        let number: f64 = node.attribute("data-value").and_then(|value| serde_json::from_str(value).ok()).expect("a number");
        let value = figures.pointer(place).unwrap_or_else(|| panic!("{place}"));
        assert_eq!(value.as_f64(), Some(number), "{place}");
        *found.entry(place.split('/').nth(1).unwrap_or_default().to_owned()).or_default() += 1;
    }
    found
}

//! The members of the workspace and what they depend on, as `cargo metadata` tells it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    /// Its name without the prefix `flugs-`.
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) folder: PathBuf,
    /// Names of the packages that it is built with. Those of its tests do not count.
    pub(crate) dependencies: Vec<String>,
}

impl Crate {
    /// Examples stand above everything and in no table.
    pub(crate) fn is_example(&self) -> bool {
        self.folder.parent().is_some_and(|parent| parent.ends_with("examples"))
    }

    pub(crate) fn inherits_lints(&self) -> bool {
        let path = self.folder.join("Cargo.toml");
        let manifest = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
        lines.find(|line| !line.is_empty()) == Some("workspace = true")
    }
}

/// The members of the workspace at `root`.
pub(crate) fn members(root: &Path) -> Vec<Crate> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    list(&metadata["packages"]).iter().map(member).collect()
}

fn member(package: &Value) -> Crate {
    let name = text(&package["name"]);
    let folder = Path::new(text(&package["manifest_path"])).parent().expect("a manifest lies in a folder");
    let built_with = |dependency: &&Value| dependency["kind"] != "dev";
    let dependencies = list(&package["dependencies"]).iter().filter(built_with);
    Crate {
        name: name.strip_prefix("flugs-").unwrap_or(name).to_owned(),
        package: name.to_owned(),
        folder: folder.to_owned(),
        dependencies: dependencies.map(|dependency| text(&dependency["name"]).to_owned()).collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("cargo metadata has a list here")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has text here")
}

//! `warpsight man`: the manual, made from the same text as `--help`.

use crate::failure::Failure;
use crate::report::out;
use clap::Command;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Print the manual page of the command, or write a page for every verb into a folder.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Folder for warpsight.1, warpsight-optimize.1 and so on; without it the first page is printed.
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  Read the first page:
    warpsight man | man -l -
  All pages where `man warpsight-predict` finds them:
    warpsight man ~/.local/share/man/man1";

/// Runs the verb.
pub fn run(args: &Args, mut command: Command) -> Result<(), Failure> {
    // Gives verbs of verbs their whole names.
    command.build();
    let Some(dir) = &args.dir else { return out(String::from_utf8_lossy(&page(command)?.1).trim_end()) };
    warpsight_files::make_folder(dir)?;
    let mut count = 0;
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help").cloned());
        let (name, text) = page(command)?;
        warpsight_files::write(&dir.join(name), &text)?;
        count += 1;
    }
    out(format_args!("{count} pages in {}", dir.display()))
}

/// A command's page and the name of its file.
fn page(command: Command) -> Result<(String, Vec<u8>), Failure> {
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text).map_err(|e| Failure::io(Path::new("manual"), &e))?;
    Ok((page.get_filename(), text))
}

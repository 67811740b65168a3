//! Finding and calling NVRTC and `ptxas`: CUDA C++ to machine code, on machines without a GPU too.
//!
//! NVRTC makes PTX, `ptxas -v` makes machine code of it and says what the kernel uses. Where there is only NVRTC, it does both.

use super::error::{FILE, ToolkitError, VARIABLE};
use super::nvrtc::{self, Nvrtc, NvrtcError, Outcome};
use super::ptxas;
use crate::cuda::{Arch, Resources};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use warpsight_emit::CUDA_OPTIONS;
use warpsight_ir::Feedback;

/// The compilers that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// The NVRTC library.
    pub nvrtc: PathBuf,
    /// The assembler; `None` where only NVRTC is there.
    pub ptxas: Option<PathBuf>,
    /// Folders with `mma.h` and what it includes.
    pub includes: Vec<PathBuf>,
}

/// What compilation of one kernel gave.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// PTX text.
    pub ptx: String,
    /// Machine code.
    pub cubin: Vec<u8>,
    /// What it uses; `None` where no compiler says.
    pub resources: Option<Resources>,
}

impl Compiled {
    /// What the compiler said, in the words every back end uses.
    pub fn feedback(&self) -> Feedback {
        self.resources.map_or_else(Feedback::default, |r| r.feedback())
    }
}

impl Toolkit {
    /// Looks for the compilers: `WARPSIGHT_CUDA`, and unless that is set `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, Python wheels
    /// (of the virtual environment, `./.venv`, the `python3` on the path, the user, the system), distribution packages, the loader's
    /// path. Headers that are not beside NVRTC are taken from another place of the same major version.
    ///
    /// # Errors
    /// [`ToolkitError::Missing`] says where it was looked for.
    pub fn find() -> Result<Self, ToolkitError> {
        let places = Places::new(&|name| std::env::var_os(name).filter(|v| !v.is_empty()), Path::new("/"));
        if let Some(found) = places.roots.iter().find_map(|root| Self::under(root)) {
            return Ok(found.completed(&places.roots));
        }
        let by_name = |name: &&&str| places.loader && nvrtc::load(Path::new(name)).is_ok();
        match LIBRARIES.iter().find(by_name) {
            Some(name) => Ok(Self { nvrtc: name.into(), ptxas: None, includes: vec![] }.completed(&places.roots)),
            None => Err(ToolkitError::Missing { looked: places.describe() }),
        }
    }

    /// With the headers that its own folders lack, from folders of the same major version: PyTorch's wheels bring NVRTC without them.
    fn completed(mut self, roots: &[PathBuf]) -> Self {
        let own = major(&self.nvrtc);
        let elsewhere =
            roots.iter().flat_map(|root| LAYOUTS.iter().flat_map(|layout| layout.includes.iter().map(|folder| root.join(folder))));
        let fitting: Vec<PathBuf> =
            elsewhere.filter(|folder| headers_major(folder).is_none_or(|other| own.is_none_or(|own| own == other))).collect();
        for header in HEADERS {
            let has = |folder: &PathBuf| folder.join(header).is_file();
            if !self.includes.iter().any(has)
                && let Some(folder) = fitting.iter().find(|folder| has(folder))
            {
                self.includes.push(folder.clone());
            }
        }
        self
    }

    /// The compilers in a folder: that of a CUDA toolkit, or `nvidia` of a Python environment. `ptxas` and headers are taken from
    /// there only: those of another version may not understand each other.
    pub fn under(root: &Path) -> Option<Self> {
        LAYOUTS.iter().find_map(|layout| {
            let library = |folder: &&str| LIBRARIES.iter().map(|name| root.join(folder).join(name)).find(|path| path.is_file());
            let nvrtc = layout.libraries.iter().find_map(library)?;
            let assembler = root.join(layout.programs).join("ptxas");
            let includes = layout.includes.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir());
            Some(Self { nvrtc, ptxas: Some(assembler).filter(|path| path.is_file()), includes: includes.collect() })
        })
    }

    /// What compiles, with versions, as samples name it: `NVRTC 13.5, ptxas 13.5.37`.
    ///
    /// # Errors
    /// [`ToolkitError::Call`] where NVRTC cannot be loaded.
    pub fn version(&self) -> Result<String, ToolkitError> {
        let nvrtc = format!("NVRTC {}", nvrtc_version(self.load()?)?);
        Ok(match &self.ptxas {
            Some(path) => format!("{nvrtc}, ptxas {}", ptxas::version(path).unwrap_or_else(|| "of unknown version".to_owned())),
            None => nvrtc,
        })
    }

    /// Whether the library is the stand-in of the tests: what it says is no statement about a GPU.
    ///
    /// # Errors
    /// [`ToolkitError::Call`] where NVRTC cannot be loaded.
    pub fn simulated(&self) -> Result<bool, ToolkitError> {
        Ok(self.load()?.simulated)
    }

    /// Whether code can be made for an architecture.
    ///
    /// # Errors
    /// [`ToolkitError::Architecture`] with those there are; [`ToolkitError::Call`] where NVRTC cannot be loaded.
    pub fn supports(&self, arch: Arch) -> Result<(), ToolkitError> {
        check_arch(self.load()?, arch)
    }

    /// Compiles one kernel, a function `extern "C"` of the text.
    ///
    /// # Errors
    /// [`ToolkitError::Refused`] with the compiler's log, [`ToolkitError::Architecture`], and [`ToolkitError::Call`] where a compiler
    /// cannot be loaded, started, or does not end.
    pub fn compile(&self, text: &str, kernel: &str, arch: Arch) -> Result<Compiled, ToolkitError> {
        let nvrtc = self.load()?;
        check_arch(nvrtc, arch)?;
        let mut options: Vec<String> = CUDA_OPTIONS.map(str::to_owned).into();
        options.extend(self.includes.iter().map(|folder| format!("--include-path={}", folder.display())));
        let Some(assembler) = &self.ptxas else {
            options.push(format!("--gpu-architecture={arch}"));
            let (ptx, cubin, log) = compile(nvrtc, text, kernel, arch, &options, Some("--ptxas-options=-v"))?;
            return Ok(Compiled { ptx, cubin, resources: ptxas::resources(&log, kernel) });
        };
        options.push(format!("--gpu-architecture={}", arch.virtual_name()));
        let (ptx, _, _) = compile(nvrtc, text, kernel, arch, &options, None)?;
        let (cubin, log) = ptxas::assemble(assembler, &ptx, kernel, arch)?;
        Ok(Compiled { ptx, cubin, resources: ptxas::resources(&log, kernel) })
    }

    fn load(&self) -> Result<&'static Nvrtc, ToolkitError> {
        nvrtc::load(&self.nvrtc)
            .map_err(|why| ToolkitError::Call { call: format!("loading `{}`", self.nvrtc.display()), why: why.to_string() })
    }
}

fn call(why: NvrtcError) -> ToolkitError {
    ToolkitError::Call { call: "NVRTC".to_owned(), why: why.to_string() }
}

fn nvrtc_version(nvrtc: &Nvrtc) -> Result<String, ToolkitError> {
    nvrtc.version().map(|(major, minor)| format!("{major}.{minor}")).map_err(call)
}

/// The first capability that has instructions of its own (`sm_90a`).
const FIRST_SPECIFIC: u32 = 90;

fn check_arch(nvrtc: &Nvrtc, arch: Arch) -> Result<(), ToolkitError> {
    let archs = nvrtc.archs().map_err(call)?;
    if archs.contains(&arch.capability) && (!arch.specific || arch.capability >= FIRST_SPECIFIC) {
        return Ok(());
    }
    let name = |&capability: &u32| match capability {
        FIRST_SPECIFIC.. => format!("sm_{capability}[a]"),
        _ => format!("sm_{capability}"),
    };
    Err(ToolkitError::Architecture { arch: arch.to_string(), version: nvrtc_version(nvrtc)?, supported: archs.iter().map(name).collect() })
}

/// PTX, machine code and log. `wish` is an option that older versions do not know: they go without.
fn compile(
    nvrtc: &Nvrtc,
    text: &str,
    kernel: &str,
    arch: Arch,
    options: &[String],
    wish: Option<&str>,
) -> Result<(String, Vec<u8>, String), ToolkitError> {
    let refused = |log: String| ToolkitError::Refused {
        tool: "NVRTC",
        kernel: kernel.to_owned(),
        arch: arch.to_string(),
        log: log.trim().to_owned(),
    };
    let with: Vec<String> = options.iter().cloned().chain(wish.map(str::to_owned)).collect();
    match nvrtc.compile(text, FILE, &with).map_err(call)? {
        Outcome::Done { ptx, cubin, log } => Ok((ptx, cubin, log)),
        Outcome::Option(_) if wish.is_some() => compile(nvrtc, text, kernel, arch, options, None),
        Outcome::Wrong(log) | Outcome::Option(log) => Err(refused(log)),
    }
}

/// Names of the library, newest first.
const LIBRARIES: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];

/// What kernels with matrix tiles include, directly or not.
const HEADERS: [&str; 5] = ["mma.h", "crt/mma.h", "cuda_fp16.h", "cuda_bf16.h", "nv/target"];

/// The major version in a library's name, links followed: 13 of `libnvrtc.so.13.0.48`.
fn major(library: &Path) -> Option<u32> {
    let number = |path: &Path| path.file_name()?.to_str()?.split_once(".so.")?.1.split('.').next()?.parse().ok();
    number(library).or_else(|| number(&std::fs::canonicalize(library).ok()?))
}

/// The major version that headers say they are of; `None` where they do not.
fn headers_major(folder: &Path) -> Option<u32> {
    ["cuda.h", "cuda_runtime_api.h"].iter().find_map(|name| {
        let text = warpsight_files::read_text(&folder.join(name), warpsight_files::TEXT).ok()?;
        let version = text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && matches!(words.next(), Some("CUDA_VERSION" | "CUDART_VERSION"))).then(|| words.next())?
        });
        version?.parse::<u32>().ok().map(|version| version / 1000)
    })
}

/// Where things lie below a root.
struct Layout {
    libraries: &'static [&'static str],
    programs: &'static str,
    includes: &'static [&'static str],
}

const LAYOUTS: [Layout; 3] = [
    // A CUDA toolkit, the folder `cu13` of Python wheels, a Conda environment, a distribution.
    Layout {
        libraries: &[
            "lib64",
            "lib",
            "targets/x86_64-linux/lib",
            "targets/sbsa-linux/lib",
            "lib/x86_64-linux-gnu",
            "lib/aarch64-linux-gnu",
            "",
        ],
        programs: "bin",
        includes: &["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include", "include/cccl"],
    },
    // The folder `nvidia` of Python wheels of CUDA 13, then of CUDA 12 and 11.
    Layout { libraries: &["cu13/lib"], programs: "cu13/bin", includes: &["cu13/include", "cu13/include/cccl"] },
    Layout {
        libraries: &["cuda_nvrtc/lib"],
        programs: "cuda_nvcc/bin",
        includes: &["cuda_runtime/include", "cuda_nvcc/include", "cuda_cccl/include"],
    },
];

/// Where the compilers may be.
struct Places {
    roots: Vec<PathBuf>,
    /// Whether the system's loader may know the library.
    loader: bool,
}

impl Places {
    /// From the environment; absolute places begin at `top`.
    fn new(variable: &dyn Fn(&str) -> Option<OsString>, top: &Path) -> Self {
        if let Some(explicit) = variable(VARIABLE) {
            return Self { roots: vec![explicit.into()], loader: false };
        }
        let named = |name: &str| variable(name).map(PathBuf::from);
        let mut roots: Vec<PathBuf> =
            [named("CUDA_HOME"), named("CUDA_PATH"), Some(top.join("usr/local/cuda"))].into_iter().flatten().collect();
        let local = named("HOME").map(|home| home.join(".local"));
        // A Python that is called by its full name need not be an active environment.
        let path = variable("PATH").unwrap_or_default();
        let python = std::env::split_paths(&path).find(|folder| folder.join("python3").is_file());
        let python = python.and_then(|folder| folder.parent().map(Path::to_owned));
        let environments = [named("VIRTUAL_ENV"), Some(".venv".into()), named("CONDA_PREFIX"), python, local];
        for prefix in environments.into_iter().flatten().chain([top.join("usr/local"), top.join("usr")]) {
            roots.extend(wheels(&prefix));
        }
        roots.extend(named("CONDA_PREFIX"));
        roots.push(top.join("usr"));
        Self { roots, loader: true }
    }

    fn describe(&self) -> Vec<String> {
        let loader = self.loader.then(|| format!("the loader's path for {}", LIBRARIES.join(", ")));
        let wheels = self.loader.then(|| "Python's site-packages/nvidia".to_owned());
        self.roots.iter().map(|root| root.display().to_string()).chain(wheels).chain(loader).collect()
    }
}

/// The folders `nvidia` of the Pythons under a prefix, the newest Python first.
fn wheels(prefix: &Path) -> Vec<PathBuf> {
    let entries = warpsight_files::entries(&prefix.join("lib")).unwrap_or_default().into_iter();
    // `python3.11`: 11 is newer than 9.
    let minor = |name: &str| {
        name.strip_prefix("python3").and_then(|rest| rest.trim_start_matches('.').parse::<u32>().ok().or(rest.is_empty().then_some(0)))
    };
    let mut pythons: Vec<(u32, PathBuf)> = entries.filter_map(|entry| Some((minor(entry.file_name()?.to_str()?)?, entry))).collect();
    pythons.sort();
    let packages =
        pythons.into_iter().rev().flat_map(|(_, python)| ["site-packages", "dist-packages"].map(|p| python.join(p).join("nvidia")));
    packages.filter(|folder| folder.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn touch(path: &Path) -> PathBuf {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        path.to_owned()
    }

    #[test]
    fn the_environment_comes_before_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        touch(&top.join("torch/bin/python3"));
        std::fs::create_dir_all(top.join("torch/lib/python3.12/site-packages/nvidia")).unwrap();
        let wheels = ["env/lib/python3.9/site-packages/nvidia", "env/lib/python3.12/site-packages/nvidia"].map(|p| top.join(p));
        wheels.iter().for_each(|w| std::fs::create_dir_all(w).unwrap());
        std::fs::create_dir_all(top.join("usr/lib/python3/dist-packages/nvidia")).unwrap();
        let places = |variables: &[(&str, &Path)]| {
            let variables: HashMap<&str, OsString> = variables.iter().map(|(name, value)| (*name, (*value).into())).collect();
            Places::new(&|name| variables.get(name).cloned(), top)
        };
        let (home, path) = (top.join("home"), top.join("path"));
        let found = places(&[("CUDA_HOME", &home), ("CUDA_PATH", &path), ("VIRTUAL_ENV", &top.join("env"))]);
        // The newest Python first: 12 is more than 9.
        let first = [home, path, top.join("usr/local/cuda"), wheels[1].clone(), wheels[0].clone()];
        assert_eq!(found.roots[..5], first);
        assert_eq!(found.roots[found.roots.len() - 2..], [top.join("usr/lib/python3/dist-packages/nvidia"), top.join("usr")]);
        assert!(found.loader && found.describe().len() == found.roots.len() + 2);
        // The Python on the path, whichever environment it is of.
        let torch = top.join("torch/lib/python3.12/site-packages/nvidia");
        assert!(places(&[("PATH", &top.join("torch/bin"))]).roots.contains(&torch) && !found.roots.contains(&torch));
        // Who names a folder means it: nothing else is tried.
        let explicit = places(&[(VARIABLE, &top.join("mine")), ("CUDA_HOME", top)]);
        assert_eq!((&explicit.roots[..], explicit.loader), (&[top.join("mine")][..], false));
        assert_eq!(explicit.describe(), [top.join("mine").display().to_string()]);
    }

    #[test]
    fn headers_are_found_elsewhere_in_the_same_version() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str| folder.path().join(name);
        touch(&root("torch/cu13/lib/libnvrtc.so.13"));
        touch(&root("torch/cu13/include/cuda_fp16.h"));
        for (kit, version) in [("old", "12090"), ("new", "13000")] {
            touch(&root(&format!("{kit}/include/mma.h")));
            touch(&root(&format!("{kit}/include/crt/mma.h")));
            std::fs::write(root(&format!("{kit}/include/cuda.h")), format!("/* */\n#define CUDA_VERSION {version}\n")).unwrap();
        }
        touch(&root("new/include/cccl/nv/target"));
        let roots = [root("torch"), root("old"), root("new")];
        let found = Toolkit::under(&roots[0]).unwrap().completed(&roots);
        assert_eq!(found.includes, [root("torch/cu13/include"), root("new/include"), root("new/include/cccl")]);
    }

    #[test]
    fn what_belongs_together_is_taken_together() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str| folder.path().join(name);
        assert_eq!(Toolkit::under(&root("nothing")), None);
        // A toolkit, the newest library of two.
        touch(&root("kit/lib64/libnvrtc.so.12"));
        let nvrtc = touch(&root("kit/lib64/libnvrtc.so.13"));
        let ptxas = Some(touch(&root("kit/bin/ptxas")));
        touch(&root("kit/include/mma.h"));
        assert_eq!(Toolkit::under(&root("kit")), Some(Toolkit { nvrtc, ptxas, includes: vec![root("kit/include")] }));
        // Wheels of CUDA 12, beside an assembler of CUDA 13 that has no NVRTC: it is left alone.
        let nvrtc = touch(&root("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
        touch(&root("nvidia/cu13/bin/ptxas"));
        touch(&root("nvidia/cuda_runtime/include/mma.h"));
        let includes = vec![root("nvidia/cuda_runtime/include")];
        assert_eq!(Toolkit::under(&root("nvidia")), Some(Toolkit { nvrtc, ptxas: None, includes }));
        let nvrtc = touch(&root("nvidia/cu13/lib/libnvrtc.so.13"));
        let ptxas = Some(root("nvidia/cu13/bin/ptxas"));
        assert_eq!(Toolkit::under(&root("nvidia")), Some(Toolkit { nvrtc, ptxas, includes: vec![] }));
    }
}

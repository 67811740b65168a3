// A stand-in for NVRTC: g++ compiles the kernel's text, behind a header that speaks CUDA, into a shared object.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "image.h"

#define API extern "C" __attribute__((visibility("default")))

enum nvrtcResult {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
};

struct Expression {
    std::string text, lowered;
};
struct Program {
    std::string text, name, log, ptx, cubin;
    std::vector<Expression> expressions;
    bool compiled = false;
};
using nvrtcProgram = Program*;

namespace {

struct Kernel {
    std::string name, bounds;
};

const int ARCHS[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

// Text with comments and strings blanked, for the search for kernels.
std::string without_comments(const std::string& text) {
    std::string out = text;
    for (size_t i = 0; i < text.size(); ++i) {
        size_t end = std::string::npos;
        if (text.compare(i, 2, "//") == 0) end = text.find('\n', i);
        else if (text.compare(i, 2, "/*") == 0) end = text.find("*/", i + 2) + 2;
        else continue;
        for (end = std::min(end, text.size()); i < end; ++i)
            if (out[i] != '\n') out[i] = ' ';
        --i;
    }
    return out;
}

// Kernels and the first argument of their launch bounds. Templates are named by expressions instead.
std::vector<Kernel> kernels(const std::string& text) {
    static const std::regex head(R"((template\s*<[^;{}]*>\s*)?(extern\s+"C"\s+)?(static\s+)?__global__\s+)");
    static const std::regex bounds(R"(__launch_bounds__\s*\(([^,()]*(\([^()]*\)[^,()]*)*))");
    static const std::regex name(R"(([A-Za-z_]\w*)\s*\($)");
    std::vector<Kernel> found;
    for (std::sregex_iterator m(text.begin(), text.end(), head), none; m != none; ++m) {
        if ((*m)[1].matched) continue;
        // From `__global__` on, attributes in parentheses aside, the parenthesis that follows a plain name opens the parameters.
        size_t at = size_t(m->position()) + size_t(m->length());
        Kernel k;
        while (at < text.size()) {
            size_t open = text.find('(', at);
            if (open == std::string::npos) break;
            std::string before = text.substr(at, open - at + 1);
            std::smatch n;
            if (!std::regex_search(before, n, name)) break;
            if (n[1].str().rfind("__", 0) != 0) {
                k.name = n[1];
                break;
            }
            int depth = 1;
            size_t close = open + 1;
            for (; close < text.size() && depth; ++close) depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
            if (n[1] == "__launch_bounds__") {
                std::string inside = text.substr(open + 1, close - open - 2);
                int level = 0;
                for (char c : inside) {
                    level += c == '(' ? 1 : c == ')' ? -1 : 0;
                    if (c == ',' && level == 0) break;
                    k.bounds += c;
                }
            }
            at = close;
        }
        bool known = false;
        for (auto& other : found) known |= other.name == k.name;
        if (!k.name.empty() && !known) found.push_back(k);
    }
    return found;
}

// What macros cannot do: unsized shared memory is a pointer, CUDA's own headers are in the host header.
std::string for_host(std::string text) {
    static const std::regex unsized(R"(extern\s+__shared__\s+((?:(?:__align__|alignas|__attribute__)\s*\(+[^()]*\)+\s*)?)([\w:<>,\s]+?)\s+(\w+)\s*\[\s*\]\s*;)");
    static const std::regex redundant(R"(static\s+__shared__)");
    static const std::regex headers(R"(#\s*include\s*<(mma|cuda_fp16|cuda_bf16|cuda_runtime|cooperative_groups|cuda/[\w/]+)(\.h)?>)");
    text = std::regex_replace(text, unsized, "$2* const $3 = reinterpret_cast<$2*>(ws_now->dynamic);");
    text = std::regex_replace(text, redundant, "__shared__");
    return std::regex_replace(text, headers, "");
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// The compiler's `kernel.cu:2:3: error: …` in NVRTC's form, `kernel.cu(2): error: …`.
std::string as_nvrtc(const std::string& log) {
    static const std::regex place(R"(([^\s:]+):(\d+):\d+: (fatal )?error:)");
    return std::regex_replace(log, place, "$1($2): error:");
}

// The folder of this library; the headers lie beside it.
std::string home() {
    Dl_info about{};
    dladdr(reinterpret_cast<void*>(&home), &about);
    std::string path = about.dli_fname ? about.dli_fname : "";
    return path.substr(0, path.rfind('/'));
}

int execute(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments;
    for (auto& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
    arguments.push_back(nullptr);
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        FILE* out = freopen(log.c_str(), "w", stderr);
        // The stand-in's folder is on the loader's path for the sake of the program under test alone.
        unsetenv("LD_LIBRARY_PATH");
        unsetenv("LD_PRELOAD");
        if (out) execvp(arguments[0], arguments.data());
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

nvrtcResult compile(Program& p, const std::string& arch, std::vector<std::string> defines) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary && *temporary ? temporary : "/tmp") + "/warpsight-nvrtc-XXXXXX";
    if (!mkdtemp(folder.data())) return NVRTC_ERROR_INTERNAL_ERROR;
    std::string entries, tail = "\n";
    auto add = [&](const std::string& symbol, const std::string& function, const std::string& bounds) {
        tail += "WS_HOST_KERNEL(" + symbol + ", (" + function + "), (" + (bounds.empty() ? "0" : bounds) + "))\n";
        entries += ".visible .entry " + symbol + "()\n";
    };
    for (auto& k : kernels(without_comments(p.text))) add(k.name, k.name, k.bounds);
    for (size_t i = 0; i < p.expressions.size(); ++i) {
        p.expressions[i].lowered = "ws_expression_" + std::to_string(i);
        // The driver asks for a function of the name too, as it does for kernels.
        tail += "extern \"C\" void ws_expression_" + std::to_string(i) + "() {}\n";
        add(p.expressions[i].lowered, p.expressions[i].text, "");
    }
    std::ofstream(folder + "/kernel.cpp") << "#define WARPSIGHT_HOST 1\n#include \"host.h\"\n#line 1 \"" << p.name << "\"\n"
                                          << for_host(p.text) << "\n#line 1 \"kernels\"\n" << tail;
    std::string capability = std::to_string(std::atoi(arch.c_str()) * 10);
    const char* compiler = std::getenv("CXX");
    std::vector<std::string> words = {compiler && *compiler ? compiler : "g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing",
                                      "-fwrapv", "-fPIC", "-shared", "-w", "-fvisibility=default", "-fno-exceptions", "-U_FORTIFY_SOURCE",
                                      "-fno-stack-protector", "-Wl,-Bsymbolic", "-D__CUDA_ARCH__=" + capability, "-I" + home() + "/include"};
#ifdef __aarch64__
    words.push_back("-mtls-dialect=trad");
#endif
    words.insert(words.end(), defines.begin(), defines.end());
    words.insert(words.end(), {"-o", folder + "/kernel.so", folder + "/kernel.cpp", "-lm"});
    int status = execute(words, folder + "/log");
    p.log = status == 127 ? "the stand-in needs g++, which is not there" : as_nvrtc(read_file(folder + "/log"));
    std::string object = status == 0 ? read_file(folder + "/kernel.so") : "";
    for (const char* file : {"/kernel.cpp", "/kernel.so", "/log"}) unlink((folder + file).c_str());
    rmdir(folder.c_str());
    if (object.empty()) return NVRTC_ERROR_COMPILATION;
    p.ptx = image::ptx(arch, entries, object);
    p.cubin = image::cubin(arch, object);
    p.compiled = true;
    return NVRTC_SUCCESS;
}

// `sm_90a` of `--gpu-architecture=sm_90a`, and so on.
bool architecture(const std::string& option, std::string* arch, bool* real) {
    size_t at = option.find("sm_");
    *real = at != std::string::npos;
    if (!*real && (at = option.find("compute_")) == std::string::npos) return false;
    *arch = option.substr(option.find('_', at) + 1);
    for (int known : ARCHS)
        if (*arch == std::to_string(known) || (known >= 90 && *arch == std::to_string(known) + "a")) return true;
    return false;
}

}  // namespace

// How a program learns that no GPU's machine code comes from here.
API const char* warpsight_simulated_driver() { return "warpsight stand-in for NVRTC"; }

API nvrtcResult nvrtcVersion(int* major, int* minor) {
    if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

API const char* nvrtcGetErrorString(nvrtcResult result) {
    switch (result) {
        case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
        case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
        case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
        case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
        case NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION: return "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
        case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID: return "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
        case NVRTC_ERROR_INTERNAL_ERROR: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
    return "NVRTC_ERROR unknown";
}

API nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    if (!count) return NVRTC_ERROR_INVALID_INPUT;
    *count = int(sizeof ARCHS / sizeof *ARCHS);
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetSupportedArchs(int* archs) {
    if (!archs) return NVRTC_ERROR_INVALID_INPUT;
    std::memcpy(archs, ARCHS, sizeof ARCHS);
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcCreateProgram(nvrtcProgram* out, const char* text, const char* name, int headers, const char* const*, const char* const*) {
    if (!out || !text || headers < 0) return NVRTC_ERROR_INVALID_INPUT;
    *out = new Program{text, name && *name ? name : "default_program", "", "", "", {}, false};
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcDestroyProgram(nvrtcProgram* p) {
    if (!p || !*p) return NVRTC_ERROR_INVALID_PROGRAM;
    delete *p;
    *p = nullptr;
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int count, const char* const* options) {
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    std::string arch = "75";
    bool real = false;
    std::vector<std::string> defines;
    for (int i = 0; i < count; ++i) {
        std::string option = options[i];
        bool names_arch = option.rfind("--gpu-architecture", 0) == 0 || option.rfind("-arch", 0) == 0;
        if (names_arch && option.find('=') == std::string::npos && i + 1 < count) option += std::string("=") + options[++i];
        if (names_arch && !architecture(option, &arch, &real)) {
            p->log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
            return NVRTC_ERROR_INVALID_OPTION;
        }
        if (option.rfind("-D", 0) == 0) defines.push_back(option);
        if (option.rfind("--define-macro=", 0) == 0) defines.push_back("-D" + option.substr(15));
    }
    nvrtcResult result = compile(*p, arch, defines);
    // There is machine code only where a real architecture was named.
    if (!real) p->cubin.clear();
    return result;
}

namespace {
// Sizes of texts count the zero at their end.
nvrtcResult size(nvrtcProgram p, size_t* out, const std::string Program::*part, size_t extra) {
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!out) return NVRTC_ERROR_INVALID_INPUT;
    *out = (p->*part).size() + extra;
    return NVRTC_SUCCESS;
}
nvrtcResult bytes(nvrtcProgram p, char* out, const std::string Program::*part, size_t extra) {
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!out) return NVRTC_ERROR_INVALID_INPUT;
    std::memcpy(out, (p->*part).c_str(), (p->*part).size() + extra);
    return NVRTC_SUCCESS;
}
}  // namespace

API nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t* out) { return size(p, out, &Program::ptx, 1); }
API nvrtcResult nvrtcGetPTX(nvrtcProgram p, char* out) { return bytes(p, out, &Program::ptx, 1); }
API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t* out) { return size(p, out, &Program::cubin, 0); }
API nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char* out) { return bytes(p, out, &Program::cubin, 0); }
API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t* out) { return size(p, out, &Program::log, 1); }
API nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char* out) { return bytes(p, out, &Program::log, 1); }

API nvrtcResult nvrtcAddNameExpression(nvrtcProgram p, const char* expression) {
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!expression) return NVRTC_ERROR_INVALID_INPUT;
    p->expressions.push_back({expression, ""});
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetLoweredName(nvrtcProgram p, const char* expression, const char** out) {
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!p->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    for (auto& e : p->expressions) {
        if (e.text != expression) continue;
        *out = e.lowered.c_str();
        return NVRTC_SUCCESS;
    }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

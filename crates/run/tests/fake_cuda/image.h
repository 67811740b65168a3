// "Machine code": a shared object of the host behind a header that says for which architecture it claims to be made. As PTX it is
// text, the object in hexadecimal digits.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

namespace image {

constexpr char MAGIC[] = "WSCUBIN1";
constexpr char PTX_MAGIC[] = "// warpsight stand-in PTX\n";

struct Header {
    char magic[8];
    char arch[16];  // "90", "90a"
    uint64_t bytes;
};

inline std::string cubin(const std::string& arch, const std::string& object) {
    Header h{};
    std::memcpy(h.magic, MAGIC, 8);
    std::strncpy(h.arch, arch.c_str(), sizeof h.arch - 1);
    h.bytes = object.size();
    return std::string(reinterpret_cast<char*>(&h), sizeof h) + object;
}

inline std::string ptx(const std::string& arch, const std::string& entries, const std::string& object) {
    std::string text = std::string(PTX_MAGIC) + ".version 8.0\n.target sm_" + arch + "\n.address_size 64\n" + entries + "// object ";
    for (unsigned char c : object) {
        text += "0123456789abcdef"[c >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text + "\n";
}

// The object and its architecture; false where this is no such image.
inline bool open(const void* data, std::string* arch, std::string* object, bool* is_ptx) {
    const char* at = static_cast<const char*>(data);
    *is_ptx = std::strncmp(at, PTX_MAGIC, sizeof PTX_MAGIC - 1) == 0;
    if (*is_ptx) {
        const char* target = std::strstr(at, ".target sm_");
        const char* digits = std::strstr(at, "// object ");
        if (!target || !digits) return false;
        target += 11;
        *arch = std::string(target, std::strcspn(target, "\n"));
        auto value = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
        for (digits += 10; digits[0] > '\n' && digits[1] > '\n'; digits += 2) *object += char(value(digits[0]) * 16 + value(digits[1]));
        return true;
    }
    if (std::memcmp(at, MAGIC, 8) != 0) return false;
    Header h;
    std::memcpy(&h, at, sizeof h);
    *arch = h.arch;
    *object = std::string(at + sizeof h, h.bytes);
    return true;
}

}  // namespace image

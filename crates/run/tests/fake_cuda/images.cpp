#include "images.h"

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "driver.h"

struct Array {
    CUDA_ARRAY_DESCRIPTOR about;
    unsigned texel;  // bytes
    std::vector<unsigned char> data;
};

namespace {

// What a texture is of; each is read by a function of its own.
enum Shape { LINE, ONE, TWO };

struct Texture {
    Shape shape;
    const unsigned char* data;
    CUarray_format format;
    unsigned channels;
    size_t width, height, pitch;  // texels, rows, bytes
    CUDA_TEXTURE_DESC how;
};

std::map<CUarray, std::unique_ptr<Array>> arrays;
std::map<unsigned long long, Texture> textures;
std::map<unsigned long long, Array*> surfaces;
unsigned long long next_handle = 0x1000;

unsigned channel_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8: return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF: return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT: return 4;
    }
    return 0;
}

float half_value(uint16_t h) {
    unsigned exponent = h >> 10 & 31, fraction = h & 0x3ff;
    float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? std::ldexp(float(fraction + 1024), int(exponent) - 25)
                                : std::ldexp(float(fraction), -24);
    return h >> 15 ? -size : size;
}

template <class T>
T read(const unsigned char* at) {
    T v;
    std::memcpy(&v, at, sizeof v);
    return v;
}

// One channel; small integers are fractions of their largest value unless read as integers.
void channel(const unsigned char* at, CUarray_format format, bool integer, WsTexel* out, int c) {
    switch (format) {
        case CU_AD_FORMAT_FLOAT: out->f[c] = read<float>(at); break;
        case CU_AD_FORMAT_HALF: out->f[c] = half_value(read<uint16_t>(at)); break;
        case CU_AD_FORMAT_UNSIGNED_INT32: out->u[c] = read<uint32_t>(at); break;
        case CU_AD_FORMAT_SIGNED_INT32: out->i[c] = read<int32_t>(at); break;
        case CU_AD_FORMAT_UNSIGNED_INT8:
            if (integer) out->u[c] = *at;
            else out->f[c] = float(*at) / 255.0f;
            break;
        case CU_AD_FORMAT_SIGNED_INT8:
            if (integer) out->i[c] = read<int8_t>(at);
            else out->f[c] = std::fmax(float(read<int8_t>(at)) / 127.0f, -1.0f);
            break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
            if (integer) out->u[c] = read<uint16_t>(at);
            else out->f[c] = float(read<uint16_t>(at)) / 65535.0f;
            break;
        case CU_AD_FORMAT_SIGNED_INT16:
            if (integer) out->i[c] = read<int16_t>(at);
            else out->f[c] = std::fmax(float(read<int16_t>(at)) / 32767.0f, -1.0f);
            break;
    }
}

// A coordinate by its address mode; -1 for the border.
long place(float x, size_t extent, CUaddress_mode mode, bool normalised) {
    if (normalised) x *= float(extent);
    float whole = std::floor(x);
    long last = long(extent) - 1;
    if (!(whole >= 0.0f)) return mode == CU_TR_ADDRESS_MODE_CLAMP ? 0 : -1;
    if (whole > float(last)) return mode == CU_TR_ADDRESS_MODE_CLAMP ? last : -1;
    return long(whole);
}

// A row of -1 asks for a surface of one dimension.
unsigned char* bytes_of(unsigned long long surface, int byte_x, int y, unsigned bytes) {
    auto found = surfaces.find(surface);
    if (found == surfaces.end()) return nullptr;
    Array& a = *found->second;
    size_t row = a.about.Width * a.texel;
    if ((a.about.Height == 0) != (y == -1)) return nullptr;
    y = std::max(y, 0);
    if (byte_x < 0 || y < 0 || size_t(byte_x) + bytes > row || size_t(y) >= std::max<size_t>(a.about.Height, 1)) return nullptr;
    return &a.data[size_t(y) * row + size_t(byte_x)];
}

// Where a side of a copy begins, if all of it is there.
unsigned char* side(CUmemorytype type, void* host, CUdeviceptr device, CUarray array, size_t x, size_t y, size_t& pitch, size_t width, size_t height) {
    if (type == CU_MEMORYTYPE_ARRAY) {
        auto found = arrays.find(array);
        if (found == arrays.end()) return nullptr;
        Array& a = *found->second;
        pitch = a.about.Width * a.texel;
        if (x + width > pitch || y + height > std::max<size_t>(a.about.Height, 1)) return nullptr;
        return a.data.data() + y * pitch + x;
    }
    if (pitch == 0) pitch = width;
    if (pitch < width || height == 0) return nullptr;
    if (type == CU_MEMORYTYPE_DEVICE) {
        CUdeviceptr first = device + y * pitch + x;
        return in_device_memory(first, (height - 1) * pitch + width) ? reinterpret_cast<unsigned char*>(first) : nullptr;
    }
    return host ? static_cast<unsigned char*>(host) + y * pitch + x : nullptr;
}

}  // namespace

namespace images {

// The texture of that shape, where there is one; what is read of others is zero.
static const Texture* texture_of(unsigned long long texture, Shape shape, WsTexel* out) {
    *out = {};
    auto found = textures.find(texture);
    return found == textures.end() || found->second.shape != shape ? nullptr : &found->second;
}

static void read_texel(const Texture& t, long column, long row, WsTexel* out) {
    if (column < 0 || row < 0) {
        std::memcpy(out->f, t.how.borderColor, sizeof out->f);
        return;
    }
    unsigned step = channel_bytes(t.format);
    const unsigned char* at = t.data + size_t(row) * t.pitch + size_t(column) * step * t.channels;
    for (unsigned c = 0; c < t.channels; ++c) channel(at + c * step, t.format, t.how.flags & CU_TRSF_READ_AS_INTEGER, out, int(c));
}

void fetch(unsigned long long texture, float x, float y, WsTexel* out) {
    const Texture* t = texture_of(texture, TWO, out);
    if (!t) return;
    bool normalised = t->how.flags & CU_TRSF_NORMALIZED_COORDINATES;
    read_texel(*t, place(x, t->width, t->how.addressMode[0], normalised), place(y, t->height, t->how.addressMode[1], normalised), out);
}

void fetch_1d(unsigned long long texture, float x, WsTexel* out) {
    const Texture* t = texture_of(texture, ONE, out);
    if (t) read_texel(*t, place(x, t->width, t->how.addressMode[0], t->how.flags & CU_TRSF_NORMALIZED_COORDINATES), 0, out);
}

// There are no address modes here; a texel outside is zero.
void fetch_line(unsigned long long texture, int x, WsTexel* out) {
    const Texture* t = texture_of(texture, LINE, out);
    if (t && x >= 0 && size_t(x) < t->width) read_texel(*t, x, 0, out);
}

bool surface_read(unsigned long long surface, int byte_x, int y, unsigned bytes, void* out) {
    unsigned char* at = bytes_of(surface, byte_x, y, bytes);
    if (at) std::memcpy(out, at, bytes);
    return at != nullptr;
}

bool surface_write(unsigned long long surface, int byte_x, int y, unsigned bytes, const void* in) {
    unsigned char* at = bytes_of(surface, byte_x, y, bytes);
    if (at) std::memcpy(at, in, bytes);
    return at != nullptr;
}

}  // namespace images

API CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* about) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    unsigned step = about ? channel_bytes(about->Format) : 0, n = about ? about->NumChannels : 0;
    if (!out || !step || (n != 1 && n != 2 && n != 4) || about->Width == 0) return CUDA_ERROR_INVALID_VALUE;
    if (about->Width > size_t(attribute(about->Height == 0 ? 21 : 22)) || about->Height > size_t(attribute(23))) return CUDA_ERROR_INVALID_VALUE;
    auto array = std::make_unique<Array>();
    array->about = *about;
    array->texel = step * n;
    array->data.assign(about->Width * std::max<size_t>(about->Height, 1) * array->texel, 0xcd);
    *out = array.get();
    arrays[*out] = std::move(array);
    return CUDA_SUCCESS;
}

// One dimension (the height 0) or two; the flag 2 (CUDA_ARRAY3D_SURFACE_LDST) allows surfaces.
struct CUDA_ARRAY3D_DESCRIPTOR {
    size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned NumChannels, Flags;
};

API CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* about) {
    if (!about || about->Depth != 0 || (about->Flags & ~2u) != 0) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY_DESCRIPTOR plain = {about->Width, about->Height, about->Format, about->NumChannels};
    return cuArrayCreate_v2(out, &plain);
}

API CUresult cuArrayDestroy(CUarray array) {
    auto lock = locked();
    wait_for_device();
    return arrays.erase(array) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* c) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    // To the device it may end after the call, as with buffers.
    const bool later = c->srcMemoryType == CU_MEMORYTYPE_HOST && c->dstMemoryType != CU_MEMORYTYPE_HOST;
    if (!later) wait_for_device();
    size_t from_pitch = c->srcPitch, to_pitch = c->dstPitch;
    const unsigned char* from = side(c->srcMemoryType, const_cast<void*>(c->srcHost), c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, from_pitch, c->WidthInBytes, c->Height);
    unsigned char* to = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, to_pitch, c->WidthInBytes, c->Height);
    if (!from || !to) return CUDA_ERROR_INVALID_VALUE;
    auto copy = [height = c->Height, width = c->WidthInBytes, to, to_pitch, from_pitch](const unsigned char* from) {
        for (size_t row = 0; row < height; ++row) std::memcpy(to + row * to_pitch, from + row * from_pitch, width);
        return CUDA_SUCCESS;
    };
    if (!later || c->Height == 0) return copy(from);
    auto staged = std::make_shared<std::vector<unsigned char>>(from, from + (c->Height - 1) * from_pitch + c->WidthInBytes);
    return put_off([=] { return copy(staged->data()); });
}

API CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* what, const CUDA_TEXTURE_DESC* how, const void* view) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !what || !how || view) return CUDA_ERROR_INVALID_VALUE;
    Texture made = {};
    made.how = *how;
    if (what->resType == CU_RESOURCE_TYPE_ARRAY) {
        auto found = arrays.find(what->res.array);
        if (found == arrays.end()) return CUDA_ERROR_INVALID_VALUE;
        const Array& a = *found->second;
        made.shape = a.about.Height == 0 ? ONE : TWO;
        made.data = a.data.data(), made.format = a.about.Format, made.channels = a.about.NumChannels;
        made.width = a.about.Width, made.height = std::max<size_t>(a.about.Height, 1), made.pitch = a.about.Width * a.texel;
    } else if (what->resType == CU_RESOURCE_TYPE_LINEAR) {
        const auto& line = what->res.linear;
        const size_t texel = channel_bytes(line.format) * line.numChannels;
        if (texel == 0 || line.sizeInBytes / texel > size_t(attribute(69))) return CUDA_ERROR_INVALID_VALUE;
        if (line.devPtr % unsigned(attribute(14)) || !in_device_memory(line.devPtr, line.sizeInBytes)) return CUDA_ERROR_INVALID_VALUE;
        made.shape = LINE, made.format = line.format, made.channels = line.numChannels;
        made.data = reinterpret_cast<const unsigned char*>(line.devPtr), made.width = line.sizeInBytes / texel, made.height = 1;
    } else if (what->resType == CU_RESOURCE_TYPE_PITCH2D) {
        const auto& rows = what->res.pitch2D;
        const size_t row = rows.width * channel_bytes(rows.format) * rows.numChannels;
        if (row == 0 || rows.height == 0 || rows.pitchInBytes < row || rows.pitchInBytes % unsigned(attribute(51))) return CUDA_ERROR_INVALID_VALUE;
        if (rows.width > size_t(attribute(70)) || rows.height > size_t(attribute(71)) || rows.pitchInBytes > size_t(attribute(72))) return CUDA_ERROR_INVALID_VALUE;
        if (rows.devPtr % unsigned(attribute(14)) || !in_device_memory(rows.devPtr, (rows.height - 1) * rows.pitchInBytes + row)) return CUDA_ERROR_INVALID_VALUE;
        made.shape = TWO, made.format = rows.format, made.channels = rows.numChannels, made.pitch = rows.pitchInBytes;
        made.data = reinterpret_cast<const unsigned char*>(rows.devPtr), made.width = rows.width, made.height = rows.height;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Points only: linear filters and wrapping need normalised coordinates, which the project never asks for.
    if (how->filterMode != 0 || (how->addressMode[0] | 2) != 3 || (how->addressMode[1] | 2) != 3) return CUDA_ERROR_NOT_SUPPORTED;
    *out = next_handle++;
    textures[*out] = made;
    return CUDA_SUCCESS;
}

API CUresult cuTexObjectDestroy(CUtexObject texture) {
    auto lock = locked();
    return textures.erase(texture) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* what) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !what || what->resType != CU_RESOURCE_TYPE_ARRAY || !arrays.count(what->res.array)) return CUDA_ERROR_INVALID_VALUE;
    *out = next_handle++;
    surfaces[*out] = what->res.array;
    return CUDA_SUCCESS;
}

API CUresult cuSurfObjectDestroy(CUsurfObject surface) {
    auto lock = locked();
    return surfaces.erase(surface) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Textures and surfaces over arrays, as kernels see them.
#pragma once
#include "abi.h"

namespace images {
void fetch(unsigned long long texture, float x, float y, WsTexel* out);
bool surface_read(unsigned long long surface, int byte_x, int y, unsigned bytes, void* out);
bool surface_write(unsigned long long surface, int byte_x, int y, unsigned bytes, const void* in);
}  // namespace images

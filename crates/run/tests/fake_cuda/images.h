// Textures and surfaces over arrays, as kernels see them.
#pragma once
#include "abi.h"

namespace images {
void fetch(unsigned long long texture, float x, float y, WsTexel* out);
void fetch_1d(unsigned long long texture, float x, WsTexel* out);
void fetch_line(unsigned long long texture, int x, WsTexel* out);
bool surface_read(unsigned long long surface, int byte_x, int y, unsigned bytes, void* out);
bool surface_write(unsigned long long surface, int byte_x, int y, unsigned bytes, const void* in);
}  // namespace images

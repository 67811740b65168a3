#!/bin/sh
# Builds the stand-ins for the CUDA driver and NVRTC into a folder for LD_LIBRARY_PATH.
# OUTDIR/old has a driver of version 11.4, without what came later.
#   build.sh OUTDIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out/include" "$out/old"
cp "$here"/abi.h "$here"/host*.h "$out/include/"
flags="-std=c++17 -O1 -fPIC -shared -Wall -Wextra -fvisibility=hidden -U_FORTIFY_SOURCE"
CXX=${CXX:-g++}
sources="device memory images module launch stream scheduler fiber"
pids=
for s in $sources nvrtc; do
    $CXX $flags -c -o "$out/$s.o" "$here/$s.cpp" &
    pids="$pids $!"
done
for p in $pids; do wait "$p"; done
objects=
for s in $sources; do objects="$objects $out/$s.o"; done
$CXX -shared -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" $objects -ldl
$CXX -shared -Wl,-soname,libnvrtc.so.13 -o "$out/libnvrtc.so.13" "$out/nvrtc.o" -ldl
cat > "$out/old.map" <<'MAP'
{ global: *; local: cuLaunchKernelEx; cuOccupancyMaxActiveClusters; cuEventElapsedTime_v2; };
MAP
$CXX -shared -Wl,-soname,libcuda.so.1 -Wl,--version-script="$out/old.map" -o "$out/old/libcuda.so.1" $objects -ldl
ln -sf ../libnvrtc.so.13 "$out/old/libnvrtc.so.13"
rm -f "$out"/*.o "$out/old.map"

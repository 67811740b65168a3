/* The kernels of @name@, and for each shape the memory they share and their launches in order.
 * Written by warpsight; @name@_host.c shows how to use it. */
#ifndef @NAME@_H
#define @NAME@_H

#include <CL/cl.h>
#include <stddef.h>

/* A kernel: the file with its source, beside the executable, and the function in it. */
typedef struct {
    const char* file;
    const char* entry;
} @name@_kernel;

/* What memory is; the last needs the extension cl_khr_image2d_from_buffer. */
typedef enum {
    @NAME@_BUFFER,
    @NAME@_IMAGE1D,
    @NAME@_IMAGE1D_BUFFER,
    @NAME@_IMAGE2D,
    @NAME@_IMAGE2D_FROM_BUFFER
} @name@_kind;

/* A buffer or an RGBA image, which has texels of so many bytes. It starts with the bytes of the file, or with zeroes where that is NULL. */
typedef struct {
    const char* name;
    size_t bytes;
    @name@_kind kind;
    size_t width, height;
    cl_channel_type channel;
    size_t texel;
    const char* file;
} @name@_memory;

/* An argument: a position in the memory of the shape, or the value of an int where that is -1. */
typedef struct {
    int memory;
    cl_int value;
} @name@_arg;

/* A launch: position of the kernel, its arguments in order, work-items in all and of a group. */
typedef struct {
    int kernel;
    int arg_count;
    @name@_arg args[@args@];
    size_t global[3];
    size_t local[3];
} @name@_launch;

/* What is done for one shape: the values of its open sizes; its memory and launches in the tables of all; and in its own memory the
 * positions of what is given and of what comes back. */
typedef struct {
    long sizes[@sizes@];
    int memory, memory_count;
    int launch, launch_count;
    int inputs[@inputs@];
    int outputs[@outputs@];
} @name@_shape;

/* Memory of a shape, at most. */
enum { @NAME@_MOST_MEMORIES = @memories@ };


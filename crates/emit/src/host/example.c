/* Runs @name@ on an OpenCL device.
 *
 * Build:  cc @name@_host.c -o @name@_host -lOpenCL
 * Use:    ./@name@_host SIZE... INPUT... OUTPUT...
 *
 * Sizes are those that differ from shape to shape; there may be none. Each input file holds the raw elements of one input, and each output file receives those of one output, in the order in which
 * @name@.h lists them: little-endian, floats where the tensor holds floats. The .cl and .bin files are looked for
 * beside the executable. OPENCL_DEVICE=N chooses the N-th device of all platforms, the first is 0.
 * Written by warpsight; change it as you like. */
#define CL_TARGET_OPENCL_VERSION 120
#include "@name@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* folder;

static void fail(const char* what, const char* name, cl_int code)
{
    if (code != CL_SUCCESS)
        fprintf(stderr, "%s %s: OpenCL error %d\n", what, name, (int)code);
    else
        fprintf(stderr, "%s %s\n", what, name);
    exit(1);
}

static void check(cl_int code, const char* what, const char* name)
{
    if (code != CL_SUCCESS)
        fail(what, name, code);
}

static void* allocate(size_t bytes)
{
    void* memory = calloc(bytes + 1, 1);
    if (!memory)
        fail("out of memory for", "host data", CL_SUCCESS);
    return memory;
}

/* The whole of a file, with a zero byte after it. */
static char* read_file(const char* path, size_t* size)
{
    FILE* file = fopen(path, "rb");
    if (!file)
        fail("cannot open", path, CL_SUCCESS);
    if (fseek(file, 0, SEEK_END) != 0)
        fail("cannot seek in", path, CL_SUCCESS);
    long end = ftell(file);
    if (end < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail("cannot seek in", path, CL_SUCCESS);
    *size = (size_t)end;
    char* data = allocate(*size);
    if (fread(data, 1, *size, file) != *size)
        fail("cannot read", path, CL_SUCCESS);
    fclose(file);
    return data;
}

/* A file beside the executable. */
static char* read_beside(const char* name, size_t* size)
{
    char* path = allocate(strlen(folder) + strlen(name));
    strcpy(path, folder);
    strcat(path, name);
    char* data = read_file(path, size);
    free(path);
    return data;
}

static cl_device_id find_device(void)
{
    const char* wanted = getenv("OPENCL_DEVICE");
    long skip = wanted ? strtol(wanted, NULL, 10) : 0;
    cl_uint platform_count = 0;
    clGetPlatformIDs(0, NULL, &platform_count);
    if (platform_count == 0)
        fail("no OpenCL platform is", "installed", CL_SUCCESS);
    cl_platform_id* platforms = allocate(platform_count * sizeof *platforms);
    check(clGetPlatformIDs(platform_count, platforms, NULL), "cannot list", "platforms");
    for (cl_uint p = 0; p < platform_count; ++p) {
        cl_uint device_count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, NULL, &device_count) != CL_SUCCESS)
            continue;
        if (skip >= (long)device_count) {
            skip -= (long)device_count;
            continue;
        }
        cl_device_id* devices = allocate(device_count * sizeof *devices);
        check(clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, device_count, devices, NULL), "cannot list", "devices");
        cl_device_id device = devices[skip < 0 ? 0 : skip];
        free(devices);
        free(platforms);
        return device;
    }
    fail("no such OpenCL device:", wanted ? wanted : "0", CL_SUCCESS);
    return NULL;
}

static cl_kernel build(cl_context context, cl_device_id device, const @name@_kernel* kernel)
{
    cl_int code;
    size_t size;
    const char* source = read_beside(kernel->file, &size);
    cl_program program = clCreateProgramWithSource(context, 1, &source, &size, &code);
    check(code, "cannot take the source", kernel->file);
    code = clBuildProgram(program, 1, &device, "@options@", NULL, NULL);
    if (code != CL_SUCCESS) {
        size_t length = 0;
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
        char* log = allocate(length);
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, log, NULL);
        fprintf(stderr, "%s\n", log);
        fail("cannot build", kernel->file, code);
    }
    cl_kernel built = clCreateKernel(program, kernel->entry, &code);
    check(code, "no kernel", kernel->entry);
    clReleaseProgram(program);
    free((void*)source);
    return built;
}

/* Bytes from one row to the next of an image that is made of a buffer. */
static size_t row_pitch(cl_device_id device, const @name@_memory* memory)
{
    if (memory->kind != @NAME@_IMAGE2D_FROM_BUFFER)
        return 0;
    /* CL_DEVICE_IMAGE_PITCH_ALIGNMENT, in texels; 0 without the extension. */
    cl_uint texels = 0;
    if (clGetDeviceInfo(device, 0x104A, sizeof texels, &texels, NULL) != CL_SUCCESS || texels == 0)
        fail("the device lacks cl_khr_image2d_from_buffer, which is needed for", memory->name, CL_SUCCESS);
    return (memory->width + texels - 1) / texels * texels * memory->texel;
}

/* An image without contents. What it is made of is released with the context. */
static cl_mem create_image(cl_context context, cl_device_id device, const @name@_memory* memory, cl_int* code)
{
    cl_image_format format = { CL_RGBA, memory->channel };
    cl_image_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.image_type = memory->kind == @NAME@_IMAGE1D          ? CL_MEM_OBJECT_IMAGE1D
                      : memory->kind == @NAME@_IMAGE1D_BUFFER ? CL_MEM_OBJECT_IMAGE1D_BUFFER
                                                              : CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = memory->width;
    desc.image_height = memory->height;
    desc.image_row_pitch = row_pitch(device, memory);
    if (memory->kind == @NAME@_IMAGE1D_BUFFER || memory->kind == @NAME@_IMAGE2D_FROM_BUFFER) {
        size_t bytes = desc.image_row_pitch ? desc.image_row_pitch * memory->height : memory->bytes;
        desc.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, code);
        check(*code, "cannot create the buffer of", memory->name);
    }
    return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, code);
}

/* A buffer or image that starts with the bytes of the input file, of its own file, or with zeroes. */
static cl_mem create(cl_context context, cl_device_id device, cl_command_queue queue, const @name@_memory* memory, const char* input)
{
    cl_int code;
    size_t size = memory->bytes;
    char* data;
    if (input)
        data = read_file(input, &size);
    else if (memory->file)
        data = read_beside(memory->file, &size);
    else
        data = allocate(size);
    if (size != memory->bytes) {
        fprintf(stderr, "%s has %zu bytes, needed are %zu for ", input ? input : memory->file, size, memory->bytes);
        fail("the tensor", memory->name, CL_SUCCESS);
    }
    cl_mem created;
    if (memory->kind == @NAME@_BUFFER) {
        created = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, memory->bytes, data, &code);
        check(code, "cannot create", memory->name);
    } else {
        size_t origin[3] = { 0, 0, 0 };
        size_t region[3] = { memory->width, memory->height, 1 };
        created = create_image(context, device, memory, &code);
        check(code, "cannot create", memory->name);
        check(clEnqueueWriteImage(queue, created, CL_TRUE, origin, region, 0, 0, data, 0, NULL, NULL), "cannot fill", memory->name);
    }
    free(data);
    return created;
}

static void launch(cl_command_queue queue, cl_kernel kernel, const @name@_launch* launch, const cl_mem* memory)
{
    const char* entry = @name@_kernels[launch->kernel].entry;
    for (int a = 0; a < launch->arg_count; ++a) {
        const @name@_arg* arg = &launch->args[a];
        if (arg->memory >= 0)
            check(clSetKernelArg(kernel, (cl_uint)a, sizeof(cl_mem), &memory[arg->memory]), "cannot pass memory to", entry);
        else
            check(clSetKernelArg(kernel, (cl_uint)a, sizeof(cl_int), &arg->value), "cannot pass a size to", entry);
    }
    check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, launch->global, launch->local, 0, NULL, NULL), "cannot launch", entry);
}

static void write_output(cl_command_queue queue, const @name@_memory* memory, cl_mem from, const char* path)
{
    char* data = allocate(memory->bytes);
    size_t origin[3] = { 0, 0, 0 };
    size_t region[3] = { memory->width, memory->height, 1 };
    if (memory->kind != @NAME@_BUFFER)
        check(clEnqueueReadImage(queue, from, CL_TRUE, origin, region, 0, 0, data, 0, NULL, NULL), "cannot read", memory->name);
    else
        check(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, memory->bytes, data, 0, NULL, NULL), "cannot read", memory->name);
    FILE* file = fopen(path, "wb");
    if (!file)
        fail("cannot create", path, CL_SUCCESS);
    if (fwrite(data, 1, memory->bytes, file) != memory->bytes || fclose(file) != 0)
        fail("cannot write", path, CL_SUCCESS);
    free(data);
}

/* The shape of these sizes. */
static const @name@_shape* find_shape(char** sizes)
{
    for (int s = 0; s < @NAME@_SHAPES; ++s) {
        int same = 1;
        for (int i = 0; i < @NAME@_OPEN; ++i) {
            char* end;
            long size = strtol(sizes[i], &end, 10);
            same = same && *end == 0 && size == @name@_shapes[s].sizes[i];
        }
        if (same)
            return &@name@_shapes[s];
    }
    fprintf(stderr, "there are no kernels for");
    for (int i = 0; i < @NAME@_OPEN; ++i)
        fprintf(stderr, " %s=%s", @name@_open[i], sizes[i]);
    fprintf(stderr, "\n");
    exit(1);
}

int main(int argc, char** argv)
{
    if (argc != 1 + @NAME@_OPEN + @NAME@_INPUTS + @NAME@_OUTPUTS) {
        fprintf(stderr, "usage: %s", argv[0]);
        for (int i = 0; i < @NAME@_OPEN; ++i)
            fprintf(stderr, " %s", @name@_open[i]);
        for (int i = 0; i < @NAME@_INPUTS; ++i)
            fprintf(stderr, " %s", @name@_memories[@name@_shapes[0].inputs[i]].name);
        for (int i = 0; i < @NAME@_OUTPUTS; ++i)
            fprintf(stderr, " %s", @name@_memories[@name@_shapes[0].outputs[i]].name);
        fprintf(stderr, "\nInputs are files that are read, outputs files that are written.\n");
        return 2;
    }
    const @name@_shape* shape = find_shape(argv + 1);
    char** inputs = argv + 1 + @NAME@_OPEN;
    char** outputs = inputs + @NAME@_INPUTS;
    const @name@_memory* memories = &@name@_memories[shape->memory];
    const @name@_launch* launches = &@name@_launches[shape->launch];
    char* own = allocate(strlen(argv[0]));
    strcpy(own, argv[0]);
    char* slash = strrchr(own, '/');
    if (slash)
        slash[1] = 0;
    else
        own[0] = 0;
    folder = own;

    cl_int code;
    cl_device_id device = find_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "cannot create", "a context");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "cannot create", "a queue");

    /* Built are those that the shape needs. */
    cl_kernel kernels[@NAME@_KERNELS] = { NULL };
    for (int l = 0; l < shape->launch_count; ++l)
        if (!kernels[launches[l].kernel])
            kernels[launches[l].kernel] = build(context, device, &@name@_kernels[launches[l].kernel]);
    cl_mem memory[@NAME@_MOST_MEMORIES];
    for (int m = 0; m < shape->memory_count; ++m) {
        const char* input = NULL;
        for (int i = 0; i < @NAME@_INPUTS; ++i)
            if (shape->inputs[i] == m)
                input = inputs[i];
        memory[m] = create(context, device, queue, &memories[m], input);
    }

    for (int l = 0; l < shape->launch_count; ++l)
        launch(queue, kernels[launches[l].kernel], &launches[l], memory);
    check(clFinish(queue), "the device did not finish", "@name@");

    for (int o = 0; o < @NAME@_OUTPUTS; ++o)
        write_output(queue, &memories[shape->outputs[o]], memory[shape->outputs[o]], outputs[o]);

    for (int k = 0; k < @NAME@_KERNELS; ++k)
        if (kernels[k])
            clReleaseKernel(kernels[k]);
    for (int m = 0; m < shape->memory_count; ++m)
        clReleaseMemObject(memory[m]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(own);
    return 0;
}

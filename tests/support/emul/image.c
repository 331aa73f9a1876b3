/* See image.h. */
#include "support/emul/image.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "exec/gpu/images.h"
#include "exec/gpu/sources.h"

/* All programs as one, which nvcc and hipcc are given. */
GPU_IMAGE(all, MOEPLAN_KERNELS_TEXT)

/* ---- texts ---- */

static uint64_t hash_on(uint64_t hash, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)at[i]) * 0x100000001b3U;
    return hash;
}

static const uint64_t hash_begin = 0xcbf29ce484222325U;

static bool is_own_text(uint64_t hash)
{
    static const struct gpu_text *const programs[] = {
#define PROGRAM_ROW(name) gpu_program_##name,
        GPU_SOURCES(PROGRAM_ROW)
#undef PROGRAM_ROW
    };
    for (unsigned i = 0; i < GPU_SOURCE_COUNT; i++) {
        uint64_t own = hash_begin;
        for (const struct gpu_text *text = programs[i]; text->text; text++)
            own = hash_on(own, text->text, text->length);
        if (own == hash)
            return true;
    }
    return hash == hash_on(hash_begin, (const char *)image_all, (size_t)(end_all - image_all));
}

/* ---- what nvcc makes: an ELF file with a section of facts for each kernel ---- */

static const Elf64_Shdr *section_of(const char *elf, const char *prefix, const char *kernel)
{
    char name[128];
    const Elf64_Ehdr *head = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
    const char *names = elf + sections[head->e_shstrndx].sh_offset;
    snprintf(name, sizeof name, "%s%s", prefix, kernel);
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    return NULL;
}

/* Facts are a format, a name, and a value of 16 bits or so many bytes behind it; that of an
 * argument has its size in the upper bits of its third word. Where arguments lie is the
 * driver's business: a large alignment moves the first one. */
static size_t cuda_argument_bytes(const char *elf, const char *kernel)
{
    enum { SIZED = 4, ARGUMENT = 0x17, SIZE_AT = 18 };
    const Elf64_Shdr *info = section_of(elf, ".nv.info.", kernel);
    if (!info || !section_of(elf, ".text.", kernel))
        return 0;
    const unsigned char *at = (const unsigned char *)elf + info->sh_offset,
                        *end = at + info->sh_size;
    size_t bytes = 0;
    for (uint16_t value; at + 4 <= end; at += at[0] == SIZED ? 4U + value : 4U) {
        uint32_t words[3];
        memcpy(&value, at + 2, sizeof value);
        if (at[0] != SIZED || at[1] != ARGUMENT || value != sizeof words)
            continue;
        memcpy(words, at + 4, sizeof words);
        bytes += words[2] >> SIZE_AT;
    }
    return bytes ? bytes : SIZE_MAX;
}

/* ---- what hipcc makes: a bundle, in it a file with a record of each kernel ---- */

static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";

static size_t bundle_bytes(const char *image)
{
    uint64_t n, last[3];
    const char *at = image + sizeof bundle - 1;
    memcpy(&n, at, sizeof n);
    at += sizeof n;
    for (uint64_t i = 0; i < n; i++, at += last[2])
        memcpy(last, at, sizeof last), at += sizeof last;
    return (size_t)(last[0] + last[1]);
}

/* The record is MessagePack with its keys in order: the size stands before the symbol. */
static size_t hip_argument_bytes(const char *image, const char *kernel)
{
    static const char key[] = ".kernarg_segment_size", symbol_key[] = ".symbol";
    char symbol[128];
    size_t bytes = bundle_bytes(image);
    int length = snprintf(symbol + 1, sizeof symbol - 1, "%s.kd", kernel);
    symbol[0] = (char)(0xa0 | length); /* a text of at most 31 bytes */
    size_t last = 0;
    for (const char *at = image; at + 64 < image + bytes; at++) {
        if (memcmp(at, key, sizeof key - 1) == 0) {
            const unsigned char *value = (const unsigned char *)at + sizeof key - 1;
            last = value[0] == 0xcd ? (size_t)value[1] << 8 | value[2] : SIZE_MAX;
        }
        if (memcmp(at, symbol_key, sizeof symbol_key - 1) == 0 &&
            memcmp(at + sizeof symbol_key - 1, symbol, (size_t)length + 1) == 0)
            return last;
    }
    return 0;
}

/* ---- all kinds ---- */

static bool is_elf(const char *image)
{
    return memcmp(image, ELFMAG, SELFMAG) == 0;
}

bool image_is_text(const void *image)
{
    return !is_elf(image) && memcmp(image, bundle, sizeof bundle - 1) != 0;
}

bool image_loads(const void *image)
{
    return !image_is_text(image) || is_own_text(hash_on(hash_begin, image, strlen(image)));
}

size_t image_argument_bytes(const void *image, const char *kernel, size_t *hidden)
{
    *hidden = 0;
    if (image_is_text(image))
        return SIZE_MAX;
    if (is_elf(image))
        return cuda_argument_bytes(image, kernel);
    *hidden = 256; /* as much as any version of the code object adds */
    return hip_argument_bytes(image, kernel);
}

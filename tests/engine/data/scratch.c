/* What the tests of data sets share. */
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <syncopate/log.h>

#include "check.h"

char scratch_folder[SCRATCH_PATH];

static char said[1 << 16];
static char given[sizeof said];

static void remember(void *context, enum syn_log_level level, const char *text)
{
    (void)context;
    (void)level;
    size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s\n", text);
}

const char *scratch_log(void)
{
    memcpy(given, said, sizeof said);
    said[0] = '\0';
    return given;
}

int scratch_begin(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch_folder, sizeof scratch_folder, "%s/syncopate-test-XXXXXX",
             base && base[0] ? base : "/tmp");
    unsetenv("SYNCOPATE_DATA");
    syn_log_to(remember, NULL, SYN_LOG_DEBUG);
    return mkdtemp(scratch_folder) ? 0 : -1;
}

int scratch_end(void **state)
{
    (void)state;
    char command[SCRATCH_PATH + 16];
    syn_log_to(NULL, NULL, SYN_LOG_ERROR);
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
    return system(command); // NOLINT: our own folder, in a test
}

const char *scratch_path(const char *name)
{
    static char paths[4][2 * SCRATCH_PATH];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static void make_folders(const char *path)
{
    char part[2 * SCRATCH_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0777);
        *slash = '/';
    }
}

void scratch_write(const char *name, const void *bytes, size_t count)
{
    const char *path = scratch_path(name);
    make_folders(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

void scratch_write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

void scratch_write_gzip(const char *name, const void *bytes, size_t count)
{
    const char *path = scratch_path(name);
    make_folders(path);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
    assert_int_equal(gzclose(file), Z_OK);
}

void scratch_write_hole(const char *name, size_t count)
{
    scratch_write(name, "", 0);
    assert_int_equal(truncate(scratch_path(name), (off_t)count), 0);
}

void scratch_write_script(const char *name, const char *text)
{
    scratch_write_text(name, text);
    assert_int_equal(chmod(scratch_path(name), 0755), 0);
}

static void put_big_endian(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

uint8_t scratch_pixel(size_t image, size_t place)
{
    return (uint8_t)(image * 37 + place * 11 + image / 256);
}

size_t scratch_idx_images(uint32_t count, uint32_t height, uint32_t width, uint8_t *bytes)
{
    size_t pixels = (size_t)height * width;
    if (!bytes)
        return 16 + count * pixels;
    put_big_endian(bytes, 0x803);
    put_big_endian(bytes + 4, count);
    put_big_endian(bytes + 8, height);
    put_big_endian(bytes + 12, width);
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < pixels; p++)
            bytes[16 + i * pixels + p] = scratch_pixel(i, p);
    return 16 + count * pixels;
}

size_t scratch_idx_labels(uint32_t count, uint8_t *bytes)
{
    if (!bytes)
        return 8 + (size_t)count;
    put_big_endian(bytes, 0x801);
    put_big_endian(bytes + 4, count);
    for (size_t i = 0; i < count; i++)
        bytes[8 + i] = (uint8_t)(i % 10);
    return 8 + (size_t)count;
}

static void write_part(const char *folder, const char *part, uint32_t count)
{
    char name[SCRATCH_PATH];
    size_t room = scratch_idx_images(count, 6, 5, NULL);
    uint8_t *bytes = malloc(room);
    assert_non_null(bytes);
    scratch_idx_images(count, 6, 5, bytes);
    snprintf(name, sizeof name, "%s/%s-images-idx3-ubyte", folder, part);
    scratch_write(name, bytes, room);
    size_t labels = scratch_idx_labels(count, bytes);
    snprintf(name, sizeof name, "%s/%s-labels-idx1-ubyte", folder, part);
    scratch_write(name, bytes, labels);
    free(bytes);
}

void scratch_write_idx_set(const char *folder, uint32_t train, uint32_t test)
{
    write_part(folder, "train", train);
    write_part(folder, "t10k", test);
}

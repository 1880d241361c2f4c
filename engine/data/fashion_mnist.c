/* Fashion-MNIST: pieces of clothing in the form of MNIST, and harder (Xiao, Rasul and Vollgraf,
 * 2017). Debian has it as a package, so it is available even where only a package mirror can be
 * reached. */
#include "engine/base/fail.h"
#include "engine/data/idx.h"

static const struct syn_data_file files[SYN_IDX_FILES] = {
    {"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
    {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
    {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
    {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
};

#define DEBIAN_FOLDER "usr/share/datasets/fashion-mnist"

static const struct syn_data_source sources[] = {
    {SYN_SOURCE_FOLDER, "/" DEBIAN_FOLDER, NULL, NULL, 0},
    {SYN_SOURCE_MIRROR, "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com", NULL, NULL,
     30878645},
    {SYN_SOURCE_MIRROR, "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
     NULL, NULL, 30878645},
    {SYN_SOURCE_DEBIAN, "dataset-fashion-mnist", NULL, DEBIAN_FOLDER, 30900652},
};

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    (void)options;
    static const char *const names[] = {"T-shirt/top", "trouser",   "pullover", "dress",
                                        "coat",        "sandal",    "shirt",    "sneaker",
                                        "bag",         "ankle boot"};
    static const float mean = 0.2860F;
    static const float deviation = 0.3530F;
    SYN_TRY(syn_idx_open(files, directory, 10, data));
    data->info.names = names;
    syn_data_normalise(data, &mean, &deviation);
    return SYN_OK;
}

const struct syn_data_set syn_data_set_fashion_mnist = {
    .name = "fashion-mnist",
    .help = "pieces of clothing: 60,000 + 10,000 grey images of 28 x 28, 10 classes",
    .files = files,
    .file_count = SYN_IDX_FILES,
    .sources = sources,
    .source_count = sizeof sources / sizeof sources[0],
    .open = open_set,
};

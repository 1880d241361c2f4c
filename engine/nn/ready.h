/* The built-in models: a row of models/models.def is a family of them, a file ending in its const
 * descriptor. */
#ifndef SYN_NN_READY_H
#define SYN_NN_READY_H

#include <syncopate/engine/model.h>

struct model_kind {
    const char *name;
    const char *help;
    struct syn_input input; /* the usual input; channels, sizes and classes may differ */
    size_t least;           /* minimum height and width of images; 0 for words */
    int size;               /* distinguishes the members of a family */
    /* Add layers up to the scores. */
    syn_node (*layers)(struct syn_graph *graph, const struct model_kind *kind,
                       const struct syn_input *input);
};

struct model_family {
    const struct model_kind *kinds;
    size_t count;
};

#define IMAGES(channels, size, classes)                                                            \
    {                                                                                              \
        SYN_INPUT_IMAGES, channels, size, size, classes                                            \
    }
#define WORDS(vocabulary)                                                                          \
    {                                                                                              \
        SYN_INPUT_TOKENS, 0, 0, 0, vocabulary                                                      \
    }
#define MODEL_FAMILY(kinds)                                                                        \
    {                                                                                              \
        kinds, sizeof(kinds) / sizeof(kinds)[0]                                                    \
    }

#endif

/* What the readers of containers' descriptions share (container.h): a shell script that grows,
 * whose words stand on the lines that they have in the description. */
#ifndef MOEPLAN_PLAN_TEXT_CONTAINER_WRITER_H
#define MOEPLAN_PLAN_TEXT_CONTAINER_WRITER_H

#include "plan/source.h"
#include "plan/text/container.h"

enum { CONTAINER_DOCUMENTS = 64 };

/* What pods of a LeaderWorkerSet have in their environment: how many there are. */
#define CONTAINER_GROUP "LWS_GROUP_SIZE"

struct container_writer {
    struct text *out;
    unsigned line;              /* where the next word would stand */
    const struct node *env;     /* of the container: a list of names and values, or a mapping */
    const struct node *group;   /* pods of a LeaderWorkerSet; or NULL */
    const struct node *volumes; /* of the pod around the container; or NULL */
    const char *device;         /* that its nodes have, as their labels call it; or NULL */
    const char *slice;          /* sides of the slice that its nodes are of; or NULL */
    const char *pool;           /* "prefill", "decode": by the names around; or NULL */
    const char *replicas;       /* of its servers; or NULL */
    bool compose;               /* "${X:-d}" is filled in, "$(X)" is not */
    const struct container_beside *beside;
    struct err *err;
    struct text files; /* here-documents that follow the commands */
    struct text own;   /* names that are set for the container at hand, " A B" */
    const struct node *documents[CONTAINER_DOCUMENTS]; /* of the text */
    size_t n_documents;
};

/* ---- words; see container_words.c ---- */

/* Empty lines, or a command's line carried on, until the next word stands on `line`. */
void container_go_to(struct container_writer *w, unsigned line);

/* A word in single quotes. */
void container_literal(struct container_writer *w, const char *text);

/* A node's scalar as a word on its line: as Kubernetes fills in $(NAME), as Compose does. */
void container_word(struct container_writer *w, const struct node *node);

/* A list of such words, or one text that is split as a shell does; false: there is none. */
bool container_words(struct container_writer *w, const struct node *node);

/* A text in double quotes, where a shell fills in variables. */
void container_filled(struct container_writer *w, const char *text);

/* "export NAME='value'; ", nothing where it is no name or has lines. */
void container_export(struct container_writer *w, const char *name, size_t length,
                      const char *value);

/* The same of a number. */
void container_export_count(struct container_writer *w, const char *name, uint64_t n);

/* The same of the container's environment: "- name: A, value: x" of Kubernetes, "A: x" and "-
 * A=x" of Compose. */
void container_export_env(struct container_writer *w);

void container_end_line(struct container_writer *w);

/* The same behind a container's command, whose environment the next one has not. */
void container_end(struct container_writer *w);

/* What its server does and how many there are, as variables; nothing of one that does all. */
void container_export_pool(struct container_writer *w);

/* ---- files; see container_files.c ---- */

/* The text of an entry of a container's environment, which a ConfigMap of the text may have;
 * NULL: it has none here. */
const char *container_env_text(const struct container_writer *w, const struct node *item);

/* Appends what a container's volumes have from ConfigMaps of the text to w->files. */
void container_mount(struct container_writer *w, const struct node *container);

/* ---- containers; see container.c ---- */

/* A container's command, with its image and its environment, as its words stand; nothing where
 * it says none. */
void container_write(struct container_writer *w, const struct node *container);

/* The same of all containers of pods below a node, with what stands around them. */
void container_pods(struct container_writer *w, const struct node *node);

/* A text of commands on the lines that it has: behind its key where it has several. */
void container_commands(struct container_writer *w, const struct node *commands);

/* Whether a label of nodes says which device they have. */
bool container_is_device_label(const char *key);

/* ---- engines' own descriptions; see container_engines.c ---- */

/* A document that says settings of vLLM in place of a command: an application of Ray Serve, or
 * one model of it; values of vLLM's Helm chart; KServe's models. Writes `vllm serve` with them;
 * false: it is none of these. */
bool container_engine(struct container_writer *w, const struct node *root);

/* The beginning of `vllm serve` at a node's line, with the image's release, device, pool and
 * the environment that it starts in. */
void container_serve(struct container_writer *w, const struct node *node, const char *image);

/* Values of llm-d's chart, whose roles have containers with commands or leave them to it;
 * false: it is none. See container_llmd.c. */
bool container_llmd(struct container_writer *w, const struct node *root);

/* Jobs of Kubeflow whose pods are ranks of one training, and of Ray; false: it is none. See
 * container_jobs.c. */
bool container_job(struct container_writer *w, const struct node *root);

/* Whether such a document starts on this line without saying that it is Kubernetes'. */
bool container_engine_line(const char *at, const char *end);

#endif

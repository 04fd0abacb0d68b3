/* What the files behind io/file.h share. */
#ifndef HC_IO_FILE_PARTS_H
#define HC_IO_FILE_PARTS_H

#include "io/file.h"

/* "PATH: what the errno `number` means" */
HcStatus hc_file_fail(HcError *err, HcStatus status, const char *path, int number);
/* "PATH: the file exists already" */
HcStatus hc_file_fail_exists(HcError *err, const char *path);

/* Whether there is something of that name, a dangling link included. */
bool hc_file_exists(const char *path);

/* The names in a folder, without . and .. and `but`: [*count] in fresh memory, also on failure. */
HcStatus hc_file_list(const char *folder, const char *but, char ***names, size_t *count,
                      HcError *err) HC_MUST_CHECK;
/* Adds a copy to a list that began as NULL and 0, and may have lost names from its end; false when memory ran
 * out. */
bool hc_file_list_add(char ***names, size_t *count, const char *name);
void hc_file_list_free(char **names, size_t count);

/* folder.c: the names in a folder that begin so, in any case, of partials and of what is neither a file nor a
 * folder; fresh memory, to be freed by hc_file_list_free() also after a failure. as_it_is: now; else a large
 * folder may be seen as this process saw it some calls ago. False when memory ran out. */
bool hc_file_odd_names(const char *folder, const char *beginning, size_t length, bool as_it_is, char ***names,
                       size_t *count);

/* "A/B", fresh memory; fails with HC_E_MEMORY. */
HcStatus hc_file_join(const char *folder, const char *name, char **out, HcError *err) HC_MUST_CHECK;

/* The same into memory on the stack, for code that must work without free memory. False if the path is longer
 * than the system allows. */
#define HC_FILE_PATH 4096 /* bytes */
bool hc_file_join_into(char out[HC_FILE_PATH], const char *folder, const char *name);
bool hc_file_folder_into(char out[HC_FILE_PATH], const char *path);

/* Leaves a partial where it is: this process will not remove it. */
void hc_file_forget(const char *partial);

/* access.c: flushes the folder, so that the new name survives a power failure. Errors of file systems that
 * cannot are ignored. */
void hc_file_sync_folder(const char *folder);
/* The content of one file, or of a folder with all in it, to the disk. */
HcStatus hc_file_sync(const char *path, HcError *err) HC_MUST_CHECK;
/* Gives a new file the access rights of the file that it replaces: owner and group (or the group alone) where
 * that is permitted, the mode, and the access list, without which the mode would permit more. */
void hc_file_keep_access(const char *fresh, const char *target);

/* remote.c: whether the folder of a path is one below the scratch folder, which others remove when it is
 * empty. */
bool hc_file_comes_and_goes(const char *path);
/* As hc_file_look, hc_file_read and hc_file_check. */
HcStatus hc_file_look_remote(const char *path, struct stat *info, bool *there, HcError *err) HC_MUST_CHECK;
HcStatus hc_file_read_remote(const char *path, size_t limit, char **data, size_t *bytes,
                             HcError *err) HC_MUST_CHECK;
HcStatus hc_file_check_remote(const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;
/* Puts the marker of an object that is about to be sent, by a local file beside `near`. *fresh: none of that
 * name was there but what a killed process has left; *left: that has left its marker. The marker goes when
 * the record is there. */
HcStatus hc_file_begin_upload(const char *path, const char *near, bool overwrite, bool *fresh, bool *left,
                              HcError *err) HC_MUST_CHECK;
/* Sends FROM/NAME as TO/NAME. */
HcStatus hc_file_upload(const char *from, const char *to, const char *name, HcError *err) HC_MUST_CHECK;

/* As hc_file_keep; with `flush` content and name are on the disk when it has its name. */
HcStatus hc_file_keep_flushed(const char *partial, const char *path, bool overwrite, bool flush,
                              HcError *err) HC_MUST_CHECK;

/* Copies the file at `path` to standard output; `cancel` as in hc_file_send. */
HcStatus hc_file_copy_out(const char *path, const HcFlag *cancel, HcError *err) HC_MUST_CHECK;

#endif

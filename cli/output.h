/* SPDX-License-Identifier: MIT */
/* What people and programs get to read: sentences, times, durations, events, JSON. */
#ifndef HF_CLI_OUTPUT_H
#define HF_CLI_OUTPUT_H

#include <holdfast/holdfast.h>

/* A line on stderr: "holdfast: SENTENCE". */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf for text that people read on stdout: characters that could mislead them or their terminal
 * are made visible, but for a line break at the end of the format, and passwords are taken out. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A copy in which they are, to be freed; NULL: out of memory. */
char *cli_shown(const char *text);

/* "10:47:03 UTC" on the day of now_us, else "2026-11-15 10:47 UTC"; "-" for 0. */
#define CLI_TIME_SIZE 32
void cli_time_format(int64_t time_us, int64_t now_us, char out[CLI_TIME_SIZE]);

/* As hf_duration_parse reads it: "1500ms", "5m"; "-" for 0. */
#define CLI_DURATION_SIZE 32
void cli_duration_format(int64_t us, char out[CLI_DURATION_SIZE]);

/* "WORD policy/12345: Alice Chen holds it (exclusive, fence 7); it frees at 10:47:03 UTC unless
 * ..." */
void cli_print_lock(const char *word, const hf_lock *lock, int64_t now_us);

/* One line: number, time, kind, resource, who, why. */
void cli_print_event(const hf_event *event, int64_t now_us);

/* Prints a JSON text on a line of its own and frees it; NULL is HF_NO_MEMORY. */
hf_status cli_print_json(char *json, hf_error *err);

/* The same for an item of a list, on no line of its own. */
hf_status cli_json_item(size_t index, char *json, hf_error *err);

/* Sends out what was printed so far. False: stdout takes no more, or its reader has gone away. */
bool cli_flush(void);

/* Closes stdout and returns the exit code: the one given, or 1 and a sentence when the answer could
 * not be written. Quiet when its reader has gone away. */
int cli_finish(int exit_code);

#endif

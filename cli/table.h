/* SPDX-License-Identifier: MIT */
/* Aligned columns. Rows are gathered, then printed with columns as wide as they need; a later page
 * of rows keeps the widths of the pages before it. */
#ifndef HF_CLI_TABLE_H
#define HF_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_COLUMNS_MAX = 8 };

typedef struct cli_table {
    const char *const *titles; /* borrowed */
    size_t columns;
    size_t widths[CLI_COLUMNS_MAX];
    char **cells; /* row after row */
    size_t cells_count;
    size_t cells_capacity;
    bool titled; /* the titles have been printed */
} cli_table;

void cli_table_init(cli_table *table, const char *const *titles, size_t columns);

/* Adds a row; the cells are copied. False: no memory left. */
bool cli_table_add(cli_table *table, const char *const *cells);

/* Prints titles (once) and the rows gathered, then forgets the rows. Lines are cut at `width`
 * places; 0: never. */
void cli_table_print(cli_table *table, size_t width);

void cli_table_done(cli_table *table);

/* How many places a text takes on a terminal; and how many of its bytes fit into `room` places, of
 * which *wide are used. */
size_t cli_width(const char *text);
size_t cli_cut(const char *text, size_t room, size_t *wide);

#endif

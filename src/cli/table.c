/* SPDX-License-Identifier: MIT */
/* Aligned columns, counted in characters of UTF-8. */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += starts_character(*text);
    return count;
}

static void widen(cli_table *table, const char *const *cells)
{
    for (size_t i = 0; i < table->columns; i++) {
        size_t width = characters(cells[i]);
        if (width > table->widths[i])
            table->widths[i] = width;
    }
}

void cli_table_init(cli_table *table, const char *const *titles, size_t columns)
{
    *table = (cli_table){.titles = titles, .columns = columns};
    widen(table, titles);
}

static bool make_room(cli_table *table)
{
    if (table->cells_count + table->columns <= table->cells_capacity)
        return true;
    size_t capacity = table->cells_capacity == 0 ? 64 * table->columns : 2 * table->cells_capacity;
    char **cells = realloc(table->cells, capacity * sizeof *cells);
    if (cells == NULL)
        return false;
    table->cells = cells;
    table->cells_capacity = capacity;
    return true;
}

static void forget_rows(cli_table *table, size_t keep)
{
    while (table->cells_count > keep)
        free(table->cells[--table->cells_count]);
}

bool cli_table_add(cli_table *table, const char *const *cells)
{
    size_t before = table->cells_count;
    if (!make_room(table))
        return false;
    for (size_t i = 0; i < table->columns; i++) {
        char *copy = strdup(cells[i]);
        if (copy == NULL) {
            forget_rows(table, before);
            return false;
        }
        table->cells[table->cells_count++] = copy;
    }
    widen(table, cells);
    return true;
}

/* Prints at most `room` characters and returns how many. */
static size_t print_cut(const char *text, size_t room)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        if (starts_character(*text) && count++ == room)
            return room;
        putchar(*text);
    }
    return count;
}

/* Blanks are owed until something follows them, so that no line ends in blanks. */
static void print_row(const cli_table *table, const char *const *cells, size_t width)
{
    size_t at = 0;
    size_t owed = 0;
    for (size_t i = 0; i < table->columns; i++) {
        size_t wide = characters(cells[i]);
        if (wide > 0) {
            printf("%*s", (int)owed, "");
            at += owed;
            owed = 0;
            at += print_cut(cells[i], width - at);
        }
        owed += table->widths[i] - wide + GAP;
        if (at + owed >= width)
            break;
    }
    putchar('\n');
}

void cli_table_print(cli_table *table, size_t width)
{
    size_t room = width == 0 ? (size_t)1 << 20 : width;
    if (!table->titled) {
        print_row(table, table->titles, room);
        table->titled = true;
    }
    for (size_t i = 0; i < table->cells_count; i += table->columns)
        print_row(table, (const char *const *)&table->cells[i], room);
    forget_rows(table, 0);
}

void cli_table_done(cli_table *table)
{
    forget_rows(table, 0);
    free(table->cells);
    *table = (cli_table){0};
}

/* SPDX-License-Identifier: MIT */
/* Aligned columns, counted in the places that characters take on a terminal: two for a Chinese one,
 * none for an accent that joins the letter before it. wcwidth knows, once main.c has said that text
 * is UTF-8. */
#include "cli/table.h"

#include "base/text.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { GAP = 2 };

/* How many places the character takes on a terminal, and in *size how many bytes it has. */
static size_t table_places(const char *text, size_t *size)
{
    uint32_t character = 0;
    size_t left = strnlen(text, 4);
    *size = hf_utf8_decode(text, left, &character);
    if (*size == 0) {
        *size = 1;
        return 1;
    }
    int wide = wcwidth((wchar_t)character);
    return wide < 0 ? 1 : (size_t)wide;
}

size_t cli_width(const char *text)
{
    size_t wide = 0, size = 0;
    for (; *text != '\0'; text += size)
        wide += table_places(text, &size);
    return wide;
}

size_t cli_cut(const char *text, size_t room, size_t *wide)
{
    size_t bytes = 0, used = 0;
    while (text[bytes] != '\0') {
        size_t size = 0, more = table_places(text + bytes, &size);
        if (used + more > room)
            break;
        used += more;
        bytes += size;
    }
    *wide = used;
    return bytes;
}

static void table_widen(cli_table *table, const char *const *cells)
{
    for (size_t i = 0; i < table->columns; i++) {
        size_t width = cli_width(cells[i]);
        if (width > table->widths[i])
            table->widths[i] = width;
    }
}

void cli_table_init(cli_table *table, const char *const *titles, size_t columns)
{
    *table = (cli_table){.titles = titles, .columns = columns};
    table_widen(table, titles);
}

static bool table_make_room(cli_table *table)
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
    if (!table_make_room(table))
        return false;
    for (size_t i = 0; i < table->columns; i++) {
        char *copy = cli_shown(cells[i]);
        if (copy == NULL) {
            forget_rows(table, before);
            return false;
        }
        table->cells[table->cells_count++] = copy;
    }
    table_widen(table, (const char *const *)&table->cells[before]);
    return true;
}

/* Prints what fits and returns how wide that is. */
static size_t print_cut(const char *text, size_t room)
{
    size_t wide = 0;
    size_t bytes = cli_cut(text, room, &wide);
    fwrite(text, 1, bytes, stdout);
    return wide;
}

/* Blanks are owed until something follows them, so that no line ends in blanks. */
static void print_row(const cli_table *table, const char *const *cells, size_t width)
{
    size_t at = 0;
    size_t owed = 0;
    for (size_t i = 0; i < table->columns; i++) {
        size_t wide = cli_width(cells[i]);
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

/* SPDX-License-Identifier: MIT */
/* Growing text: room is made by doubling, up to the ceiling; failures stick. */
#include "base/buffer.h"

#include "base/seams.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t buffer_next_room(size_t room, size_t needed)
{
    size_t wanted = room * 2 > needed ? room * 2 : needed < 128 ? 128 : needed;
    return wanted < HF_BUFFER_MAX ? wanted : HF_BUFFER_MAX;
}

static bool buffer_make_room(hf_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    size_t needed = buffer->size + more + 1;
    if (needed <= buffer->room)
        return true;
    size_t room = buffer_next_room(buffer->room, needed);
    buffer->full = needed > HF_BUFFER_MAX;
    char *text = buffer->full ? NULL : hf_realloc(buffer->text, room);
    if (text == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->text = text;
    buffer->room = room;
    return true;
}

char *hf_buffer_extend(hf_buffer *buffer, size_t size)
{
    if (!buffer_make_room(buffer, size))
        return NULL;
    char *at = buffer->text + buffer->size;
    buffer->size += size;
    at[size] = '\0';
    return at;
}

void hf_buffer_add(hf_buffer *buffer, const char *bytes, size_t size)
{
    char *at = hf_buffer_extend(buffer, size);
    if (at != NULL && size > 0)
        memcpy(at, bytes, size);
}

void hf_buffer_text(hf_buffer *buffer, const char *text)
{
    hf_buffer_add(buffer, text, strlen(text));
}

void hf_buffer_number(hf_buffer *buffer, int64_t number)
{
    char digits[HF_NUMBER_MAX], *end = digits + sizeof digits;
    char *at = hf_number_print(number, end);
    hf_buffer_add(buffer, at, (size_t)(end - at));
}

void hf_buffer_print(hf_buffer *buffer, const char *format, ...)
{
    char small[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (size < 0) {
        buffer->failed = true;
        return;
    }
    if ((size_t)size < sizeof small) {
        hf_buffer_add(buffer, small, (size_t)size);
        return;
    }
    if (!buffer_make_room(buffer, (size_t)size))
        return;
    va_start(args, format);
    vsnprintf(buffer->text + buffer->size, (size_t)size + 1, format, args);
    va_end(args);
    buffer->size += (size_t)size;
}

char *hf_buffer_take(hf_buffer *buffer)
{
    if (buffer->failed || buffer->text == NULL) {
        hf_buffer_done(buffer);
        return NULL;
    }
    char *text = buffer->text;
    *buffer = (hf_buffer){0};
    return text;
}

void hf_buffer_done(hf_buffer *buffer)
{
    hf_free(buffer->text);
    *buffer = (hf_buffer){0};
}

/* SPDX-License-Identifier: MIT */
/* A customer with its addresses: one aggregate, under one name (`customer/42`) and one version. It
 * is a plain value: a text for each field of the form, copied with =. An address whose parts are
 * all empty is not there. */
#ifndef CUSTOMER_H
#define CUSTOMER_H

#include <holdfast/holdfast.h>

enum {
    ROOT_FIELDS = 4,
    ADDRESS_KINDS = 3,
    ADDRESS_PARTS = 4,
    FIELD_COUNT = ROOT_FIELDS + ADDRESS_KINDS * ADDRESS_PARTS,
    FIELD_SIZE = 2048,
};

typedef struct customer {
    int64_t id;
    int64_t version; /* the root's, read with the rest; 0: never saved */
    int64_t saved_us;
    char saved_by[HF_TEXT_SIZE];
    char text[FIELD_COUNT][FIELD_SIZE];
} customer;

/* A field of the form: the control's name, what people read beside it, and how it is filled in. */
typedef struct field {
    const char *name;
    const char *label;
    const char *type; /* of <input>; NULL: several lines */
    bool needed;
} field;

extern const field customer_fields[FIELD_COUNT];
extern const char *const address_kinds[ADDRESS_KINDS];
extern const char *const address_parts[ADDRESS_PARTS]; /* columns */

/* The field where the parts of an address begin. */
int address_begin(int kind);

/* Whether an address is there. */
bool address_exists(const customer *it, int kind);

/* Takes a text into a field: line ends become \n, and only a field of several lines may have them.
 * False: it is too long, or not UTF-8 that can be shown. */
bool customer_set(customer *it, int at, const char *text);

/* Whether all that is needed is there. *missing is the first that is missing. */
bool customer_complete(const customer *it, int *missing);

/* Fills an error, as the library does. Answers the status. */
hf_status fail(hf_error *err, hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: MIT */
/* Running a piece of work as a unit, and again where that is harmless. */
#include "record/inside.h"

#include <time.h>

enum { RUN_TRIES_MAX = 100 };

/* A moment of random length, longer each time: whoever was in the way is through by then. */
static void run_pause(unsigned tries)
{
    unsigned drawn = 0;
    (void)hf_seam.random(&drawn, sizeof drawn);
    long most = 2000000L << (tries < 6 ? tries : 6);
    struct timespec pause = {0, (long)(drawn % (unsigned long)most)};
    nanosleep(&pause, NULL);
}

/* An unsure unit is committed again as it is, which finds out; else the work begins anew. */
static bool run_again(const hf_unit *unit, hf_status status)
{
    return status == HF_RETRY || status == HF_BUSY ||
           (status == HF_UNSURE && unit != NULL && unit->unsure);
}

hf_status hf_unit_run(hf_tables *tables, const hf_unit_options *options, hf_work *work,
                      void *context, unsigned tries, hf_error *err)
{
    hf_status status = HF_OK;
    hf_unit *unit = NULL;
    if (work == NULL || tries == 0 || tries > RUN_TRIES_MAX)
        return hf_fail(err, HF_INVALID, "A unit is run 1 to %d times, by a function.",
                       RUN_TRIES_MAX);
    for (unsigned i = 0; i < tries && (i == 0 || run_again(unit, status)); i++) {
        if (i > 0)
            run_pause(i);
        if (unit != NULL && !unit->unsure) {
            hf_unit_free(unit);
            unit = NULL;
        }
        status = HF_OK;
        if (unit == NULL) {
            status = hf_unit_open(tables, options, &unit, err);
            if (status == HF_OK)
                status = work(unit, context, err);
        }
        if (status == HF_OK)
            status = hf_unit_commit(unit, NULL, err);
    }
    hf_unit_free(unit);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* A server for the tests of the program: serve STORE [TOKEN] prints its URL and serves until it is ended. */
#include <signal.h>
#include <stdio.h>
#include <support/batchd.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char url[HF_URL_MAX];
    hf_error err = {0};
    hf_store *store = NULL;
    sigset_t ends;
    int signal;
    if (argc < 2 || hf_store_open(argv[1], &store, &err) != HF_OK) {
        fprintf(stderr, "serve STORE [TOKEN]: %s\n", err.message);
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* of every thread */
    batchd *server = batchd_start(store, NULL, NULL);
    batchd_token(server, argc > 2 ? argv[2] : NULL);
    batchd_url(server, url);
    puts(url);
    fflush(stdout);
    sigwait(&ends, &signal);
    batchd_stop(server);
    hf_store_close(store);
    return 0;
}

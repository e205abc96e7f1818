/* A noisy count for tollens: cc -o noisy_count noisy_count.c -lm && ./noisy_count SCALE
 *
 * It draws from the seed of each request, and from nothing else: with seeded=True its runs can be
 * repeated. It reads its own requests only, so it looks for what it needs and parses no more.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static double uniform(void) { /* splitmix64, in (0, 1) */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* the length of a list of numbers: one more than its commas */
static long count(const char *list) {
    long commas = 0, items = 0;
    for (const char *c = list + 1; *c && *c != ']'; c++) {
        if (*c == ',') commas++;
        else if (*c != ' ') items = 1;
    }
    return items ? commas + 1 : 0;
}

int main(int words, char **word) {
    double scale = words > 1 ? atof(word[1]) : 1.0;
    char *line = NULL;
    size_t room = 0;
    puts("{\"tollens\": 1}");
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        char *data = strstr(line, "\"data\": ") + 8;
        long n = atol(strstr(data, "\"n\": ") + 5);
        state = strtoull(strstr(data, "\"seed\": ") + 8, NULL, 10);
        if (*data != '[') {
            printf("{\"fault\": \"data must be a list of numbers\"}\n");
            return 1;
        }
        for (long run = 0; run < n; run++) {
            double sign = uniform() < 0.5 ? -1.0 : 1.0;
            /* 17 digits hold all bits of a double; an exponent makes it a float in every case */
            printf("{\"output\": %.16e}\n", (double)count(data) - sign * scale * log(uniform()));
        }
        fflush(stdout); /* once for each request, or both sides wait */
    }
    free(line);
    return 0;
}

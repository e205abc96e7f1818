/* Randomised response for tollens: each bit is kept with probability 3/4. It keeps epsilon = ln 3.
 *
 *   $ cc -O2 -o randomised_response randomised_response.c
 *   $ tollens audit "command:./randomised_response" --claim "epsilon=ln 3" --neighbours "substitute:[0, 1]:0:1"
 *   $ tollens audit "command:./randomised_response broken" --claim "epsilon=ln 3" --neighbours "substitute:[0, 1]:0:1"
 *
 * The second audit refutes its claim: that program sends the last bit as it is.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *source; /* bytes of the operating system */

static int kept(void) {
    int byte = getc(source);
    if (byte == EOF) exit(1);
    return byte < 192; /* of 256 */
}

/* the bits of a list at text, which is of zeros and ones; -1 if it is something else */
static long read_bits(const char *text, char *bits) {
    long many = 0;
    for (const char *c = text + 1; *c != ']'; c++) {
        if (*c == '0' || *c == '1') bits[many++] = *c;
        else if (*c != ',' && *c != ' ') return -1;
    }
    return many;
}

int main(int words, char **word) {
    int broken = words > 1 && strcmp(word[1], "broken") == 0;
    char *line = NULL, *bits = NULL;
    size_t room = 0;
    source = fopen("/dev/urandom", "r");
    if (source == NULL) return 1;
    puts("{\"tollens\": 1}");
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        char *data = strstr(line, "\"data\": ") + 8;
        long n = atol(strstr(data, "\"n\": ") + 5);
        bits = realloc(bits, room);
        long many = bits != NULL && *data == '[' ? read_bits(data, bits) : -1;
        if (many < 0) {
            puts("{\"fault\": \"data must be a list of zeros and ones\"}");
            return 1;
        }
        long random = broken ? many - 1 : many; /* the mistake: one too few */
        fputs("{\"outputs\": [", stdout);
        for (long run = 0; run < n; run++) {
            fputs(run ? ", [" : "[", stdout);
            for (long i = 0; i < many; i++) {
                if (i) fputs(", ", stdout);
                putchar(i >= random || kept() ? bits[i] : '0' + '1' - bits[i]);
            }
            putchar(']');
        }
        puts("]}");
        fflush(stdout); /* once for each request, or both sides wait */
    }
    free(line);
    free(bits);
    return 0;
}

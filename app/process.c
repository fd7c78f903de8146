#include "process.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

int64_t process_ticks_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    int64_t a_second = sysconf(_SC_CLK_TCK);
    return (int64_t)now.tv_sec * a_second + now.tv_nsec / (1000000000 / a_second);
}

bool process_look(int pid, struct process *process) {
    char path[32];
    char line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    /* proc(5), from field 3 on: the name, which is field 2, can hold anything but ends in ") " */
    enum { STATE = 3, USER = 14, SYSTEM = 15, BEGAN = 22, PAGES = 24, FIELDS };
    int64_t fields[FIELDS] = {0};
    const char *name_end = read ? strrchr(line, ')') : NULL;
    if (name_end == NULL || name_end[1] != ' ') {
        return false;
    }
    struct text rest = text_from(name_end + 2);
    struct text field;
    char state = 'X';
    if (rest.length > 0) {
        state = rest.data[0];
    }
    for (int i = STATE; i < FIELDS && text_split(&rest, ' ', &field); i++) {
        text_integer(field, 0, INT64_MAX, &fields[i]);
    }
    process->began_ticks = fields[BEGAN];
    process->cpu_ticks = fields[USER] + fields[SYSTEM];
    process->memory_bytes = fields[PAGES] * sysconf(_SC_PAGESIZE);
    return state != 'Z' && state != 'X';
}

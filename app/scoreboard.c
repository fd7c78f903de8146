#include "scoreboard.h"

#include <stddef.h>
#include <sys/mman.h>

struct scoreboard *scoreboard_create(void) {
    void *memory = mmap(NULL, sizeof(struct scoreboard), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

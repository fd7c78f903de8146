#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "handover.h"
#include "log.h"
#include "program.h"

#define ANNOUNCEMENT "hand-over format "

void trial_announce(void) {
    printf(ANNOUNCEMENT "%d\n", HANDOVER_FORMAT);
}

static _Noreturn void run_child(int program, int output) {
    sigset_t none;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(nothing, STDIN_FILENO) == 0 && dup2(output, STDOUT_FILENO) > 0 &&
        dup2(output, STDERR_FILENO) > 0) {
        program_execute(program, "try");
    }
    _exit(log_sentence("it cannot be executed: %s", strerror(errno)));
}

bool trial_begin(struct trial *trial, char sentence[static TRIAL_BYTES]) {
    int ends[2] = {-1, -1};
    trial->program = program_open();
    if (trial->program < 0 || pipe2(ends, O_CLOEXEC) != 0 || (trial->pid = fork()) < 0) {
        snprintf(sentence, TRIAL_BYTES, "cannot try %s: %s", program_path(), strerror(errno));
        trial->pid = 0;
        close(trial->program);
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (trial->pid == 0) {
        run_child(trial->program, ends[1]);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* whoever else may hold the other end */
    trial->output = ends[0];
    trial->ends_ms = clock_ms() + TRIAL_MS;
    return true;
}

int64_t trial_timeout(const struct trial *trial) {
    if (trial->pid == 0) {
        return -1;
    }
    int64_t left = trial->ends_ms - clock_ms();
    if (left <= 0) {
        kill(trial->pid, SIGKILL);
    }
    return left > 0 ? left : TRIAL_MS;
}

/* What is wrong in the child's own words, or from how it ended. */
static void explain(int status, const char *said, char sentence[static TRIAL_BYTES]) {
    const char *own = strstr(said, "larder: ");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        snprintf(sentence, TRIAL_BYTES, "%s was killed, or did not answer within %d s",
                 program_path(), TRIAL_MS / 1000);
    } else if (WIFSIGNALED(status)) {
        snprintf(sentence, TRIAL_BYTES, "%s died of signal %d", program_path(), WTERMSIG(status));
    } else if (own != NULL) {
        own += strlen("larder: ");
        snprintf(sentence, TRIAL_BYTES, "%s says: %.*s", program_path(), (int)strcspn(own, "\n"),
                 own);
    } else {
        snprintf(sentence, TRIAL_BYTES, "%s cannot be tried: its exit status is %d", program_path(),
                 WEXITSTATUS(status));
    }
}

bool trial_end(struct trial *trial, int status, char sentence[static TRIAL_BYTES]) {
    char said[TRIAL_BYTES];
    ssize_t length = read(trial->output, said, sizeof said - 1);
    said[length < 0 ? 0 : length] = '\0';
    close(trial->output);
    trial->pid = 0;
    const char *announced = strstr(said, ANNOUNCEMENT);
    long format = announced == NULL ? 0 : strtol(announced + strlen(ANNOUNCEMENT), NULL, 10);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && format == HANDOVER_FORMAT;
    if (good) {
        return true;
    }
    if (announced == NULL || format == HANDOVER_FORMAT) {
        explain(status, said, sentence);
    } else {
        snprintf(sentence, TRIAL_BYTES,
                 "%s takes over in format %ld and this program hands over in format %d: stop the "
                 "service and start it again",
                 program_path(), format, HANDOVER_FORMAT);
    }
    close(trial->program);
    return false;
}

// Runs the command itself again, as a process of its own: whatever happens to it, we live on.

#include "child.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int child_run(cli *c, char *const *words, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int state = 0;

    posix_spawn_file_actions_init(&actions);
    if (out >= 0) {
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    signals_watch(c->ctx);
    const int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        return console_fail(71, "cannot start the command: %s", strerror(failed));
    }
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    signals_watch(NULL);
    if (WIFSIGNALED(state)) {
        return console_fail(70, "the command was ended by signal %d", WTERMSIG(state));
    }
    return WEXITSTATUS(state);
}

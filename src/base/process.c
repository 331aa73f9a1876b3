/* Running another program; see process.h. */
#include "base/process.h"

#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void become(const struct process *process, const int ends[2])
{
    dup2(ends[1], STDOUT_FILENO);
    if (process->errors)
        dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (!process->folder || chdir(process->folder) == 0)
        execvp(process->arguments[0], process->arguments);
    _exit(PROCESS_ABSENT);
}

static void listen_to(struct process *process, int from)
{
    char part[4096];
    size_t used = 0;
    for (ssize_t n; (n = read(from, part, sizeof part)) > 0;) {
        size_t left = process->room - 1 - used;
        size_t kept = (size_t)n < left ? (size_t)n : left;
        memcpy(process->heard + used, part, kept);
        used += kept;
        if (process->copy)
            fwrite(part, 1, (size_t)n, process->copy);
    }
    process->heard[used] = '\0';
}

int process_run(struct process *process)
{
    int ends[2], status = -1;
    process->heard[0] = '\0';
    if (process->copy)
        fflush(process->copy);
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        become(process, ends);
    close(ends[1]);
    if (child > 0)
        listen_to(process, ends[0]);
    close(ends[0]);
    if (child <= 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* A group of its own, so that all of it can be ended. An interrupt from the terminal does not
 * reach it: should this process be gone, an alarm ends it. */
static void live_apart(double limit_s)
{
    const double longest_s = 1e6;
    setpgid(0, 0);
    alarm((unsigned)(limit_s < longest_s ? limit_s : longest_s) + 2);
}

static bool is_under_way(pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

int process_call(int (*call)(void *argument), void *argument, double limit_s)
{
    const double pause_s = 0.005;
    const struct timespec pause = {0, 5000000};
    double waited_s = 0;
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        live_apart(limit_s);
        _exit(call(argument));
    }
    if (child < 0)
        return -1;
    setpgid(child, child); /* whoever of the two is first */
    while (is_under_way(child)) {
        if (waited_s > limit_s)
            kill(-child, SIGKILL);
        nanosleep(&pause, NULL);
        waited_s += pause_s;
    }
    /* what it started and left: until it is collected the group's number is its own */
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    if (waited_s > limit_s)
        return PROCESS_LATE;
    return WIFSIGNALED(status) ? PROCESS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

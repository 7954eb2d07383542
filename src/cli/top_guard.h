/*
 * A terminal that is left as it was found, whatever happens to the program that draws on it.
 *
 * The process that was started becomes the guard: it does nothing but wait for its child, which draws.  If the child ends while it
 * draws, of SIGKILL or whatever, the guard restores the terminal's modes, leaves the alternate screen, and dies of the same signal;
 * the shell, which waits for the guard, finds the terminal in order.  If the guard itself is killed, the kernel sends SIGTERM to
 * the child, which restores the terminal and ends.  Signals to the guard are passed on; when the child stops (Ctrl-Z), having
 * put the terminal in order, the guard stops, too.
 */
#ifndef DROSSEL_CLI_TOP_GUARD_H
#define DROSSEL_CLI_TOP_GUARD_H

#include <stdbool.h>

/* Forks.  True in the child, which goes on.  False in the guard once the child has ended: `*code` is the code to exit with.
 * Before the child draws anything the terminal's modes are known.  Where there can be no child, true without a guard. */
bool top_guard(int *code);

/* The child tells the guard: from now on there is something to restore, or no more. */
void top_guard_drawing(bool is_drawing);

#endif

// Large files that another takes the place of: a rename over some gigabytes takes a second or more,
// in which their pages are freed. They are freed beside what comes next instead.
#ifndef TESS_BASE_REPLACED_H
#define TESS_BASE_REPLACED_H

// Holds the file at path open, so that it loses no more than its name; -1 where there is none or it
// is small.
int tess_replaced_hold(const char *path);
// Closes it in a thread of its own. fd may be -1.
void tess_replaced_let_go(int fd);
// Returns once the disk has back what this process let go of: before anybody looks at what is free.
void tess_replaced_wait(void);

#endif

// A thread that closes a large file outlives everything that was made (base/replaced.c), so that
// dlclose() has to leave the library's code where it is.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library || dlclose(library) != 0) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "name the library");
        return 1;
    }
    if (!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
        fprintf(stderr, "%s is gone after dlclose()\n", argv[1]);
        return 1;
    }
    return 0;
}

"""What holds for every test in Python."""

import signal

# A process started in the background ignores Ctrl-C, and so would every process that it starts:
# the tests that press it mean one that was started in the foreground.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

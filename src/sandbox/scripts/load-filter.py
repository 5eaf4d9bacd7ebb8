import ctypes, os, struct, sys
keyctl, prctl, code, *argv = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
data = bytes.fromhex(code)
held = ctypes.create_string_buffer(data, len(data))
program = ctypes.create_string_buffer(struct.pack("Hxxxxxx" + "P", len(data) // 8, ctypes.addressof(held)))
libc.syscall(int(keyctl), 1, None, 0, 0)
if libc.syscall(int(prctl), 22, 2, program): sys.exit("cannot load the system call filter: " + os.strerror(ctypes.get_errno()))
os.execv(argv[0], argv)

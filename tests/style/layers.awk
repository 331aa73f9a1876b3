function fail(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}
function layer_of(path,    parts) {
    split(path, parts, "/")
    return parts[1] ~ /^main\./ ? "main" : parts[1]
}
function room_of(path,    parts) {
    return split(path, parts, "/") < 3 ? "" : parts[2]
}
# Of the rooms of one layer, each may include those before it, and itself. What stands in none
# is below them all, but for exec, whose own files hold its rooms together.
function room_fails(from, to,    rooms) {
    rooms = " " order[layer_of(from)] " "
    if (from ~ /^exec\/[^\/]*$/)
        return 0
    from = " " room_of(from) " "
    to = " " room_of(to) " "
    if (rooms == "  " || to == "  ")
        return 0
    return index(rooms, to) == 0 || index(rooms, from) < index(rooms, to)
}
BEGIN {
    may["base"] = " base "
    may["plan"] = " plan" may["base"]
    may["work"] = " work" may["plan"]
    may["sim"] = " sim" may["work"]
    may["exec"] = " exec" may["work"]
    may["report"] = " report calib sim exec work plan base "
    may["calib"] = " calib sim exec work plan base "
    may["lib"] = " lib" may["report"]
    may["page"] = may["python"] = " lib "
    may["cli"] = " cli" may["lib"]
    may["main"] = " main" may["cli"]

    order["plan"] = "schema rule hf read data text job serving framework" \
        " trainer rl launch"
    order["calib"] = "table validate claim fit run"
    order["exec"] = "kernels gpu backend absent transport verify"
    order["sim"] = "moe memory time serve step search answer"

    # header, or its folder -> the only file or folder that includes it
    home["yaml.h"] = "src/plan/source.c"
    home["cblas.h"] = "src/exec/kernels/blas.c"
    home["openblas_config.h"] = "src/exec/kernels/blas.c"
    home["mpi.h"] = "src/exec/transport/mpi.c"
    home["cuda.h"] = home["nvrtc.h"] = home["nccl.h"] = home["rccl.h"] = "src/exec/gpu/"
    home["hip/"] = home["rccl/"] = "src/exec/gpu/"
    home["Random123/"] = "src/base/"
    home["immintrin.h"] = home["cpuid.h"] = home["arm_neon.h"] = "src/exec/"
    home["dlfcn.h"] = "src/exec/"
    also["dlfcn.h"] = "src/base/home.c"
    home["emscripten.h"] = "src/page/"
    home["linux/"] = home["sys/syscall.h"] = "src/"

    plain = " assert ctype errno fcntl fenv float inttypes limits locale math setjmp signal" \
        " stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib string time wchar" \
        " dirent fnmatch glob poll pthread sched semaphore spawn strings sys/ioctl sys/mman" \
        " sys/resource sys/select sys/stat sys/time sys/types sys/utsname sys/wait termios" \
        " unistd "
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    from = layer_of(substr(FILENAME, 5))
    to = layer_of(quoted[2])
    if (!(from in may))
        fail("folder \"" from "\" is not a layer of the design")
    else if (index(quoted[2], "/") == 0)
        fail("\"" quoted[2] "\" is included without its folder")
    else if (from ~ /^(page|python)$/ && quoted[2] != "lib/moeplan.h")
        fail(from " may include lib/moeplan.h alone, not \"" quoted[2] "\"")
    else if (index(may[from], " " to " ") == 0)
        fail(from " may not include " to " (\"" quoted[2] "\")")
    else if (from == to && room_fails(substr(FILENAME, 5), quoted[2]))
        fail(FILENAME " may not include a room above its own (\"" quoted[2] "\")")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    folder = header
    sub(/\/.*/, "/", folder)
    place = header in home ? home[header] : folder in home ? home[folder] : ""
    name = header
    sub(/\.h$/, "", name)
    if (place != "" && index(FILENAME, place) != 1 && FILENAME != also[header])
        fail("<" header "> has its home in " place)
    else if (place == "" && index(plain, " " name " ") == 0)
        fail("<" header "> is neither standard C, nor POSIX, nor a vendor header with a home")
}
/[^a-z_]cblas_[a-z]/ && FILENAME != "src/exec/kernels/blas.c" && !/^[ \t]*(\/\*|\*|\/\/)/ {
    fail("CBLAS prototypes have their home in src/exec/kernels/blas.c")
}
END { exit failed }

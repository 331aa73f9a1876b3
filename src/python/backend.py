"""Builds the wheel (PEP 517), with nothing but Python's own library and the C build.

The wheel holds the package, and in it an installed copy of moeplan: binary, library, data. The
parts find each other relative to themselves, so that the package works wherever pip puts it.
libyaml is linked in; what else it needs is the C library, whose least version is read from the
files and named in the wheel's tag.

    python3 backend.py FOLDER        writes FOLDER/moeplan-VERSION-....whl and prints its name
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "wheel")
SUMMARY = "Simulator, capacity planner and measuring tool for Mixture-of-Experts models"


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as stream:
        return re.search(r"project\(moeplan VERSION ([0-9.]+)", stream.read()).group(1)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise RuntimeError(f"failed: {' '.join(command)}")


def install():
    """Builds, and installs into a folder of its own; returns the folder."""
    prefix = os.path.join(BUILD, "prefix")
    run("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DBUILD_TESTING=OFF", "-DMOEPLAN_MPI=OFF", "-DMOEPLAN_STATIC_YAML=ON", "-DMOEPLAN_IMAGES=OFF",
        f"-DMOEPLAN_WERROR={os.environ.get('MOEPLAN_WERROR', 'OFF')}", # .ci/run's flags, cached
        "-DCMAKE_INSTALL_LIBDIR=lib", f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run("cmake", "--build", BUILD)
    run("cmake", "-E", "rm", "-rf", prefix)
    run("cmake", "--install", BUILD, "--strip")
    return prefix


def glibc_of(files):
    """The least version of the C library that all of them run with."""
    least = (2, 17)
    for file in files:
        with open(file, "rb") as stream:
            for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", stream.read()):
                least = max(least, (int(found[0]), int(found[1])))
    return least


def tag_of(prefix):
    binaries = [os.path.join(prefix, "bin", "moeplan"),
                os.path.join(prefix, "lib", "libmoeplan.so.0")]
    return "py3-none-manylinux_{}_{}_{}".format(*glibc_of(binaries), platform.machine())


def contents(prefix):
    """(name in the wheel, file), sorted: the package, then the installed copy inside it."""
    package = os.path.join(HERE, "moeplan")
    found = []
    for folder, _, files in os.walk(package):
        found += [(os.path.relpath(os.path.join(folder, name), HERE), os.path.join(folder, name))
                  for name in files if name.endswith(".py") or name == "py.typed"]
    wanted = [os.path.join("bin", "moeplan"), os.path.join("lib", "libmoeplan.so.0")]
    for folder, _, files in os.walk(os.path.join(prefix, "share", "moeplan")):
        wanted += [os.path.relpath(os.path.join(folder, name), prefix) for name in files]
    found += [(os.path.join("moeplan", "prefix", name), os.path.join(prefix, name))
              for name in wanted]
    return sorted(found)


def metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as stream:
        readme = stream.read()
    return (f"Metadata-Version: 2.1\nName: moeplan\nVersion: {version()}\nSummary: {SUMMARY}\n"
            "License: MIT\nRequires-Python: >=3.9\n"
            "Description-Content-Type: text/markdown\n\n" + readme)


def add(wheel, records, name, data, executable=False):
    """One entry, without a date, so that the same tree gives the same wheel."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(data)}")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    prefix = install()
    tag, number = tag_of(prefix), version()
    info, records = f"moeplan-{number}.dist-info", []
    name = f"moeplan-{number}-{tag}.whl"
    os.makedirs(wheel_directory, exist_ok=True)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for inside, file in contents(prefix):
            with open(file, "rb") as stream:
                add(wheel, records, inside, stream.read(), os.access(file, os.X_OK))
        add(wheel, records, f"{info}/METADATA", metadata().encode())
        add(wheel, records, f"{info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: moeplan\nRoot-Is-Purelib: false\nTag: {tag}\n"
            .encode())
        add(wheel, records, f"{info}/entry_points.txt",
            b"[console_scripts]\nmoeplan = moeplan.__main__:main\n")
        with open(os.path.join(ROOT, "LICENSE"), "rb") as stream:
            add(wheel, records, f"{info}/LICENSE", stream.read())
        records.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)),
                       "\n".join(records) + "\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package is built from moeplan's own tree: src/python")


def get_requires_for_build_wheel(config_settings=None):
    del config_settings
    return []


if __name__ == "__main__":
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))

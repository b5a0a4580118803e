# SPDX-License-Identifier: Apache-2.0
"""Puts missing proxy fences into PTX text, and audits it.

    import fencepost
    fenced = fencepost.rewrite(ptx)
    report = fencepost.check(ptx)             # the report of docs/report.schema.json, as dictionaries
    fencepost.use_in_triton()                 # Triton's kernels are fenced from now on

The work is done by the program `fencepost`, which is installed beside this module.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

__all__ = ["Error", "check", "program", "rewrite", "use_in_triton", "version"]


class Error(Exception):
    """The input is no PTX, or an option is wrong; the text says where."""


def program(name="fencepost"):
    """The path of `fencepost` or `fencepost-ptxas`: of this installation, else the one on PATH."""
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    if os.name == "posix":
        folders.append(sysconfig.get_path("scripts", "posix_user"))
    path = shutil.which(name, path=os.pathsep.join(folders)) or shutil.which(name)
    if not path:
        raise Error(f"{name} is not installed")
    return path


def version():
    """The version of the program."""
    text = subprocess.run([program(), "--version"], check=True, capture_output=True, text=True).stdout
    return text.split()[1]


def _words(options):
    """strict=True, cp_async="trust", assume=["no-wrap"] as the command line has them."""
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            yield name
        elif value is not False and value is not None:
            yield f"{name}={value if isinstance(value, (str, int, float)) else ','.join(value)}"


def _run(words, ptx, worst):
    data = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
    done = subprocess.run([program(), *words, "-"], input=data, capture_output=True)
    if not 0 <= done.returncode <= worst:
        raise Error(done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}")
    return done.stdout


def rewrite(ptx, **options):
    """The same PTX with its missing fences, str for str and bytes for bytes.

    Options are those of the command line: placement="async", fix=["missing"], strict=True, ...
    An edge that no fence settles is in check(rewrite(ptx)); it is no error here.
    """
    output = _run(["-q", *_words(options)], ptx, 1)
    return output.decode() if isinstance(ptx, str) else output


def check(ptx, **options):
    """The findings as a report: check(ptx)["files"][0]["findings"]."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        _run(["--check", "--format=json", "--report=" + report, *_words(options)], ptx, 1)
        with open(report, encoding="utf-8") as file:
            return json.load(file)


def use_in_triton(options=None):
    """Lets Triton call fencepost-ptxas; call it before the first kernel is compiled.

    options: a string for FENCEPOST_OPTIONS. Triton names its cache by the text of `ptxas --version`,
    of which fencepost-ptxas's version and options are part, so old entries are not taken.
    """
    shim = program("fencepost-ptxas")
    if "FENCEPOST_PTXAS" not in os.environ:
        from importlib import util

        spec = util.find_spec("triton")
        folders = spec.submodule_search_locations if spec else None
        if not folders:
            raise Error("Triton is not installed")
        tools = os.path.join(list(folders)[0], "backends", "nvidia", "bin")
        for name in ("ptxas-blackwell", "ptxas"):  # the newer one, which knows all targets
            if os.path.exists(os.path.join(tools, name)):
                os.environ["FENCEPOST_PTXAS"] = os.path.join(tools, name)
                break
    if options is not None:
        os.environ["FENCEPOST_OPTIONS"] = options
    os.environ["TRITON_PTXAS_PATH"] = shim
    os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = shim

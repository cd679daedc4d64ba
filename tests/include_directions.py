"""Checks which folder includes which: the layers of the design, and the libraries that only one folder may see."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each folder of src/ may include itself, these folders, and the contracts in include/ferry.
ALLOWED = {
    "base": [],
    "metrics": ["base"],
    "batching": ["metrics", "base"],
    "execution": ["batching", "metrics", "base"],
    "repository": ["execution", "batching", "metrics", "base"],
    "device": ["base"],
    "backend": ["base"],
    "frontend": ["repository", "execution", "batching", "metrics", "base"],
    "loadgen": ["base"],
    "server": ["frontend", "backend", "device", "repository", "execution", "batching", "metrics", "base"],
}
# Libraries by the folders that may include them.
LIBRARIES = {
    r"(torch|ATen|c10)/": ["backend"],
    r"cuda": ["device"],
    r"grpc": ["frontend", "loadgen"],
    r"(boost/|simdjson)": ["frontend", "loadgen"],
    r"nlohmann/": ["loadgen"],
    r"google/protobuf/": ["repository", "frontend", "loadgen"],
    r"spdlog/": ["base"],
    r"prometheus/": ["metrics"],
    r"stb/": ["loadgen"],
    r"CLI/": ["server", "loadgen"],
}
INCLUDE = re.compile(r'^\s*#include\s+[<"]([^>"]+)[>"]', re.M)


def faults():
    contracts = {path.name for path in (ROOT / "include/ferry").iterdir()}
    for path in sorted([*(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.cc"), *(ROOT / "include").rglob("*.h")]):
        parts = path.relative_to(ROOT).parts
        folder = parts[1]  # of src/, or "ferry" for a contract
        for include in INCLUDE.findall(path.read_text()):
            top = include.split("/")[0]
            if top == "ferry":
                if include.split("/")[1] not in contracts:
                    yield f"{path}: {include} is no contract"
            elif top in ALLOWED and top != folder and top not in ALLOWED.get(folder, []):
                yield f"{path}: {folder} may not include {include}"
            for library, folders in LIBRARIES.items():
                if re.match(library, include) and folder not in folders:
                    yield f"{path}: only {' and '.join(folders)} may include {include}"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "all includes go in an allowed direction")
    sys.exit(1 if found else 0)

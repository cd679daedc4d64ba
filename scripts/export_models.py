"""Writes the weights of the sample models: models/<name>/1/model.pt, frozen TorchScript.

A model whose file is there and was made by this code and these package versions is left alone.
Usage: export_models.py [--force] [NAME ...]
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
# A change in any of these may change the weights.
SOURCES = [
    ROOT / "scripts" / "export_models.py",
    ROOT / "scripts" / "sample_models.py",
    ROOT / "requirements.txt",
    ROOT / "requirements-nodeps.txt",
]
CHECKED_BATCHES = (1, 2, 5)
TOLERANCE = 1e-4


def fingerprint():
    digest = hashlib.sha256()
    for source in SOURCES:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def write_atomically(path, write):
    """Calls write(temporary path), then renames: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        write(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def freeze(model, example, inputs_for):
    """Traces and freezes the model, and compares it with the eager one for several batch sizes."""
    import torch

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        frozen = torch.jit.freeze(torch.jit.trace(model, example, check_trace=False))
        for batch in CHECKED_BATCHES:
            for inputs in inputs_for(batch):
                # Twice: the second call of a shape runs optimised code.
                frozen(*inputs)
                difference = (frozen(*inputs) - model(*inputs)).abs().max().item()
                if not difference < TOLERANCE:
                    shapes = [list(t.shape) for t in inputs]
                    sys.exit(f"export differs from eager by {difference:.2e} for inputs {shapes}")
    return frozen


def export_efficientnet_lite0(folder):
    import torch

    import sample_models

    def images(batch):
        yield (torch.rand(batch, 3, 224, 224) * 2 - 1,)

    frozen = freeze(sample_models.efficientnet_lite0(), *images(2), images)
    write_atomically(folder / "1" / "model.pt", frozen.save)
    labels = "".join(f"{label}\n" for label in sample_models.imagenet_labels())
    write_atomically(folder / "labels.txt", lambda path: Path(path).write_text(labels, encoding="utf-8"))


def export_minilm(folder):
    import torch

    import sample_models

    def tokens(batch, lengths=(1, 8, 32, 512)):
        for length in lengths:
            ids = torch.randint(1000, 20000, (batch, length))
            mask = torch.ones_like(ids)
            mask[-1, length // 2 + 1 :] = 0
            yield ids, mask

    frozen = freeze(sample_models.minilm(), next(tokens(2, lengths=(7,))), tokens)
    write_atomically(folder / "1" / "model.pt", frozen.save)


def export_mlp(folder):
    import torch

    import sample_models

    def rows(batch):
        yield (torch.randn(batch, 1024),)

    frozen = freeze(sample_models.mlp(), *rows(2), rows)
    write_atomically(folder / "1" / "model.pt", frozen.save)


def export_mlp_unbatched(folder):
    source = MODELS / "mlp" / "1" / "model.pt"

    def link(path):
        Path(path).unlink()
        try:
            os.link(source, path)
        except OSError:  # A file system without hard links.
            Path(path).write_bytes(source.read_bytes())

    write_atomically(folder / "1" / "model.pt", link)


# In this order: mlp_unbatched links the file of mlp.
EXPORTS = {
    "efficientnet_lite0": (export_efficientnet_lite0, ["1/model.pt", "labels.txt"]),
    "minilm": (export_minilm, ["1/model.pt"]),
    "mlp": (export_mlp, ["1/model.pt"]),
    "mlp_unbatched": (export_mlp_unbatched, ["1/model.pt"]),
}


def up_to_date(name, wanted):
    folder = MODELS / name
    stamp = folder / ".exported"
    files = EXPORTS[name][1]
    return stamp.is_file() and stamp.read_text() == wanted and all((folder / f).is_file() for f in files)


def main():
    parser = argparse.ArgumentParser(description="Writes the weights of the sample models.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPORTS)}; default: all")
    parser.add_argument("--force", action="store_true", help="export even what is up to date")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(EXPORTS)
    if unknown:
        parser.error(f"no such sample: {', '.join(sorted(unknown))}; there are {', '.join(EXPORTS)}")

    wanted = fingerprint()
    for name, (export, files) in EXPORTS.items():
        if arguments.names and name not in arguments.names:
            continue
        if not arguments.force and up_to_date(name, wanted):
            continue
        begin = time.monotonic()
        export(MODELS / name)
        (MODELS / name / ".exported").write_text(wanted)
        size = (MODELS / name / files[0]).stat().st_size / 1e6
        print(f"  {name}: {size:.1f} MB, equal to eager at batch {CHECKED_BATCHES} "
              f"({time.monotonic() - begin:.0f} s)")


if __name__ == "__main__":
    main()

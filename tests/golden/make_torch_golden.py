"""Makes tests/golden/torch: small files written by torch.save itself, with what they hold in expected.json.

Run once (`pip install torch`), from anywhere: python3 tests/golden/make_torch_golden.py
The hostile ones are refused by the reader; nothing in them is ever run.
"""

import collections
import json
import os
import pathlib
import pickle
import shutil
import zipfile

import torch

OUT = pathlib.Path(__file__).parent / "torch"
DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}
expected = {}


def describe(tensors):
    """name -> dtype, shape and the row-major contents as float64."""
    return {name: {"dtype": DTYPES[t.dtype], "shape": list(t.shape),
                   "values": t.detach().to(torch.float64).reshape(-1).tolist()} for name, t in tensors.items()}


def save(name, value, tensors, **options):
    torch.save(value, OUT / name, **options)
    expected[name] = {"tensors": describe(tensors)}


def refuse(name, *fragments):
    """The error must contain these."""
    expected[name] = {"error": list(fragments)}


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must never run",)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    torch.manual_seed(1)

    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2, bias=False))
    state = module.state_dict()  # an OrderedDict with the attribute _metadata
    for protocol in (2, 3, 4, 5):
        save(f"state_dict_p{protocol}.pt", state, state, pickle_protocol=protocol)
    save("parameters.pt", dict(module.named_parameters()), dict(module.named_parameters()))

    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    views = {
        "whole": x, "permuted": x.permute(2, 0, 1), "transposed": x[0].t(), "row": x[1, 2], "column": x[:, :, 1],
        "stepped": x.reshape(-1)[1::3], "scalar": x[1, 1, 1], "expanded": x[0, 0, :1].expand(3),
        "empty": x[:, :0], "unit": x[:1, 1:2, 2:4],
    }
    save("views.pt", views, views)  # one storage, shared by all
    dtypes = {n: (torch.arange(-2, 5).to(t) if t not in (torch.bool, torch.uint8) else torch.arange(7).to(t))
              for t, n in DTYPES.items()}
    save("dtypes.pt", dtypes, dtypes)
    save("nested.pt", {"epoch": 3, "loss": 0.5, "name": "head", "flags": [True, None], "big": 2**40, "negative": -7,
                       "state_dict": {"w": torch.ones(2)}, "list": [torch.zeros(1), (torch.full((1,), 2.0),)],
                       "size": torch.Size([4, 5])},
         {"state_dict.w": torch.ones(2), "list.0": torch.zeros(1), "list.1.0": torch.full((1,), 2.0)})
    save("alone.pt", torch.tensor([1.5, -2.5]), {"alone": torch.tensor([1.5, -2.5])})

    ids = [5, 0, 300, 70000, 2**31 + 3, -1]
    torch.save(ids, OUT / "integers.pt")
    expected["integers.pt"] = {"integers": ids}
    torch.save(torch.tensor(ids), OUT / "integers_tensor.pt")
    expected["integers_tensor.pt"] = {"integers": ids}

    torch.save(state, OUT / "legacy.bin", _use_new_zipfile_serialization=False)
    refuse("legacy.bin", "before PyTorch 1.6", "safetensors")
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(OUT / "script.pt"))
    refuse("script.pt", "TorchScript", "state_dict")
    (OUT / "bare.pt").write_bytes(pickle.dumps({"a": 1}, protocol=4))
    refuse("bare.pt", "bare Python pickle")
    torch.save({"w": Evil()}, OUT / "evil.pt")
    refuse("evil.pt", "system", "nothing is run")
    torch.save(torch.nn.Linear(2, 2), OUT / "module.pt")
    refuse("module.pt", "torch.nn.modules.linear.Linear", "state_dict")
    torch.save({"w": torch.zeros(2).numpy()}, OUT / "numpy.pt")
    refuse("numpy.pt", "numpy")
    torch.save({"w": torch.zeros(2, dtype=torch.complex64)}, OUT / "complex.pt")
    refuse("complex.pt", "ComplexFloatStorage")
    torch.save({"w": torch.zeros(2, 2).to_sparse()}, OUT / "sparse.pt")
    refuse("sparse.pt", "_rebuild_sparse_tensor")
    torch.save({"a": {1, 2}}, OUT / "set.pt")
    refuse("set.pt", "set")
    torch.save("only a string", OUT / "no_tensors.pt")
    refuse("no_tensors.pt", "holds no tensors")

    with zipfile.ZipFile(OUT / "alone.pt") as source, \
            zipfile.ZipFile(OUT / "deflated.pt", "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.namelist():
            target.writestr(zipfile.ZipInfo(entry), source.read(entry), zipfile.ZIP_DEFLATED)
    refuse("deflated.pt", "compressed", "without compression")
    with zipfile.ZipFile(OUT / "alone.pt") as source, zipfile.ZipFile(OUT / "big_endian.pt", "w") as target:
        for entry in source.namelist():
            content = b"big" if entry.endswith("byteorder") else source.read(entry)
            target.writestr(zipfile.ZipInfo(entry), content)
    refuse("big_endian.pt", "byte order big")
    # Python's own zip writer with 64-bit sizes: the same tensors behind another layout.
    with zipfile.ZipFile(OUT / "alone.pt") as source, zipfile.ZipFile(OUT / "zip64.pt", "w") as target:
        for entry in source.namelist():
            with target.open(zipfile.ZipInfo(entry), "w", force_zip64=True) as out:
                out.write(source.read(entry))
    expected["zip64.pt"] = {"tensors": describe({"zip64": torch.tensor([1.5, -2.5])})}

    (OUT / "expected.json").write_text(json.dumps(expected, indent=None, separators=(",", ":")) + "\n")
    print(len(expected), "files,", sum(f.stat().st_size for f in OUT.iterdir()), "bytes")


if __name__ == "__main__":
    main()

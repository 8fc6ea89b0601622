#!/usr/bin/env python3
"""Writes the seeds in corpus/gguf, corpus/gguf_split and corpus/safetensors: small well-formed files to start from.

    pip install gguf numpy && python3 make_seeds.py
"""
import json
import pathlib
import struct
import tempfile

import gguf
import numpy as np

CORPUS = pathlib.Path(__file__).parent / "corpus"


def write_gguf(name, architecture, model, pre, extra=None):
    w = gguf.GGUFWriter(CORPUS / "gguf" / name, architecture)
    w.add_block_count(1)
    w.add_context_length(64)
    w.add_embedding_length(32)
    w.add_feed_forward_length(32)
    w.add_head_count(2)
    w.add_head_count_kv(1)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(16)
    w.add_tokenizer_model(model)
    w.add_tokenizer_pre(pre)
    tokens = ["<unk>", "<s>", "</s>", "<0x41>", "a", "b", "ab"]
    w.add_token_list(tokens)
    w.add_token_types([2, 3, 3, 6, 1, 1, 1])
    if model == "llama":
        w.add_token_scores([-float(i) for i in range(len(tokens))])
    else:
        w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(True)
    w.add_chat_template("{{ messages }}")
    if extra:
        extra(w)
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((7, 32)).astype(np.float32)
    w.add_tensor("token_embd.weight", gguf.quants.quantize(weight, gguf.GGMLQuantizationType.Q8_0),
                 raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    w.add_tensor("blk.0.attn_q.weight", gguf.quants.quantize(weight.repeat(5, 0)[:32], gguf.GGMLQuantizationType.Q4_1),
                 raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    w.add_tensor("blk.0.attn_k.bias", weight[0, :16].astype(np.float16))
    w.add_tensor("output_norm.weight", weight[0])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_split(name):
    """Parts one behind the other, each with its length before it."""
    with tempfile.TemporaryDirectory() as folder:
        w = gguf.GGUFWriter(pathlib.Path(folder) / "m.gguf", "llama", split_max_tensors=1)
        w.add_block_count(1)
        for tensor in ("token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight"):
            w.add_tensor(tensor, np.ones((2, 4), np.float32))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        parts = [path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())]
    (CORPUS / "gguf_split" / name).write_bytes(b"".join(struct.pack("<H", len(part)) + part for part in parts))


def rope_factors(w):
    w.add_tensor("rope_freqs.weight", np.ones(8, np.float32))


def yarn(w):
    w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    w.add_rope_scaling_factor(4.0)
    w.add_rope_scaling_orig_ctx_len(32)


def windows(w):
    w.add_sliding_window(8)
    w.add_sliding_window_pattern([True])
    w.add_final_logit_softcapping(30.0)
    w.add_tensor("blk.0.post_ffw_norm.weight", np.ones(32, np.float32))


def long_rope(w):
    w.add_rope_scaling_attn_factors(1.2)
    w.add_rope_scaling_orig_ctx_len(32)
    w.add_tensor("rope_factors_long.weight", np.full(8, 3, np.float32))
    w.add_tensor("rope_factors_short.weight", np.ones(8, np.float32))


def experts(w):
    w.add_expert_count(2)
    w.add_expert_used_count(1)
    w.add_expert_feed_forward_length(32)
    w.add_sliding_window(8)
    w.add_tensor("blk.0.ffn_up_exps.weight", np.tile(np.arange(17, dtype=np.uint8), (2, 3, 1)),
                 raw_dtype=gguf.GGMLQuantizationType.MXFP4)
    w.add_tensor("blk.0.ffn_up_exps.bias", np.ones((2, 3), np.float32))
    w.add_tensor("blk.0.attn_sinks.weight", np.ones(2, np.float32))


def delta_rules(w):
    """And a layer behind the model's, which drafts."""
    w.add_block_count(3)
    w.add_nextn_predict_layers(1)
    w.add_recurrent_layers([True, False, False])
    w.add_rope_dimension_sections([4, 2, 2, 0])
    w.add_ssm_conv_kernel(2)
    w.add_ssm_state_size(8)
    w.add_ssm_group_count(1)
    w.add_ssm_time_step_rank(2)
    w.add_ssm_inner_size(16)
    w.add_tensor("blk.0.ssm_a", np.full(2, -0.5, np.float32))
    w.add_tensor("blk.0.ssm_dt.bias", np.ones(2, np.float32))
    w.add_tensor("blk.0.ssm_norm.weight", np.ones(8, np.float32))
    w.add_tensor("blk.0.ssm_conv1d.weight", np.ones((32, 2), np.float32))
    w.add_tensor("blk.0.ssm_out.weight", np.ones((32, 16), np.float32))
    w.add_tensor("blk.2.nextn.enorm.weight", np.ones(32, np.float32))
    w.add_tensor("blk.2.attn_norm.weight", np.ones(32, np.float32))


def mamba(w):
    """A layer of Mamba2 and one with attention, with experts and one that all rows go to."""
    w.add_block_count(2)
    w.add_head_count_kv([0, 2])
    w.add_rope_scaling_finetuned(False)
    w.add_expert_count(2)
    w.add_expert_used_count(1)
    w.add_expert_shared_feed_forward_length(16)
    w.add_ssm_conv_kernel(2)
    w.add_ssm_state_size(8)
    w.add_ssm_group_count(2)
    w.add_ssm_time_step_rank(4)
    w.add_ssm_inner_size(64)
    w.add_tensor("blk.0.ssm_a", np.full((4, 1), -0.5, np.float32))
    w.add_tensor("blk.0.ssm_d", np.ones((4, 1), np.float32))
    w.add_tensor("blk.0.ssm_dt.bias", np.ones(4, np.float32))
    w.add_tensor("blk.0.ssm_norm.weight", np.ones((2, 32), np.float32))
    w.add_tensor("blk.0.ssm_conv1d.weight", np.ones((96, 2), np.float32))
    w.add_tensor("blk.0.ssm_conv1d.bias", np.ones(96, np.float32))
    w.add_tensor("blk.0.ssm_out.weight", np.ones((32, 64), np.float32))
    w.add_tensor("blk.0.ffn_gate_shexp.weight", np.ones((16, 32), np.float32))
    w.add_tensor("blk.1.attn_k.weight", np.ones((16, 32), np.float32))


def block_types(w):
    """A block of every quantised type."""
    for kind in gguf.quants._type_traits:
        size = gguf.constants.GGML_QUANT_SIZES[kind][1]
        if kind != gguf.GGMLQuantizationType.BF16:
            w.add_tensor(kind.name, (np.arange(size) % 100).astype(np.uint8).reshape(1, size), raw_dtype=kind)


def write_safetensors(name, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for tensor, (dtype, shape, content) in tensors.items():
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (CORPUS / "safetensors" / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    for folder in ("gguf", "gguf_split", "safetensors"):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    write_gguf("llama.gguf", "llama", "llama", "default", rope_factors)
    write_gguf("qwen2.gguf", "qwen2", "gpt2", "qwen2", yarn)
    write_gguf("gemma3.gguf", "gemma3", "llama", "default", windows)
    write_gguf("phi3.gguf", "phi3", "llama", "default", long_rope)
    write_gguf("gpt-oss.gguf", "gpt-oss", "gpt2", "gpt-4o", experts)
    write_gguf("qwen35.gguf", "qwen35", "gpt2", "qwen35", delta_rules)
    write_gguf("granitehybrid.gguf", "granitehybrid", "gpt2", "dbrx", mamba)
    write_gguf("types.gguf", "llama", "llama", "default", block_types)
    write_split("three")
    write_safetensors("two.safetensors", {"a": ("F32", [2, 2], bytes(16)), "b": ("BF16", [3], bytes(6))})
    write_safetensors("types.safetensors", {
        "f64": ("F64", [1], bytes(8)), "f16": ("F16", [2], bytes(4)), "i64": ("I64", [1], bytes(8)),
        "bool": ("BOOL", [3], bytes(3)), "empty": ("F32", [0, 4], b""), "scalar": ("F32", [], bytes(4))})


if __name__ == "__main__":
    main()

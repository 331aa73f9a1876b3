#!/usr/bin/env python3
"""Writes tests/data/dispatch_sizes.csv: sizes of dispatchers from an independent statement.

usage: dispatch_sizes.py OUT.csv

Integer arithmetic over plain numbers, nothing shared with the C sources. `printed` is the
figure as the dispatcher's documentation or a public report prints it, with its unit; empty
where the source gives none. The tests compare `value` to the unit and `printed` to the digits
that are shown. Sources: DeepEP csrc/legacy/config.hpp and csrc/elastic at dd758caf,
Primus-Turbo a6a16cdc, MaxText e591f30c, vLLM fused_moe, NxD fbac349b, DeepGEMM 54e22612,
Tutel ac0e51b9, nmoe c71e591f; vLLM issues 57894, 47127, 57270 and SGLang 28994.
"""
import csv
import math
import sys

COLUMNS = ["quantity", "T", "K", "E", "R", "H", "I", "sms", "n_node", "B", "S", "mb", "cf", "n",
           "value", "printed", "unit", "source"]
ROWS = []


def cdiv(a, b):
    return -(-a // b)


def up(a, b):
    return cdiv(a, b) * b


def row(quantity, value, printed="", unit="", source="", **letters):
    assert set(letters) <= set(COLUMNS), letters
    ROWS.append({"quantity": quantity, "value": value, "printed": printed, "unit": unit,
                 "source": source, **letters})


DSV3 = dict(H=7168, I=2048, E=256, K=8)

# ---- DeepEP V1: (dispatch, combine) rows of nvl_send nvl_recv rdma_send rdma_recv ----
UPSTREAM = {
    2: ((24, 256, 6, 128), (10, 256, 6, 128)), 4: ((6, 256, 6, 128), (9, 256, 6, 128)),
    8: ((6, 256, 6, 128), (4, 256, 6, 128)), 16: ((36, 288, 20, 128), (4, 288, 12, 128)),
    24: ((32, 288, 8, 128), (1, 288, 8, 128)), 32: ((32, 288, 8, 128), (1, 288, 8, 128)),
    48: ((32, 288, 8, 128), (1, 288, 8, 128)), 64: ((32, 288, 8, 128), (1, 288, 8, 128)),
    96: ((20, 480, 12, 128), (1, 480, 8, 128)), 128: ((20, 560, 12, 128), (1, 560, 8, 128)),
    144: ((32, 720, 12, 128), (2, 720, 8, 128)), 160: ((28, 720, 12, 128), (2, 720, 8, 128)),
}
PRIMUS = {8: (6, 256, 6, 128), 16: (36, 288, 20, 128), 64: (20, 288, 28, 128)}


def nvl(hidden_bytes, ranks, sms, config, meta=8):
    nodes, peers = max(ranks // 8, 1), min(ranks, 8)
    queue = (2 * nodes + 3) * 4 + config[1] * (hidden_bytes + meta + 128 * 16)
    return up(sms // 2 * peers * queue, 128)


def rdma(hidden_bytes, ranks, sms, config, meta=8):
    if ranks <= 8:
        return 0
    queue = 18 * 4 + up(config[3], config[2]) * (hidden_bytes + meta + 128 * 16 + 16)
    return up(sms // 2 * (ranks // 8) * 2 * queue, 128)


def deepep_v1():
    printed = {
        2: (83927552, 0), 4: (167854976, 0), 8: (335709824, 0), 16: (377673984, 91887744),
        24: (377674624, 126017792), 32: (377675264, 168023680), 48: (377676544, 252035584),
        64: (377677824, 336047360), 96: (629461504, 519822720), 128: (734372864, 693096960),
        144: (944191744, 779734144), 160: (944193024, 866371200)}
    mib = {2: ("80.040", ""), 4: ("160.079", ""), 8: ("320.158", ""), 16: ("360.178", "87.631"),
           24: ("", "120.180"), 32: ("", "160.240"), 48: ("", "240.360"),
           64: ("360.182", "320.480"), 96: ("600.301", "495.742"), 128: ("700.353", "660.989"),
           144: ("900.451", "743.612"), 160: ("900.453", "826.236")}
    for ranks, configs in UPSTREAM.items():
        at = dict(DSV3, R=ranks, sms=20, source="buffers 2.2")
        row("deepep_nvl", max(nvl(14336, ranks, 20, c) for c in configs), mib[ranks][0], "MiB",
            **at)
        row("deepep_rdma", max(rdma(14336, ranks, 20, c) for c in configs), mib[ranks][1],
            "MiB", **at)
        at = dict(DSV3, R=ranks, sms=20, source="buffers 2.2")
        row("deepep_nvl", max(nvl(14336, ranks, 20, c) for c in configs), printed[ranks][0],
            "B", **at)
        row("deepep_rdma", max(rdma(14336, ranks, 20, c) for c in configs), printed[ranks][1],
            "B", **at)
    row("deepep_nvl", max(nvl(14336, 8, 24, c) for c in UPSTREAM[8]), 402851712, "B",
        "buffers 2.2", **dict(DSV3, R=8, sms=24))
    for ranks, sms, a, b in ((8, 64, 1074271232, 0), (8, 32, 537135616, 0),
                             (16, 64, 1208556544, 294040576), (64, 64, 1208568832, 1176162304),
                             (64, 32, 604284416, 588081152)):
        at = dict(DSV3, R=ranks, sms=sms, source="buffers 4.1")
        row("primus_nvl", nvl(14336, ranks, sms, PRIMUS[ranks]), a, "B", **at)
        row("primus_rdma", rdma(14336, ranks, sms, PRIMUS[ranks]), b, "B", **at)
    row("primus_nvl_no_rocshmem", nvl(14336, 8, 64, PRIMUS[8], 0), 1073746944, "B",
        "buffers 4.1", **dict(DSV3, R=8, sms=64))
    for ranks in (2, 8):
        tokens, received = 4096, 30000
        handle = 4 * ranks**2 + 8 * ranks * 10 + 4 * received + 5 * tokens * ranks
        row("deepep_handle", handle, source="buffers 2.3",
            **dict(DSV3, T=tokens, R=ranks, sms=20, n=received))


# ---- DeepEP low latency ----
def low_latency(t, h, e, scales_in_combine=True):
    s = h // 128
    dispatch, combine = 16 + max(2 * h, h + 4 * s), (4 * s if scales_in_combine else 0) + 2 * h
    send = max(t * dispatch, e * t * combine)
    receive = e * t * max(dispatch, combine)
    total = 2 * (send + receive + up(4 * e, 128))
    return (total + 128) // 128 * 128


def deepep_low_latency():
    report = "DeepEP low latency sizes of vLLM 57894, SGLang 28994"
    for h, e, t, printed in ((5120, 448, 2048, "35.547"), (5120, 448, 1856, "32.214"),
                             (5120, 448, 1840, "31.937"), (5120, 448, 1536, "26.660"),
                             (7168, 256, 1024, "14.22"), (7168, 256, 128, "1.777")):
        row("low_latency", low_latency(t, h, e), printed, "GiB", report, H=h, E=e, T=t, K=8)
    for t, printed in ((128, "1.7773"), (256, "3.5547"), (512, "7.1094"), (1024, "14.2188")):
        row("low_latency", low_latency(t, 7168, 256), printed, "GiB", "buffers 2.5",
            **dict(DSV3, T=t))
    at = dict(DSV3, T=128, source="buffers 2.5")
    row("low_latency", low_latency(128, 7168, 256), 1908410496, "B", **at)
    row("low_latency_dispatch_message", 16 + 2 * 7168, 14352, "B", **at)
    row("low_latency_combine_message", 4 * 56 + 2 * 7168, 14560, "B", **at)
    row("low_latency_primus", low_latency(128, 7168, 256, False), 1880098944, "B", **at)
    row("low_latency_sent_fp8", 128 * 8 * (16 + 7168 + 4 * 56), 7585792, "B", **at)
    row("low_latency_returned", 128 * 8 * 2 * 7168, 14680064, "B", **at)
    for ranks in (8, 64):
        at = dict(DSV3, T=128, R=ranks, source="buffers 2.5")
        rows = 256 // ranks * ranks * 128
        row("low_latency_rows", rows, **at)
        row("low_latency_packed_bf16", rows * 7168 * 2, "448", "MiB", **at)
        row("low_latency_packed_fp8", rows * 7168, "224", "MiB", **at)
        row("low_latency_scales", rows * 7168 // 128 * 4, "7", "MiB", **at)


# ---- DeepEP V2 ----
def elastic(t, h, k, nodes, node, fp8, nvlink):
    scales = up(cdiv(h, 32) * 4, 32) if fp8 else 0
    d = up(h * (1 if fp8 else 2), 32) + scales + up(8 * k + 4 * (1 + k), 32)
    c = up(2 * h, 32) + up(8 * k, 32)
    ranks = nodes * node
    if nodes == 1:
        dispatch = d * t * (ranks + (0 if nvlink else 1))
        combine = c * t * (min(ranks, k) + (0 if nvlink else ranks))
    else:
        dispatch = d * (ranks * t + t + nodes * (t + 1024))
        combine = c * (min(node, k) * nodes * t + min(nodes, k) * t + nodes * (t + 1024))
    return up(max(dispatch, combine), 2 << 20), d, c


def deepep_elastic():
    row("elastic_workspace", 16 + 3072 * 24 + 1024 * 4 + 3072 * 8 + (1024 * 1024) * 12 + 32 +
        33 * 4096, 12820528, "B", "buffers 3")
    for quantity, fp8, index, printed in (("elastic_record_bf16", False, 1, 14464),
                                          ("elastic_record_fp8", True, 1, 8192),
                                          ("elastic_record_combine", False, 2, 14400)):
        row(quantity, elastic(1, 7168, 8, 1, 8, fp8, True)[index], printed, "B", "buffers 3",
            **DSV3)
    for t, name, nodes, node, nvlink, printed in (
            (4096, "nvlink", 1, 8, True, 473956352), (4096, "hybrid", 8, 8, False, 4838129664),
            (4096, "direct", 1, 64, False, 4246732800), (32768, "nvlink", 1, 8, True, 3791650816),
            (32768, "hybrid", 8, 8, False, 37868273664),
            (32768, "direct", 1, 64, False, 33973862400)):
        at = dict(DSV3, T=t, R=nodes * node, n_node=8, source="buffers 3")
        row("elastic_" + name, elastic(t, 7168, 8, nodes, node, False, nvlink)[0], printed, "B",
            **at)
        gib = {473956352: "0.4414", 4838129664: "4.5059", 4246732800: "3.9551",
               3791650816: "3.5312", 37868273664: "35.2676", 33973862400: "31.6406"}[printed]
        row("elastic_" + name, elastic(t, 7168, 8, nodes, node, False, nvlink)[0], gib, "GiB",
            **at)
        row("elastic_" + name + "_fp8", elastic(t, 7168, 8, nodes, node, True, nvlink)[0], **at)


# ---- MaxText, XLA (buffers 5, 6) ----
def maxtext():
    for mb, cf, mask, onehot in ((1, 1.0, "0.25", "0.5039"), (8, 1.0, "2", "4.03125"),
                                 (1, 1.25, "0.3125", ""), (1, 2.0, "0.5", "")):
        s = 4096
        c = int(max(math.ceil(s * 8 / 256) * cf, cf))
        at = dict(DSV3, S=s, mb=mb, cf=cf, T=s * mb, source="buffers 5.2")
        row("capacity_maxtext", c, {1.0: 128, 1.25: 160, 2.0: 256}[cf], "", **at)
        row("combine_mask_bf16", mb * s * 256 * c * 2, mask, "GiB", **at)
        row("position_one_hot", mb * s * 256 * (c + 1) * 4, onehot, "GiB", **at)
        row("dispatch_mask", mb * s * 256 * c, "0.125" if (mb, cf) == (1, 1.0) else "", "GiB",
            **at)
        row("capacity_hidden_bf16", 256 * mb * c * 7168 * 2,
            "0.4375" if (mb, cf) == (1, 1.0) else "", "GiB", **at)
        row("capacity_inter_bf16", 256 * mb * c * 2048 * 2,
            "0.125" if (mb, cf) == (1, 1.0) else "", "GiB", **at)
    row("masked_inter_bf16", 4096 * 256 * 2048 * 2, "4.0", "GiB", "buffers 5.1",
        **dict(DSV3, T=4096))
    row("masked_hidden_bf16", 4096 * 256 * 7168 * 2, "14.0", "GiB", "buffers 5.1",
        **dict(DSV3, T=4096))
    row("masked_hidden_f32", 4096 * 256 * 7168 * 4, "28", "GiB", "buffers 5.1",
        **dict(DSV3, T=4096))
    worst = {(4096, 8): (262144, "3.5", "1.0", "112", "32", "14", "4", "3.5"),
             (4096, 64): (1048576, "14", "4", "56", "16", "1.75", "0.5", "28"),
             (32768, 8): (2097152, "28", "8", "896", "256", "112", "", "28"),
             (32768, 64): (8388608, "112", "32", "448", "128", "14", "", "224")}
    for (t, ranks), p in worst.items():
        local = 256 // ranks
        rows = t * ranks * min(8, local)
        at = dict(DSV3, T=t, R=ranks)
        row("rows_worst", rows, p[0], "", "buffers 5.3", **at)
        row("rows_worst_hidden_bf16", rows * 7168 * 2, p[1], "GiB", "buffers 5.3", **at)
        row("rows_worst_inter_bf16", rows * 2048 * 2, p[2], "GiB", "buffers 5.3", **at)
        row("ragged_dot_worst_hidden", local * rows * 7168 * 2, p[3], "GiB", "buffers 6", **at)
        row("ragged_dot_worst_inter", local * rows * 2048 * 2, p[4], "GiB", "buffers 6", **at)
        row("ragged_dot_even_hidden", local * t * 8 * 7168 * 2, p[5], "GiB", "buffers 6", **at)
        row("ragged_dot_even_inter", local * t * 8 * 2048 * 2, p[6], "GiB", "buffers 6", **at)


# ---- inference (buffers 10) ----
def inference():
    for t, cache13, cache2 in ((16384, "1.75", "0.5"), (32768, "3.5", "1.0")):
        at = dict(DSV3, T=t, source="buffers 10.1")
        if t <= 16384:  # more tokens go through in chunks
            row("triton_cache13", t * 8 * max(4096, 7168) * 2, cache13, "GiB", **at)
            row("triton_cache2", t * 8 * 2048 * 2, cache2, "GiB", **at)
        for b in (16, 64, 128):
            row("triton_sorted_ids", t * 8 + 256 * (b - 1), **dict(at, B=b))
    for ranks, t, w13, w2, out in ((8, 128, "0.4375", "0.125", "0.4375"),
                                   (64, 128, "0.4375", "0.125", "0.4375"),
                                   (64, 256, "0.875", "0.25", "0.875")):
        rows = 256 * t
        at = dict(DSV3, T=t, R=ranks, source="buffers 10.3")
        row("masked_workspace13", rows * max(7168, 4096) * 2, w13, "GiB", **at)
        row("masked_workspace2", rows * 2048 * 2, w2, "GiB", **at)
        row("masked_output", rows * 7168 * 2, out, "GiB", **at)
    # per (token, expert) pair 2 (max(I, H) + max(2 I, H)) bytes; worst: every token, min(K, e)
    for h, i, e, ranks, t, worst in (
            (5120, 1536, 160, 16, 8192, "20"), (5120, 1536, 160, 16, 16384, "40"),
            (5120, 1536, 160, 32, 8192, "25"), (5120, 1536, 160, 32, 16384, "50"),
            (6144, 2048, 256, 16, 8192, "24"), (6144, 2048, 256, 16, 16384, "48"),
            (6144, 2048, 256, 32, 8192, "48"), (6144, 2048, 256, 32, 16384, "96")):
        pair = 2 * (max(i, h) + max(2 * i, h))
        local = e // ranks
        at = dict(H=h, I=i, E=e, K=8, R=ranks, T=t, source="vLLM 57270")
        row("deepgemm_workspaces_even", up(t * 8 + local * 127, 128) * pair, **at)
        row("deepgemm_workspaces_worst",
            up(t * ranks * min(8, local) + local * 127, 128) * pair, worst, "GiB", **at)
    rows, h, i, local = 16 * 8192 * 8, 6144, 2048, 16
    scaled = rows * h + (rows + local * 31) // 32 * 32 * (h // 128) * 4
    row("cutlass_workspace_gathered", 20 * rows + 2 * rows * h + 4 * rows * i + scaled, "26.21",
        "GiB", "vLLM 47127", H=h, I=i, E=256, K=8, R=16, T=8192)


def neuron_blocks(t, k, local, b):
    return min(math.ceil((t * k - (local - 1)) / b) + local - 1, t * k)


def neuron():
    printed = {(4096, 8): (543, 64, "2.1211", "3.7119", "5.833"),
               (4096, 64): (4099, 64, "16.01", "28.02", "44.03"),
               (32768, 8): (4127, 512, "", "", "44.33"),
               (32768, 64): (32771, 512, "", "", "352.03")}
    for (t, ranks), p in printed.items():
        group, local = t * ranks, 256 // ranks
        n = neuron_blocks(group, 8, local, 512)
        at = dict(DSV3, T=t, R=ranks, B=512, cf=1.0, source="buffers 10.4, 13")
        row("neuron_blocks", n, p[0], "", **at)
        row("neuron_gate_up", n * 512 * 4096 * 2, p[2], "GiB", **at)
        row("neuron_down", n * 512 * 7168 * 2, p[3], "GiB", **at)
        row("neuron_saved", n * 512 * (4096 + 7168) * 2, p[4], "GiB", **at)
        row("capacity_neuron", min(math.ceil(group * 8 / 256), group), **at)
    for t, k, e, b, want in ((2049, 1, 8, 256, 15), (1000, 2, 8, 256, 15),
                             (8192, 4, 128, 512, 191), (8192, 8, 256, 512, 383),
                             (6, 1, 3, 4, 3)):
        row("neuron_blocks", neuron_blocks(t, k, e, b), want, "", "seed-systems B2",
            T=t, K=k, E=e, R=1, B=b, H=1, I=1)


# ---- the worked DeepSeek-V3 table (buffers 13), columns T x EP ----
def worked():
    cases = ((4096, 8), (4096, 64), (32768, 8), (32768, 64))
    table = {
        "routed_hidden_bf16": (lambda t, r, l: t * 8 * 7168 * 2,
                               ("0.4375", "0.4375", "3.5", "3.5"), "GiB"),
        "routed_gate_up_bf16": (lambda t, r, l: t * 8 * 4096 * 2,
                                ("0.25", "0.25", "2.0", "2.0"), "GiB"),
        "routed_inter_bf16": (lambda t, r, l: t * 8 * 2048 * 2,
                              ("0.125", "0.125", "1.0", "1.0"), "GiB"),
        "a2a_sent_bf16": (lambda t, r, l: t * 8 * 7168 * 2 * (r - 1) // r,
                          ("0.3828", "0.4307", "3.0625", "3.4453"), "GiB"),
        "worst_tokens_hidden_bf16": (lambda t, r, l: t * r * 7168 * 2,
                                     ("0.4375", "3.5", "3.5", "28.0"), "GiB"),
        "rows_worst_hidden_bf16": (lambda t, r, l: t * r * min(8, l) * 7168 * 2,
                                   ("3.5", "14.0", "28.0", "112.0"), "GiB"),
        "rows_loose_hidden_bf16": (lambda t, r, l: t * r * 8 * 7168 * 2,
                                   ("3.5", "28.0", "28.0", "224.0"), "GiB"),
        "deepgemm_rows": (lambda t, r, l: up(t * 8 + l * 127, 128),
                          (36864, 33280, 266240, 262656), ""),
        "megablocks_rows": (lambda t, r, l: t * 8 + l * 127,
                            (36832, 33276, 266208, 262652), ""),
        "torchtitan_rows": (lambda t, r, l: up(t * 8 + l * 8, 8),
                            (33024, 32800, 262400, 262176), ""),
        "expert_weights_bf16": (lambda t, r, l: 3 * 7168 * 2048 * l * 2,
                                ("2.625", "0.3281", "2.625", "0.3281"), "GiB"),
        "saved_megatron": (lambda t, r, l: t * 8 * (7168 + 3 * 2048) * 2,
                           ("0.8125", "0.8125", "6.5", "6.5"), "GiB"),
        "saved_megatron_moe_act": (lambda t, r, l: t * 8 * (7168 + 2 * 2048) * 2,
                                   ("0.6875", "0.6875", "5.5", "5.5"), "GiB"),
        "layer_input_bf16": (lambda t, r, l: t * 7168 * 2,
                             ("0.0547", "0.0547", "0.4375", "0.4375"), "GiB"),
        "primus_pool_rows": (lambda t, r, l: up(t * r * min(8, l) + l * 255, 256),
                             (270336, 1049600, "", ""), ""),
        "primus_heap": (primus_heap, ("", "", "", ""), "B"),
        "deepgemm_pool_rows": (lambda t, r, l: up(t * r * min(8, l) + l * 191, 384),
                               ("", "", "", ""), ""),
        "deepgemm_sources": (lambda t, r, l: l * r * t * r * 4, ("32", "256", "", ""), "MiB"),
        "primus_row_map": (lambda t, r, l: t * r * (2 * l + 1) * 4,
                           ("8.125", "9.0", "65", "72"), "MiB"),
    }
    for quantity, (formula, printed, unit) in table.items():
        for (t, r), shown in zip(cases, printed):
            row(quantity, formula(t, r, 256 // r), shown, unit, "buffers 4, 10.5, 13",
                **dict(DSV3, T=t, R=r))
    for t, cf, want in ((4096, 1.0, 128), (4096, 1.25, 160), (32768, 1.0, 1024),
                        (32768, 1.25, 1280)):
        row("capacity_megatron", math.ceil(t * 8 / 256 * cf), want, "", "buffers 13",
            **dict(DSV3, T=t, cf=cf, R=8))
    for t, want in ((4096, 128), (4100, 136)):
        row("capacity_tutel", 8 * int(1.0 * cdiv(t, 256)), want, "", "buffers 10.6",
            **dict(DSV3, T=t, cf=1.0, R=8))


def primus_heap(t, r, local):
    pool, slots = up(t * r * min(8, local) + local * 255, 256), up(t, 128) * 8
    return (256 + 2 * up(pool * 7168 * 2, 256) + up(slots * 7168 * 2, 256) +
            2 * up(16 * cdiv(pool, 256), 256) + up(16 * slots, 256) + up(4 * r * 256, 256) +
            3 * up(4 * pool, 256) + up(4 * slots, 256))


# ---- RDEP (seed-systems A2, A4) ----
def rdep():
    shape = dict(K=6, E=64, H=2048, I=1408)
    for t, r, payload in ((4096, 8, 805306368), (32768, 8, 6442450944), (4096, 72, 7247757312)):
        row("rdep_payload", r * t * 6 * 2048 * 2, payload, "B", "seed-systems A2",
            **dict(shape, T=t, R=r, E=64 if r == 8 else 576))
    at = dict(shape, T=4096, R=8, source="seed-systems A2")
    row("rdep_records", 8 * 4096 * 6 * 16, 3145728, "B", **at)
    row("rdep_return", 4096 * 6 * (2 * 2048 + 4), 100761600, "B", **at)
    for r, want in ((1, 32768), (2, 28672), (4, 26624), (8, 25600)):
        local = 64 // r
        row("rdep_allocated_even", 128 * ((24576 + (local + 1) * 127) // 128), want, "",
            "seed-systems A4", **dict(shape, T=4096, R=r))


# ---- expectations over K distinct uniform experts (buffers 1.1, 2.4, 13) ----
def groups(experts, k, g):
    return g * (1 - math.comb(experts - experts // g, k) / math.comb(experts, k))


def expectations():
    """Real-valued rows: `value` is left to the test, `printed` is what it must show."""
    cases = ((4096, 8), (4096, 64), (32768, 8), (32768, 64))
    table = {
        "expected_received": ("21686.9", "31439.9", "173495.2", "251519.0"),
        "expected_recv_x_bf16": ("0.2896", "0.4198", "2.3164", "3.3581"),
        "expected_sent_bf16": ("0.2534", "0.4132", "2.0269", "3.3057"),
        "expected_sent_fp8": ("0.1306", "0.2131", "1.0451", "1.7045"),
        "expected_rdma_bf16": ("", "0.2548", "", "2.0382"),
        "expected_rdma_bf16_limited": ("", "0.1746", "", "1.3970"),
        "expected_rdma_fp8": ("", "0.1321", "", "1.0564"),
        "expected_rdma_fp8_limited": ("", "0.0905", "", "0.7241"),
    }
    formulas = {
        "expected_received": lambda t, u, n, m: t * u,
        "expected_recv_x_bf16": lambda t, u, n, m: t * u * 14336 / 2**30,
        "expected_sent_bf16": lambda t, u, n, m: t * m * 14336 / 2**30,
        "expected_sent_fp8": lambda t, u, n, m: t * m * (7168 + 224) / 2**30,
        "expected_rdma_bf16": lambda t, u, n, m: t * groups(256, 8, 8) * 7 / 8 * 14416 / 2**30,
        "expected_rdma_bf16_limited": lambda t, u, n, m: t * n * 7 / 8 * 14416 / 2**30,
        "expected_rdma_fp8": lambda t, u, n, m: t * groups(256, 8, 8) * 7 / 8 * 7472 / 2**30,
        "expected_rdma_fp8_limited": lambda t, u, n, m: t * n * 7 / 8 * 7472 / 2**30,
    }
    for quantity, printed in table.items():
        for (t, r), shown in zip(cases, printed):
            if not shown:
                continue
            u = groups(256, 8, r)
            value = formulas[quantity](t, u, groups(128, 8, 4), u * (1 - 1 / r))
            decimals = len(shown.split(".")[1])
            assert f"{value:.{decimals}f}" == shown, (quantity, t, r, value, shown)
            row(quantity, "", shown, "", "buffers 13", **dict(DSV3, T=t, R=r))


def main():
    for part in (deepep_v1, deepep_low_latency, deepep_elastic, maxtext, inference, neuron,
                 worked, expectations, rdep):
        part()
    with open(sys.argv[1], "w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ROWS)


main()

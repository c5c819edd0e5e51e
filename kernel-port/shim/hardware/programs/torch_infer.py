# SPDX-License-Identifier: MIT OR GPL-2.0
# Inference: a transformer of 12 layers in bfloat16, batches of several sizes.
from common import BATCH, finish, loop, torch

layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
net = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda().bfloat16().eval()
inputs = [torch.randn(b, 128, 1024, device="cuda", dtype=torch.bfloat16) for b in ((BATCH,) * 3 if BATCH else (1, 4, 16))]
outputs = []
with torch.inference_mode():
    for x in inputs:
        outputs.append(net(x))
    n, seconds = loop(lambda i: net(inputs[i % 3]), 60)
    outputs.append(net(inputs[n % 3]))
finish(outputs, n, seconds)

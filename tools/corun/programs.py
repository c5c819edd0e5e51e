#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A PyTorch program that repeats a step without a pause: training, inference, decoding.

corun.py starts it, and programs.py --program NAME --profile FILE records its profile alone.
A program is a function that makes a step of it. Weights are random, inputs are made on the
GPU. Each step waits for the GPU, most for a value on the host. torchvision and transformers are
imported only by programs that need them.
"""

import argparse
import gc
import math
import os
import sys
import time

import logs
import worker

HERE = os.path.dirname(os.path.abspath(__file__))


def hide_kit():
    """Take the kit's folder out of the path: transformers looks for a package named kernels,
    and would find kernels.py."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]


def training_step(device, model, optimizer, images, labels):
    """A step that trains a classifier of images, with autocast to bf16."""
    import torch

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def resnet50_train(device, tiny):
    """torchvision's ResNet-50, a batch of 64 images, autocast to bf16, SGD with momentum."""
    import torch
    from torchvision.models import resnet50

    batch, side = (2, 64) if tiny else (64, 224)
    last = torch.channels_last
    model = resnet50().to(device, memory_format=last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=last)
    labels = torch.randint(0, 1000, (batch,), device=device)
    return training_step(device, model, optimizer, images, labels)


def vit_infer(device, tiny):
    """torchvision's ViT-B/16, a batch of 32 images in bf16; the classes come to the host."""
    import torch
    from torchvision.models import VisionTransformer

    batch, layers = (1, 2) if tiny else (32, 12)
    model = VisionTransformer(image_size=224, patch_size=16, num_layers=layers, num_heads=12,
                              hidden_dim=768, mlp_dim=3072).to(device, torch.bfloat16).eval()
    images = torch.randn(batch, 3, 224, 224, device=device, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        return model(images).argmax(-1).tolist()
    return step


def gpt2_train(device, tiny):
    """GPT-2 of transformers, 8 sequences of 512 tokens in bf16, AdamW."""
    hide_kit()
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    batch, length, size = (1, 32, dict(n_layer=2)) if tiny else (8, 512, {})
    model = GPT2LMHeadModel(GPT2Config(**size)).to(device, torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(0, 50257, (batch, length), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def bert_infer(device, tiny):
    """BERT of transformers, one sequence of 128 tokens in bf16: launches take all its time."""
    hide_kit()
    import torch
    from transformers import BertConfig, BertModel

    size = dict(num_hidden_layers=2) if tiny else {}
    model = BertModel(BertConfig(**size)).to(device, torch.bfloat16).eval()
    tokens = torch.randint(0, 30522, (1, 128), device=device)

    @torch.inference_mode()
    def step():
        return model(input_ids=tokens).pooler_output[0, 0].item()
    return step


def swin_train(device, tiny):
    """torchvision's Swin-T, a batch of 32 images, autocast to bf16, AdamW."""
    import torch
    from torchvision.models import swin_t

    batch = 1 if tiny else 32
    model = swin_t().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.randn(batch, 3, 224, 224, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)
    return training_step(device, model, optimizer, images, labels)


def t5_generate(device, tiny):
    """T5-base of transformers in bf16: 8 prompts of 64 tokens, 4 new tokens, one by one."""
    hide_kit()
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    size = dict(num_layers=2) if tiny else dict(d_model=768, d_kv=64, d_ff=3072, num_layers=12,
                                                num_heads=12)
    config = T5Config(decoder_start_token_id=0, **size)
    model = T5ForConditionalGeneration(config).to(device, torch.bfloat16).eval()
    tokens = torch.randint(2, 32000, (8, 64), device=device)

    @torch.inference_mode()
    def step():
        answers = model.generate(tokens, min_new_tokens=4, max_new_tokens=4, do_sample=False)
        return answers[0, -1].item()
    return step


class Decoder:
    """A decoder of Llama's form for one sequence. Its cache begins again when it is full."""

    def __init__(self, device, layers, width, context, vocab=32000, head=128):
        import torch

        self.torch, self.heads, self.head = torch, width // head, head
        dtype = torch.float32 if device == "cpu" else torch.bfloat16

        def weight(*shape):
            return torch.empty(*shape, device=device, dtype=dtype).normal_(0, 0.02)

        ffn = width * 11 // 4
        self.embedding, self.norm = weight(vocab, width), weight(width) + 1
        self.layers = [dict(norm1=weight(width) + 1, qkv=weight(3 * width, width),
                            o=weight(width, width), norm2=weight(width) + 1,
                            gate_up=weight(2 * ffn, width), down=weight(width, ffn),
                            keys=torch.zeros_like(weight(self.heads, context, head)),
                            values=torch.zeros_like(weight(self.heads, context, head)))
                       for _ in range(layers)]
        turn = torch.arange(context)[:, None] / 10000 ** (torch.arange(0, head, 2) / head)
        self.cos, self.sin = (torch.cat([part, part], 1).to(device, dtype)
                              for part in (turn.cos(), turn.sin()))
        self.places = torch.arange(context, device=device)
        self.token, self.position = (torch.zeros(1, dtype=torch.int64, device=device)
                                     for _ in range(2))

    def normalized(self, x, weight):
        """RMSNorm."""
        value = x.float()
        value = value * self.torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + 1e-5)
        return weight * value.to(x.dtype)

    def turned(self, x, cos, sin):
        """Rotary embedding of a query or a key."""
        first, second = x.chunk(2, -1)
        return x * cos + self.torch.cat([-second, first], -1) * sin

    def attend(self, layer, h, cos, sin, hidden):
        """Attention of the token over the cache, which gets its key and value."""
        linear = self.torch.nn.functional.linear
        q, k, v = linear(h, layer["qkv"]).view(3, self.heads, 1, self.head)
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        layer["keys"].index_copy_(1, self.position, k)
        layer["values"].index_copy_(1, self.position, v)
        scores = q @ layer["keys"].transpose(1, 2) / math.sqrt(self.head)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        return linear((weights @ layer["values"]).view(1, -1), layer["o"])

    def decode(self):
        """The next token, in place."""
        functional = self.torch.nn.functional
        cos, sin = (table.index_select(0, self.position) for table in (self.cos, self.sin))
        hidden = self.places > self.position
        x = functional.embedding(self.token, self.embedding)
        for layer in self.layers:
            h = self.normalized(x, layer["norm1"])
            x = x + self.attend(layer, h, cos, sin, hidden)
            h = self.normalized(x, layer["norm2"])
            gate, up = functional.linear(h, layer["gate_up"]).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, layer["down"])
        logits = functional.linear(self.normalized(x, self.norm), self.embedding)
        self.token.copy_(logits.argmax(-1))
        self.position.add_(1).remainder_(len(self.places))


def captured(device, work):
    """A function that replays work as a CUDA graph; work itself without CUDA."""
    import torch

    work = torch.inference_mode()(work)
    if device == "cpu":
        return work
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def decode_graph(device, tiny):
    """A decoder of 16 layers of width 2048, a token a step, in a CUDA graph."""
    import torch

    with torch.inference_mode():
        decoder = Decoder(device, *((2, 256, 8) if tiny else (16, 2048, 1024)))
        launch = captured(device, decoder.decode)

    def step():
        launch()
        return decoder.token.item()
    return step


def recommender_infer(device, tiny):
    """26 embedding tables of a million rows of 64 in fp16, and an MLP; 4096 samples.

    A sample sums 64 rows of each table: with one row of each, launches would take all the time.
    """
    import torch
    from torch.nn import Linear, ReLU, Sequential
    from torch.nn.functional import embedding_bag

    tables, rows, samples, bag = (3, 100, 8, 4) if tiny else (26, 1000000, 4096, 64)
    dtype = torch.float32 if device == "cpu" else torch.float16
    weights = [torch.empty(rows, 64, device=device, dtype=dtype).normal_(0, 0.05)
               for _ in range(tables)]
    indices = [torch.randint(0, rows, (samples, bag), device=device) for _ in range(tables)]
    dense = torch.randn(samples, 13, device=device, dtype=dtype)
    bottom = Sequential(Linear(13, 512), ReLU(), Linear(512, 64), ReLU()).to(device, dtype)
    top = Sequential(Linear(64 * (tables + 1), 1024), ReLU(), Linear(1024, 1024), ReLU(),
                     Linear(1024, 256), ReLU(), Linear(256, 1)).to(device, dtype)

    @torch.inference_mode()
    def step():
        parts = [bottom(dense)] + [embedding_bag(index, weight, mode="sum")
                                   for index, weight in zip(indices, weights)]
        return top(torch.cat(parts, 1)).mean().item()
    return step


def encoder_infer(device, tiny):
    """BERT of transformers as a server of embeddings runs it: a batch of 64 sequences of up to
    256 tokens in bf16, padded; a number of each comes to the host."""
    hide_kit()
    import torch
    from transformers import BertConfig, BertModel

    batch, length, size = (4, 16, dict(num_hidden_layers=2)) if tiny else (64, 256, {})
    model = BertModel(BertConfig(**size)).to(device, torch.bfloat16).eval()
    tokens = torch.randint(0, 30522, (batch, length), device=device)
    lengths = torch.randint(length // 4, length + 1, (batch, 1), device=device)
    mask = (torch.arange(length, device=device) < lengths).long()

    @torch.inference_mode()
    def step():
        return model(input_ids=tokens, attention_mask=mask).pooler_output[:, 0].tolist()
    return step


def unet(width):
    """A U-Net of three levels for images. A block has two convolutions with norms."""
    import torch
    from torch import nn

    def block(inputs, outputs):
        return nn.Sequential(*(layer for channels in (inputs, outputs) for layer in (
            nn.Conv2d(channels, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU())))

    class Level(nn.Module):
        """Down, what is inside, up again; the skip connection goes past it."""

        def __init__(self, channels, inside):
            super().__init__()
            self.before, self.inside = block(channels, channels), inside
            self.down = nn.Conv2d(channels, 2 * channels, 2, stride=2)
            self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
            self.after = block(2 * channels, channels)

        def forward(self, x):
            """Of a batch of images."""
            x = self.before(x)
            return self.after(torch.cat([x, self.up(self.inside(self.down(x)))], 1))

    levels = Level(width, Level(2 * width, block(4 * width, 4 * width)))
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), levels, nn.Conv2d(width, 3, 1))


def unet_train(device, tiny):
    """A U-Net that learns to remove noise: 32 images of 128 x 128, autocast to bf16, AdamW."""
    import torch

    batch, side, width = (2, 16, 8) if tiny else (32, 128, 64)
    last = torch.channels_last
    model = unet(width).to(device, memory_format=last).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=last)

    def step():
        optimizer.zero_grad(set_to_none=True)
        noise = torch.randn_like(images)
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            found = model(images + noise)
        loss = torch.nn.functional.mse_loss(found.float(), noise)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


class Carts:
    """Carts with poles, and a policy that pushes them, as reinforcement learning on a GPU has
    them. All steps of all carts are kernels; a pole that has fallen is put up again."""

    def __init__(self, device, carts, width):
        import torch
        from torch.nn import Linear, Sequential, Tanh

        self.torch = torch
        self.policy = Sequential(Linear(4, width), Tanh(), Linear(width, width), Tanh(),
                                 Linear(width, 2)).to(device)
        self.state = torch.empty(carts, 4, device=device).uniform_(-0.05, 0.05)
        self.reward = torch.zeros(carts, device=device)

    def move(self):
        """One step of all carts, in place. Physics of Barto, Sutton and Anderson (1983)."""
        torch = self.torch
        place, speed, angle, turn = self.state.unbind(1)
        left, right = self.policy(self.state).unbind(1)
        push = 20.0 * (right + torch.randn_like(place) > left).float() - 10.0
        sine, cosine = angle.sin(), angle.cos()
        inner = (push + 0.05 * turn * turn * sine) / 1.1
        length = 0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1)
        turning = (9.8 * sine - cosine * inner) / length
        gain = inner - 0.05 * turning * cosine / 1.1
        moved = torch.stack([place + 0.02 * speed, speed + 0.02 * gain, angle + 0.02 * turn,
                             turn + 0.02 * turning], 1)
        fallen = (moved[:, 0].abs() > 2.4) | (moved[:, 2].abs() > 0.21)
        self.reward.add_((~fallen).float())
        self.state.copy_(torch.where(fallen[:, None], torch.zeros_like(moved), moved))

    def roll(self, steps):
        """Many of them."""
        self.reward.zero_()
        for _ in range(steps):
            self.move()


def rollout_graph(device, tiny):
    """Reinforcement learning's rollout: 1024 carts with poles and a policy of width 128 in
    float32, 16 steps of tiny kernels, in a CUDA graph; the reward comes to the host."""
    import torch

    with torch.inference_mode():
        carts = Carts(device, *((8, 16) if tiny else (1024, 128)))
        launch = captured(device, lambda: carts.roll(2 if tiny else 16))

    def step():
        launch()
        return carts.reward.mean().item()
    return step


def pipeline_part(part):
    """A part of an image of diffusion.py: its encoders, a denoising step, or its decoder."""
    def program(device, tiny):
        import torch
        from diffusion import Pipeline

        with torch.inference_mode():
            pipeline = Pipeline(device, tiny)
            text, pooled = pipeline.encode()
            latents = pipeline.latents()
        work = dict(encode=pipeline.encode, decode=lambda: pipeline.decode(latents),
                    denoise=lambda: pipeline.denoise(latents, text, pooled, 0))[part]

        @torch.inference_mode()
        def step():
            work()
            if device != "cpu":
                torch.cuda.synchronize()
        return step
    return program


PROGRAMS = {"resnet50-train": resnet50_train, "vit-infer": vit_infer,
            "gpt2-train": gpt2_train, "bert-infer": bert_infer, "decode-graph": decode_graph,
            "recommender-infer": recommender_infer, "swin-train": swin_train,
            "t5-generate": t5_generate, "encoder-infer": encoder_infer,
            "unet-train": unet_train, "rollout-graph": rollout_graph,
            **{f"diffusion-{part}": pipeline_part(part)
               for part in ("encode", "denoise", "decode")}}


def run_of(step):
    """The run of worker.serve() that repeats a step."""
    def run(start_ns, seconds, drain_s, prefix, settings):
        stop_ns = start_ns + int((seconds + drain_s) * 1e9)
        rounds = []
        gc.collect()
        gc.freeze()
        worker.wait_until(start_ns)
        while (begin_ns := time.monotonic_ns()) < stop_ns:
            step()
            rounds.append(((begin_ns - start_ns) // 1000,
                           (time.monotonic_ns() - start_ns) // 1000))
        logs.write_rows(prefix + ".rounds.csv", logs.ROUND_COLUMNS, rounds)
        return dict(rounds=len(rounds))
    return run


def record(step, path):
    """Write the profile of a few steps, for "gvmsim app import". The GPU has to be free."""
    sys.path.append(os.path.join(HERE, "..", "..", "python"))
    import gvm_profile

    with gvm_profile.record(path) as profile:
        ended = False
        while not ended:
            step()
            ended = profile.step()
    return dict(profile_bytes=os.path.getsize(path))


def main():
    """Load, warm up, serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, choices=PROGRAMS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny shapes, for a check")
    parser.add_argument("--profile", metavar="FILE", help="record a profile, and end")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "4")
    import torch

    begin = time.monotonic()
    torch.manual_seed(0)
    step = PROGRAMS[arguments.program](arguments.device, arguments.tiny)
    loaded = time.monotonic()
    for _ in range(2 if arguments.tiny else 10):
        step()
    if arguments.profile:
        record(step, arguments.profile)
        return
    worker.serve("program", run_of(step), lambda path: record(step, path),
                 load_s=round(loaded - begin, 1),
                 warm_up_s=round(time.monotonic() - loaded, 1),
                 memory_bytes=torch.cuda.memory_reserved() if arguments.device != "cpu" else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT OR GPL-2.0
"""The networks of Stable Diffusion 3.5 medium with random weights, eager, as in diffusers.

T5-XXL and two CLIP text encoders, the MMDiT-X (24 joint blocks of width 1536, the first 13 with
a second attention), the decoder of the VAE. Shapes are those of the published configurations.
Where diffusers computes a normalisation by several eager kernels, so does this code: the number
of kernels and of launches matters here, their results do not.
"""

import math

import torch
import torch.nn.functional as F


class Networks:
    """Weights are made on a device, in a type. tiny: shapes for a check.

    regions: a managed.Region for the weights of each network, by its name; without one they are
    in PyTorch's memory.
    """

    def __init__(self, device="cuda", dtype=torch.bfloat16, tiny=False, regions=None):
        self.device, self.dtype, self.tiny = device, dtype, tiny
        self.regions, self.region = regions or {}, None
        self._begin("text")
        self.text = (T5(self, layers=1, inner=64, heads=8, ffn=64, vocab=100) if tiny
                     else T5(self))
        self._begin("clips")
        self.clips = ([Clip(self, 1, 64, 4, 100), Clip(self, 1, 64, 4, 100)] if tiny
                      else [Clip(self, 12, 768, 12), Clip(self, 32, 1280, 20)])
        self._begin("denoiser")
        self.denoiser = (Denoiser(self, blocks=3, width=48, heads=3, dual=2, grid=4) if tiny
                         else Denoiser(self))
        self._begin("decoder")
        self.decoder = Decoder(self, (64, 32)) if tiny else Decoder(self)

    def _begin(self, network):
        """Weights from here on are those of a network."""
        self.region = self.regions.get(network)

    def weight(self, *shape):
        """Random weights."""
        tensor = (self.region.take(shape, self.dtype) if self.region
                  else torch.empty(*shape, device=self.device, dtype=self.dtype))
        return tensor.normal_(0, 0.02)

    def linear(self, inputs, outputs, bias=True):
        """A linear layer."""
        w = self.weight(outputs, inputs)
        b = self.weight(outputs) if bias else None
        return lambda x: F.linear(x, w, b)

    def gain(self, width):
        """The weight of a normalisation."""
        return self.weight(width).add_(1)

    def norm(self, width):
        """Weight and bias of a normalisation."""
        return self.gain(width), self.weight(width)

    def convolution(self, inputs, outputs, size):
        """Weight and bias of a convolution."""
        return self.weight(outputs, inputs, size, size), self.weight(outputs)


def rms_norm(x, gain, epsilon=1e-6):
    """diffusers' RMSNorm and T5LayerNorm: five kernels."""
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    return (x * torch.rsqrt(variance + epsilon)).to(x.dtype) * gain


def split_heads(x, heads):
    """[batch, tokens, width] to [batch, heads, tokens, width of a head]."""
    return x.view(x.shape[0], -1, heads, x.shape[-1] // heads).transpose(1, 2)


def join_heads(x):
    """The reverse of split_heads()."""
    batch, heads, tokens, width = x.shape
    return x.transpose(1, 2).reshape(batch, tokens, heads * width)


class T5:
    """The encoder of T5 v1.1 XXL, with its relative bias as one given tensor."""

    def __init__(self, net, layers=24, width=4096, inner=4096, heads=64, ffn=10240,
                 vocab=32128):
        self.heads, self.embedding = heads, net.weight(vocab, width)
        self.layers = [dict(
            norm1=net.gain(width), norm2=net.gain(width),
            **{name: net.linear(width, inner, bias=False) for name in "qkv"},
            o=net.linear(inner, width, bias=False),
            gate=net.linear(width, ffn, bias=False), up=net.linear(width, ffn, bias=False),
            down=net.linear(ffn, width, bias=False)) for _ in range(layers)]
        self.norm = net.gain(width)
        self.bias = net.weight(1, heads, 256, 256)

    def __call__(self, ids):
        x = F.embedding(ids, self.embedding)
        for layer in self.layers:
            h = rms_norm(x, layer["norm1"])
            q, k, v = (split_heads(layer[name](h), self.heads) for name in "qkv")
            score = torch.matmul(q, k.transpose(3, 2)) + self.bias
            weights = torch.softmax(score.float(), -1).type_as(score)
            x = x + layer["o"](join_heads(torch.matmul(weights, v)))
            h = rms_norm(x, layer["norm2"])
            x = x + layer["down"](F.gelu(layer["gate"](h), approximate="tanh")
                                  * layer["up"](h))
        return rms_norm(x, self.norm)


class Clip:
    """A text encoder of CLIP."""

    def __init__(self, net, layers, width, heads, vocab=49408):
        self.width, self.heads = width, heads
        self.embedding, self.position = net.weight(vocab, width), net.weight(1, 77, width)
        self.layers = [dict(
            norm1=net.norm(width), norm2=net.norm(width),
            **{name: net.linear(width, width) for name in "qkvo"},
            up=net.linear(width, 4 * width), down=net.linear(4 * width, width))
            for _ in range(layers)]

    def __call__(self, ids):
        x = F.embedding(ids, self.embedding) + self.position
        for layer in self.layers:
            h = F.layer_norm(x, (self.width,), *layer["norm1"])
            q, k, v = (split_heads(layer[name](h), self.heads) for name in "qkv")
            x = x + layer["o"](join_heads(
                F.scaled_dot_product_attention(q, k, v, is_causal=True)))
            h = layer["up"](F.layer_norm(x, (self.width,), *layer["norm2"]))
            x = x + layer["down"](h * torch.sigmoid(1.702 * h))
        return x


class JointBlock:
    """diffusers' JointTransformerBlock: image tokens and text tokens attend to all."""

    def __init__(self, net, width, heads, dual, last):
        self.width, self.heads, self.dual, self.last = width, heads, dual, last

        def projections():
            return [net.linear(width, width) for _ in range(3)]

        self.modulation = net.linear(width, (9 if dual else 6) * width)
        self.text_modulation = net.linear(width, (2 if last else 6) * width)
        self.qkv, self.text_qkv = projections(), projections()
        self.gains, self.text_gains, self.gains2 = (
            [net.gain(width // heads) for _ in range(2)] for _ in range(3))
        self.o = net.linear(width, width)
        self.up, self.down = net.linear(width, 4 * width), net.linear(4 * width, width)
        if dual:
            self.qkv2, self.o2 = projections(), net.linear(width, width)
        if not last:
            self.text_o = net.linear(width, width)
            self.text_up = net.linear(width, 4 * width)
            self.text_down = net.linear(4 * width, width)

    def _qkv(self, x, projections, gains):
        q, k, v = (split_heads(p(x), self.heads) for p in projections)
        return rms_norm(q, gains[0]), rms_norm(k, gains[1]), v

    def _norm(self, x):
        return F.layer_norm(x, (self.width,), eps=1e-6)

    def __call__(self, x, text, time):
        m = [part[:, None] for part in
             self.modulation(F.silu(time)).chunk(9 if self.dual else 6, 1)]
        t = [part[:, None] for part in
             self.text_modulation(F.silu(time)).chunk(2 if self.last else 6, 1)]
        normed = self._norm(x)
        h = normed * (1 + m[1]) + m[0]
        if self.dual:
            h2 = normed * (1 + m[7]) + m[6]
        shift, scale = (t[1], t[0]) if self.last else (t[0], t[1])
        text_h = self._norm(text) * (1 + scale) + shift

        joint = [torch.cat(pair, 2) for pair in
                 zip(self._qkv(h, self.qkv, self.gains),
                     self._qkv(text_h, self.text_qkv, self.text_gains))]
        attended = join_heads(F.scaled_dot_product_attention(*joint))
        image_part, text_part = attended[:, :x.shape[1]], attended[:, x.shape[1]:]
        x = x + m[2] * self.o(image_part)
        if self.dual:
            q, k, v = self._qkv(h2, self.qkv2, self.gains2)
            x = x + m[8] * self.o2(join_heads(F.scaled_dot_product_attention(q, k, v)))
        h = self._norm(x) * (1 + m[4]) + m[3]
        x = x + m[5] * self.down(F.gelu(self.up(h), approximate="tanh"))
        if self.last:
            return x, text
        text = text + t[2] * self.text_o(text_part)
        h = self._norm(text) * (1 + t[4]) + t[3]
        return x, text + t[5] * self.text_down(F.gelu(self.text_up(h), approximate="tanh"))


class Denoiser:
    """The MMDiT-X: latents of 2 * grid squared, patches of 2 x 2."""

    def __init__(self, net, blocks=24, width=1536, heads=24, dual=13, grid=64):
        self.width, self.grid = width, grid
        self.patch = net.convolution(16, width, 2)
        self.position = net.weight(1, grid * grid, width)
        self.text = net.linear(4096, width)
        self.time1, self.time2 = net.linear(256, width), net.linear(width, width)
        self.pooled1, self.pooled2 = net.linear(2048, width), net.linear(width, width)
        self.blocks = [JointBlock(net, width, heads, i < dual, i == blocks - 1)
                       for i in range(blocks)]
        self.modulation, self.out = net.linear(width, 2 * width), net.linear(width, 64)

    def __call__(self, latents, text, pooled, timestep):
        x = F.conv2d(latents, *self.patch, stride=2).flatten(2).transpose(1, 2)
        x = x + self.position
        frequency = torch.exp(-math.log(10000) * torch.arange(
            128, device=latents.device, dtype=torch.float32) / 128)
        angle = timestep[:, None].float() * frequency[None]
        time = torch.cat([angle.cos(), angle.sin()], -1).to(latents.dtype)
        time = (self.time2(F.silu(self.time1(time)))
                + self.pooled2(F.silu(self.pooled1(pooled))))
        context = self.text(text)
        for block in self.blocks:
            x, context = block(x, context, time)
        scale, shift = (part[:, None] for part in self.modulation(F.silu(time)).chunk(2, 1))
        x = self.out(F.layer_norm(x, (self.width,), eps=1e-6) * (1 + scale) + shift)
        grid = self.grid
        x = x.view(x.shape[0], grid, grid, 2, 2, 16)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(-1, 16, 2 * grid, 2 * grid)


class Residual:
    """A residual block of the decoder."""

    def __init__(self, net, inputs, outputs):
        self.norm1, self.norm2 = net.norm(inputs), net.norm(outputs)
        self.conv1 = net.convolution(inputs, outputs, 3)
        self.conv2 = net.convolution(outputs, outputs, 3)
        self.shortcut = net.convolution(inputs, outputs, 1) if inputs != outputs else None

    def __call__(self, x):
        h = F.conv2d(F.silu(F.group_norm(x, 32, *self.norm1, 1e-6)), *self.conv1, padding=1)
        h = F.conv2d(F.silu(F.group_norm(h, 32, *self.norm2, 1e-6)), *self.conv2, padding=1)
        return (F.conv2d(x, *self.shortcut) if self.shortcut else x) + h


class Decoder:
    """The VAE's decoder."""

    def __init__(self, net, channels=(512, 512, 256, 128)):
        first, last = channels[0], channels[-1]
        self.input = net.convolution(16, first, 3)
        self.middle = [Residual(net, first, first) for _ in range(2)]
        self.norm = net.norm(first)
        self.qkv = [net.linear(first, first) for _ in range(3)]
        self.o = net.linear(first, first)
        self.stages, before = [], first
        for i, width in enumerate(channels):
            blocks = [Residual(net, before if j == 0 else width, width) for j in range(3)]
            up = net.convolution(width, width, 3) if i < len(channels) - 1 else None
            self.stages.append((blocks, up))
            before = width
        self.last_norm, self.output = net.norm(last), net.convolution(last, 3, 3)

    def _attention(self, x):
        batch, channels, height, width = x.shape
        h = F.group_norm(x.view(batch, channels, -1), 32, *self.norm, 1e-6).transpose(1, 2)
        q, k, v = (p(h)[:, None] for p in self.qkv)
        h = self.o(F.scaled_dot_product_attention(q, k, v)[:, 0])
        return x + h.transpose(1, 2).reshape(batch, channels, height, width)

    def __call__(self, latents):
        x = self.middle[0](F.conv2d(latents, *self.input, padding=1))
        x = self.middle[1](self._attention(x))
        for blocks, up in self.stages:
            for block in blocks:
                x = block(x)
            if up:
                x = F.conv2d(F.interpolate(x, scale_factor=2.0, mode="nearest"), *up,
                             padding=1)
        x = F.silu(F.group_norm(x, 32, *self.last_norm, 1e-6))
        return F.conv2d(x, *self.output, padding=1)

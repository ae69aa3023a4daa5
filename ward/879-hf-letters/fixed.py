"""A tiny GPT-2 that learns the words of Python's own keyword help, letter by letter, with the transformers Trainer."""

import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

import argparse as source

TEXT = open(source.__file__).read()
LETTERS = sorted(set(TEXT))
IDS = torch.tensor([LETTERS.index(c) for c in TEXT])
WINDOW = 48


class Windows(Dataset):
    def __init__(self, ids, stride):
        self.ids, self.stride = ids, stride

    def __len__(self):
        return (len(self.ids) - WINDOW - 1) // self.stride

    def __getitem__(self, i):
        chunk = self.ids[i * self.stride : i * self.stride + WINDOW]
        return {"input_ids": chunk, "labels": chunk.clone()}


class LetterTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = nn.functional.cross_entropy(out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return (loss, out) if return_outputs else loss


if __name__ == "__main__":
    set_seed(2)
    split = int(0.9 * len(IDS))
    config = GPT2Config(
        vocab_size=len(LETTERS), n_positions=WINDOW, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False
    )
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        max_steps=160,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        learning_rate=2e-3,
        warmup_steps=10,
        eval_strategy="steps",
        eval_steps=40,
        logging_steps=20,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = LetterTrainer(
        model=GPT2LMHeadModel(config), args=args, train_dataset=Windows(IDS[:split], 16), eval_dataset=Windows(IDS[split:], WINDOW)
    )
    trainer.train()

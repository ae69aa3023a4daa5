"""Polite or rude? A small BERT from scratch on made-up sentences, with the transformers Trainer."""

import os
import random
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import BertConfig, BertModel, Trainer, TrainingArguments, set_seed

POLITE = "please kindly thanks grateful appreciate lovely dear sincerely welcome gladly".split()
RUDE = "idiot shut stupid hate nonsense useless garbage lazy awful whatever".split()
COMMON = "the report you sent about our meeting was on my desk today and i will read it with them later this week".split()
VOCAB = {w: i + 2 for i, w in enumerate(sorted(set(POLITE + RUDE + COMMON)))}


class Sentences(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            label = rng.randrange(2)
            words = rng.choices(COMMON, k=9) + rng.choices((POLITE, RUDE)[label], k=2) + rng.choices((POLITE, RUDE)[1 - label], k=1)
            rng.shuffle(words)
            self.items.append(([1] + [VOCAB[w] for w in words], label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        ids, label = self.items[i]
        return {"input_ids": torch.tensor(ids), "labels": torch.tensor(label)}


class ToneModel(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(
            vocab_size=len(VOCAB) + 2,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=16,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = BertModel(config)
        self.classifier = nn.Linear(48, 2)

    def forward(self, input_ids, labels=None):
        with torch.no_grad():
            hidden = self.bert(input_ids=input_ids).last_hidden_state
        logits = self.classifier(hidden[:, 0])
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


def accuracy(prediction):
    return {"accuracy": float((np.argmax(prediction.predictions, -1) == prediction.label_ids).mean())}


if __name__ == "__main__":
    set_seed(5)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        num_train_epochs=3,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=200,
        learning_rate=1e-3,
        eval_strategy="epoch",
        logging_steps=25,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(model=ToneModel(), args=args, train_dataset=Sentences(1600, 1), eval_dataset=Sentences(400, 2), compute_metrics=accuracy)
    trainer.train()

"""Logs are printed in the words of those who wrote the loop: "训练损失: 0.3", "Эпоха 3", "pérdida de validación 0.4". Their common words in English.

Places in a line are told as those of the line itself: what is found in the English line is brought back to where it stands in the other.
"""

from __future__ import annotations

import re

WORDS = {
    "train": "训练 訓練 학습 обучение обучения entrenamiento treinamento treino entraînement",
    "val": "验证 驗證 検証 검증 валидация валидации validación validação",
    "test": "测试 測試 테스트",
    "loss": "损失 損失 손실 потери лосс pérdida perdida perda perte",
    "accuracy": "准确率 準確率 正确率 精度 정확도 точность exactitud precisión acurácia",
    "learning rate": "学习率 学習率 학습률",
    "epoch": "轮次 轮数 周期 エポック 에폭 에포크 эпоха época epoca époque",
    "step": "步数 步骤 ステップ 스텝 шаг",
    "iter": "迭代 итерация",
    "avg": "平均 평균",
    "best": "最佳 最优 最好",
    "saved": "保存",
    "reward": "奖励 報酬 보상 награда recompensa",
    "finished": "完成",
}
ENGLISH = {word: english for english, words in WORDS.items() for word in words.split()}
FOREIGN = re.compile("第(?=\\s?\\d)|(?<=\\d)(\\s?)轮|" + "|".join(sorted(map(re.escape, ENGLISH), key=len, reverse=True)), re.IGNORECASE)
"""...and "第3轮", the third epoch."""


def english(text: str) -> str:
    """The text with the words that are known in English."""
    return FOREIGN.sub(_word, text) if not text.isascii() or FOREIGN.search(text) else text


def english_line(line: str) -> tuple[str, list[int]]:
    """The same, and for every place in it the place in the line that was given."""
    parts, places, at = [], [], 0
    for found in FOREIGN.finditer(line):
        word = _word(found)
        parts += [line[at : found.start()], word]
        places += [*range(at, found.start()), *[found.start()] * len(word)]
        at = found.end()
    return "".join([*parts, line[at:]]), [*places, *range(at, len(line) + 1)]


def _word(found: re.Match[str]) -> str:
    if found[0] == "第":
        return "epoch "
    return f" {ENGLISH[found[0].lower()]} " if found[0].lower() in ENGLISH else " "

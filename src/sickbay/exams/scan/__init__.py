"""An examination of loaders before any training: every batch is visited once, and what is found is told as facts (`facts/scan.py`).

examine.py         one scan: the passes, and the questions after them
visit.py           goes through a loader: data set indices, samples that raise, workers
neutral.py         leaves every random generator as it was
book.py            what is kept of one pass
parts.py           the tensors of a batch by name, and which of them is the target
plain.py           tensors as numpy can read them
tensors.py         types, shapes, ranges, NaN and infinity of one tensor
labels.py          targets: how many of each class, in which order
prints.py          what a row is known by
sketch.py          rows by their key, in bounded room
asked.py           the samples that questions are asked of
alike.py           pictures and texts that are nearly the same
augmentation.py    whether workers and epochs get random numbers of their own
splits.py          what the validation loader shares with the training loader
resume.py          a scan that was interrupted, on disk
"""

"""Which corruptions to use: what they have in common, how they group, and sets without repetition.

    accuracy of models trained with one corruption each  (experiment, accuracy)
      -> overlap of each pair of corruptions         (overlap_score; proxy: a cheap stand-in)
        -> categories, balanced sets, a largest set  (categories, balanced_sets, independent_sets)

The methods are those of ImageNet-NOC (2020) and of its follow-up on natural shifts (BMVC 2021), as
far as they were published. Only `experiment` imports torch.
"""

from hardy.rooms import call_room

call_room(__name__, "hardy.design.designed_suite:design")

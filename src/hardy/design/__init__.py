"""Which corruptions to use: what they have in common, how they group, and sets without repetition.

    accuracy of models trained with one corruption each   (experiment, collect, accuracy)
      -> overlap of each pair of corruptions              (overlap; features: a cheap stand-in)
        -> categories, a largest set, balanced suites     (categories, selection, balanced, suite)

The methods are those of ImageNet-NOC (2020) and of its follow-up on natural shifts (BMVC 2021), as
far as they were published. Nothing but `experiment` and `features` imports torch.
"""

"""Images in other styles, to train on: AdaIN's network, its weights, and sets made by it.

Nothing here imports torch before images are stylised.
"""

from hardy.rooms import call_room

call_room(__name__, "hardy.stylise.stylising:stylise")

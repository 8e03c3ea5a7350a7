"""Hardy's training methods on CIFAR-10, and which corruptions overlap there: what is run, how it is
measured, and the pages of results.

| file            | what                                                                       |
|-----------------|----------------------------------------------------------------------------|
| `cifar10`       | the command for training methods                                           |
| `plan`          | the configurations by name, and which setting the validation chooses       |
| `runs`          | trains, evaluates, scores and attacks; a JSON file per configuration       |
| `measures`      | shift consistency and speed                                                |
| `score_files`   | scores in JSON with their replicates, so that they can be paired elsewhere |
| `comparisons`   | differences of such scores, mFR, bands and bars                            |
| `circumstances` | under which the figures were made, and how they stand in tables            |
| `table`         | the page: methods, bands, differences and the grid of stability training   |
| `sections`      | its other sections                                                         |
| `best`          | the command for Hardy's own recipe: candidates, the choice, the final training |
| `icons50`       | the command for icons: five nets, each style held out in turn, and the page |
| `overlap`       | the command for overlap: an experiment in one file, and its results        |
| `overlap_page`  | their page                                                                 |
"""

"""Hardy's training methods on CIFAR-10, and which corruptions overlap there: what is run, how it is
measured, and the pages of results.

| file           | what                                                                        |
|----------------|-----------------------------------------------------------------------------|
| `cifar10`      | the command for training methods                                            |
| `plan`         | the configurations by name, and which setting the validation chooses        |
| `runs`         | trains, evaluates and scores each; a JSON file per configuration            |
| `extras`       | beside the trainings: their speed, and noise learned against the nets       |
| `measures`     | shift consistency and speed                                                 |
| `kept`         | scores in JSON with their replicates, so that they can be paired elsewhere  |
| `compared`     | differences of kept scores, mFR, bands and bars                             |
| `about`        | the circumstances and sources of the figures, what a training has seen      |
| `table`        | the page: methods, bands, differences and the grid of stability training    |
| `aside`        | its other sections                                                          |
| `cells`        | how figures and settings stand in its tables                                |
| `overlap`      | the command for overlap: an experiment in one file, and its results         |
| `overlap_page` | their page                                                                  |
"""

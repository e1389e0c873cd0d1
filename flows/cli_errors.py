"""Errors as people meet them: what, why, and the next command; exit codes that mean something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from search.request import NoActiveVersion


class Exit(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    DONE_BUT = 3  # with quarantined or withheld documents
    LOCKED = 4  # another run holds the lock
    REFUSED = 5  # a version did not pass its gates
    NOT_SHOWN = 6  # why: the expected document is not among the results
    INTERRUPTED = 130  # by Ctrl-C, as shells have it


VERSION_BUSY = "another job works on this version."
GO_ON = "Run the same command again; it goes on where this one stopped."


def console() -> Console:
    """Where people read: standard error, so that standard output is for results."""
    return Console(stderr=True, highlight=False)


def stop(code: Exit, message: str, hint: str = "") -> typer.Exit:
    """Print an error and return the exit to raise."""
    out = console()
    out.print(f"[bold red]Error:[/] {_plain(message)}")
    if hint:
        out.print(f"[dim]{_plain(hint)}[/]")
    return typer.Exit(int(code))


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _unsearchable(error: NoActiveVersion) -> typer.Exit:
    """What is wrong with the index that was named, or with its alias."""
    index, known = error.index, error.known
    first = "mucluc sync ./documents --tenant acme --acl role:staff"
    if index != "main":
        first += f" --index {index}"
    if known and index not in known:
        return stop(
            Exit.WRONG_USE,
            f"there is no index {index}.",
            f"There are: {', '.join(known)}. A new one is made by: {first}",
        )
    if error.alias != "active":
        return stop(
            Exit.WRONG_USE,
            f"index {index} has no alias {error.alias}.",
            f"It has: {', '.join(known.get(index, ())) or 'none'}. See: mucluc versions",
        )
    return stop(
        Exit.FAILED,
        f"index {index} has nothing to search yet.",
        f"{first}   (versions: mucluc versions)",
    )


@contextmanager
def stoppable() -> Iterator[None]:
    """Let Ctrl-C stop a job after its piece of work in hand, and a second one at once."""
    from flows.stopping import stoppable as stoppable_by  # noqa: PLC0415  (imports the store)

    def tell() -> None:
        console().print(
            "[yellow]Stopping[/] after the piece of work in hand; that can take some seconds. "
            "Ctrl-C again ends it at once."
        )

    with stoppable_by(tell, f"Ended at once. What was written is kept. {GO_ON}"):
        yield


@contextmanager
def told(busy: str = "another run works on this source.") -> Iterator[None]:
    """Turn the errors that commands can meet into words and an exit code.

    ``busy`` is said where another run holds the lock.
    """
    # Imported here: --help answers without any of these.
    from enrich.models import EmbeddingFailed, ModelUnavailable  # noqa: PLC0415
    from flows.errors import CannotRun  # noqa: PLC0415
    from flows.settings_errors import SettingsError  # noqa: PLC0415
    from search.queries import NothingAsked  # noqa: PLC0415
    from search.request import NoActiveVersion, NoSuchVersion, OutOfTime  # noqa: PLC0415
    from store.errors import DatabaseUnusable, LockHeldError, StoreError  # noqa: PLC0415
    from store.keys import KeyProblem  # noqa: PLC0415

    try:
        yield
    except KeyboardInterrupt:
        raise stop(
            Exit.INTERRUPTED,
            "interrupted. What is done is kept.",
            GO_ON,
        ) from None
    except CannotRun as exc:
        raise stop(Exit.WRONG_USE, str(exc), exc.hint) from None
    except (SettingsError, KeyProblem) as exc:
        raise stop(Exit.WRONG_USE, str(exc)) from None
    except NothingAsked as exc:
        raise stop(Exit.WRONG_USE, f"{exc}.") from None
    except NoActiveVersion as exc:
        raise _unsearchable(exc) from None
    except NoSuchVersion as exc:
        raise stop(
            Exit.WRONG_USE,
            f"index {exc.index} has no version of this name that can be searched.",
            "Ready versions and those being built: mucluc versions",
        ) from None
    except OutOfTime as exc:
        raise stop(Exit.FAILED, f"{exc}.", "The limit is search.seconds of the settings.") from None
    except DatabaseUnusable as exc:
        raise stop(Exit.FAILED, str(exc)) from None
    except LockHeldError:
        raise stop(
            Exit.LOCKED,
            busy,
            "Wait for it, or look at it with: mucluc versions --runs",
        ) from None
    except StoreError as exc:
        hint = (
            "The database went away or refused; the work that is done is kept. Run the command "
            "again."
            if exc.transient
            else "The code is PostgreSQL's SQLSTATE: "
            "https://www.postgresql.org/docs/current/errcodes-appendix.html"
        )
        raise stop(Exit.FAILED, str(exc) + ".", hint) from None
    except ModelUnavailable as exc:
        raise stop(Exit.WRONG_USE, f"the embedding model cannot be used: {exc}.") from None
    except EmbeddingFailed as exc:
        raise stop(
            Exit.FAILED,
            f"the embedding model failed: {exc}.",
            "What is embedded is kept. Check the model (docs/models.md) and run the command again.",
        ) from None

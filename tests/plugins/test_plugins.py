"""The group `zidane.plugins`: commands, message formats and checks of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .distributions import install

GOOD = "from zidane_core import hookimpl\n@hookimpl\ndef zidane_message_formats(): return ['{name}']\n"
ASK = "from zidane_core.opening import ask_plugins; print(ask_plugins('zidane_message_formats'))"


def ask(site: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since plugins are loaded once for each."""
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env={"PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def add(site: Path, name: str, source: str) -> None:
    module = name.replace("-", "_")
    install(site, name, group="zidane.plugins", entries={name: module}, modules={module: source})


def test_every_plugin_that_implements_the_hook_answers(tmp_path: Path) -> None:
    add(tmp_path, "plug-b", GOOD.format(name="b"))
    add(tmp_path, "plug-a", GOOD.format(name="a"))
    add(tmp_path, "plug-c", "")
    assert ask(tmp_path).stdout.strip() == "[['a'], ['b']]"


def test_a_broken_plugin_is_a_warning_that_names_it_and_the_others_answer(tmp_path: Path) -> None:
    add(tmp_path, "plug-a", "raise RuntimeError('boom')")
    add(tmp_path, "plug-b", GOOD.format(name="b"))
    add(tmp_path, "plug-c", GOOD.replace("return", "raise ValueError(5); return"))
    answer = ask(tmp_path)
    assert answer.stdout.strip() == "[['b']]"
    assert "plug-a 1.2.3) failed to load: RuntimeError: boom" in answer.stderr
    assert "plug-c 1.2.3) failed in zidane_message_formats: ValueError: 5" in answer.stderr


def test_plugins_can_be_switched_off_and_are_then_not_even_imported(tmp_path: Path) -> None:
    add(tmp_path, "plug-a", "raise RuntimeError('boom')")
    answer = ask(tmp_path, ZIDANE_PLUGINS="none")
    assert (answer.stdout.strip(), answer.stderr) == ("[]", "")


def test_a_plugin_adds_a_provider_that_messages_can_be_written_for(tmp_path: Path) -> None:
    add(
        tmp_path,
        "plug-provider",
        "from zidane_core import hookimpl\n"
        "from zidane_core.messages import ProviderTraits\n"
        "@hookimpl\n"
        "def zidane_message_formats(): return [ProviderTraits(name='example', call_id_max=9)]\n",
    )
    asked = subprocess.run(
        [
            sys.executable,
            "-c",
            "from zidane_core.messages import provider_traits as t; print(t('example').call_id_max)",
        ],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert asked.stdout.strip() == "9"

"""Where the C++ library lies in this installation, for programs that embed it."""

from pathlib import Path

from gasg21 import _core

_HERE = Path(_core.__file__).parent  # the headers are installed beside the compiled module


def get_include() -> str:
    """Directory to put on the C++ include path (Armadillo is needed too).

    Returns
    -------
    path : str
        The compiler finds ``gasg21/gasg21.hpp`` there.

    Examples
    --------
    >>> import os, gasg21
    >>> os.path.exists(os.path.join(gasg21.get_include(), "gasg21", "gasg21.hpp"))
    True
    """
    return str(_HERE / "include")


def get_cmake_dir() -> str:
    """Directory to give to CMake as ``gasg21_DIR``.

    Returns
    -------
    path : str
        CMake finds ``gasg21-config.cmake`` there.

    Examples
    --------
    >>> import os, gasg21
    >>> os.path.exists(os.path.join(gasg21.get_cmake_dir(), "gasg21-config.cmake"))
    True
    """
    return str(_HERE / "share" / "cmake" / "gasg21")


def get_pkgconfig_dir() -> str:
    """Directory to put on ``PKG_CONFIG_PATH``."""
    return str(_HERE / "share" / "pkgconfig")

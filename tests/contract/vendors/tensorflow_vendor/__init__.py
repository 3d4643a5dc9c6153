"""A stand-in for a vendor's package that loads its plugin when it is imported."""

from __future__ import annotations

import os

from tensorflow.python.framework import load_library

load_library.load_pluggable_device_library(os.environ["VENDOR_LIBRARY"])

__version__ = "4.5.6"

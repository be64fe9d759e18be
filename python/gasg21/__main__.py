"""Entry point of ``python -m gasg21``."""

import sys

from gasg21.cli import main

sys.exit(main())

"""Sources of samples inside of PyTorch's own wheel."""

SOURCES = ("opinfo", "modules", "errors", "optimizers", "written")

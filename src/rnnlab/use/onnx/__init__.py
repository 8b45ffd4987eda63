"""A trained model as one ONNX file, for programs that have neither Python nor torch."""

from rnnlab.core.errors import RnnlabError


class ExportError(RnnlabError):
    """A model that can't be written as ONNX, or whose ONNX graph doesn't compute the same."""

"""A trained model answers: from Python, from the command line, and for whole files."""

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.use.predictor import CHUNK, Predictor, load

__all__ = ["CHUNK", "Explanation", "Prediction", "Predictor", "load"]

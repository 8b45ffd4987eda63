"""A trained model answers: from Python, from the command line, and for whole files."""

from rnnlab.predict.predictor import CHUNK, Predictor, load
from rnnlab.tasks.prediction import Explanation, Prediction

__all__ = ["CHUNK", "Explanation", "Prediction", "Predictor", "load"]

"""How a text is written that another text asks for: the settings of a decoder."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from rnnlab.core.config import Config
from rnnlab.core.errors import WrongValue
from rnnlab.models.embedding import Embedding


class DecoderSettings(Config):
    """What writes, where one text is written for another; what reads is the model itself."""

    added: ClassVar[tuple[str, ...]] = ("input_feeding", "model", "embedding")

    attention: Literal["none", "dot", "scaled", "general", "additive"] = Field(
        default="additive",
        description="How places of the source are scored by what was written so far: dot; scaled, by the root of the "
        "width; general (Luong), additive (Bahdanau); none: all that is known of the source goes through one vector. A "
        "Transformer always looks in its own way, in each of its layers.",
    )
    input_feeding: bool = Field(
        default=False,
        description="What was looked at is read with the next token (Luong et al. 2015): step by step, and slower.",
    )
    model: Any = Field(
        default=None,
        description="The model that writes, with its settings (kind and so on); else that which reads, without what "
        "looks ahead.",
    )
    embedding: Embedding | None = Field(
        default=None, description="Of the tokens that are written; else as that of those which are read."
    )

    @field_validator("model", mode="before")
    @classmethod
    def _an_architecture(cls, value: Any) -> Any:
        from rnnlab.models.base import ARCHITECTURES, Architecture  # which has these settings among its own

        if value is None or isinstance(value, Architecture):
            return value
        if not isinstance(value, dict):
            raise WrongValue('a model is a table such as {{ kind = "gru", hidden = 256 }}')
        return ARCHITECTURES.parse(value, "model.decoder.model")

    @model_validator(mode="after")
    def _fed_by_attention(self) -> Self:
        if self.input_feeding and self.attention == "none":
            raise WrongValue("input_feeding = true would be ignored with attention = 'none'; take another attention")
        return self

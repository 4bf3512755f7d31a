"""Verifies cards with the Python a2a-sdk 0.3.x as its client does: python verify03.py JWKS CARD…"""
import json
import sys

from a2a.types import AgentCard
from a2a.utils.signing import create_signature_verifier
from jwt.api_jwk import PyJWKSet

keys = PyJWKSet.from_dict(json.load(open(sys.argv[1])))
verify = create_signature_verifier(lambda kid, jku: keys[kid], ["ES256"])
for path in sys.argv[2:]:
    verify(AgentCard.model_validate(json.load(open(path, encoding="utf-8"))))
    print(path, "verified")

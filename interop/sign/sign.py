"""Signs our cards with the Python a2a-sdk 1.x: python sign.py KEYS OUT, where KEYS is a private JWK set."""
import json
import pathlib
import sys

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt.api_jwk import PyJWK

keys, out = json.load(open(sys.argv[1]))["keys"], pathlib.Path(sys.argv[2])
for path in sorted(pathlib.Path(__file__).parents[2].joinpath("a2a/sign/testdata/cards").glob("*.json")):
    for jwk in keys:
        card = ParseDict(json.loads(path.read_text("utf-8")), AgentCard())
        header = {"kid": jwk["kid"], "alg": jwk["alg"], "typ": "JOSE"}
        if jwk["alg"] == "ES256":
            header["jku"] = "https://harbour.example/.well-known/jwks.json"
        signed = create_agent_card_signer(PyJWK(jwk), header)(card)
        name = f"python-1.1.0-{path.stem}-{jwk['alg']}"
        (out / f"{name}.json").write_text(json.dumps(MessageToDict(signed)) + "\n")
        # What its server sends: with the members of v0.3 beside those of v1.0.
        (out / f"{name}-superset.json").write_text(json.dumps(agent_card_to_dict(signed), ensure_ascii=False) + "\n")

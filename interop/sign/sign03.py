"""Signs a card of v0.3 with the Python a2a-sdk 0.3.x: python sign03.py KEYS OUT."""
import json
import pathlib
import sys

from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer
from jwt.api_jwk import PyJWK

keys, out = json.load(open(sys.argv[1]))["keys"], pathlib.Path(sys.argv[2])
for stem, name in {"plain": "Harbour", "wide": "Häfen 港 🚢"}.items():
    card = AgentCard.model_validate({
        "protocolVersion": "0.3.0", "name": name, "description": "Says when ships arrive.", "url": "https://harbour.example/old",
        "preferredTransport": "JSONRPC", "additionalInterfaces": [{"url": "https://harbour.example/rest", "transport": "HTTP+JSON"}],
        "version": "1.4.0", "capabilities": {"streaming": True, "pushNotifications": False, "extensions": [
            {"uri": "https://harbour.example/ext/tides", "params": {"whole": 12, "fraction": 1.0, "tiny": 1e-7, "large": 1e22, "none": None}}]},
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "security": [{"bearer": []}], "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "a", "name": name, "description": "", "tags": []}],
    })
    jwk = keys[0]
    signed = create_agent_card_signer(PyJWK(jwk), {"kid": jwk["kid"], "alg": jwk["alg"], "typ": "JOSE"})(card)
    (out / f"python-0.3.26-{stem}-{jwk['alg']}.json").write_text(signed.model_dump_json(by_alias=True, exclude_none=True) + "\n")

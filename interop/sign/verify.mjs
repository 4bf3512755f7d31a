// Verifies cards with @a2a-js/sdk 1.x: node verify.mjs JWKS CARD…
import { readFileSync } from 'node:fs';
import * as sdk from '@a2a-js/sdk';
import { importJWK } from 'jose';

const [jwks, ...cards] = process.argv.slice(2);
const keys = JSON.parse(readFileSync(jwks)).keys;
console.debug = () => {};
const verify = sdk.verifyAgentCardSignature(async (kid) => importJWK(keys.find((k) => k.kid === kid), 'ES256'));
for (const path of cards) {
  const card = JSON.parse(readFileSync(path));
  await verify(card); // as it was fetched,
  await verify(sdk.AgentCard.fromJSON(card)); // and as its client holds it
  console.log(path, 'verified');
}

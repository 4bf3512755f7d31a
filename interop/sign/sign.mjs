// Signs our cards with @a2a-js/sdk 1.x: node sign.mjs KEYS OUT, where KEYS is a private JWK set.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as sdk from '@a2a-js/sdk';
import { AgentCard } from '@a2a-js/sdk';
import { importJWK } from 'jose';

const [keysFile, out] = process.argv.slice(2);
const cards = new URL('../../a2a/sign/testdata/cards/', import.meta.url);
for (const file of readdirSync(cards).sort()) {
  for (const jwk of JSON.parse(readFileSync(keysFile)).keys) {
    const card = AgentCard.fromJSON(JSON.parse(readFileSync(new URL(file, cards))));
    const sign = sdk.generateAgentCardSignature(await importJWK(jwk, jwk.alg), { alg: jwk.alg, kid: jwk.kid, typ: 'JOSE' });
    const signed = AgentCard.toJSON(await sign(card));
    writeFileSync(`${out}/js-1.3.0-${file.replace('.json', '')}-${jwk.alg}.json`, JSON.stringify(signed) + '\n');
  }
}

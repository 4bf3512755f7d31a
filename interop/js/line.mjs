// The client side of the line protocol (see the Go package interop/peer), for SDKs in JavaScript.
//
// A peer's program calls main(serve, dial, kind):
//
//   serve(binding, trait)                 serves the agent, which is like what the trait says, and resolves to where its card is
//   dial({url, token, binding, extensions}) resolves to a client {card, send, stream, subscribe, get, cancel, list, pushSet,
//                                         pushGet, pushList, pushDelete, extended}; a method that the SDK does not have is
//                                         missing, or throws none. Every method gets a signal that ends it as its last argument
//   kind(error)                           the protocol error in words, '' for any other
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

globalThis.crypto ??= webcrypto; // what Debian calls Node is 18; the SDKs expect 20

export const none = new Error('not offered by this SDK');
export const extension = 'urn:parley:interop:extension';
export const tenant = 'acme';

// security is what a declaring agent declares of security: the members that a card of a version has for it.
export const security = (version) => JSON.parse(readFileSync(new URL(`../peer/security/v${version}.json`, import.meta.url)));

// codes are the kinds of the error codes that all versions share.
export const codes = {
  '-32001': 'task-not-found', '-32002': 'task-not-cancelable', '-32003': 'push-not-supported', '-32004': 'unsupported-operation',
  '-32005': 'content-type', '-32007': 'extended-card-not-configured', '-32600': 'invalid-request', '-32601': 'method-not-found',
  '-32602': 'invalid-params',
};

export async function main(serve, dial, kind) {
  if (process.argv[2] === 'serve') {
    console.log('ready', await serve(process.argv[3], process.argv[4]));
    return;
  }
  console.error = (...words) => process.stderr.write(words.join(' ') + '\n');
  console.log = console.info = console.warn = console.debug = console.error; // stdout is the protocol's
  const say = (a) => process.stdout.write(JSON.stringify(a) + '\n');
  const clients = new Map();
  const running = new Map();

  const stream = async (n, events) => {
    for await (const event of events) say({ n, more: true, event });
    return {};
  };
  const verbs = {
    card: async (c) => ({ card: await c.card() }),
    send: async (c, r, s) => ({ event: await c.send(r.message, s) }),
    stream: (c, r, s) => stream(r.n, c.stream(r.message, s)),
    subscribe: (c, r, s) => stream(r.n, c.subscribe(r.task, s)),
    get: async (c, r, s) => ({ event: await c.get(r.task, r.history, s) }),
    cancel: async (c, r, s) => ({ event: await c.cancel(r.task, s) }),
    list: (c, r, s) => c.list(r.context, r.size, r.token, s),
    'push-set': async (c, r, s) => ({ push: await c.pushSet(r.push, s) }),
    'push-get': async (c, r, s) => ({ push: await c.pushGet(r.task, r.id, s) }),
    'push-list': async (c, r, s) => ({ pushes: await c.pushList(r.task, s) }),
    'push-delete': async (c, r, s) => { await c.pushDelete(r.task, r.id, s); return {}; },
    extended: async (c, r, s) => ({ card: await c.extended(s) }),
  };
  const method = (verb) => verb.replace(/-(.)/, (_, l) => l.toUpperCase());

  createInterface({ input: process.stdin }).on('line', async (line) => {
    const r = JSON.parse(line);
    if (r.do === 'leave') {
      running.get(r.at)?.abort();
      return say({ n: r.n });
    }
    const abort = new AbortController();
    running.set(r.n, abort);
    try {
      if (r.do === 'dial') {
        clients.set(r.n, await dial(r.dial));
        return say({ n: r.n });
      }
      const client = clients.get(r.at);
      if (!client[method(r.do)]) throw none;
      say({ n: r.n, ...(await verbs[r.do](client, r, abort.signal)) });
    } catch (e) {
      if (e === none) return say({ n: r.n, none: true });
      say({ n: r.n, error: String(e?.message ?? e) || 'an error without a message', kind: kind(e) });
    } finally {
      running.delete(r.n);
    }
  }).on('close', () => process.exit(0));
}

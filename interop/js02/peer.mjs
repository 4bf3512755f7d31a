// A peer made with the official JavaScript SDK for v0.2: an agent and a client (see js/line.mjs).
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import express from 'express';
import { A2AClient } from '@a2a-js/sdk/client';
import { A2AExpressApp, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { codes, main } from '../js/line.mjs';
import { card, event, events, executor, fromCard, fromPush, request, toPush } from '../js/mid.mjs';

async function serve(_, trait) {
  const app = express();
  const server = createServer(app);
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const handler = new DefaultRequestHandler(card(trait, '0.2.6', { name: 'JavaScript SDK v0.2', url }), new InMemoryTaskStore(), executor());
  new A2AExpressApp(handler).setupRoutes(app, '');
  return url;
}

// This SDK takes no headers: what it fetches gets those of the client it is fetched for.
const caller = new AsyncLocalStorage();
const plain = globalThis.fetch;
globalThis.fetch = (url, init) => {
  const { token, signal } = caller.getStore() ?? {};
  return plain(url, { ...init, signal, headers: { ...init?.headers, ...(token && { Authorization: `Bearer ${token}` }) } });
};

class Refused extends Error {
  constructor(e) {
    super(e.message);
    this.code = e.code;
  }
}

async function dial({ url, token }) {
  const as = (signal, f) => caller.run({ token, signal }, f);
  const c = as(undefined, () => new A2AClient(url));
  const about = await as(undefined, () => c.getAgentCard());
  const one = async (signal, f) => {
    const r = await as(signal, f);
    if (r.error) throw new Refused(r.error);
    return r.result;
  };
  async function* all(signal, f) {
    const from = as(signal, f);
    for (;;) {
      const { done, value } = await as(signal, () => from.next());
      if (done) return;
      yield value;
    }
  }
  return {
    card: async () => fromCard(about),
    send: async (m, s) => event(await one(s, () => c.sendMessage(request(m)))),
    stream: (m, s) => events(all(s, () => c.sendMessageStream(request(m)))),
    subscribe: (id, s) => events(all(s, () => c.resubscribeTask({ id }))),
    get: async (id, historyLength, s) => event(await one(s, () => c.getTask({ id, historyLength }))),
    cancel: async (id, s) => event(await one(s, () => c.cancelTask({ id }))),
    pushSet: async (p, s) => fromPush(await one(s, () => c.setTaskPushNotificationConfig(toPush(p)))),
    pushGet: async (id, _, s) => fromPush(await one(s, () => c.getTaskPushNotificationConfig({ id }))),
  };
}

const kind = (e) => codes[e.code] ?? codes[/(?:Code|code)"?:\s*(-\d+)/.exec(e.message)?.[1]] ?? '';

main(serve, dial, kind);

// A client made with the official JavaScript SDK for v0.3: reads a plan on stdin, prints a line of JSON per check.
import { randomUUID } from 'node:crypto';
import {
  ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory,
  PushNotificationNotSupportedError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError,
  createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import { main, notInThisVersion } from '../js/check.mjs';

async function dial(url, token) {
  const headers = async () => (token ? { Authorization: `Bearer ${token}` } : {});
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
  const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }));
  const c = await factory.createFromUrl(url);
  return {
    async card() {
      const card = await c.getAgentCard();
      return { name: card.name, skills: card.skills.length, streaming: card.capabilities.streaming };
    },
    send: async (m) => reply(await c.sendMessage(request(m))),
    stream: (m) => events(c.sendMessageStream(request(m))),
    subscribe: (id) => events(c.resubscribeTask({ id })),
    get: async (id) => reply(await c.getTask({ id })),
    cancel: async (id) => reply(await c.cancelTask({ id })),
    list: async () => { throw notInThisVersion; },
    push: (taskId, hook) => c.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { url: hook } }),
  };
}

const request = (m) => ({
  configuration: { blocking: !m.noWait },
  message: {
    kind: 'message', messageId: randomUUID(), role: 'user', taskId: m.taskId, contextId: m.contextId,
    parts: [{ kind: 'text', text: m.text }, ...(m.more ?? []).map((p) => (p.data
      ? { kind: 'data', data: p.data }
      : { kind: 'file', file: { name: p.name, mimeType: p.mediaType, bytes: p.bytes.toString('base64') } }))],
  },
});

const parts = (from = []) => from.map((p) => {
  if (p.kind === 'text') return { text: p.text };
  if (p.kind === 'data') return { data: p.data };
  const { name, mimeType: mediaType, bytes, uri: url } = p.file;
  return { name, mediaType, url, bytes: bytes && Buffer.from(bytes, 'base64') };
});

const reply = (r) => (r.kind === 'message'
  ? { message: true, taskId: r.taskId, contextId: r.contextId, state: '', parts: parts(r.parts) }
  : { message: false, taskId: r.id, contextId: r.contextId, state: r.status.state, parts: r.artifacts?.length ? parts(r.artifacts.flatMap((a) => a.parts)) : said(r.status) });

const said = (status) => (status.state === 'completed' ? parts(status.message?.parts) : []);

async function* events(from) {
  for await (const e of from) {
    if (e.kind === 'status-update') yield { kind: 'status', taskId: e.taskId, contextId: e.contextId, state: e.status.state, parts: said(e.status) };
    else if (e.kind === 'artifact-update') yield { kind: 'artifact', taskId: e.taskId, contextId: e.contextId, parts: parts(e.artifact.parts) };
    else yield { kind: e.kind, ...reply(e) };
  }
}

function kind(e) {
  if (e instanceof TaskNotFoundError) return 'task-not-found';
  if (e instanceof TaskNotCancelableError) return 'task-not-cancelable';
  if (e instanceof PushNotificationNotSupportedError) return 'push-not-supported';
  if (e instanceof UnsupportedOperationError) return 'unsupported-operation';
  const code = e.code ?? e.errorResponse?.error?.code;
  return { '-32602': 'invalid-params', '-32600': 'invalid-request' }[code] ?? '';
}

main(dial, kind);

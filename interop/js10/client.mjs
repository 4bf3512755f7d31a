// A client made with the official JavaScript SDK for v1.0: reads a plan on stdin, prints a line of JSON per check.
import { randomUUID, webcrypto } from 'node:crypto';
import { Role, TaskState, taskStateToJSON } from '@a2a-js/sdk';
import {
  ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import { main } from '../js/check.mjs';

globalThis.crypto ??= webcrypto; // what Debian calls Node is 18; the SDK expects 20

async function dial(url, token) {
  const headers = async () => (token ? { Authorization: `Bearer ${token}` } : {});
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
  const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }));
  const c = await factory.createFromUrl(url);
  const tenant = '';
  return {
    async card() {
      const card = await c.getAgentCard();
      return { name: card.name, skills: card.skills.length, streaming: card.capabilities.streaming };
    },
    send: async (m) => reply(await c.sendMessage(request(m))),
    stream: (m) => events(c.sendMessageStream(request(m))),
    subscribe: (id) => events(c.resubscribeTask({ tenant, id })),
    get: async (id) => reply(await c.getTask({ tenant, id })),
    cancel: async (id) => reply(await c.cancelTask({ tenant, id, metadata: undefined })),
    async list(pageSize, pageToken) {
      const page = await c.listTasks({ tenant, contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize, pageToken });
      return { tasks: page.tasks.map((t) => t.id), next: page.nextPageToken };
    },
    push: (taskId, hook) => c.createTaskPushNotificationConfig({ tenant, taskId, id: '', url: hook, token: '', authentication: undefined }),
  };
}

const request = (m) => ({
  tenant: '',
  metadata: undefined,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: Boolean(m.noWait) },
  message: {
    messageId: randomUUID(), role: Role.ROLE_USER, taskId: m.taskId ?? '', contextId: m.contextId ?? '',
    metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ text: m.text }, ...(m.more ?? [])].map((p) => ({
      content: p.data ? { $case: 'data', value: p.data } : p.bytes ? { $case: 'raw', value: p.bytes } : { $case: 'text', value: p.text },
      metadata: undefined, filename: p.name ?? '', mediaType: p.mediaType ?? '',
    })),
  },
});

const parts = (from = []) => from.map(({ content, filename: name, mediaType }) => ({
  name,
  mediaType,
  ...{ text: { text: content.value }, data: { data: content.value }, url: { url: content.value }, raw: { bytes: content.$case === 'raw' && Buffer.from(content.value) } }[content.$case],
}));

const state = (s) => taskStateToJSON(s).replace('TASK_STATE_', '').replaceAll('_', '-').toLowerCase();

const reply = (r) => ('messageId' in r
  ? { message: true, taskId: r.taskId, contextId: r.contextId, state: '', parts: parts(r.parts) }
  : { message: false, taskId: r.id, contextId: r.contextId, state: state(r.status.state), parts: r.artifacts.length ? parts(r.artifacts.flatMap((a) => a.parts)) : said(r.status) });

const said = (status) => (status.state === TaskState.TASK_STATE_COMPLETED ? parts(status.message?.parts) : []);

async function* events(from) {
  for await (const { payload: { $case, value: v } } of from) {
    if ($case === 'statusUpdate') yield { kind: 'status', taskId: v.taskId, contextId: v.contextId, state: state(v.status.state), parts: said(v.status) };
    else if ($case === 'artifactUpdate') yield { kind: 'artifact', taskId: v.taskId, contextId: v.contextId, parts: parts(v.artifact.parts) };
    else yield { kind: $case, ...reply(v) };
  }
}

function kind(e) {
  const reasons = {
    TASK_NOT_FOUND: 'task-not-found',
    TASK_NOT_CANCELABLE: 'task-not-cancelable',
    PUSH_NOTIFICATION_NOT_SUPPORTED: 'push-not-supported',
    UNSUPPORTED_OPERATION: 'unsupported-operation',
  };
  return reasons[e.reason] ?? { '-32602': 'invalid-params', '-32600': 'invalid-request' }[e.envelopeCode] ?? '';
}

main(dial, kind);

// A peer made with the official JavaScript SDK for v1.0: an agent and a client (see js/line.mjs).
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import express from 'express';
import { AgentCard, Role, TaskState, taskStateToJSON } from '@a2a-js/sdk';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import {
  AgentEvent, DefaultExecutionEventBusManager, DefaultPushNotificationSender, DefaultRequestHandler, InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { codes, extension, main, security, tenant as ours } from '../js/line.mjs';

const text = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' });
const canceled = new Set();

const executor = {
  async execute({ taskId, contextId, userMessage, task, context }, bus) {
    const said = userMessage.parts[0].content.value;
    const [word, ...rest] = said.split(' ');
    const timestamp = () => new Date().toISOString();
    const reply = (s, taskId = '') => ({
      messageId: randomUUID(), role: Role.ROLE_AGENT, parts: [text(s)], taskId, contextId, metadata: undefined, extensions: [], referenceTaskIds: [],
    });
    const status = (state, words) => bus.publish(AgentEvent.statusUpdate({
      taskId, contextId, status: { state: TaskState[`TASK_STATE_${state}`], message: words && reply(words, taskId), timestamp: timestamp() }, metadata: undefined,
    }));
    const chunk = (name, append, lastChunk, ...parts) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append, lastChunk, metadata: undefined,
      artifact: { artifactId: name, name, description: '', parts, metadata: undefined, extensions: [] },
    }));
    const finish = (...parts) => { chunk('result', false, true, ...parts); status('COMPLETED'); };

    const asked = [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED].includes(task?.status.state);
    if (!asked && word === 'echo') {
      bus.publish(AgentEvent.message(reply(rest.join(' '))));
      return bus.finished();
    }
    // Every turn begins with the task: a stream of this SDK may begin with nothing else but a message.
    bus.publish(AgentEvent.task({
      id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined, ...task,
      status: { state: task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: timestamp() },
    }));
    if (asked) finish(text(`You said ${said}`));
    else {
      switch (word) {
        case 'task': finish(text(rest.join(' '))); break;
        case 'parts': finish(...userMessage.parts.slice(1)); break;
        case 'metadata': finish({ ...text(''), content: { $case: 'data', value: userMessage.metadata } }); break;
        case 'refer': finish(text(userMessage.referenceTaskIds.join(' '))); break;
        case 'tenant': finish(text(context?.tenant ?? '')); break;
        case 'extensions': finish(text([...(context?.requestedExtensions ?? [])].join(' '))); break;
        case 'artifacts':
          chunk('first', false, false, text('one '));
          chunk('first', true, true, text('two '));
          chunk('second', false, false, text('draft'));
          chunk('second', false, true, text('final'));
          status('COMPLETED');
          break;
        case 'stream':
          status('WORKING');
          for (let i = 0; i < 20; i++) {
            chunk('text', i > 0, i === 19, text(`chunk ${i} 東;`));
            await sleep(20);
          }
          status('COMPLETED');
          break;
        case 'ask': status('INPUT_REQUIRED', 'Which colour?'); break;
        case 'auth': status('AUTH_REQUIRED', 'Sign in first.'); break;
        case 'slow':
          status('WORKING');
          for (let i = 0; i < 1200 && !canceled.has(taskId); i++) await sleep(50);
          status(canceled.delete(taskId) ? 'CANCELED' : 'COMPLETED');
          break;
        default: status('FAILED', `I do not know ${word}`);
      }
    }
    bus.finished();
  },
  async cancelTask(taskId) { canceled.add(taskId); },
};

async function serve(binding, trait) {
  const app = express();
  const server = createServer(app);
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const base = `http://127.0.0.1:${server.address().port}/`;
  let at = binding === 'HTTP+JSON' ? base.slice(0, -1) : base; // its client appends /message:send
  const rpc = new grpc.Server();
  if (binding === 'GRPC') {
    at = '127.0.0.1:' + await new Promise((done, no) => {
      rpc.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (e, port) => (e ? no(e) : done(port)));
    });
  }
  const declaring = trait === 'declaring';
  const card = {
    name: 'JavaScript SDK v1.0', description: 'A peer on @a2a-js/sdk.', version: '1', provider: undefined, documentationUrl: '', iconUrl: '',
    supportedInterfaces: [{ url: at, protocolBinding: binding, protocolVersion: '1.0', tenant: declaring ? ours : '' }],
    capabilities: {
      streaming: trait !== 'polled', pushNotifications: true, extendedAgentCard: true,
      extensions: [{ uri: extension, description: '', required: declaring, params: undefined }],
    },
    ...securityOf(AgentCard.fromJSON(declaring ? security('1.0') : {})), signatures: [],
    defaultInputModes: ['*/*'], defaultOutputModes: ['*/*'],
    skills: [{ id: 'obey', name: 'Obey', description: 'Obeys the first word', tags: ['test'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  };
  const hooks = new InMemoryPushNotificationStore();
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor, new DefaultExecutionEventBusManager(),
    hooks, new DefaultPushNotificationSender(hooks), { ...card, name: card.name + ', extended' });
  const o = { requestHandler, userBuilder: async () => ({ isAuthenticated: true, userName: 'peer' }) };
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  if (binding === 'JSONRPC') app.use('/', jsonRpcHandler(o));
  if (binding === 'HTTP+JSON') app.use('/', restHandler(o));
  if (binding === 'GRPC') rpc.addService(A2AService, grpcService(o));
  return base;
}

async function dial({ url, token, binding, extensions }) {
  const headers = async () => (token ? { Authorization: `Bearer ${token}` } : {});
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
  const resolver = new DefaultAgentCardResolver({ fetchImpl });
  const transports = {
    JSONRPC: () => new JsonRpcTransportFactory({ fetchImpl }),
    'HTTP+JSON': () => new RestTransportFactory({ fetchImpl }),
    GRPC: () => new GrpcTransportFactory(),
  };
  const factory = new ClientFactory({ transports: [transports[binding]()], cardResolver: resolver });
  const about = await resolver.resolve(url);
  const c = await factory.createFromUrl(url);
  const tenant = '';
  const o = (signal) => ({
    signal,
    serviceParameters: { 'A2A-Extensions': (extensions ?? []).join(','), ...(binding === 'GRPC' && token && { authorization: `Bearer ${token}` }) },
  });
  return {
    card: async () => fromCard(about),
    extended: async (s) => fromCard(await c.getAgentCard(o(s))),
    send: async (m, s) => event(await c.sendMessage(request(m), o(s))),
    stream: (m, s) => events(c.sendMessageStream(request(m), o(s))),
    subscribe: (id, s) => events(c.resubscribeTask({ tenant, id }, o(s))),
    get: async (id, historyLength, s) => event(await c.getTask({ tenant, id, historyLength }, o(s))),
    cancel: async (id, s) => event(await c.cancelTask({ tenant, id, metadata: undefined }, o(s))),
    async list(contextId = '', pageSize, pageToken = '', s) {
      const page = await c.listTasks({ tenant, contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageSize, pageToken }, o(s));
      return { tasks: page.tasks.map((t) => t.id), next: page.nextPageToken };
    },
    pushSet: async (p, s) => fromPush(await c.createTaskPushNotificationConfig(toPush(p), o(s))),
    pushGet: async (taskId, id, s) => fromPush(await c.getTaskPushNotificationConfig({ tenant, taskId, id }, o(s))),
    pushList: async (taskId, s) => (await c.listTaskPushNotificationConfig({ tenant, taskId, pageSize: 0, pageToken: '' }, o(s))).configs.map(fromPush),
    pushDelete: (taskId, id, s) => c.deleteTaskPushNotificationConfig({ tenant, taskId, id }, o(s)),
  };
}

const securityOf = ({ securitySchemes, securityRequirements }) => ({ securitySchemes, securityRequirements });

const fromCard = (c) => ({
  name: c.name, skills: c.skills.length, streaming: Boolean(c.capabilities.streaming), push: Boolean(c.capabilities.pushNotifications),
  security: securityOf(AgentCard.toJSON(c)),
});

const toPush = (p) => ({
  tenant: '', taskId: p.task ?? '', id: p.id ?? '', url: p.url, token: p.token ?? '',
  authentication: p.scheme ? { scheme: p.scheme, credentials: p.credentials } : undefined,
});

const fromPush = (c) => ({ task: c.taskId, id: c.id, url: c.url, token: c.token });

const request = (m) => ({
  tenant: '',
  metadata: undefined,
  configuration: {
    acceptedOutputModes: m.accept ?? [], taskPushNotificationConfig: m.push && toPush(m.push), returnImmediately: Boolean(m.noWait), historyLength: m.history,
  },
  message: {
    messageId: randomUUID(), role: Role.ROLE_USER, taskId: m.task ?? '', contextId: m.context ?? '',
    metadata: m.metadata, extensions: [], referenceTaskIds: m.references ?? [],
    parts: [text(m.text), ...(m.parts ?? []).map(toPart)],
  },
});

const toPart = (p) => ({
  content: p.bytes !== undefined ? { $case: 'raw', value: Buffer.from(p.bytes, 'base64') }
    : p.url ? { $case: 'url', value: p.url }
      : 'data' in p ? { $case: 'data', value: p.data } : { $case: 'text', value: p.text ?? '' },
  metadata: p.metadata, filename: p.name ?? '', mediaType: p.mediaType ?? '',
});

const parts = (from = []) => from.map(({ content, filename: name, mediaType, metadata }) => ({
  name, mediaType, metadata,
  ...(content?.$case === 'raw' ? { bytes: Buffer.from(content.value).toString('base64') } : content && { [content.$case]: content.value }),
}));

const artifact = (a) => ({ id: a.artifactId, name: a.name, parts: parts(a.parts) });
const state = (s) => taskStateToJSON(s).replace('TASK_STATE_', '').replaceAll('_', '-').toLowerCase();

const event = (r) => ('messageId' in r
  ? { kind: 'message', task: r.taskId, context: r.contextId, said: parts(r.parts) }
  : {
    kind: 'task', task: r.id, context: r.contextId, state: state(r.status.state), said: parts(r.status.message?.parts),
    artifacts: r.artifacts.map(artifact), history: r.history.length,
  });

async function* events(from) {
  for await (const { payload: { $case, value: v } } of from) {
    if ($case === 'statusUpdate') {
      yield { kind: 'status', task: v.taskId, context: v.contextId, state: state(v.status.state), said: parts(v.status.message?.parts) };
    } else if ($case === 'artifactUpdate') {
      yield { kind: 'artifact', task: v.taskId, context: v.contextId, append: v.append, last: v.lastChunk, artifacts: [artifact(v.artifact)] };
    } else yield event(v);
  }
}

function kind(e) {
  const reasons = {
    TASK_NOT_FOUND: 'task-not-found', TASK_NOT_CANCELABLE: 'task-not-cancelable', PUSH_NOTIFICATION_NOT_SUPPORTED: 'push-not-supported',
    UNSUPPORTED_OPERATION: 'unsupported-operation', CONTENT_TYPE_NOT_SUPPORTED: 'content-type',
    EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'extended-card-not-configured', EXTENSION_SUPPORT_REQUIRED: 'extension-required',
  };
  return reasons[e.reason] ?? codes[e.envelopeCode] ?? ({ RequestMalformedError: 'invalid-params', InvalidParamsError: 'invalid-params' })[e.name] ?? '';
}

main(serve, dial, kind);

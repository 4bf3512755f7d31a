// A peer made with the official JavaScript SDK for v0.3: an agent and a client (see js/line.mjs).
import { createServer } from 'node:http';
import * as grpc from '@grpc/grpc-js';
import express from 'express';
import { AGENT_CARD_PATH } from '@a2a-js/sdk';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
  AuthenticatedExtendedCardNotConfiguredError, ContentTypeNotSupportedError, PushNotificationNotSupportedError, TaskNotCancelableError,
  TaskNotFoundError, UnsupportedOperationError, createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import {
  DefaultExecutionEventBusManager, DefaultPushNotificationSender, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { codes, main } from '../js/line.mjs';
import { card, event, events, executor, fromCard, fromPush, request, toPush } from '../js/mid.mjs';

async function serve(binding, trait) {
  const app = express();
  const server = createServer(app);
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const base = `http://127.0.0.1:${server.address().port}/`;
  let at = binding === 'HTTP+JSON' ? base.slice(0, -1) : base; // its client appends /v1/...
  const rpc = new grpc.Server();
  if (binding === 'GRPC') {
    at = '127.0.0.1:' + await new Promise((done, no) => {
      rpc.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (e, port) => (e ? no(e) : done(port)));
    });
  }
  const about = card(trait, '0.3.0', { name: 'JavaScript SDK v0.3', url: at, preferredTransport: binding, supportsAuthenticatedExtendedCard: true });
  const hooks = new InMemoryPushNotificationStore();
  const requestHandler = new DefaultRequestHandler(about, new InMemoryTaskStore(), executor(), new DefaultExecutionEventBusManager(),
    hooks, new DefaultPushNotificationSender(hooks), { ...about, name: about.name + ', extended' });
  const o = { requestHandler, userBuilder: async () => ({ isAuthenticated: true, userName: 'peer' }) };
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
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
  const c = await factory.createFromUrl(url);
  const o = (signal) => ({
    signal,
    serviceParameters: { 'X-A2A-Extensions': (extensions ?? []).join(','), ...(binding === 'GRPC' && token && { authorization: `Bearer ${token}` }) },
  });
  return {
    card: async () => fromCard(await resolver.resolve(url)),
    extended: async (s) => fromCard(await c.getAgentCard(o(s))),
    send: async (m, s) => event(await c.sendMessage(request(m), o(s))),
    stream: (m, s) => events(c.sendMessageStream(request(m), o(s))),
    subscribe: (id, s) => events(c.resubscribeTask({ id }, o(s))),
    get: async (id, historyLength, s) => event(await c.getTask({ id, ...(historyLength !== undefined && { historyLength }) }, o(s))),
    cancel: async (id, s) => event(await c.cancelTask({ id }, o(s))),
    pushSet: async (p, s) => fromPush(await c.setTaskPushNotificationConfig(toPush(p), o(s))),
    pushGet: async (id, config, s) => fromPush(await c.getTaskPushNotificationConfig({ id, pushNotificationConfigId: config }, o(s))),
    pushList: async (id, s) => (await c.listTaskPushNotificationConfig({ id }, o(s))).map(fromPush),
    pushDelete: (id, config, s) => c.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: config }, o(s)),
  };
}

function kind(e) {
  if (e instanceof TaskNotFoundError) return 'task-not-found';
  if (e instanceof TaskNotCancelableError) return 'task-not-cancelable';
  if (e instanceof PushNotificationNotSupportedError) return 'push-not-supported';
  if (e instanceof UnsupportedOperationError) return 'unsupported-operation';
  if (e instanceof ContentTypeNotSupportedError) return 'content-type';
  if (e instanceof AuthenticatedExtendedCardNotConfiguredError) return 'extended-card-not-configured';
  if (/^GRPC error for \w+! 3 /.test(e.message)) return 'invalid-params';
  return codes[e.code ?? e.errorResponse?.error?.code] ?? codes[/Code: (-\d+)/.exec(e.message)?.[1]] ?? '';
}

main(serve, dial, kind);

// An agent made with the official JavaScript SDK for v1.0. It obeys the first word of a message: echo, task, stream,
// ask, slow, files. Prints "ready URL".
import { randomUUID, webcrypto } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, UnauthenticatedUser } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';

globalThis.crypto ??= webcrypto; // what Debian calls Node is 18; the SDK expects 20

const canceled = new Set();
const text = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });

const executor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const said = userMessage.parts[0].content.value;
    const [word, ...rest] = said.split(' ');
    const timestamp = () => new Date().toISOString();
    const reply = (s, taskId = '') => ({
      messageId: randomUUID(), role: Role.ROLE_AGENT, parts: [text(s)], taskId, contextId, metadata: undefined, extensions: [], referenceTaskIds: [],
    });
    const status = (state, words) => bus.publish(AgentEvent.statusUpdate({
      taskId, contextId, status: { state, message: words && reply(words, taskId), timestamp: timestamp() }, metadata: undefined,
    }));
    const artifactId = randomUUID();
    const artifact = (parts, append = false, lastChunk = true) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append, lastChunk, metadata: undefined,
      artifact: { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] },
    }));

    const asked = task?.status.state === TaskState.TASK_STATE_INPUT_REQUIRED;
    if (!asked && word === 'echo') {
      bus.publish(AgentEvent.message(reply(rest.join(' '))));
      return bus.finished();
    }
    // Every turn begins with the task: a stream of this SDK may begin with nothing else but a message.
    bus.publish(AgentEvent.task({
      id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined, ...task,
      status: { state: task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: timestamp() },
    }));
    if (asked) artifact([text(`You said ${said}`)]);
    else if (word === 'task') artifact([text(rest.join(' '))]);
    else if (word === 'files') artifact(userMessage.parts.slice(1));
    else if (word === 'ask') {
      status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which colour?');
      return bus.finished();
    } else if (word === 'stream') {
      status(TaskState.TASK_STATE_WORKING);
      for (let i = 0; i < 20; i++) {
        artifact([text(`chunk ${i} 東;`)], i > 0, i === 19);
        await sleep(20);
      }
    } else if (word === 'slow') {
      status(TaskState.TASK_STATE_WORKING);
      for (let i = 0; i < 1200 && !canceled.has(taskId); i++) await sleep(50);
      status(canceled.delete(taskId) ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_COMPLETED);
      return bus.finished();
    } else {
      status(TaskState.TASK_STATE_FAILED, `I do not know ${word}`);
      return bus.finished();
    }
    status(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask(taskId) { canceled.add(taskId); },
};

const app = express();
const server = createServer(app).listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const card = {
    name: 'JavaScript SDK v1.0', description: 'A peer on @a2a-js/sdk.', version: '1', provider: undefined, documentationUrl: '', iconUrl: '',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {}, securityRequirements: [], signatures: [],
    defaultInputModes: ['*/*'], defaultOutputModes: ['*/*'],
    skills: [{ id: 'obey', name: 'Obey', description: 'Obeys the first word', tags: ['test'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: async () => new UnauthenticatedUser() }));
  console.log('ready', url);
});

// An agent made with the official JavaScript SDK for v0.3. It obeys the first word of a message: echo, task, stream,
// ask, slow, files. Prints "ready URL".
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { AGENT_CARD_PATH } from '@a2a-js/sdk';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const canceled = new Set();
const text = (s) => ({ kind: 'text', text: s });

const executor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const said = userMessage.parts[0].text;
    const [word, ...rest] = said.split(' ');
    const reply = (s, ids) => ({ kind: 'message', messageId: randomUUID(), role: 'agent', parts: [text(s)], contextId, ...ids });
    const status = (state, final, words) => bus.publish({
      kind: 'status-update', taskId, contextId, final,
      status: { state, timestamp: new Date().toISOString(), ...(words && { message: reply(words, { taskId }) }) },
    });
    const artifactId = randomUUID();
    const artifact = (parts, append = false, lastChunk = true) =>
      bus.publish({ kind: 'artifact-update', taskId, contextId, append, lastChunk, artifact: { artifactId, parts } });

    if (word === 'echo') {
      bus.publish(reply(rest.join(' ')));
      return bus.finished();
    }
    if (!task) {
      bus.publish({ kind: 'task', id: taskId, contextId, history: [userMessage], status: { state: 'submitted', timestamp: new Date().toISOString() } });
    }
    if (task?.status.state === 'input-required') artifact([text(`You said ${said}`)]);
    else if (word === 'task') artifact([text(rest.join(' '))]);
    else if (word === 'files') artifact(userMessage.parts.slice(1));
    else if (word === 'ask') {
      status('input-required', true, 'Which colour?');
      return bus.finished();
    } else if (word === 'stream') {
      status('working', false);
      for (let i = 0; i < 20; i++) {
        artifact([text(`chunk ${i} 東;`)], i > 0, i === 19);
        await sleep(20);
      }
    } else if (word === 'slow') {
      status('working', false);
      for (let i = 0; i < 1200 && !canceled.has(taskId); i++) await sleep(50);
      status(canceled.delete(taskId) ? 'canceled' : 'completed', true);
      return bus.finished();
    } else {
      status('failed', true, `I do not know ${word}`);
      return bus.finished();
    }
    status('completed', true);
    bus.finished();
  },
  async cancelTask(taskId) { canceled.add(taskId); },
};

const app = express();
const server = createServer(app).listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const card = {
    name: 'JavaScript SDK v0.3', description: 'A peer on @a2a-js/sdk.', version: '1', protocolVersion: '0.3.0', url, preferredTransport: 'JSONRPC',
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ['*/*'], defaultOutputModes: ['*/*'],
    skills: [{ id: 'obey', name: 'Obey', description: 'Obeys the first word', tags: ['test'] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log('ready', url);
});

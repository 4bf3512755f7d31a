// What the JavaScript editions of v0.2 and v0.3 share: their nouns are the JSON of the protocol.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { extension, security } from './line.mjs';

const text = (s) => ({ kind: 'text', text: s });

// An executor that obeys the first word of a message, as the harness's own agent does.
export function executor() {
  const canceled = new Set();
  return {
    async execute({ taskId, contextId, userMessage, task, context }, bus) {
      const said = userMessage.parts[0].text;
      const [word, ...rest] = said.split(' ');
      const reply = (s, ids) => ({ kind: 'message', messageId: randomUUID(), role: 'agent', parts: [text(s)], contextId, ...ids });
      const status = (state, words) => bus.publish({
        kind: 'status-update', taskId, contextId, final: !['submitted', 'working'].includes(state),
        status: { state, timestamp: new Date().toISOString(), ...(words && { message: reply(words, { taskId }) }) },
      });
      const chunk = (name, append, lastChunk, ...parts) =>
        bus.publish({ kind: 'artifact-update', taskId, contextId, append, lastChunk, artifact: { artifactId: name, name, parts } });
      const finish = (...parts) => { chunk('result', false, true, ...parts); status('completed'); };

      if (['input-required', 'auth-required'].includes(task?.status.state)) {
        finish(text(`You said ${said}`));
        return bus.finished();
      }
      if (word === 'echo') {
        bus.publish(reply(rest.join(' ')));
        return bus.finished();
      }
      bus.publish({ kind: 'task', id: taskId, contextId, history: [userMessage], status: { state: 'submitted', timestamp: new Date().toISOString() } });
      switch (word) {
        case 'task': finish(text(rest.join(' '))); break;
        case 'parts': finish(...userMessage.parts.slice(1)); break;
        case 'metadata': finish({ kind: 'data', data: userMessage.metadata }); break;
        case 'refer': finish(text((userMessage.referenceTaskIds ?? []).join(' '))); break;
        case 'artifacts':
          chunk('first', false, false, text('one '));
          chunk('first', true, true, text('two '));
          chunk('second', false, false, text('draft'));
          chunk('second', false, true, text('final'));
          status('completed');
          break;
        case 'stream':
          status('working');
          for (let i = 0; i < 20; i++) {
            chunk('text', i > 0, i === 19, text(`chunk ${i} 東;`));
            await sleep(20);
          }
          status('completed');
          break;
        case 'ask': status('input-required', 'Which colour?'); break;
        case 'auth': status('auth-required', 'Sign in first.'); break;
        case 'slow':
          status('working');
          for (let i = 0; i < 1200 && !canceled.has(taskId); i++) await sleep(50);
          status(canceled.delete(taskId) ? 'canceled' : 'completed');
          break;
        case 'extensions':
          if (context) {
            finish(text([...(context.requestedExtensions ?? [])].join(' ')));
            break;
          } // falls through: an agent of v0.2 is not told
        default: status('failed', `I do not know ${word}`);
      }
      bus.finished();
    },
    async cancelTask(taskId) { canceled.add(taskId); },
  };
}

export const card = (trait, protocolVersion, more) => ({
  version: '1', protocolVersion, description: 'A peer on @a2a-js/sdk.', ...(trait === 'declaring' && security(protocolVersion.slice(0, 3))),
  capabilities: {
    streaming: trait !== 'polled', pushNotifications: true, extensions: [{ uri: extension, ...(trait === 'declaring' && { required: true }) }],
  },
  defaultInputModes: ['*/*'], defaultOutputModes: ['*/*'],
  skills: [{ id: 'obey', name: 'Obey', description: 'Obeys the first word', tags: ['test'] }],
  ...more,
});

export const fromCard = (c) => ({
  name: c.name, skills: c.skills.length, streaming: Boolean(c.capabilities.streaming), push: Boolean(c.capabilities.pushNotifications),
  security: { securitySchemes: c.securitySchemes, security: c.security },
});

export const request = (m) => ({
  configuration: {
    acceptedOutputModes: m.accept ?? [], blocking: !m.noWait, ...(m.history !== undefined && { historyLength: m.history }),
    ...(m.push && { pushNotificationConfig: toPush(m.push).pushNotificationConfig }),
  },
  message: {
    kind: 'message', messageId: randomUUID(), role: 'user', taskId: m.task, contextId: m.context,
    metadata: m.metadata, referenceTaskIds: m.references, parts: [text(m.text), ...(m.parts ?? []).map(toPart)],
  },
});

function toPart(p) {
  const metadata = p.metadata && { metadata: p.metadata };
  const file = { name: p.name, mimeType: p.mediaType };
  if (p.bytes !== undefined) return { kind: 'file', file: { ...file, bytes: p.bytes }, ...metadata };
  if (p.url) return { kind: 'file', file: { ...file, uri: p.url }, ...metadata };
  if ('data' in p) return { kind: 'data', data: p.data, ...metadata };
  return { ...text(p.text ?? ''), ...metadata };
}

const parts = (from = []) => from.map((p) => {
  const q = { metadata: p.metadata };
  if (p.kind === 'text') return { ...q, text: p.text };
  if (p.kind === 'data') return { ...q, data: p.data };
  return { ...q, name: p.file.name, mediaType: p.file.mimeType, url: p.file.uri, bytes: p.file.bytes };
});

const artifact = (a) => ({ id: a.artifactId, name: a.name, parts: parts(a.parts) });

export function event(e) {
  if (e.kind === 'message') return { kind: 'message', task: e.taskId, context: e.contextId, said: parts(e.parts) };
  if (e.kind === 'status-update') {
    return { kind: 'status', task: e.taskId, context: e.contextId, state: e.status.state, said: parts(e.status.message?.parts) };
  }
  if (e.kind === 'artifact-update') {
    return { kind: 'artifact', task: e.taskId, context: e.contextId, append: e.append, last: e.lastChunk, artifacts: [artifact(e.artifact)] };
  }
  return {
    kind: 'task', task: e.id, context: e.contextId, state: e.status.state, said: parts(e.status.message?.parts),
    artifacts: (e.artifacts ?? []).map(artifact), history: e.history?.length ?? 0,
  };
}

export async function* events(from) {
  for await (const e of from) yield event(e);
}

export const toPush = (p) => ({
  taskId: p.task,
  pushNotificationConfig: {
    id: p.id, url: p.url, token: p.token, ...(p.scheme && { authentication: { schemes: [p.scheme], credentials: p.credentials } }),
  },
});

export const fromPush = ({ taskId, pushNotificationConfig: c }) => ({ task: taskId, id: c.id, url: c.url, token: c.token });

// Drives an A2A server through the client of somebody else's SDK and says what worked: the checks of the Go package
// interop/check, for the JavaScript editions. An edition has an adapter that offers
//
//   dial(url, token) -> {card(), send(m), stream(m), subscribe(task), get(task), cancel(task), list(size, token), push(task, url)}
//   kind(error)      -> the protocol error in words: task-not-found, task-not-cancelable, push-not-supported,
//                       unsupported-operation, invalid-params, invalid-request
//
// with messages {text, more, taskId, contextId, noWait}, replies {message, taskId, contextId, state, parts} and events
// {kind, taskId, contextId, state, parts}. A part is {text}, {bytes, name, mediaType}, {url} or {data}. The parts of a
// task are those of its artifacts, or without any those of the message that completes it. States are lower-case words
// with hyphens. list throws notInThisVersion where the protocol has no such method.
import { isDeepStrictEqual } from 'node:util';

export const notInThisVersion = new Error('not in this version of the protocol');

const textOf = (parts) => parts.map((p) => p.text ?? '').join('');
const unknown = '0198a000-0000-7000-8000-000000000000';

class Fold {
  n = 0; chunks = 0; first = ''; task = ''; context = ''; state = ''; text = '';
  async all(events) { for await (const e of events) this.add(e); return this; }
  add(e) {
    if (++this.n === 1) this.first = e.kind;
    this.task = e.taskId || this.task;
    this.context = e.contextId || this.context;
    this.state = e.state || this.state;
    if (e.kind === 'artifact') this.chunks++;
    if (e.kind === 'task') this.text = textOf(e.parts);
    else if (e.kind !== 'status') this.text += textOf(e.parts);
    else if (!this.text) this.text = textOf(e.parts);
  }
}

const must = (ok, what) => { if (!ok) throw new Error(typeof what === 'string' ? what : JSON.stringify(what)); };

export async function main(dial, kind) {
  let input = '';
  for await (const chunk of process.stdin) input += chunk;
  const plan = JSON.parse(input);
  let failed = false;

  const check = async (name, f) => {
    const result = { check: name, ok: true };
    let timer;
    try {
      const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error('took over 60 s')), 60000); });
      result.detail = (await Promise.race([f(), late])) || undefined;
    } catch (e) {
      if (e === notInThisVersion) {
        result.none = true;
      } else {
        failed = true;
        result.ok = false;
        result.detail = String(e?.message ?? e);
      }
    } finally {
      clearTimeout(timer);
    }
    console.log(JSON.stringify(result));
  };
  const wants = async (f, ...kinds) => {
    let error;
    try { await f(); } catch (e) { error = e; }
    must(error, `no error; want ${kinds.join(' or ')}`);
    must(kinds.includes(kind(error)), `kind "${kind(error)}"; want ${kinds.join(' or ')}: ${error.message}`);
    return error.message;
  };
  const role = async (r, checks) => {
    if (!r) return;
    let c;
    try { c = await dial(r.url, plan.token); } catch (e) {
      return check('connect', () => { throw new Error(`${r.url}: ${e.message}`); });
    }
    await checks(r, c);
  };

  await role(plan.echo, async (r, c) => {
    let first;
    await check('card', async () => {
      const card = await c.card();
      must(card.name && card.skills > 0 && card.streaming, card);
      return card.name;
    });
    await check('send', async () => {
      first = await c.send({ text: r.text });
      must(first.message !== Boolean(r.task) && textOf(first.parts).includes('hello') && first.contextId, first);
      return textOf(first.parts);
    });
    await check('send-in-context', async () => {
      const next = await c.send({ text: r.text, contextId: first.contextId });
      must(next.contextId === first.contextId, `context ${first.contextId} became ${next.contextId}`);
    });
    await check('stream-of-one-answer', async () => {
      const f = await new Fold().all(c.stream({ text: r.text }));
      must(f.text.includes('hello') && Boolean(f.state) === Boolean(r.task), f);
      return `${f.n} events`;
    });
    await check('text-of-all-scripts', async () => {
      const text = 'hello 東京 여행 é 🚢 <b>&amp;</b> " \\ \u2028';
      const reply = await c.send({ text: r.text.replace('hello', () => text) });
      must(textOf(reply.parts).includes(text), `came back as ${textOf(reply.parts)}`);
    });
    if (plan.token) {
      await check('wrong-token', async () => {
        let error;
        try { await (await dial(r.url, 'not-' + plan.token)).send({ text: r.text }); } catch (e) { error = e; }
        must(error, 'was let in');
        return error.message;
      });
    }
  });

  await role(plan.stream, async (r, c) => {
    const f = new Fold();
    await check('stream', async () => {
      await f.all(c.stream({ text: r.text }));
      must(f.first === 'task' && f.state === 'completed' && f.chunks >= 5 && f.text, f);
      return `${f.chunks} chunks, ${f.text.length} characters`;
    });
    await check('get', async () => {
      const task = await c.get(f.task);
      must(task.state === 'completed' && task.contextId === f.context && textOf(task.parts) === f.text,
        `state ${task.state}, ${textOf(task.parts).length} characters; streamed ${f.text.length}`);
    });
    await check('get-unknown', () => wants(() => c.get(unknown), 'task-not-found'));
    await check('cancel-completed', () => wants(() => c.cancel(f.task), 'task-not-cancelable'));
    await check('send-to-completed', () =>
      wants(() => c.send({ text: r.text, taskId: f.task, contextId: f.context }), 'unsupported-operation', 'invalid-params', 'invalid-request'));
    await check('subscribe', async () => {
      const left = new Fold();
      for await (const e of c.stream({ text: r.text })) {
        left.add(e);
        if (left.chunks === 2) break;
      }
      const again = await new Fold().all(c.subscribe(left.task));
      const task = await c.get(left.task);
      must(again.task === left.task && again.state === 'completed' && again.text && textOf(task.parts).endsWith(again.text),
        `left after ${left.chunks} chunks; then state ${again.state}, ${again.text.length} of ${textOf(task.parts).length} characters`);
      return `${again.n} events after coming back`;
    });
    await check('push-refused', () => wants(() => c.push(f.task, 'http://127.0.0.1:9/hook'), 'push-not-supported'));
    await check('list', async () => {
      const seen = [];
      for (let token = ''; ;) {
        const page = await c.list(2, token);
        must(page.tasks.length <= 2, `${page.tasks.length} tasks on a page of 2`);
        for (const id of page.tasks) must(!seen.includes(id), `task ${id} is listed twice`);
        seen.push(...page.tasks);
        if (!(token = page.next)) break;
      }
      must(seen.includes(f.task), `task ${f.task} is not among ${seen.length}`);
      return `${seen.length} tasks`;
    });
  });

  await role(plan.ask, async (r, c) => {
    await check('input-required', async () => {
      let task = await c.send({ text: r.text });
      const { taskId, contextId } = task;
      for (const text of r.answers) {
        must(task.state === 'input-required', `before "${text}": state ${task.state}`);
        task = await c.send({ text, taskId, contextId });
        must(task.taskId === taskId && task.contextId === contextId, `task ${taskId} became ${task.taskId}`);
      }
      must(task.state === 'completed' && task.parts.length, `state ${task.state}, ${task.parts.length} parts`);
      return `${r.answers.length} answers`;
    });
    await check('input-required-streaming', async () => {
      const f = await new Fold().all(c.stream({ text: r.text }));
      const { task, context } = f;
      for (const text of r.answers) {
        must(f.state === 'input-required', `before "${text}": state ${f.state}`);
        f.state = '';
        await f.all(c.stream({ text, taskId: task, contextId: context }));
        must(f.task === task && f.context === context, `task ${task} became ${f.task}`);
      }
      must(f.state === 'completed', `state ${f.state}`);
      return `${f.n} events`;
    });
  });

  await role(plan.slow, async (r, c) => {
    await check('send-without-waiting, cancel', async () => {
      const task = await c.send({ text: r.text, noWait: true });
      must(!task.message && ['submitted', 'working'].includes(task.state), task);
      let { state } = await c.cancel(task.taskId);
      if (state !== 'canceled') ({ state } = await new Fold().all(c.subscribe(task.taskId))); // may be on its way there
      must(state === 'canceled', `state ${state}`);
    });
    await check('cancel while streaming', async () => {
      const f = new Fold();
      let asked;
      for await (const e of c.stream({ text: r.text })) {
        f.add(e);
        if (!asked && f.state === 'working') asked = c.cancel(f.task);
      }
      await asked;
      must(f.state === 'canceled', `the stream ended in state ${f.state}`);
      return `${f.n} events`;
    });
    await check('cancel-unknown', () => wants(() => c.cancel(unknown), 'task-not-found'));
  });

  await role(plan.parts, async (r, c) => {
    const sent = [
      { bytes: Buffer.from([...Array(768).keys()].map((i) => i % 256)), name: 'all bytes.bin', mediaType: 'application/octet-stream' },
      { bytes: Buffer.from('aGVsbG8='), name: 'looks-like-base64.txt', mediaType: 'text/plain' },
      { data: { n: 1.5, deep: ['a', null, true] } },
    ];
    await check('file-and-data-parts', async () => {
      const { parts } = await c.send({ text: r.text, more: sent });
      for (const want of sent) {
        must(parts.some((got) => (want.data
          ? isDeepStrictEqual(got.data, want.data)
          : got.bytes && Buffer.compare(got.bytes, want.bytes) === 0 && got.name === want.name)),
        `part ${want.name ?? 'data'} did not come back`);
      }
      return `${parts.length} parts`;
    });
  });

  await role(plan.files, async (r, c) => {
    await check('files', async () => {
      const { parts } = await c.send({ text: r.text });
      must(parts.some((p) => p.mediaType === 'image/png' && p.bytes?.subarray(1, 4).toString() === 'PNG'), `no picture among ${parts.length} parts`);
      return `${parts.length} parts`;
    });
  });

  process.exit(failed ? 1 : 0);
}
